import { readFileSync } from "node:fs";
import { join } from "node:path";

const folder = join(import.meta.dirname, "../../fixtures/secrets");
export type Half = "tuning" | "held-out";
export const halves: readonly Half[] = ["tuning", "held-out"];

/** A secret in a text: what stands before it, it, and what follows. */
export interface Sample {
  readonly name: string;
  readonly before: string;
  readonly secret: string;
  readonly after: string;
}

/** Numbers from 0 to below 1, the same for the same name (FNV-1a, then a multiplicative generator). */
function generator(name: string): () => number {
  let state = 2_166_136_261;
  for (const character of name) state = Math.imul(state ^ (character.codePointAt(0) ?? 0), 16_777_619) >>> 0;
  state = (state % 2_147_483_646) + 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

const small = "abcdefghijklmnopqrstuvwxyz";
const capital = small.toUpperCase();
const digits = "0123456789";
const alphabets: Readonly<Record<string, string>> = {
  a: small + capital + digits,
  h: "0123456789abcdef",
  H: "0123456789ABCDEF",
  d: digits,
  l: small,
  U: capital + digits,
  B: `${capital}234567`,
  b: `${small + capital + digits}+/`,
  u: `${small + capital + digits}-_`,
  p: `${small + small + digits}!#%&*+-.:=?@^_~()[]{},`,
};
const words =
  "excalibur dragon monkey sommer winter arthur lancelot camelot qwerty letmein sunshine shadow master football batman trustno welcome ninja azerty princess pirate rocket banana orange purple coffee garden hammer castle falcon".split(
    " ",
  );

function password(random: () => number): string {
  const pick = <T>(list: ArrayLike<T>): T => list[Math.floor(random() * list.length)] as T;
  const word = pick(words);
  const begun = random() < 0.6 ? (word[0] ?? "").toUpperCase() + word.slice(1) : word;
  const spelled = random() < 0.3 ? begun.replaceAll("o", "0").replaceAll("e", "3").replaceAll("i", "1") : begun;
  const number = String(Math.floor(random() * 10 ** (1 + Math.floor(random() * 4))));
  return spelled + number + (random() < 0.5 ? pick("!-_.*+~") : "");
}

/** Replaces the patterns of a fixture, whose first line explains them. */
function filled(text: string, random: () => number): string {
  const characters = (kind: string, length: number): string =>
    Array.from({ length }, () => alphabets[kind]?.[Math.floor(random() * (alphabets[kind]?.length ?? 0))] ?? "").join("");
  const simple = text.replace(
    /\{(?:([ahHdlUBbu])(\d+)|(uuid|pw|pp|wd|ph))\}/g,
    (all, kind: string | undefined, length: string, name: string) => {
      if (kind !== undefined) return characters(kind, Number(length));
      if (name === "uuid") return [8, 4, 4, 4, 12].map((size) => characters("h", size)).join("-");
      if (name === "pw") return password(random);
      if (name === "pp") return `${characters("a", 4)}${characters("p", 10)}${characters("d", 2)}`;
      const word = (): string => words[Math.floor(random() * words.length)] ?? "";
      if (name === "wd") return word();
      return name === "ph" ? `${word()} ${word()} ${characters("d", 2)} ${word()}` : all;
    },
  );
  return simple.replace(/\{64:([^}]*)\}/g, (_, plain: string) => Buffer.from(plain).toString("base64"));
}

const unescaped = (text: string): string => text.replaceAll("\\n", "\n").replaceAll("\\t", "\t").replaceAll("\\|", "|");

/** The samples of a half. Another `round` gives other values in the same contexts. */
export function samples(half: Half, round = 0): Sample[] {
  const lines = readFileSync(join(folder, `${half}.txt`), "utf8").split("\n");
  return lines.flatMap((line) => {
    if (line === "" || line.startsWith("#")) return [];
    const [name = "", value = "", ...rest] = line.split(" | ");
    const random = generator(`${round} ${name}`);
    const secret = unescaped(filled(value, random));
    const [before = "", after = ""] = unescaped(filled(rest.join(" | "), random)).split("§");
    return [{ name, before, secret, after }];
  });
}

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);
const twiceInJson = (text: string): string => inJson(inJson(text));

function quoted({ name, before, secret, after }: Sample): Sample {
  const isBare = /(?:^|[\s=:])$/.test(before) && !/[/?&]\S*$/.test(before) && /^(?:$|[\s,;])/.test(after) && !secret.includes("\n");
  if (isBare && !/["'`]/.test(before + after)) return { name, before: `${before}"`, secret, after: `"${after}` };
  return { name, before: `'${before.replaceAll("'", "\\'")}`, secret, after: `${after.replaceAll("'", "\\'")}'` };
}

/** How a text with a secret stands in another text. */
export const encodings: Readonly<Record<string, (sample: Sample) => Sample>> = {
  plain: (sample) => sample,
  JSON: ({ name, before, secret, after }) => ({
    name,
    before: `{"message":"${inJson(before)}`,
    secret: inJson(secret),
    after: `${inJson(after)}"}`,
  }),
  URL: ({ name, before, secret, after }) => ({
    name,
    before: `https://log.example.com/?m=${encodeURIComponent(before)}`,
    secret: encodeURIComponent(secret),
    after: encodeURIComponent(after),
  }),
  quoted,
  "JSON in JSON": ({ name, before, secret, after }) => ({
    name,
    before: `{"event":"{\\"message\\":\\"${twiceInJson(before)}`,
    secret: twiceInJson(secret),
    after: `${twiceInJson(after)}\\"}"}`,
  }),
};

/** Whether neither four characters of the secret in a row nor its end are left. */
export function isGone({ before, secret, after }: Sample, redacted: string): boolean {
  // The kind in a placeholder is not a part of the secret.
  const clean = redacted.replace(/\[redacted:[a-z0-9-]+/g, "[").replace(/HIDDEN_[a-z0-9]{9}/g, "]");
  const size = Math.min(4, secret.length);
  const around = `${before}\n${after}`;
  // Common parts of a format, such as `-----BEGIN`, are no secret.
  for (const core of secret.split(/-{5}[^-]+-{5}|eyJ[a-zA-Z0-9]*\.|\\+n|\n|%0A/)) {
    for (let from = 0; from + size <= core.length; from += 1) {
      const piece = core.slice(from, from + size);
      if (!around.includes(piece) && clean.includes(piece)) return false;
    }
  }
  if (secret.length < 4) return !clean.includes(`${before.slice(-2)}${secret}${after.slice(0, 2)}`);
  for (let length = 1; length < 4; length += 1) {
    const end = `]${secret.slice(-length)}${after.slice(0, 8)}`;
    if (!secret.slice(-length).startsWith("-----") && (after === "" ? clean.endsWith(end) : clean.includes(end))) return false;
  }
  return true;
}
