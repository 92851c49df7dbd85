import { valueAt, valueShape, type ValueShape } from "./cue-value.ts";
import { type Report, weights } from "./candidate.ts";
import { isFiller } from "./check-digits.ts";
import type { Language } from "./cues.ts";

/**
 * Checks whether a number is valid in a country (`DE`) or, without one, in international format. Null until the numbering plans are
 * loaded; then shape and length decide.
 */
export type PhoneCheck = ((number: string, region: string | null) => boolean) | null;

const regions: Readonly<Record<Language, readonly string[]>> = {
  en: ["US", "GB", "IN", "AU", "IE", "NZ", "ZA", "SG"],
  de: ["DE", "AT", "CH"],
  fr: ["FR", "BE", "CH", "LU"],
  es: ["ES", "MX", "AR", "CO", "CL", "PE"],
  it: ["IT", "CH"],
  pt: ["PT", "BR"],
  nl: ["NL", "BE"],
  pl: ["PL"],
};

/** Separators between digits of one number; ` / ` separates two numbers. */
const gap = String.raw`(?:[ \u00a0\u2009\u202f]|[ \u00a0]?[().\-–][ \u00a0]?|\/){0,2}`;
const international = new RegExp(
  String.raw`(?<![\w+.])(?:\+ ?[1-9]|\(\+?[1-9]\d{0,2}\) ?\d|\(?00[1-9])(?:${gap}\d){6,14}(?![\w]|[-.]\d)`,
  "g",
);

/** Distinctive national formats by country. */
const national: readonly (readonly [string, RegExp])[] = [
  ["US", /(?<![\w.+/-]|\d )(?:1[-. ])?(?:\([2-9]\d{2}\) ?|[2-9]\d{2}-)[2-9]\d{2}[-. ]\d{4}(?![\w]|[-.]\d)/g],
  ["FR", /(?<![\w.+/-]|\d )0[1-9](?:[ \u00a0]\d{2}){4}(?![\w]|[-. ]\d)|(?<![\w.+/-])0[1-9](?:\.\d{2}){4}(?![\w]|[-.]\d)/g],
  ["BR", /(?<![\w.+/-])\((?:1[1-9]|[2-9]\d)\) ?9?\d{4}[- ]\d{4}(?![\w]|[-.]\d)/g],
  [
    "DE",
    /(?<![\w.+/-])(?:01[567]\d{1,2} ?[ /-] ?\d{3,4} ?\d{3,5}|0[2-9]\d{1,4} ?\/ ?\d{3,5}[ -]?\d{1,5}|\(0[1-9]\d{1,4}\) ?\d{3,8}(?:[ -]\d{1,5})?)(?![\w]|[-.]\d)/g,
  ],
  ["GB", /(?<![\w.+/-]|\d )(?:07\d{3} \d{3} ?\d{3}|02\d \d{4} \d{4}|01\d{3} \d{6}|\(0\d{2,4}\) \d{3,4} \d{3,4})(?![\w]|[-. ]\d)/g],
  ["ES", /(?<![\w.+/-]|\d )[679]\d{2}(?: \d{2}){3}(?![\w]|[-. ]\d)/g],
];

/** Finds numbers in international format and in distinctive national formats. */
export function findPhonesByForm(text: string, check: PhoneCheck, report: Report): void {
  international.lastIndex = 0;
  for (let match = international.exec(text); match !== null; match = international.exec(text)) {
    const number = normalize(match[0]);
    if (!isWorldwide(number, check) || /\.\d$/.test(match[0]) || isDigitsOfHex(text, match.index)) continue;
    // `00` is also a prefix of other numbers, so phone numbers must be grouped.
    if (!match[0].includes("+") && (!/[ ()/-]/.test(match[0]) || check === null)) continue;
    report(match.index, international.lastIndex, "phone", weights.checked);
  }
  for (const [region, pattern] of national) {
    pattern.lastIndex = 0;
    for (let match = pattern.exec(text); match !== null; match = pattern.exec(text))
      if (isNational(match[0], region, check)) report(match.index, pattern.lastIndex, "phone", weights.tight);
  }
}

function isNational(number: string, region: string, check: PhoneCheck): boolean {
  const digits = number.replace(/\D/g, "");
  if (isReserved(region, digits) || isFiller(digits) || (region === "US" && /^1?\d{3}555/.test(digits))) return false;
  return check === null ? digits.length >= 9 : check(digits, region);
}

function normalize(number: string): string {
  const digits = number.replace(/\(0\)/, "").replace(/[^\d+]/g, "");
  return digits.startsWith("+") ? digits : `+${digits.replace(/^00/, "")}`;
}

function isWorldwide(number: string, check: PhoneCheck): boolean {
  const digits = number.slice(1);
  if (digits.length < 8 || digits.length > 15 || /(\d)\1{6}/.test(digits)) return false;
  const [, country = "", rest = ""] = /^(1|44|49|33|34|39)(\d+)$/.exec(digits) ?? [];
  const region = { 1: "US", 44: "GB", 49: "DE", 33: "FR", 34: "ES", 39: "IT" }[country];
  if (region !== undefined && isReserved(region, region === "US" || region === "IT" ? rest : `0${rest}`)) return false;
  return check === null
    ? /^(?:1|7|2[07]|3[0-4]|36|39|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|2[1-69]\d|3[578]\d|42\d|5[09]\d|6[7-9]\d|8[058]\d|9[679]\d)/.test(
        digits,
      )
    : check(number, null);
}

/** Numbers reserved for fiction and documentation: 555-01xx and the ranges of Ofcom and Arcep. */
function isReserved(region: string, digits: string): boolean {
  if (region === "US") return /^1?(?:\d{3})?55501\d{2}$|^1?555\d{7}$/.test(digits);
  if (region === "GB") return /^0?(?:7700900\d{3}|1632960\d{3}|2079460\d{3}|1[1-9]1?\d?4960\d{3}|8081570\d{3}|9098790\d{3})$/.test(digits);
  if (region === "FR")
    return /^0?(?:[1-5]99000\d{3}|[1-5]99[0-9]{1}00\d{3}|19900\d{4}|26191\d{4}|35301\d{4}|46571\d{4}|53649\d{4}|63998\d{4})$/.test(digits);
  return (
    region === "DE" &&
    /^0?(?:3023125\d{3}|6990009\d{3}|4066969\d{3}|2214710\d{3}|8999998\d{3}|1515255\d{3,4}|1529920\d{3,4}|17000\d{5}|1719392\d{3,4})$/.test(
      digits,
    )
  );
}

function isDigitsOfHex(text: string, start: number): boolean {
  return /[0-9a-fA-F]$/.test(text.charAt(start - 1));
}

let shape: ValueShape | null = null;
const another = new RegExp(String.raw`\s?(?:\/|,|;|\||or|oder|ou|o|y|e|and|und|et)\s{0,2}(\(?\+?\d(?:${gap}\d){5,14})(?![\p{L}\d])`, "yu");

/** Finds numbers after a cue such as `Tel.` or `llámame`. */
export function findPhoneAfterCue(text: string, at: number, language: Language, check: PhoneCheck, report: Report): void {
  shape ??= valueShape(String.raw`\(?\+?\d(?:${gap}\d){5,14}`);
  const near = valueAt(text, at, shape.tight);
  const value = near ?? valueAt(text, at, shape.loose);
  // A number after # is a color.
  if (value === null || text.charAt(value.start - 1) === "#" || !isPhoneNumber(value.text, language, near !== null, check)) return;
  // The skipped punctuation may include the opening parenthesis of the area code.
  const bracket = /^[^(]*\)/.test(value.text) && text.charAt(value.start - 1) === "(" ? 1 : 0;
  report(value.start - bracket, value.end, "phone", near === null ? weights.loose : weights.tight);
  const second = valueAt(text, value.end, another);
  if (second !== null && isPhoneNumber(second.text, language, false, check)) report(second.start, second.end, "phone", weights.loose);
}

/** True for dates, times, IP addresses and versions, which look similar. */
const somethingElse =
  /^\(?(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?:\D|$)|\d{1,2}[-/.]\d{1,2}[-/.](?:19|20)?\d{2}$|\d{1,3}(?:\.\d{1,3}){3}$|\d+\.\d+$|\d{1,3}(?:\.\d{3})+$)/;

function isPhoneNumber(number: string, language: Language, near: boolean, check: PhoneCheck): boolean {
  const digits = number.replace(/\D/g, "");
  if (digits.length < 7 || digits.length > 15 || somethingElse.test(number) || isFiller(digits) || /^0{4}|(\d)\1{6}/.test(digits))
    return false;
  if (number.includes("+") || /^\(?00[1-9]/.test(number)) {
    if (isWorldwide(normalize(number), check)) return true;
    if (check !== null && !near) return false;
  }
  const known = regions[language];
  if (known.some((region) => isReserved(region, digits)) || /^[01]?555\d{4}$/.test(digits)) return false;
  const plausible =
    near && /^(?:\(|0|\d{2,4}[ ./-])/.test(number) && digits.length <= 13 && /[ ()./-]/.test(number) && !/^1234?5/.test(digits);
  if (check === null) return plausible || (near && digits.length >= 9 && digits.length <= 12 && !/^[01]?123456/.test(digits));
  return known.some((region) => check(digits, region)) || plausible;
}
