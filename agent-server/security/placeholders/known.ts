/** Values that were found, to be found again where nothing around them tells what they are. */
export interface KnownValues {
  add(value: string, placeholder: string): void;
  /** The text with every known value replaced that stands by itself, the longest first. */
  replace(text: string): string;
}

const firstRun = /[\p{L}\p{N}]+/u;
const run = new RegExp(firstRun, "gu");

/** By the first word of each value: what a text costs does not depend on how many there are. */
export function createKnownValues(): KnownValues {
  const byWord = new Map<string, { value: string; offset: number; placeholder: string }[]>();

  const standsAlone = (text: string, from: number, to: number): boolean =>
    !/[\p{L}\p{N}_]$/u.test(text.slice(Math.max(0, from - 2), from)) && !/^[\p{L}\p{N}_]/u.test(text.slice(to, to + 2));

  return {
    add(value, placeholder) {
      const first = firstRun.exec(value);
      if (first === null) return;
      const group = byWord.get(first[0]) ?? [];
      const at = group.findIndex((one) => one.value === value);
      if (at !== -1) group.splice(at, 1);
      group.push({ value, offset: first.index, placeholder });
      group.sort((one, other) => other.value.length - one.value.length);
      byWord.set(first[0], group);
    },
    replace(text) {
      if (byWord.size === 0) return text;
      let result = "";
      let done = 0;
      for (const match of text.matchAll(run)) {
        for (const { value, offset, placeholder } of byWord.get(match[0]) ?? []) {
          const from = match.index - offset;
          if (from < done || !text.startsWith(value, from) || !standsAlone(text, from, from + value.length)) continue;
          result += text.slice(done, from) + placeholder;
          done = from + value.length;
          break;
        }
      }
      return done === 0 ? text : result + text.slice(done);
    },
  };
}
