import type { PiiKind } from "../pii/types.ts";

/** What a placeholder stands for: a secret, or a kind of personal data. */
export type HiddenKind = "secret" | PiiKind;

/**
 * The word a placeholder begins with. Each holds a vowel, which no hash does, so that one placeholder never begins inside another; none
 * is a name that secrets are given, so that nothing beside a placeholder is taken for a secret because of it.
 */
const words: Record<HiddenKind, string> = {
  secret: "HIDDEN",
  email: "EMAIL",
  phone: "PHONE",
  iban: "IBAN",
  card: "CARD",
  national_id: "IDNUMBER",
  ip_address: "IPADDR",
  mac_address: "MACADDR",
  address: "ADDRESS",
  person: "PERSON",
  birth_date: "BIRTHDATE",
  account: "ACCOUNT",
  plate: "PLATE",
  coordinates: "PLACE",
  custom: "CUSTOM",
};

const consonants = "bcdfghjkmnpqrstvwxz";
const consonant = `[${consonants}]`;
const hashSource = String.raw`${consonant}\d{3}${consonant}\d{3}${consonant}`;
/** As models write it: in capitals or not, the underscore escaped for Markdown or an address, made a dash or left out. */
const joint = String.raw`(?:\\{0,2}_|%5f|-)?`;
const anyWord = Object.values(words).join("|");

/** Every placeholder of a text, however it is spelled; the group is its hash. */
const spelled = new RegExp(`(?:${anyWord})${joint}(${hashSource})`, "gi");
const nothingElse = new RegExp(`^(?:${anyWord})${joint}${hashSource}$`, "i");
/** As they are made. */
const exact = new RegExp(`(?<![A-Za-z0-9_])(?:${anyWord})_${hashSource}(?![A-Za-z0-9])`, "g");

/** `EMAIL_k482p137f`: a word, and some 33 bits of a keyed hash. Six tokens, no letter that any language escapes. */
export function placeholderOf(kind: HiddenKind, hash: string): string {
  return `${words[kind]}_${hash}`;
}

/** The form of a hash, from random bytes (at least six). */
export function hashForm(bytes: Uint8Array): string {
  let number = 0n;
  for (const byte of bytes.subarray(0, 8)) number = number * 256n + BigInt(byte);
  const take = (base: number): number => {
    const digit = Number(number % BigInt(base));
    number /= BigInt(base);
    return digit;
  };
  const letter = (): string => consonants.charAt(take(consonants.length));
  const digits = (): string => String(take(1000)).padStart(3, "0");
  return letter() + digits() + letter() + digits() + letter();
}

/** True for a text that is one placeholder and nothing else; whether anything stands behind it is not looked at. */
export function looksHidden(text: string): boolean {
  return text.length <= 40 && nothingElse.test(text);
}

/** A text with each placeholder replaced by what `by` says; null leaves it as it is written. */
export function replacePlaceholders(text: string, by: (hash: string, written: string) => string | null): string {
  return text.replace(spelled, (written: string, hash: string) => by(hash.toLowerCase(), written) ?? written);
}

/** The hashes of the placeholders in a text, however they are spelled. */
export function hashesIn(text: string): string[] {
  return [...text.matchAll(spelled)].map((match) => (match[1] ?? "").toLowerCase());
}

/** Placeholders written exactly as they are made, each with its hash. */
export function exactIn(text: string): { written: string; hash: string }[] {
  return [...text.matchAll(exact)].map(([written]) => ({ written, hash: written.slice(written.lastIndexOf("_") + 1) }));
}

/** A character that no detector takes for anything. */
const filler = "\uE000";

/** The text with every placeholder blotted out, of the same length. */
export function blotted(text: string): string {
  return text.replace(spelled, (written) => filler.repeat(written.length));
}

export function isBlotted(text: string): boolean {
  return text.includes(filler);
}

/** What may stand between the word and the hash, from its start. */
const jointStart = /^(?:\\{0,2}|\\{0,2}_|%|%5|%5f|-)$/;
const hashStart = new RegExp(String.raw`^${joint}${consonant}(?:\d{0,2}|\d{3}(?:${consonant}(?:\d{0,2}|\d{3})?)?)$`);
const lowered = Object.values(words).map((word) => word.toLowerCase());
/** Longer than the start of any placeholder. */
const longest = Math.max(...lowered.map((word) => word.length)) + 3 + 9;

/** Where the end of a text may be the start of a placeholder that goes on; the text's length when nowhere. */
export function unfinishedFrom(text: string): number {
  // The end of a whole one may look like the start of another.
  const tail = Math.max(0, text.length - 2 * longest);
  const behind = [...text.slice(tail).matchAll(spelled)].at(-1);
  const whole = behind === undefined ? 0 : tail + behind.index + behind[0].length;
  for (let at = Math.max(whole, text.length - longest); at < text.length; at += 1) {
    if (isStart(text.slice(at).toLowerCase())) return at;
  }
  return text.length;
}

function isStart(text: string): boolean {
  return lowered.some((word) => {
    if (text.length <= word.length) return word.startsWith(text);
    if (!text.startsWith(word)) return false;
    const rest = text.slice(word.length);
    return jointStart.test(rest) || hashStart.test(rest);
  });
}
