import type { LancelotError } from "../contract/errors.ts";
import type { Decision } from "../contract/governance.ts";

/** True when the gate or the owner said no, as against a tool that failed. */
export function isRefusal(error: LancelotError): boolean {
  return error.code === "denied" || error.code === "needs_approval";
}

/** A failure in words the model can act on: what did not happen, why, and what it can do instead. */
export function feedback(tool: string, error: LancelotError, decision: Decision | null): string {
  if (!isRefusal(error)) return error.message;
  const lines = [
    error.code === "denied"
      ? `Blocked: ${tool} was not done. ${error.message}`
      : `Not done: ${tool} needs the owner's approval. ${error.message}`,
  ];
  for (const rule of decision?.rules ?? []) {
    if (!error.message.includes(rule.message)) lines.push(`Rule ${rule.id}: ${rule.message}`);
  }
  const reason = error.data?.["reason"];
  if (typeof reason === "string" && reason !== "" && !error.message.includes(reason)) lines.push(`The owner says: ${reason}`);
  const alternatives = decision?.alternatives ?? [];
  if (alternatives.length > 0) lines.push("Instead you can:", ...alternatives.map((alternative) => `- ${alternative}`));
  lines.push("Do not try the same again.");
  return lines.join("\n");
}
