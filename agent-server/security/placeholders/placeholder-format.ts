import type { PiiKind } from "../pii/types.ts";

/** The kind of value that a placeholder replaces: a secret, or a kind of personal data. */
export type HiddenKind = "secret" | PiiKind;

/**
 * Prefix of a placeholder. Each contains a vowel, which hashes do not, so that no placeholder starts inside another. None is a name that
 * the redactor associates with secrets, so that text next to a placeholder is not mistaken for one.
 */
const prefixes: Record<HiddenKind, string> = {
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
/** The separator as models write it: an underscore, possibly escaped for Markdown or a URL, a dash, or nothing. */
const joint = String.raw`(?:\\{0,2}_|%5f|-)?`;
const anyPrefix = Object.values(prefixes).join("|");

/** Matches placeholders in every spelling; the group is the hash. */
const anySpelling = new RegExp(`(?:${anyPrefix})${joint}(${hashSource})`, "gi");
const nothingElse = new RegExp(`^(?:${anyPrefix})${joint}${hashSource}$`, "i");
/** Matches the exact spelling. */
const exact = new RegExp(`(?<![A-Za-z0-9_])(?:${anyPrefix})_${hashSource}(?![A-Za-z0-9])`, "g");

/** `EMAIL_k482p137f`: a prefix and about 33 bits of a keyed hash. Six tokens, without characters that need escaping. */
export function placeholderOf(kind: HiddenKind, hash: string): string {
  return `${prefixes[kind]}_${hash}`;
}

/** Formats a hash from at least six random bytes. */
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

/** True for a text that has the form of exactly one placeholder, known or not. */
export function looksHidden(text: string): boolean {
  return text.length <= 40 && nothingElse.test(text);
}

/** Replaces each placeholder with the result of `by`; null leaves it unchanged. */
export function replacePlaceholders(text: string, by: (hash: string, written: string) => string | null): string {
  return text.replace(anySpelling, (written: string, hash: string) => by(hash.toLowerCase(), written) ?? written);
}

/** Hashes of the placeholders in a text, in any spelling. */
export function hashesIn(text: string): string[] {
  return [...text.matchAll(anySpelling)].map((match) => (match[1] ?? "").toLowerCase());
}

/** Placeholders in their exact spelling, each with its hash. */
export function exactIn(text: string): { written: string; hash: string }[] {
  return [...text.matchAll(exact)].map(([written]) => ({ written, hash: written.slice(written.lastIndexOf("_") + 1) }));
}

/** A private-use character that no detector matches. */
const mask = "\uE000";

/** Masks every placeholder in a text; the length stays the same. */
export function maskPlaceholders(text: string): string {
  return text.replace(anySpelling, (written) => mask.repeat(written.length));
}

export function isMasked(text: string): boolean {
  return text.includes(mask);
}

/** Matches the start of the separator between prefix and hash. */
const jointStart = /^(?:\\{0,2}|\\{0,2}_|%|%5|%5f|-)$/;
const hashStart = new RegExp(String.raw`^${joint}${consonant}(?:\d{0,2}|\d{3}(?:${consonant}(?:\d{0,2}|\d{3})?)?)$`);
const lowered = Object.values(prefixes).map((word) => word.toLowerCase());
/** Maximum length of an incomplete placeholder. */
const longest = Math.max(...lowered.map((word) => word.length)) + 3 + 9;

/** Position of an incomplete placeholder at the end of a text; the text's length if there is none. */
export function unfinishedFrom(text: string): number {
  // The end of a complete placeholder may look like the start of another.
  const tail = Math.max(0, text.length - 2 * longest);
  const behind = [...text.slice(tail).matchAll(anySpelling)].at(-1);
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
