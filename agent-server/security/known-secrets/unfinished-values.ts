import type { EncodedForm } from "./encoded-forms.ts";
import { seedLength } from "./form-index.ts";
import type { SqueezedText } from "./squeezed-text.ts";

/** Characters of a form, by encoding, from which on the end of a text may be a part of it: about four characters of the value. */
const gramLengths = { plain: 4, reversed: 4, base64: 6, hex: 8, numbers: 12 } as const;

/** Finds what may become a known value when a streamed text goes on. */
export interface UnfinishedValues {
  /** The position in the squeezed text from which on it may be the beginning of a fragment; the text's length if there is none. */
  from(text: SqueezedText): number;
}

/**
 * Distinctive values are looked up by short pieces of every form, because any fragment of them counts; of the others only the beginning
 * of the whole value counts.
 */
export function createUnfinishedValues(forms: readonly EncodedForm[]): UnfinishedValues {
  const strong = forms.filter(({ source, text }) => !source.isWeak && text.length >= seedLength);
  const weakBegins = new Map<string, string[]>();
  let longestWeak = 0;
  for (const { source, text } of forms) {
    if (!source.isWeak && text.length >= seedLength) continue;
    const begin = text.slice(0, gramLengths.plain);
    weakBegins.set(begin, [...(weakBegins.get(begin) ?? []), text]);
    longestWeak = Math.max(longestWeak, text.length);
  }
  const grams = Object.fromEntries(
    Object.values(gramLengths).map((size) => [
      size,
      createGramSet(
        strong.filter(({ encoding }) => gramLengths[encoding] === size),
        size,
      ),
    ]),
  );

  function weakFrom({ length, codes }: SqueezedText): number {
    if (longestWeak === 0) return length;
    const first = Math.max(0, length - longestWeak);
    const tail = String.fromCharCode(...codes.subarray(first, length));
    for (let at = 0; at + gramLengths.plain <= tail.length; at += 1) {
      const rest = tail.slice(at);
      if (weakBegins.get(rest.slice(0, gramLengths.plain))?.some((text) => text.startsWith(rest)) === true) return first + at;
    }
    return length;
  }

  return {
    from(text) {
      let from = weakFrom(text);
      for (const set of Object.values(grams)) from = Math.min(from, set.chainFrom(text));
      return from;
    },
  };
}

/** The bits that each piece sets. */
const hashes = 3;
const multiplier = 0x2c1b3c6d;

/** The pieces of `size` characters of the forms, as bits; one of a thousand other pieces is taken for one of them. */
function createGramSet(forms: readonly EncodedForm[], size: number) {
  const total = forms.reduce((sum, { text }) => sum + text.length, 0);
  const bits = Math.min(26, Math.max(10, Math.ceil(Math.log2((total + 1) * 32))));
  const words = new Uint32Array(1 << (bits - 5));
  /** What the oldest character of a piece adds to its hash when the next one comes. */
  let oldest = 1;
  for (let at = 0; at < size; at += 1) oldest = Math.imul(oldest, multiplier);
  const hashAt = (codes: Uint16Array, from: number): number => {
    let hash = 0;
    for (let at = from; at < from + size; at += 1) hash = Math.imul(hash, multiplier) + (codes[at] as number);
    return hash | 0;
  };
  const nextHash = (hash: number): number => Math.imul(hash ^ (hash >>> 13), 0x297a2d39);
  for (const { text } of forms) {
    let rolling = 0;
    for (let at = 0; at < text.length; at += 1) {
      rolling = (Math.imul(rolling, multiplier) + text.charCodeAt(at)) | 0;
      if (at >= size) rolling = (rolling - Math.imul(oldest, text.charCodeAt(at - size))) | 0;
      if (at < size - 1) continue;
      let hash = rolling;
      for (let round = 0; round < hashes; round += 1) {
        hash = nextHash(hash);
        const bit = hash >>> (32 - bits);
        words[bit >>> 5] = (words[bit >>> 5] as number) | (1 << (bit & 31));
      }
    }
  }

  return {
    /** Where the last unbroken chain of overlapping pieces begins that reaches the end of the text. */
    chainFrom({ length, codes }: SqueezedText): number {
      const has = (at: number): boolean => {
        let hash = hashAt(codes, at);
        for (let round = 0; round < hashes; round += 1) {
          hash = nextHash(hash);
          const bit = hash >>> (32 - bits);
          if ((((words[bit >>> 5] as number) >>> (bit & 31)) & 1) === 0) return false;
        }
        return true;
      };
      let from = length - size;
      if (total === 0 || from < 0 || !has(from)) return length;
      while (from > 0 && has(from - 1)) from -= 1;
      return from;
    },
  };
}
