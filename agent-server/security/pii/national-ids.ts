import { type ValueShape, valueAt, valueShape } from "./cue-value.ts";
import { type Report, weights } from "./candidate.ts";
import * as check from "./check-digits.ts";

interface IdRule {
  readonly shape: string;
  /** Validates the number in upper case, without spaces, dots, dashes and slashes. */
  readonly check?: (number: string) => boolean;
  /** Requires validation even directly after the cue, because the cue is ambiguous. */
  readonly strict?: boolean;
}

const sep = "[ .\\-]?";
const document = "(?=[A-Z\\d]*\\d[A-Z\\d]*\\d[A-Z\\d]*\\d)[A-Z\\d]{6,12}";
const licence = "(?=(?:[A-Z -]*\\d){4})[A-Z\\d]{2,10}(?:[ -]?[A-Z\\d]{2,8}){0,3}";
const dni = `(?:\\d{2}\\.?\\d{3}\\.?\\d{3}[ -]?[A-Za-z]|[XYZxyz][ -]?\\d{7}[ -]?[A-Za-z])`;
const nir = "[1-478] ?\\d{2} ?\\d{2} ?(?:\\d{2}|2[AB]) ?\\d{3} ?\\d{3}(?: ?/? ?\\d{2})?";
const cpf = "\\d{3}\\.?\\d{3}\\.?\\d{3}-?\\d{2}";
const cnpj = "\\d{2}\\.?\\d{3}\\.?\\d{3}/?\\d{4}-?\\d{2}";

/** Number formats by the ids in cues.ts. */
const rules: Readonly<Record<string, readonly IdRule[]>> = {
  us_ssn: [{ shape: "\\d{3}[- ]\\d{2}[- ]\\d{4}|\\d{9}", check: (number) => check.isSsn(number) || number === "123456789", strict: true }],
  de_tax: [{ shape: `\\d{2}${sep}\\d{3}${sep}\\d{3}${sep}\\d{3}`, check: check.isSteuerId }],
  de_tax_number: [{ shape: "\\d{2,3}[/ ]\\d{3,4}[/ ]\\d{4,5}|\\d{10,11}" }],
  de_social: [{ shape: "\\d{2} ?\\d{6} ?[A-Z] ?\\d{3}", check: check.isSozialversicherung }],
  de_document: [{ shape: "[CFGHJKLMNPRTVWXYZ](?=(?:[A-Z]*\\d){3})[CFGHJKLMNPRTVWXYZ\\d]{8}\\d?D?|[A-Z]\\d{7,9}" }],
  fr_nir: [{ shape: nir, check: check.isNir }],
  fr_document: [{ shape: "\\d{2}[A-Z]{2}\\d{5}|\\d{12,13}|(?=(?:[A-Z]*\\d){3})[A-Z\\d]{9}" }],
  es_dni: [
    { shape: dni, check: check.isDni },
    { shape: "\\d{3} ?\\d{3} ?\\d{3}", check: check.isNif, strict: true },
  ],
  es_social: [{ shape: "\\d{2}[ /]?\\d{8,10}(?:[ /]?\\d{2})?" }],
  it_cf: [{ shape: "[A-Z]{6} ?[\\dL-NP-V]{2}[A-EHLMPRST][\\dL-NP-V]{2} ?[A-Z][\\dL-NP-V]{3}[A-Z]", check: check.isCodiceFiscale }],
  it_document: [{ shape: "[A-Z]{2} ?\\d{5} ?[A-Z]{2}|[A-Z]{2} ?\\d{7}" }],
  uk_nino: [{ shape: "[A-Z]{2} ?\\d{2} ?\\d{2} ?\\d{2} ?[A-D]", check: check.isNino }],
  uk_nhs: [{ shape: "\\d{3}[ -]?\\d{3}[ -]?\\d{4}", check: check.isNhs }],
  nl_bsn: [{ shape: "\\d{3}[ .]?\\d{3}[ .]?\\d{3}|\\d{4}\\.\\d{2}\\.\\d{3}", check: check.isBsn }],
  pl_pesel: [{ shape: "\\d{11}", check: check.isPesel }],
  pt_nif: [{ shape: "\\d{3}[ .]?\\d{3}[ .]?\\d{3}", check: check.isNif }],
  pt_card: [{ shape: "\\d{8} ?\\d ?[A-Z\\d]{2}\\d", check: (number) => /[A-Z]/.test(number) }],
  br_cpf: [
    { shape: cnpj, check: check.isCpf },
    { shape: cpf, check: check.isCpf },
  ],
  br_rg: [{ shape: "\\d{1,2}\\.\\d{3}\\.\\d{3}-?[\\dXx]" }],
  in_aadhaar: [{ shape: "[2-9]\\d{3}[ -]?\\d{4}[ -]?\\d{4}", check: check.isAadhaar }],
  in_pan: [{ shape: "[A-Z]{3}[ABCFGHLJPT][A-Z]\\d{4}[A-Z]" }],
  ch_ahv: [{ shape: "756\\.?\\d{4}\\.?\\d{4}\\.?\\d{2}", check: check.isAhv }],
  passport: [{ shape: document }],
  licence: [{ shape: licence }],
  national: [{ shape: "(?=(?:[A-Z./ -]*\\d){6})[A-Z\\d]{1,3}(?:[./-]?[A-Z\\d]){5,17}|\\d{2,6}(?: \\d{2,6}){2,5}" }],
};

let shapes: Map<string, readonly (IdRule & { readonly value: ValueShape })[]> | null = null;

function shapesOf(id: string): readonly (IdRule & { readonly value: ValueShape })[] {
  shapes ??= new Map(Object.entries(rules).map(([name, list]) => [name, list.map((rule) => ({ ...rule, value: valueShape(rule.shape) }))]));
  return shapes.get(id) ?? [];
}

export function bare(number: string): string {
  return number.replace(/[^A-Za-z0-9]/g, "").toUpperCase();
}

/** Finds a number after a cue: any with the right shape directly after it, or a valid one farther away. */
export function findIdAfterCue(text: string, at: number, id: string, report: Report): void {
  for (const { value, check: passes, strict } of shapesOf(id)) {
    const near = valueAt(text, at, value.tight);
    if (near !== null) {
      const number = bare(near.text);
      const passed = passes?.(number) === true;
      if (!passed && (strict === true || isNoNumber(number))) continue;
      report(near.start, near.end, "national_id", passed ? weights.checked : weights.tight + 0.5);
      return;
    }
    if (passes === undefined) continue;
    const far = valueAt(text, at, value.loose);
    if (far !== null && passes(bare(far.text))) {
      report(far.start, far.end, "national_id", weights.tight);
      return;
    }
  }
}

function isNoNumber(number: string): boolean {
  const digits = number.replace(/\D/g, "");
  return /^(\d)\1*$/.test(digits) || digits.length < 4;
}

/** Formats that are recognized without a cue, because a match by chance is very unlikely. */
const byForm: readonly { readonly pattern: RegExp; readonly check: (number: string) => boolean }[] = [
  { pattern: /(?<![\w.-])\d{3}-\d{2}-\d{4}(?![\w.-]|\.\d)/g, check: check.isSsn },
  { pattern: /(?<![\w.-])\d{3}\.\d{3}\.\d{3}-\d{2}(?![\w-])/g, check: check.isCpf },
  { pattern: /(?<![\w.-])\d{2}\.\d{3}\.\d{3}\/\d{4}-\d{2}(?![\w-])/g, check: check.isCpf },
  { pattern: /(?<![\w.-])756\.\d{4}\.\d{4}\.\d{2}(?![\w-])/g, check: check.isAhv },
  { pattern: /(?<![\w.-])(?:\d{2}\.?\d{3}\.?\d{3}|[XYZ]-?\d{7})[ -]?[A-Z](?![\w-])/g, check: check.isDni },
  { pattern: /(?<![\w.-])[12] ?\d{2} ?(?:0[1-9]|1[0-2]) ?(?:\d{2}|2[AB]) ?\d{3} ?\d{3} ?\d{2}(?![\w.-])/g, check: check.isNir },
  {
    pattern: /(?<![\w.-])[A-Z]{6} ?\d[\dL-NP-V][A-EHLMPRST][\dL-NP-V]{2} ?[A-Z][\dL-NP-V]{3}[A-Z](?![\w-])/g,
    check: check.isCodiceFiscale,
  },
  { pattern: /(?<![\w.-])\d{2} ?(?:0[1-9]|[12]\d|3[01])(?:0[1-9]|1[0-2])\d{2} ?[A-Z] ?\d{3}(?![\w-])/g, check: check.isSozialversicherung },
  { pattern: /(?<![\w.-])[A-Z]{2} \d{2} \d{2} \d{2} [A-D](?![\w-])/g, check: check.isNino },
];

/** Finds national numbers without a cue. */
export function findIdsByForm(text: string, report: Report): void {
  for (const { pattern, check: passes } of byForm) {
    pattern.lastIndex = 0;
    for (let match = pattern.exec(text); match !== null; match = pattern.exec(text))
      if (passes(bare(match[0]))) report(match.index, pattern.lastIndex, "national_id", weights.checked);
  }
}
