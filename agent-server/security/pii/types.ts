/** Kinds of personal data. */
export const piiKinds = [
  "email",
  "phone",
  "iban",
  "card",
  "national_id",
  "ip_address",
  "mac_address",
  "address",
  "person",
  "birth_date",
  "account",
  "plate",
  "coordinates",
  /** A match of a custom pattern (config/redaction.yaml). */
  "custom",
] as const;
export type PiiKind = (typeof piiKinds)[number];

/** A range of a text in UTF-16 units; `end` is exclusive. Matches are sorted and do not overlap. */
export interface PiiMatch {
  readonly start: number;
  readonly end: number;
  readonly kind: PiiKind;
  /** For `custom`: the pattern's name, such as `customer_number`. */
  readonly name?: string;
}

/** Finds personal data with rules: pure, synchronous, never throws (M6). */
export interface PiiDetector {
  find(text: string): PiiMatch[];
}
