/** Whether a value is a JSON object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A string unchanged; undefined for anything else. */
export function asText(value: unknown, otherwise: string): string {
  return typeof value === "string" ? value : otherwise;
}
