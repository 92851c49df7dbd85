import type { Part, Quest, ToolPart } from "../contract/chat.ts";
import type { Result } from "../contract/table.ts";
import type { StoredMessage } from "./stored-quest.ts";

/**
 * The confidence in the answer of a finished request, from the ledger and never from the model's own claims: 1 when the quest is done
 * and every tool call succeeded; 0.9 down to 0.5 by the share of calls that failed or were denied; 0.5 while the quest waits for the
 * user; at most 0.4 from a small model; at most 0.2 when the answer claims what nothing recorded backs; 0 when it only announces work, and
 * when the quest failed or was stopped.
 */
export function confidenceOf(
  quest: Pick<Quest, "status">,
  calls: readonly Pick<ToolPart, "status">[],
  small: boolean,
  unbacked: "none" | "claims" | "announcement" = "none",
): number {
  if (unbacked === "announcement") return 0;
  const limit = unbacked === "claims" ? 0.2 : small ? 0.4 : 1;
  if (quest.status === "waiting") return Math.min(limit, 0.5);
  if (quest.status !== "done") return 0;
  const succeeded = calls.filter(({ status }) => status === "success").length;
  if (succeeded === calls.length) return limit;
  return Math.min(limit, Math.round((0.5 + 0.4 * (succeeded / calls.length)) * 100) / 100);
}

/** The result of `chat.run` for the request that began with `messageId`. */
export function answerOf(quest: Quest, stored: readonly StoredMessage[], messageId: string, small: boolean): Result<"chat.run"> {
  const from = stored.find(({ message }) => message.id === messageId)?.message.seq ?? 0;
  const answers = stored.flatMap(({ message }) => (message.seq > from && message.role === "assistant" ? [message] : []));
  const calls = answers.flatMap(({ parts }) => parts.filter((part): part is ToolPart => part.type === "tool"));
  const texts = answers.map(({ parts }) => parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n"));
  const notices = answers.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "notice" ? [part.text] : [])));
  // An answer of the host itself, for example to /compact, is a notice.
  const answer = texts.findLast((text) => text.trim() !== "") ?? (quest.status === "done" ? (notices.at(-1) ?? "") : "");
  const corrections = answers.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === "notice" && part.claims !== undefined ? [part.text] : [])),
  );
  const outcome = answers.flatMap(({ parts }) => parts.filter((part) => part.type === "outcome")).at(-1);
  return {
    response: [answer, ...corrections, ...needOf(quest)].filter((text) => text !== "").join("\n\n"),
    confidence: confidenceOf(quest, calls, small, unbackedIn(answers.flatMap(({ parts }) => parts))),
    quest_id: quest.id,
    receipt_id: quest.receiptId,
    actions: calls.map(({ tool, title, status, receiptId }) => ({ tool, title, status, receipt_id: receiptId })),
    ...(outcome?.nextAction === undefined ? {} : { next_action: outcome.nextAction }),
  };
}

/** What the corrections of an answer say of it. */
function unbackedIn(parts: readonly Part[]): "none" | "claims" | "announcement" {
  const claims = parts.flatMap((part) => (part.type === "notice" ? (part.claims ?? []) : []));
  if (claims.some(({ kind }) => kind === "announcement")) return "announcement";
  const reported = parts.some((part) => part.type === "outcome" && part.actions.some(({ recorded }) => !recorded));
  return claims.length > 0 || reported ? "claims" : "none";
}

/** Why the quest ended, or what it waits for. */
function needOf({ status, problem, waitingFor }: Quest): string[] {
  if (status === "waiting" && waitingFor !== null) {
    if (waitingFor.kind === "answer") return [waitingFor.question ?? "The task waits for your answer."];
    return [
      waitingFor.kind === "approval" ? "The task requires your approval." : "The task waits for your review of the proposed changes.",
    ];
  }
  if (status === "cancelled") return ["The task was stopped."];
  return problem === null ? [] : [problem];
}
