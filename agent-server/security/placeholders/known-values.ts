/** Learned values that are replaced wherever they occur, also without identifying context. */
export interface KnownValues {
  add(value: string, placeholder: string): void;
  /** Replaces every known value in a text, longest first. */
  replace(text: string): string;
}

interface Known {
  readonly value: string;
  /** Offset of its first word. */
  readonly offset: number;
  readonly placeholder: string;
}

const firstRun = /[\p{L}\p{N}]+/u;
const run = new RegExp(firstRun, "gu");

/**
 * Distinctive values are found anywhere, also inside a longer word (`…@firma.de` with a plural ending). Values that may be part of another
 * word are found only as whole words.
 */
export function createKnownValues(): KnownValues {
  /** Indexed by first word, so that the cost per text does not depend on the number of values. */
  const byWord = new Map<string, Known[]>();
  let anywhere: Known[] = [];

  const isWholeWord = (text: string, from: number, to: number): boolean =>
    !/[\p{L}\p{N}_]$/u.test(text.slice(Math.max(0, from - 2), from)) && !/^[\p{L}\p{N}_]/u.test(text.slice(to, to + 2));

  function replaceWords(text: string): string {
    if (byWord.size === 0) return text;
    let result = "";
    let done = 0;
    for (const match of text.matchAll(run)) {
      for (const { value, offset, placeholder } of byWord.get(match[0]) ?? []) {
        const from = match.index - offset;
        if (from < done || !text.startsWith(value, from) || !isWholeWord(text, from, from + value.length)) continue;
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
      if (isDistinctive(value)) anywhere = sorted(anywhere);
      else byWord.set(first[0], sorted(byWord.get(first[0]) ?? []));
    },
    replace(text) {
      let result = text;
      for (const { value, placeholder } of anywhere) if (result.includes(value)) result = result.replaceAll(value, () => placeholder);
      return replaceWords(result);
    },
  };
}

function isDistinctive(value: string): boolean {
  if (value.length < 8) return false;
  return /[@+]/.test(value) || (/\d/.test(value) && (value.length >= 12 || /\p{L}/u.test(value)));
}
