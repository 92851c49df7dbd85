import { valueAt, valueShape, type ValueShape } from "./cue-value.ts";
import { type Report, weights } from "./candidate.ts";

const forms = [
  "[A-ZÄÖÜ]{1,3}[- ][A-Z]{1,2}[- ]?\\d{1,4}[EH]?", // Germany: B-MW 1234
  "[A-Z]{2}[- ]?\\d{3}[- ]?[A-Z]{2}", // France, Italy: AB-123-CD
  "\\d{4}[- ]?[A-Z]{3}", // Spain: 1234 BCD
  "[A-Z]{1,2}[- ]\\d{4}[- ][A-Z]{1,2}", // Spain before 2000
  "[A-Z]{2}\\d{2} ?[A-Z]{3}", // Great Britain: AB12 CDE
  "[A-Z]{3}[- ]?\\d{4}", // Brazil, United States
  "[A-Z]{3}\\d[A-Z]\\d{2}", // Brazil: ABC1D23
  "(?:\\d{2}|[A-Z]{2})-(?:\\d{2}|[A-Z]{2})-(?:\\d{2}|[A-Z]{2})", // Portugal: 12-AB-34
  "\\d[A-Z]{3}\\d{3}", // California: 7ABC123
  "[A-Z]{2}[- ]?\\d{2}[- ]?[A-Z]{1,2}[- ]?\\d{4}", // India: MH 12 AB 1234
  "[A-Z]{2,3}[- ]\\d{3,5}[A-Z]?", // Poland, Switzerland
  "\\d{1,2}-[A-Z]{3}-\\d{1,2}|[A-Z]-\\d{3}-[A-Z]{2}|[A-Z]{2}-\\d{3}-[A-Z]", // Netherlands
  "\\d{3,4} ?[A-Z]{2,3} ?\\d{2}", // France before 2009
];

let shape: ValueShape | null = null;

/** Finds a license plate after a cue. */
export function findPlateAfterCue(text: string, at: number, report: Report): void {
  shape ??= valueShape(forms.join("|"));
  const near = valueAt(text, at, shape.tight);
  const value = near ?? valueAt(text, at, shape.loose);
  if (value !== null && /[A-Z]/.test(value.text) && /\d{2}/.test(value.text))
    report(value.start, value.end, "plate", near === null ? weights.loose : weights.tight);
}
