import { stripVTControlCharacters } from "node:util";
import * as fc from "fast-check";

const alphabets = {
  base62: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
  hex: "0123456789abcdef",
  url: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
  signs: "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz23456789!@#^&*()+=~.,:;/?|<>[]{}",
};

const ofAlphabet = (letters: string): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...Array.from(letters)), { minLength: 16, maxLength: 48 }).map((all) => all.join(""));

/** Values as generators of keys and passwords make them, without repetitions that no generator makes. */
export const randomValue = fc
  .oneof(...Object.values(alphabets).map(ofAlphabet))
  .filter(
    (value) =>
      new Set(value).size >= 9 && /\d/.test(value) && /[a-z]/i.test(value) && !/(.)\1\1/.test(value) && !/^[[{#;/.~<]|^.:/.test(value),
  );

const bytes = (text: string): Buffer => Buffer.from(text);
const json = (text: string): string => JSON.stringify(text).slice(1, -1);

/** As `hexdump` and `od` show a file: the second byte of each word first. */
const words = (value: string, base: number, digits: number): string => {
  const even = bytes(value.length % 2 === 0 ? value : `${value}\n`);
  return Array.from({ length: even.length / 2 }, (_, at) =>
    even
      .readUInt16LE(at * 2)
      .toString(base)
      .padStart(digits, "0"),
  ).join(" ");
};

/** The ways to write a value that redaction knows. */
export const spellings: Readonly<Record<string, (value: string) => string>> = {
  plain: (value) => value,
  reversed: (value) => Array.from(value).toReversed().join(""),
  base64: (value) => bytes(value).toString("base64"),
  "base64 after one byte": (value) => bytes(`x${value}`).toString("base64"),
  "base64 after two bytes, in lines": (value) => bytes(`xy${value}zz`).toString("base64").replace(/.{20}/g, "$&\n"),
  base64url: (value) => bytes(`é${value}`).toString("base64url"),
  hex: (value) => bytes(value).toString("hex"),
  "hex in upper case": (value) => bytes(value).toString("hex").toUpperCase(),
  "hex dump": (value) => bytes(value).toString("hex").replace(/..../g, "$& "),
  "percent escapes": (value) => encodeURIComponent(value),
  "percent escapes for all": (value) => bytes(value).toString("hex").replace(/../g, "%$&"),
  "escaped in JSON": (value) => json(value),
  "escaped in JSON twice": (value) => json(json(value)),
  "unicode escapes": (value) =>
    Array.from(value)
      .map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  "a list of bytes": (value) => [...bytes(value)].join(", "),
  "a list of bytes in lines": (value) => JSON.stringify([...bytes(value)], null, 1).slice(1, -1),
  "a list in hexadecimal": (value) => Array.from(bytes(value), (byte) => `0x${byte.toString(16).padStart(2, "0")}`).join(", "),
  "bytes with colons": (value) =>
    bytes(value)
      .toString("hex")
      .replace(/..(?=.)/g, "$&:"),
  "octal bytes": (value) => Array.from(bytes(value), (byte) => byte.toString(8).padStart(3, "0")).join(" "),
  "words of two bytes": (value) => words(value, 16, 4),
  "octal words": (value) => words(value, 8, 6),
  "a character per line": (value) => Array.from(value).join("\n"),
  "blanks between": (value) => Array.from(value).join(" "),
  "lines of five": (value) => value.replace(/.{5}/g, "$&\n"),
  colored: (value) => value.replace(/.{4}/g, "$&\u001b[1;32m"),
};

/** Length of the longest part of a spelling that a text shows, in characters of the value. */
export function longestPart(text: string, spelled: string, value: string): number {
  const compact = (part: string): string => stripVTControlCharacters(part).replace(/\s/g, "");
  const [shown, sought] = [compact(text), compact(spelled)];
  let longest = 0;
  for (let from = 0; from < sought.length; from += 1) {
    let to = from + longest + 1;
    while (to <= sought.length && shown.includes(sought.slice(from, to))) to += 1;
    longest = Math.max(longest, to - 1 - from);
  }
  return Math.floor((longest * value.length) / sought.length);
}
