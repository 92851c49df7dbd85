/** Keeps the beginning and the end of a long streamed text. */
export interface HeadAndTail {
  add(text: string): void;
  /** The text, with `gap` in place of the dropped part. `units` are UTF-16 units. */
  text(gap: (dropped: { units: number; lines: number }) => string): string;
}

/** @param head UTF-16 units kept from the beginning @param tail least UTF-16 units kept from the end */
export function createHeadAndTail(head: number, tail: number): HeadAndTail {
  let first = "";
  let last = "";
  let units = 0;
  let lines = 0;
  return {
    add(text) {
      const capacity = head - first.length;
      const begin = text.slice(0, Math.max(0, capacity));
      first += begin;
      last += text.slice(begin.length);
      // Cuts rarely, because each cut copies the text.
      if (last.length > tail * 2) {
        const cut = wholeLine(last, last.length - tail);
        units += cut;
        lines += newlines(last.slice(0, cut));
        last = last.slice(cut);
      }
    },
    text(gap) {
      let rest = last;
      let [droppedUnits, droppedLines] = [units, lines];
      if (rest.length > tail) {
        const cut = wholeLine(rest, rest.length - tail);
        droppedUnits += cut;
        droppedLines += newlines(rest.slice(0, cut));
        rest = rest.slice(cut);
      }
      if (droppedUnits === 0) return first + rest;
      return `${first}${first.endsWith("\n") || first === "" ? "" : "\n"}${gap({ units: droppedUnits, lines: droppedLines })}\n${rest}`;
    },
  };
}

/** The start of the next line after `at` if it is near, else `at`; never inside a surrogate pair. */
function wholeLine(text: string, at: number): number {
  const next = text.indexOf("\n", at);
  if (next !== -1 && next - at < 2_000) return next + 1;
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at + 1 : at;
}

function newlines(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}
