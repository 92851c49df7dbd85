import { stripVTControlCharacters } from "node:util";
import { spellings } from "../known-values.ts";

/** Characters of a value that nobody may read in one piece: fewer occur in ordinary text by chance. */
const shownAtMost = 7;
/** Characters that are looked up first. */
const seedLength = 8;

/** Ways to write a value besides those that redaction knows: what a hostile command can do with standard tools. */
const more: Readonly<Record<string, (value: string) => string>> = {
  base32: (value) => base32(Buffer.from(value)),
  rot13: (value) => value.replace(/[a-z]/gi, (letter) => rotate(letter)),
  "upper case": (value) => value.toUpperCase(),
  "base64 of hex": (value) => Buffer.from(Buffer.from(value).toString("hex")).toString("base64"),
};

interface Spelled {
  readonly name: string;
  readonly text: string;
  /** Length of the part that shows eight characters of the value. */
  readonly needed: number;
}

export interface LeakFinder {
  /** What a text shows of the values: the name of each value with the spelling; empty when it shows none. */
  find(text: string): string[];
}

/** Finds values in texts: plain, encoded, reversed, split by blanks or line ends, and every fragment of eight characters. */
export function createLeakFinder(values: Readonly<Record<string, string>>): LeakFinder {
  const spelled: Spelled[] = Object.entries(values).flatMap(([name, value]) =>
    Object.entries({ ...spellings, ...more }).map(([spelling, spell]) => {
      const text = compact(spell(value));
      const needed = Math.max(seedLength, Math.ceil(((shownAtMost + 1) * text.length) / value.length));
      return { name: `${name} (${spelling})`, text, needed };
    }),
  );
  const seeds = new Map<string, { readonly of: Spelled; readonly at: number }[]>();
  for (const of of spelled)
    for (let at = 0; at + of.needed <= of.text.length; at += 1) {
      const seed = of.text.slice(at, at + seedLength);
      seeds.set(seed, [...(seeds.get(seed) ?? []), { of, at }]);
    }
  return {
    find(text) {
      const found = new Set<string>();
      for (const shown of formsOf(text))
        for (let from = 0; from + seedLength <= shown.length; from += 1)
          for (const { of, at } of seeds.get(shown.slice(from, from + seedLength)) ?? [])
            if (shown.startsWith(of.text.slice(at, at + of.needed), from)) found.add(of.name);
      return [...found];
    },
  };
}

function compact(text: string): string {
  return stripVTControlCharacters(text).replace(/\s/g, "");
}

/** A text without blanks; also what is left of it when signs between characters and line numbers are removed, and its base64 and hex decoded. */
function formsOf(text: string): string[] {
  const plain = compact(text);
  const lettered = plain.replace(/[^\w+/=-]/g, "");
  const decoded = [...plain.matchAll(/[A-Za-z0-9+/_-]{12,}={0,2}/g)].map(([part]) => Buffer.from(part, "base64").toString("latin1"));
  const bytes = [...plain.matchAll(/(?:[0-9a-f]{2}){8,}/gi)].map(([part]) => Buffer.from(part, "hex").toString("latin1"));
  const firstLetters = text.split("\n").map((line) => line.trim().split(/\s+/).at(-1) ?? "");
  return [plain, lettered, [...decoded, ...bytes].join("\n"), firstLetters.join("")];
}

function base32(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  return (bits.match(/.{1,5}/g) ?? [])
    .map((five) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[Number.parseInt(five.padEnd(5, "0"), 2)] ?? "")
    .join("");
}

function rotate(letter: string): string {
  const first = letter < "a" ? 65 : 97;
  return String.fromCharCode(((letter.charCodeAt(0) - first + 13) % 26) + first);
}
