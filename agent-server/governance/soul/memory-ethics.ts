import type { Redactor } from "../../security/security.ts";

/** Finds content that `memory_ethics` forbids, or returns null. `personal`: the owner may request to store it. */
export type MemoryCheck = (content: string) => { readonly rule: string; readonly message: string; readonly personal: boolean } | null;

const mentionsSecrets = /secret|credential|password|passphrase|\bkeys?\b|\btokens?\b/i;
const mentionsPersonalData = /personal|\bpii\b|private|privacy|e-?mail|address|telephone|phone|financial|bank|account|card|\biban\b/i;
/** A sentence that leaves the choice to the owner: "unless the owner asks for it", "without my consent". */
const allowsOwnerRequest =
  /\b(?:unless|until|except|without)\b[^.;]*\b(?:owner|user|i|my|me|they|he|she)\b[^.;]*?(?:\bask|\bwant|\bwish|\bsay|\btell|\brequest|\bconsent|\bagree|\bpermi|\ballow|\bapprov)/i;

/**
 * Compiles the `memory_ethics` of a soul into a check. A sentence about secrets forbids everything the redactor finds; one about
 * personal or financial data forbids email addresses, international phone numbers, IBANs and card numbers. The check does not
 * recognize names, postal addresses, birth dates, health or beliefs: those sentences only reach the model. Personal data is
 * `personal` only where the sentence leaves the choice to the owner.
 */
export function compileMemoryEthics(sentences: readonly string[], redactor: Pick<Redactor, "text">): MemoryCheck {
  const onSecrets = sentences.find((sentence) => mentionsSecrets.test(sentence)) ?? null;
  const people = sentences.filter((sentence) => mentionsPersonalData.test(sentence));
  // The strictest sentence applies.
  const onPeople = people.find((sentence) => !allowsOwnerRequest.test(sentence)) ?? people[0] ?? null;
  const personal = onPeople !== null && allowsOwnerRequest.test(onPeople);
  const forbidden = (what: string, sentence: string, ask: boolean) => ({
    rule: "soul.memory-ethics",
    message: `The text contains ${what}. Your soul says: ${sentence}`,
    personal: ask,
  });
  return (content) => {
    if (onSecrets !== null && redactor.text(content).findings.length > 0) return forbidden("a secret", onSecrets, false);
    if (onPeople === null) return null;
    const found = personalData(content);
    return found === null ? null : forbidden(found, onPeople, personal);
  };
}

/** The kind of personal data in a text; null when no known format matches. */
function personalData(content: string): string | null {
  // Normalizes spellings that disguise the data.
  const text = content.normalize("NFKC").replaceAll(/[\u200b-\u200d\u2060\u00ad]/g, "");
  for (const [address] of text.matchAll(email)) if (!isMachineAddress(address)) return "an email address";
  for (const [number] of text.matchAll(iban)) if (isIban(number.replaceAll(/[ -]/g, ""))) return "an account number (IBAN)";
  for (const [number] of text.matchAll(card)) if (isCard(number.replaceAll(/[ -]/g, ""))) return "a card number";
  for (const [number] of text.matchAll(phone)) {
    const digits = number.replaceAll(/\D/g, "").length;
    if (digits >= 9 && digits <= 15) return "a phone number";
  }
  return null;
}

const email = /(?<![\w.+-])[A-Za-z0-9][\w.+-]{0,63}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,5}\.[A-Za-z]{2,24}(?![\w-])/g;
/** International form only: national numbers look like any other number. */
const phone = /(?<![\w.+-])(?:\+[1-9]|00 ?[1-9]\d{0,2}[ ./()-])(?:[ ./()-]{0,2}\d){6,14}(?![\w-])/g;
const iban = /(?<!\w)[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]){11,30}(?!\w)/g;
const card = /(?<![\w.-])[2-6]\d{3}(?:[ -]?\d){9,15}(?![\w-]|\.\d)/g;

/** Repository remotes and reserved example addresses are not personal. */
function isMachineAddress(address: string): boolean {
  return /^git@|(?:@|\.)example(?:\.(?:com|org|net))?$|\.(?:example|test|invalid|localhost)$|^(?:no-?reply|donotreply)[@+]|@users\.noreply\./i.test(
    address,
  );
}

/** Verifies the IBAN checksum of 15 to 34 characters. */
function isIban(text: string): boolean {
  let remainder = 0;
  for (const char of text.slice(4) + text.slice(0, 4)) {
    const value = Number.parseInt(char, 36);
    remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97;
  }
  return remainder === 1;
}

/** Luhn checksum, with the lengths and prefixes of issued cards. */
function isCard(digits: string): boolean {
  if (
    !/^(?:4\d{12}(?:\d{3}){0,2}|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|6(?:011|4[4-9]\d|5\d\d)\d{12}|35\d{14})$/.test(
      digits,
    )
  )
    return false;
  let sum = 0;
  for (let index = 0; index < digits.length; index += 1) {
    const digit = Number(digits[digits.length - 1 - index]);
    const doubled = index % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}
