import type { GateInput } from "./gate-step.ts";

/** The last gate: the reason an edit waits for the owner; null when it may be stored. Only the owner changes a core block. */
export function approvalReason({ edit, author, why, verified }: GateInput): string | null {
  if (!edit.target.startsWith("core:") || author.by === "owner") return why;
  const who = author.by === "agent" ? "The agent" : "Lancelot";
  const what = verified ? "what you said" : "what it concluded by itself";
  return [`${who} needs your approval to change a core block. It is based on ${what}.`, ...(why === null ? [] : [why])].join(" ");
}
