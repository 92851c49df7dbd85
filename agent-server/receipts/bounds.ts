import type { Redactor } from "../security/security.ts";

/** Maximum bytes of JSON for each of a receipt's inputs, outputs and metadata. */
export const maxFieldsBytes = 32_768;

/**
 * Redacts fields and bounds them to plain JSON with well-formed text of at most `maxFieldsBytes`. Fields that do not fit are dropped
 * from the end and replaced with a note.
 */
export function boundFields(fields: Record<string, unknown> | undefined, redactor: Redactor): Record<string, unknown> {
  if (fields === undefined || Object.keys(fields).length === 0) return {};
  const clean: unknown = redactor.value(fields, maxFieldsBytes);
  // An object's `toJSON` may return another type.
  const own = typeof clean === "object" && clean !== null && !Array.isArray(clean) ? (clean as Record<string, unknown>) : { value: clean };
  if (isPlainAndShort(own, { left: maxFieldsBytes })) return own;
  const whole = plainFields(own, { left: Number.POSITIVE_INFINITY });
  return fits(whole, maxFieldsBytes) ? whole : plainFields(own, { left: maxFieldsBytes - reservedForNotes });
}

/** Fast path for most values: true when `value` certainly fits. Subtracts an upper bound of its length from `size`. */
function isPlainAndShort(value: unknown, size: { left: number }): boolean {
  if (typeof value === "string") {
    // An escaped UTF-16 unit takes six bytes.
    size.left -= value.length * 6 + 3;
    return size.left >= 0 && value.isWellFormed();
  }
  size.left -= 25;
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value === "boolean" || value === null) return true;
  if (typeof value !== "object") return false;
  if (Array.isArray(value)) return value.every((item) => isPlainAndShort(item, size));
  for (const key in value) {
    if (!isPlainAndShort(key, size) || !isPlainAndShort((value as Record<string, unknown>)[key], size)) return false;
  }
  return size.left >= 0;
}

/** Redacts a text and bounds it to well-formed text of at most `maxBytes`. */
export function boundText(text: string, redactor: Redactor, maxBytes: number): string {
  return redactor.value(text, maxBytes).toWellFormed();
}

function fits(value: unknown, maxBytes: number): boolean {
  const json = JSON.stringify(value);
  return json.length * 3 <= maxBytes || Buffer.byteLength(json) <= maxBytes;
}

/** Bytes reserved for the note that replaces dropped fields. */
const noteBytes = 64;
/** Every level of a nested value may end in its own note. */
const reservedForNotes = 64 * noteBytes;

/** Copies JSON values until `budget.left` bytes are used; values that JSON cannot represent become null. */
function plain(value: unknown, budget: { left: number }): unknown {
  if (typeof value === "string") return plainText(value, budget);
  if (typeof value === "boolean") {
    budget.left -= 5;
    return value;
  }
  if (typeof value === "number") {
    budget.left -= 24;
    return Number.isFinite(value) ? value : null;
  }
  if (typeof value !== "object" || value === null) {
    budget.left -= 4;
    return null;
  }
  if (Array.isArray(value)) {
    budget.left -= 2;
    const items: unknown[] = [];
    for (const item of value) {
      if (budget.left < noteBytes) {
        items.push(`… [${value.length - items.length} items cut]`);
        budget.left -= noteBytes;
        break;
      }
      budget.left -= 1;
      items.push(plain(item, budget));
    }
    return items;
  }
  return plainFields(value, budget);
}

function plainFields(value: object, budget: { left: number }): Record<string, unknown> {
  budget.left -= 2;
  const fields: Record<string, unknown> = {};
  let copied = 0;
  const entries = Object.entries(value);
  for (const [key, field] of entries) {
    if (field === undefined || typeof field === "function" || typeof field === "symbol") {
      copied += 1;
      continue;
    }
    const name = key.toWellFormed();
    const keyBytes = jsonBytes(name) + 2;
    if (budget.left < noteBytes + keyBytes) {
      fields["…"] = `[${entries.length - copied} fields cut]`;
      budget.left -= noteBytes;
      break;
    }
    budget.left -= keyBytes;
    copied += 1;
    const content = plain(field, budget);
    if (name === "__proto__") Object.defineProperty(fields, name, { value: content, enumerable: true, configurable: true, writable: true });
    else fields[name] = content;
  }
  return fields;
}

function plainText(text: string, budget: { left: number }): string {
  const wellFormed = text.toWellFormed();
  if (!Number.isFinite(budget.left)) return wellFormed;
  const bytes = jsonBytes(wellFormed);
  if (bytes <= budget.left) {
    budget.left -= bytes;
    return wellFormed;
  }
  // JSON needs at most six bytes for a UTF-16 unit, so a prefix of this length always fits.
  const units = Math.max(0, Math.floor((budget.left - noteBytes) / 6));
  const start = wellFormed.slice(0, units).toWellFormed();
  const note = `… [${Buffer.byteLength(wellFormed) - Buffer.byteLength(start)} bytes cut]`;
  budget.left -= jsonBytes(start) + noteBytes;
  return start + note;
}

function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text));
}
