/** Values that were found, to be found again where nothing around them tells what they are. */
export interface KnownValues {
  add(value: string, placeholder: string): void;
  /** The text with every known value replaced, the longest first. */
  replace(text: string): string;
}

interface Known {
  readonly value: string;
  /** Where its first word begins in it. */
  readonly offset: number;
  readonly placeholder: string;
}

const firstRun = /[\p{L}\p{N}]+/u;
const run = new RegExp(firstRun, "gu");

/**
 * What can only be that value is found wherever it stands, also with something grown onto it (`…@firma.de` in a plural). What might be a
 * part of another word is found where it stands by itself.
 */
export function createKnownValues(): KnownValues {
  /** By the first word of each: what a text costs does not depend on how many there are. */
  const byWord = new Map<string, Known[]>();
  let anywhere: Known[] = [];

  const standsAlone = (text: string, from: number, to: number): boolean =>
    !/[\p{L}\p{N}_]$/u.test(text.slice(Math.max(0, from - 2), from)) && !/^[\p{L}\p{N}_]/u.test(text.slice(to, to + 2));

  function replaceWords(text: string): string {
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
  }

  return {
    add(value, placeholder) {
      const first = firstRun.exec(value);
      if (first === null) return;
      const known = { value, offset: first.index, placeholder };
      const sorted = (group: readonly Known[]): Known[] =>
        [...group.filter((one) => one.value !== value), known].sort((one, other) => other.value.length - one.value.length);
      if (isUnmistakable(value)) anywhere = sorted(anywhere);
      else byWord.set(first[0], sorted(byWord.get(first[0]) ?? []));
    },
    replace(text) {
      let result = text;
      for (const { value, placeholder } of anywhere) if (result.includes(value)) result = result.replaceAll(value, () => placeholder);
      return replaceWords(result);
    },
  };
}

function isUnmistakable(value: string): boolean {
  if (value.length < 8) return false;
  return /[@+]/.test(value) || (/\d/.test(value) && (value.length >= 12 || /\p{L}/u.test(value)));
}
