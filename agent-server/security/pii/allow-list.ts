import type { PiiKind } from "./types.ts";
import type { Redaction } from "./redaction-settings.ts";

/** Why something that looks like personal data stays as it is. */
export type Allowance = "kind" | "value" | "domain" | "pattern";

/** What of the owner's settings lets a value of a kind stay, or null. Linear in the value. */
export function allowanceOf(value: string, kind: PiiKind, { settings, allowed }: Redaction): Allowance | null {
  if (kind !== "custom" && settings.kinds[kind] === false) return "kind";
  const folded = fold(value, kind);
  if (settings.allow.values.some((one) => fold(one, kind) === folded)) return "value";
  if (kind === "email") {
    const domain = /(?:@|%40|[\])]\s?)([^@\s]{1,253})$/.exec(value)?.[1]?.toLowerCase() ?? "";
    if (settings.allow.domains.some((one) => domain === one.toLowerCase() || domain.endsWith(`.${one.toLowerCase()}`))) return "domain";
  }
  const whole = (pattern: RegExp): boolean => {
    pattern.lastIndex = 0;
    return pattern.exec(value)?.[0] === value;
  };
  return allowed.some(whole) ? "pattern" : null;
}

/** Kinds that are written with or without spaces and dashes. */
const numbers = new Set<PiiKind>(["phone", "iban", "card", "national_id", "account", "plate", "mac_address"]);

function fold(value: string, kind: PiiKind): string {
  const plain = value.trim().replace(/\s+/g, " ").toLowerCase();
  return numbers.has(kind) ? plain.replace(/[\s()./:-]/g, "") : plain;
}
