import { join } from "node:path";
import { compileMemoryEthics } from "../../../agent-server/governance/soul/memory-ethics.ts";
import type { Evidence, Gates } from "../../../agent-server/memory/item-types.ts";
import { createGates } from "../../../agent-server/memory/gates/gates.ts";
import { createInstructionRules } from "../../../agent-server/memory/gates/instruction-rules.ts";
import { MemorySettings } from "../../../agent-server/memory/memory-settings.ts";
import { createRedactor } from "../../../agent-server/security/redactor.ts";
import { createSanitizer } from "../../../agent-server/security/sanitizer.ts";

const config = join(import.meta.dirname, "../../../config");
const log = (message: string, error?: unknown): void => {
  throw new Error(message, { cause: error });
};

export const redactor = createRedactor();
export const sanitizer = createSanitizer(config, log);
export const instructions = createInstructionRules(config, log);
/** As the shipped soul says. */
export const ethics = compileMemoryEthics(
  [
    "Never store secrets, credentials, passwords, keys or tokens.",
    "Never store personal data of people, such as e-mail addresses, telephone numbers, account or card numbers, unless the owner asks for it.",
  ],
  redactor,
);

/** The gates with the shipped tables and soul; evidence is what is given by reference. */
export function gatesFixture(evidence: Readonly<Record<string, Evidence>> = {}, settings: Partial<MemorySettings> = {}): Gates {
  const inForce = MemorySettings.parse(settings);
  return createGates({
    redactor,
    sanitizer,
    instructions,
    settings: () => inForce,
    forbids: ethics,
    evidence: (ref) => evidence[ref] ?? null,
  });
}

/** A message of the owner's, as evidence. */
export const said = (text: string): Evidence => ({ source: "user", text });
