import { coveredBy, determinedBy, type EncodedForm } from "./encoded-forms.ts";
import type { SqueezedText } from "./squeezed-text.ts";

/** Characters by which the index finds a form. Every fragment that counts contains one of the form's seeds. */
export const seedLength = 6;

/** A part of a squeezed text that is a part of a form. */
export interface FormMatch {
  readonly form: EncodedForm;
  /** Positions in the squeezed text. */
  readonly start: number;
  readonly end: number;
  readonly isWhole: boolean;
}

export interface FormIndex {
  /**
   * Finds the fragments of forms that are distinctive or whole, from left to right; they can overlap.
   * @param accepts judges a whole value that could also be an ordinary word
   */
  find(text: SqueezedText, accepts: (match: FormMatch) => boolean): FormMatch[];
}

/** Spreads a character over 32 bits, so that the low bits of a rolling hash also depend on the oldest of `seedLength` characters. */
const spread = Int32Array.from({ length: 256 }, (_, code) => {
  let bits = Math.imul(code + 1, 0x85ebca77);
  bits = Math.imul(bits ^ (bits >>> 15), 0x85ebca6b);
  return bits ^ (bits >>> 13);
});

const multiplier = 0x9e3779b1;

function hashAt(text: string, offset: number): number {
  let hash = 0;
  for (let at = offset; at < offset + seedLength; at += 1) hash = (hash << 6) ^ (spread[text.charCodeAt(at) & 255] ?? 0);
  return hash;
}

/** A piece of a form, and its hash. */
interface Seed {
  readonly form: EncodedForm;
  readonly offset: number;
  readonly hash: number;
}

/** Seeds tried for a weak form, which needs only one. */
const triedSeeds = 16;

/** Indexes seeds of the forms in a hash table that is mostly empty, so that a text costs one look-up per character. */
export function createFormIndex(forms: readonly EncodedForm[]): FormIndex {
  const seeds: Seed[] = [];
  const weak: EncodedForm[] = [];
  for (const form of forms) {
    if (form.text.length < seedLength) continue;
    if (form.source.isWeak) weak.push(form);
    else for (const offset of seedOffsets(form)) seeds.push({ form, offset, hash: hashAt(form.text, offset) });
  }
  const bits = Math.min(22, Math.max(10, Math.ceil(Math.log2((seeds.length + weak.length + 1) * 16))));
  const shift = 32 - bits;
  /** The last seed of each slot plus one, and for each seed the one before it in its slot. */
  const heads = new Int32Array(1 << bits);
  const before: number[] = [];
  /** One bit for each slot that is not empty, because the slots themselves do not fit in a processor's cache. */
  const taken = new Uint32Array(1 << (bits - 5));
  const slotOf = (hash: number): number => Math.imul(hash, multiplier) >>> shift;
  const link = (seed: number, hash: number): void => {
    const slot = slotOf(hash);
    before[seed] = heads[slot] ?? 0;
    heads[slot] = seed + 1;
    taken[slot >>> 5] = (taken[slot >>> 5] ?? 0) | (1 << (slot & 31));
  };
  for (const [seed, { hash }] of seeds.entries()) link(seed, hash);
  // Many ordinary values begin alike (`https:`), so each is found by the part that the fewest share.
  for (const form of weak) {
    let best = { offset: 0, hash: 0, shared: Number.POSITIVE_INFINITY };
    for (let offset = 0; offset <= Math.min(triedSeeds, form.text.length - seedLength); offset += 1) {
      const hash = hashAt(form.text, offset);
      let shared = 0;
      for (let seed = heads[slotOf(hash)] ?? 0; seed !== 0; seed = before[seed - 1] ?? 0) shared += 1;
      if (shared < best.shared) best = { offset, hash, shared };
    }
    link(seeds.length, best.hash);
    seeds.push({ form, offset: best.offset, hash: best.hash });
  }

  /** Extends a seed as far as text and form agree. */
  function extend({ length, codes }: SqueezedText, { form, offset }: Seed, at: number): FormMatch | null {
    const { text } = form;
    let from = 0;
    while (from < seedLength && codes[at + from] === text.charCodeAt(offset + from)) from += 1;
    if (from < seedLength) return null;
    let end = seedLength;
    while (offset + end < text.length && at + end < length && codes[at + end] === text.charCodeAt(offset + end)) end += 1;
    let start = 0;
    while (offset + start > 0 && at + start > 0 && codes[at + start - 1] === text.charCodeAt(offset + start - 1)) start -= 1;
    const isWhole = offset + start === 0 && offset + end === text.length;
    if (!isWhole && !isDistinctive(form, offset + start, offset + end)) return null;
    return { form, start: at + start, end: at + end, isWhole };
  }

  return {
    find(text, accepts) {
      const matches: FormMatch[] = [];
      if (seeds.length === 0) return matches;
      const { length, codes } = text;
      let found = 0;
      let hash = 0;
      for (let at = 0; at < length; at += 1) {
        hash = (hash << 6) ^ (spread[(codes[at] as number) & 255] as number);
        const slot = Math.imul(hash, multiplier) >>> shift;
        if ((((taken[slot >>> 5] as number) >>> (slot & 31)) & 1) === 0 || at < found || at < seedLength - 1) continue;
        let longest: FormMatch | null = null;
        let furthest: FormMatch | null = null;
        for (let next = heads[slot] ?? 0; next !== 0; next = before[next - 1] ?? 0) {
          const seed = seeds[next - 1];
          const candidate = seed?.hash === hash ? extend(text, seed, at - seedLength + 1) : null;
          if (candidate === null) continue;
          const isLonger = longest === null || candidate.end - candidate.start > longest.end - longest.start;
          const isFurther = furthest === null || candidate.end > furthest.end;
          if ((!isLonger && !isFurther) || (candidate.isWhole && !accepts(candidate))) continue;
          if (isLonger) longest = candidate;
          if (isFurther) furthest = candidate;
        }
        if (longest === null || furthest === null) continue;
        matches.push(longest);
        // In a text that repeats itself, the longest one may end right here, and so would the next one, a few characters on.
        if (furthest.end > longest.end) matches.push(furthest);
        found = furthest.end;
      }
      return matches;
    },
  };
}

function isDistinctive(form: EncodedForm, from: number, to: number): boolean {
  const { distinctive, window, isWeak } = form.source;
  if (isWeak) return false;
  const [first, end] = coveredBy(form, from, to);
  return (distinctive[first] ?? end) + window <= end;
}

/** The fewest seeds of which every distinctive window of the form contains one. */
function seedOffsets(form: EncodedForm): number[] {
  const { distinctive, window, length } = form.source;
  const windows: [from: number, to: number][] = [];
  for (let at = distinctive[0] ?? length; at < length; at = distinctive[at + 1] ?? length)
    windows.push(determinedBy(form, at, Math.min(length, at + window)));
  if (form.encoding === "reversed") windows.reverse();
  const offsets: number[] = [];
  for (const [from, to] of windows) {
    if (to - from < seedLength || (offsets.at(-1) ?? -1) >= from) continue;
    offsets.push(to - seedLength);
  }
  return offsets;
}
