import { valueAt, valueShape, type ValueShape } from "./cue-value.ts";
import { type Report, weights } from "./candidate.ts";

const months =
  "jan(?:uary|uar|vier|eiro|ner)?|jän(?:ner)?|feb(?:ruary|ruar|rero|braio)?|fév(?:rier)?|fev(?:ereiro)?|mar(?:ch|s|zo|ço)?|märz|mrz|apr(?:il|ile)?|avr(?:il)?|abr(?:il)?|may|mai|mayo|maggio|maio|" +
  "june?|juni|juin|junio|giugno|junho|july?|juli|juillet|julio|luglio|julho|aug(?:ust)?|août|ago(?:sto)?|sep(?:t|tember|tembre|tiembre)?|set(?:embre|tembre|embro)?|oct(?:ober|obre|ubre)?|okt(?:ober)?|ott(?:obre)?|out(?:ubro)?|" +
  "nov(?:ember|embre|iembre|embro)?|dec(?:ember)?|dez(?:ember|embro)?|déc(?:embre)?|dic(?:iembre|embre)?|gen(?:naio)?|ene(?:ro)?|lug|giu|mag";
const year = "(?:19|20)\\d{2}";
const forms = [
  `${year}[-/.](?:0?[1-9]|1[0-2])[-/.](?:0?[1-9]|[12]\\d|3[01])`,
  `(?:0?[1-9]|[12]\\d|3[01])\\s?[-/.]\\s?(?:0?[1-9]|[12]\\d|3[01])\\s?[-/.]\\s?(?:${year}|\\d{2})`,
  `(?:0?[1-9]|[12]\\d|3[01])(?:st|nd|rd|th|er|º|°|\\.)?[ -](?:of |de |di |do )?(?:${months})\\.?(?:,| de| del| of)?[ -]${year}`,
  `(?:${months})\\.? (?:0?[1-9]|[12]\\d|3[01])(?:st|nd|rd|th)?,? ${year}`,
  `(?:19|20)\\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\\d|3[01])`,
];

let shape: ValueShape | null = null;

/** Finds a date after a birth cue, numeric or with a month name in six languages. A year alone does not count. */
export function findBirthDateAfterCue(text: string, at: number, report: Report): void {
  shape ??= valueShape(forms.join("|"), "i");
  const near = valueAt(text, at, shape.tight);
  const value = near ?? valueAt(text, at, bornIn);
  if (value !== null) report(value.start, value.end, "birth_date", near === null ? weights.loose + 0.5 : weights.tight);
}

/** Allows a place in between (`born in Lyon on 3 March 1985`), but no digits. */
const bornIn = new RegExp(`[^\\d\\n.;]{0,40}?(?<![\\p{L}\\d])(${forms.join("|")})(?![\\p{L}\\d])`, "yui");
