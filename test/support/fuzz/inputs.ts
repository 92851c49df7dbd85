import * as fc from "fast-check";
import type { Target } from "./target.ts";

/** Text that parsers of any format stumble over. */
const troublesome = [
  ...["\0", "\r", "\r\n", "\n", "\n\n", "\t", "\v", "\f", "\u0085", "\u2028", "\u00a0", "\ufeff", "\ufffd", "\uffff"],
  ...["\ud800", "\udc00", "\ud83d\ude00", "\u202e", "\u2066", "\u200b", "\u0301", "\u{e0041}", "ß", "İ", "ﬁ"],
  ...["\x1b", "\x1b[", "\x1b]8;;x\x07", "\x9b", "\x07", "\b", "\x7f", "\x80", "\xff\xfe", "\xc0\xaf", "\xed\xa0\x80"],
  ...["__proto__", "constructor", "toString", "hasOwnProperty", "null", "true", "NaN", "Infinity", "undefined", "[object Object]"],
  ...["0", "-0", "-1", "1e999", "9007199254740993", "4294967296", "2147483648", "0x10", "1_0", "00", ".5", "1e-400"],
  ...["{}", "[]", '""', "''", "\\", "\\u", "\\x", "\\0", "%", "%00", "%zz", "%c0%af", "$&", "$1", "${", "`", "../", "//", "\\\\", ":", "~"],
  ...["&a", "*a", "<<: *a", "!!js/function", "? ", "- ", "| ", "> ", "# ", "<!--", "-->", "<![CDATA[", "&#0;", "data: ", "@@", "---"],
];

/** What opens and closes a level of some format. */
const brackets: readonly (readonly [open: string, close: string])[] = [
  ["[", "]"],
  ["{", "}"],
  ["(", ")"],
  ["<a>", "</a>"],
  ['{"a":', "}"],
  ['[{"a":', "}]"],
  ["a: {", "}"],
  ["- ", ""],
  ["> ", ""],
  ["  ", ""],
  ["* ", ""],
  ["**", "**"],
  ["_a", ""],
  ["`", "`"],
  ["![", "](a)"],
  ["$(", ")"],
  ["`\\", ""],
  ["${a:-", "}"],
  ["(", ""],
  ["{ ", "; }"],
  ["if a; then ", "; fi"],
  ["/*", "*/"],
  ['"', '"'],
  ["\\", ""],
  ["<", ""],
  ["a/", ""],
  ["../", ""],
  ["{a,", "}"],
  ["*", ""],
  ["?", ""],
  ["!", ""],
  ["-", ""],
  ["\r", ""],
  ["\n", ""],
  ["\t", ""],
  ["\x1b[", "m"],
  ["%25", ""],
  ["&amp;", ""],
  ["a.", ""],
  ["a=", ""],
  ["a ", ""],
];

/** A place in a text, as a share of its length. */
const place = fc.integer({ min: 0, max: 0xffff });
const at = (share: number, text: string): number => Math.floor((share / 0x10000) * (text.length + 1));

type Edit = (text: string) => string;

const put = (text: string, where: number, length: number, piece: string): string => {
  const start = at(where, text);
  return text.slice(0, start) + piece + text.slice(start + length);
};

function edits(samples: readonly string[], words: readonly string[]): fc.Arbitrary<Edit> {
  const small = fc.nat(12);
  return fc.oneof(
    fc.tuple(place, small).map(
      ([where, length]): Edit =>
        (text) =>
          put(text, where, length, ""),
    ),
    fc.tuple(place, fc.constantFrom(...words)).map(
      ([where, word]): Edit =>
        (text) =>
          put(text, where, 0, word),
    ),
    fc.tuple(place, small, fc.constantFrom(...troublesome)).map(
      ([where, length, word]): Edit =>
        (text) =>
          put(text, where, length % 3, word),
    ),
    fc.tuple(place, fc.integer({ min: 0, max: 255 })).map(
      ([where, code]): Edit =>
        (text) =>
          put(text, where, 1, String.fromCharCode(code)),
    ),
    // A part of the text again, elsewhere.
    fc.tuple(place, place, fc.nat(200), fc.integer({ min: 1, max: 4 })).map(
      ([from, to, length, times]): Edit =>
        (text) =>
          put(text, to, 0, text.slice(at(from, text), at(from, text) + length).repeat(times)),
    ),
    // A line of another sample.
    fc.tuple(place, fc.constantFrom(...samples), place).map(
      ([where, other, from]): Edit =>
        (text) =>
          put(text, where, 0, other.slice(at(from, other)).split("\n", 2).join("\n").slice(0, 2_000)),
    ),
    // Cut off.
    place.map(
      (where): Edit =>
        (text) =>
          text.slice(0, at(where, text)),
    ),
  );
}

/** Inputs of a target: mutations of its samples, its grammar, deep nesting, long repetition and noise. */
export function inputsOf({ samples, grammar, words = [], longest = 100_000 }: Target): fc.Arbitrary<string> {
  const own = [...words, ...(words.length > 0 ? [] : troublesome)];
  const sample = fc.constantFrom(...samples);
  const mutated = fc
    .tuple(sample, fc.array(edits(samples, own), { minLength: 1, maxLength: 6 }))
    .map(([text, changes]) => changes.reduce((changed, edit) => edit(changed).slice(0, longest), text));
  const counts = fc.oneof(fc.integer({ min: 2, max: 200 }), fc.integer({ min: 1_000, max: longest }));
  const nested = fc
    .tuple(fc.constantFrom(...brackets), counts, fc.constantFrom("", "a", ...own), fc.option(fc.tuple(sample, place), { nil: undefined }))
    .map(([[open, close], count, middle, around]) => {
      const levels = Math.max(1, Math.min(count, Math.floor(longest / (open.length + close.length))));
      const nest = open.repeat(levels) + middle + close.repeat(levels);
      return (around === undefined ? nest : put(around[0], around[1], 0, nest)).slice(0, longest);
    });
  // A few characters of a sample, or a word of the format, many times.
  const repeated = fc
    .tuple(sample, place, fc.integer({ min: 1, max: 12 }), counts, fc.option(fc.constantFrom(...own), { nil: undefined }), fc.boolean())
    .map(([text, where, length, count, word, alone]) => {
      const start = at(where, text);
      const piece = `${text.slice(start, start + length)}${word ?? ""}`;
      const times = Math.min(count, Math.floor(longest / Math.max(1, piece.length)));
      const many = piece.repeat(times);
      return (alone ? many : text.slice(0, start) + many + text.slice(start + length)).slice(0, longest);
    });
  const noise = fc.oneof(
    fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes).toString("latin1")),
    fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 100 }).map((units) => String.fromCharCode(...units)),
    fc.array(fc.constantFrom(...own, ...troublesome), { maxLength: 40 }).map((parts) => parts.join("")),
  );
  return fc.oneof(
    { weight: 10, arbitrary: mutated },
    { weight: grammar === undefined ? 0 : 6, arbitrary: grammar ?? sample },
    { weight: 2, arbitrary: nested },
    { weight: 2, arbitrary: repeated },
    { weight: 1, arbitrary: noise },
  );
}

const batch = 25;

/** The inputs of a seed, each of them by its number. */
export function createInputs(target: Target, seed: number): (index: number) => string {
  const inputs = inputsOf(target);
  let first = -1;
  let drawn: string[] = [];
  return (index) => {
    const start = index - (index % batch);
    if (start !== first) {
      drawn = fc.sample(inputs, { seed: (seed + start * 7_919) | 0, numRuns: batch });
      first = start;
    }
    return drawn[index - start] ?? "";
  };
}
