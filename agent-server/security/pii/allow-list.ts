import type { PiiKind } from "./types.ts";
import type { Redaction } from "./redaction-settings.ts";

/** The setting that exempts a value from redaction. */
export type Exemption = "kind" | "value" | "domain" | "pattern";

/** Finds the setting that exempts a value from redaction, or null. Linear in the value's length. */
export function findExemption(value: string, kind: PiiKind, { settings, allowed }: Redaction): Exemption | null {
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

/** Kinds that may be written with or without spaces and dashes. */
const numbers = new Set<PiiKind>(["phone", "iban", "card", "national_id", "account", "plate", "mac_address"]);

function fold(value: string, kind: PiiKind): string {
  const plain = value.trim().replace(/\s+/g, " ").toLowerCase();
  return numbers.has(kind) ? plain.replace(/[\s()./:-]/g, "") : plain;
}
