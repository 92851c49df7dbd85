import type { LancelotError } from "../contract/errors.ts";
import type { GovernanceFeedback } from "../governance/governance.ts";

/** True when governance or the user refused, as opposed to a tool that failed. */
export function isRefusal(error: LancelotError): boolean {
  return error.code === "denied" || error.code === "needs_approval";
}

/** Who refused, and the reason the user gave, if any. */
export function refusalOf(error: LancelotError): { refusal: "rules" | "owner" | "unanswered"; reason: string | null } {
  if (error.code === "needs_approval") return { refusal: "unanswered", reason: null };
  const reason = error.data?.["reason"];
  const byOwner = typeof error.data?.["approvalId"] === "string";
  return { refusal: byOwner ? "owner" : "rules", reason: byOwner && typeof reason === "string" && reason !== "" ? reason : null };
}

/** The text of a failure for the model: which action did not run, why, and what the model can do instead. */
export function refusalText(tool: string, error: LancelotError, governance: GovernanceFeedback | null): string {
  if (!isRefusal(error)) return error.message;
  const lines = [
    error.code === "denied"
      ? `Blocked: ${tool} did not run. ${error.message}`
      : `Did not run: ${tool} requires the user's approval. ${error.message}`,
  ];
  for (const rule of governance?.rules ?? []) {
    if (!error.message.includes(rule.message)) lines.push(`Rule ${rule.id}: ${rule.message}`);
  }
  const { reason } = refusalOf(error);
  if (reason !== null && !error.message.includes(reason)) lines.push(`The user's reason: ${reason}`);
  const alternatives = governance?.alternatives ?? [];
  if (alternatives.length > 0) lines.push("Instead you can:", ...alternatives.map((alternative) => `- ${alternative}`));
  lines.push(retryAdvice[governance?.retry ?? "never"]);
  return lines.join("\n");
}

const retryAdvice: Readonly<Record<GovernanceFeedback["retry"], string>> = {
  never: "Do not retry this call.",
  after_approval: "Do not retry this call unless the user has approved it.",
  changed: "Do not retry this call unchanged. Change the refused part first.",
};
