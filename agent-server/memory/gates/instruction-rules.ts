import { createSanitizer, type Log, type RuleTable, type Sanitizer } from "../../security/security.ts";

/** `config/memory-gates.yaml`. */
export const instructionTable: RuleTable = { file: "memory-gates.yaml", phrases: 10, patterns: 17 };

/**
 * The rules that recognize instructions, loaded on first use and validated with their own examples. Ids `syntax.*`: text that
 * imitates a prompt. An invalid table reports a finding for every text.
 */
export function createInstructionRules(configDir: string, log: Log): Sanitizer {
  return createSanitizer(configDir, log, instructionTable);
}
