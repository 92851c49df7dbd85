import { readFileSync } from "node:fs";
import { join } from "node:path";

const folder = join(import.meta.dirname, "../fixtures/sanitizer");

export interface Attack {
  readonly kind: string;
  readonly language: string;
  readonly text: string;
}

export function attacks(half: "tuning" | "held-out"): Attack[] {
  return readFileSync(join(folder, `attacks-${half}.txt`), "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [kind = "", language = "", ...rest] = line.split(" | ");
      const text = rest.join(" | ");
      return {
        kind,
        language,
        text: text
          .replaceAll("\\n", "\n")
          .replaceAll("\\t", "\t")
          .replace(/\\u([0-9a-f]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))),
      };
    });
}

const lookalikes: Readonly<Record<string, string>> = { a: "а", e: "е", o: "о", p: "р", c: "с", x: "х", i: "і" };
const wide = (text: string): string => text.replace(/[!-~]/g, (sign) => String.fromCharCode(sign.charCodeAt(0) + 0xfee0));

/** Ways to hide a text from one who searches it. Signs of chat templates are the same for a model only when they are written as they are. */
export const disguises: Readonly<Record<string, (text: string) => string>> = {
  "as written": (text) => text,
  "in capitals": (text) => text.toUpperCase(),
  "with zero-width characters": (text) => text.replace(/([\p{L}])([\p{L}])/gu, "$1\u200b$2"),
  "in full width": wide,
  "as an address": (text) => encodeURIComponent(text),
  "as an address, twice": (text) => encodeURIComponent(encodeURIComponent(text)),
  "in letters that look alike": (text) => text.replace(/[aeopcxi]/g, (letter) => lookalikes[letter] ?? letter),
  "with other blanks": (text) => text.replaceAll(" ", "\u00a0\n  "),
  "in a direction": (text) => `\u202d${text}\u202c`,
  "in the middle of a text": (text) => `The build is fine and the docs are up to date.\n\n${text}\n\nSee the changelog for more.`,
};
