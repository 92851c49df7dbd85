/** Kinds of personal data that are found. */
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
  /** What a pattern of the owner's found (config/redaction.yaml). */
  "custom",
] as const;
export type PiiKind = (typeof piiKinds)[number];

/** A place in a text, in UTF-16 units, end not included. Matches come in order and do not overlap. */
export interface PiiMatch {
  readonly start: number;
  readonly end: number;
  readonly kind: PiiKind;
  /** Of `custom`: the owner's name for it, such as `customer_number`. */
  readonly name?: string;
}

/** Finds personal data by rules alone: pure, synchronous, never throws (M6). */
export interface PiiDetector {
  find(text: string): PiiMatch[];
}
