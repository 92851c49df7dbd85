import cardValidator from "card-validator";
import { countrySpecs, validateIBAN, ValidationErrorsIBAN } from "ibantools";
import { type ValueShape, valueAt, valueShape } from "./cue-value.ts";
import { type Report, weights } from "./candidate.ts";
import { isCcc, isFiller, isRouting } from "./check-digits.ts";
import { bare } from "./national-ids.ts";

/** Finds IBANs, grouped or not; checks country, length and check digits. */
export function findIbans(text: string, report: Report): void {
  const head = /(?<![A-Za-z0-9])([A-Z]{2}) ?(\d{2})(?=[ \u00a0-]?[A-Z0-9])/g;
  for (let match = head.exec(text); match !== null; match = head.exec(text)) {
    const length = lengthOf(match[1] ?? "");
    if (length === null) continue;
    let end = head.lastIndex;
    let iban = `${match[1] ?? ""}${match[2] ?? ""}`;
    while (iban.length < length && end < text.length) {
      const gap = /[ \u00a0-]/.test(text.charAt(end)) ? 1 : 0;
      const sign = text.charAt(end + gap);
      if (!/[A-Z0-9]/.test(sign)) break;
      iban += sign;
      end += gap + 1;
    }
    if (iban.length === length && !/[A-Za-z0-9]/.test(text.charAt(end)) && isIban(iban))
      report(match.index, end, "iban", weights.checked + 1);
  }
}

/** Checks country, length, format and IBAN check digits. The bank's own check digits are ignored, because typos are still personal data. */
function isIban(iban: string): boolean {
  return validateIBAN(iban).errorCodes.every((code) => code === ValidationErrorsIBAN.WrongAccountBankBranchChecksum);
}

function lengthOf(country: string): number | null {
  return (countrySpecs as Readonly<Record<string, { chars: number | null } | undefined>>)[country]?.chars ?? null;
}

/** Finds payment cards by brand, length and check digit. Ungrouped digits without a cue must have a common brand and length. */
export function findCards(text: string, report: Report): void {
  for (const { index, 0: match } of text.matchAll(
    /(?<![\w.,+/-]|[\w$€£] )\d{4}(?:([ -])\d{4}\1\d{4}\1\d{4}(?:\1\d{3})?|([ -])\d{6}\2\d{4,5})(?![\w]|[-.,]\d| [\dA-F]{4}(?!\w))|(?<![\w.,+/#-])\d{14,16}(?![\w.]|[-,]\d)/g,
  )) {
    const number = match.replace(/\D/g, "");
    if (!isCard(number)) continue;
    const grouped = number.length !== match.length;
    // Round numbers are usually amounts or limits.
    if (!grouped && /0{8}/.test(number)) continue;
    if (!grouped && !/^(?:4\d{15}|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|6011\d{12}|65\d{14})$/.test(number)) continue;
    report(index, index + match.length, "card", weights.checked);
  }
}

let cardShape: ValueShape | null = null;

export function findCardAfterCue(text: string, at: number, report: Report): void {
  cardShape ??= valueShape("\\d(?:[ -]?\\d){12,18}");
  const value = valueAt(text, at, cardShape.tight) ?? valueAt(text, at, cardShape.loose);
  if (value !== null && isCard(bare(value.text))) report(value.start, value.end, "card", weights.checked);
}

function isCard(number: string): boolean {
  return !isFiller(number) && cardValidator.number(number).isValid;
}

let accountShapes: { readonly plain: ValueShape; readonly sortCode: ValueShape } | null = null;

/** Finds bank accounts after cues: account and routing numbers, sort codes, Kontonummer and BLZ, RIB, CCC, conta. */
export function findAccountAfterCue(text: string, at: number, cue: string, report: Report): void {
  accountShapes ??= {
    plain: valueShape("\\d(?:[ .\\-/]?[\\dA-Z]){3,24}(?<=[\\dXx])", ""),
    sortCode: valueShape("\\d{2}-\\d{2}-\\d{2}"),
  };
  if (/sort ?code|blz|bankleitzahl/i.test(cue)) {
    const code = valueAt(text, at, accountShapes.sortCode.tight) ?? valueAt(text, at, accountShapes.plain.tight);
    if (code !== null && /^(?:\d{6}|\d{8})$/.test(bare(code.text))) report(code.start, code.end, "account", weights.tight);
    return;
  }
  const value = valueAt(text, at, accountShapes.plain.tight);
  // A number on the next line is unrelated.
  if (value === null || /[\n\t]/.test(text.slice(at, value.start)) || text.charAt(value.end) === "-") return;
  const number = bare(value.text);
  const digits = number.replace(/\D/g, "").length;
  if (/^\d{4}-\d{2}-\d{2}|^\d{1,2}[./]\d{1,2}[./]\d{2,4}$/.test(value.text) || /^(\d)\1*$/.test(number) || digits < number.length - 2)
    return;
  // Short cues are ambiguous ("account 12345", "conta 3 vezes"), so the number must be long or grouped.
  const short = /^(?:account|acct|compte|cuenta|conto|conta|konto|cc|rib|aba|routing|kto)$/i.test(cue);
  const enough = short ? digits >= 7 || (/^\d{4,}-[\dXx]$/.test(value.text) && digits >= 5) : digits >= 4;
  if ((short && isFiller(number)) || !enough || digits > 26) return;
  if (/routing|aba/i.test(cue) && !isRouting(number)) return;
  report(value.start, value.end, "account", isCcc(number) ? weights.checked : weights.tight);
}
