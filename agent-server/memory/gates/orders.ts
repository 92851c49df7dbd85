import { createSanitizer, type Log, type RuleTable, type Sanitizer } from "../../security/security.ts";

/** `config/memory-gates.yaml`. */
export const ordersTable: RuleTable = { file: "memory-gates.yaml", phrases: 10, patterns: 17 };

/**
 * The rules that tell orders from facts, read when first needed and tried against their own examples. Ids `syntax.*`: what plays a
 * part of a prompt. A table that cannot be used finds something in every text.
 */
export function createOrders(configDir: string, log: Log): Sanitizer {
  return createSanitizer(configDir, log, ordersTable);
}
