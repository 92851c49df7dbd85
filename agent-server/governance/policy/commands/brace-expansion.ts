export const maxExpansions = 200;

/** The words of a brace expansion; null when it is not a simple one. */
export function expandBraces(text: string): string[] | null {
  if (/[$`'"\\]/.test(text) || text.length > 500) return null;
  return braceWord(text);
}

function braceWord(text: string): string[] | null {
  const open = text.indexOf("{");
  if (open < 0) return [text];
  let depth = 0;
  let close = -1;
  const commas: number[] = [];
  for (let index = open; index < text.length; index += 1) {
    const char = text.charAt(index);
    if (char === "{") depth += 1;
    else if (char === "}") {
      depth -= 1;
      if (depth === 0) {
        close = index;
        break;
      }
    } else if (char === "," && depth === 1) commas.push(index);
  }
  if (close < 0) return null;
  const tails = braceWord(text.slice(close + 1));
  const heads = commas.length === 0 ? braceRange(text.slice(open + 1, close)) : choices(text, [open, ...commas, close]);
  if (tails === null || heads === null || heads.length * tails.length > maxExpansions) return null;
  return heads.flatMap((head) => tails.map((tail) => text.slice(0, open) + head + tail));
}

export function choices(text: string, marks: readonly number[]): string[] | null {
  const found: string[] = [];
  for (const [index, mark] of marks.slice(0, -1).entries()) {
    const one = braceWord(text.slice(mark + 1, marks[index + 1]));
    if (one === null) return null;
    found.push(...one);
  }
  return found;
}

function braceRange(text: string): string[] | null {
  const range = /^(-?\d+)\.\.(-?\d+)(?:\.\.-?\d+)?$/.exec(text);
  // Leading zeros pad all numbers to the same length.
  if (range === null || /^-?0\d|\.-?0\d/.test(text)) return null;
  const from = Number(range[1]);
  const to = Number(range[2]);
  if (Math.abs(to - from) > maxExpansions) return null;
  const low = Math.min(from, to);
  // Every number of the range, ignoring the step: more values can only be stricter.
  return Array.from({ length: Math.abs(to - from) + 1 }, (_, index) => String(low + index));
}
