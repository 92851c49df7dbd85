import type { LancelotError } from "../contract/errors.ts";
import type { GovernanceFeedback } from "../governance/governance.ts";

/** True when the gate or the owner said no, as against a tool that failed. */
export function isRefusal(error: LancelotError): boolean {
  return error.code === "denied" || error.code === "needs_approval";
}

/** Who did not permit it, and the owner's words if there are any. */
export function refusalOf(error: LancelotError): { refusal: "rules" | "owner" | "unanswered"; reason: string | null } {
  if (error.code === "needs_approval") return { refusal: "unanswered", reason: null };
  const reason = error.data?.["reason"];
  const byOwner = typeof error.data?.["approvalId"] === "string";
  return { refusal: byOwner ? "owner" : "rules", reason: byOwner && typeof reason === "string" && reason !== "" ? reason : null };
}

/** A failure in words the model can act on: what did not happen, why, and what it can do instead. */
export function refusalText(tool: string, error: LancelotError, governance: GovernanceFeedback | null): string {
  if (!isRefusal(error)) return error.message;
  const lines = [
    error.code === "denied"
      ? `Blocked: ${tool} was not done. ${error.message}`
      : `Not done: ${tool} needs the owner's approval. ${error.message}`,
  ];
  for (const rule of governance?.rules ?? []) {
    if (!error.message.includes(rule.message)) lines.push(`Rule ${rule.id}: ${rule.message}`);
  }
  const { reason } = refusalOf(error);
  if (reason !== null && !error.message.includes(reason)) lines.push(`The owner says: ${reason}`);
  const alternatives = governance?.alternatives ?? [];
  if (alternatives.length > 0) lines.push("Instead you can:", ...alternatives.map((alternative) => `- ${alternative}`));
  lines.push(again[governance?.retry ?? "never"]);
  return lines.join("\n");
}

const again: Readonly<Record<GovernanceFeedback["retry"], string>> = {
  never: "Do not try the same again.",
  after_approval: "Do not try the same again unless the owner has said yes meanwhile.",
  changed: "Do not try the same again; only something that differs in what was refused.",
};
