/** Whether a value is an object with keys, as JSON knows it. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A text as it is; anything else is not one. */
export function asText(value: unknown, otherwise: string): string {
  return typeof value === "string" ? value : otherwise;
}
