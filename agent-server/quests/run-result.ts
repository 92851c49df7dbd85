import type { Quest, ToolPart } from "../contract/chat.ts";
import type { Result } from "../contract/table.ts";
import type { StoredMessage } from "./stored-quest.ts";

/**
 * How far the answer of a finished request can be relied on, by what the ledger knows, never by what the model says:
 * 1 when the quest is done and every tool call succeeded; 0.9 down to 0.5 with the share of calls that failed or were refused;
 * 0.5 while something waits for the owner; at most 0.4 from a small model; 0 when the quest failed or was stopped.
 */
export function confidenceOf(quest: Pick<Quest, "status">, calls: readonly Pick<ToolPart, "status">[], small: boolean): number {
  const limit = small ? 0.4 : 1;
  if (quest.status === "waiting") return Math.min(limit, 0.5);
  if (quest.status !== "done") return 0;
  const succeeded = calls.filter(({ status }) => status === "success").length;
  if (succeeded === calls.length) return limit;
  return Math.min(limit, Math.round((0.5 + 0.4 * (succeeded / calls.length)) * 100) / 100);
}

/** What `chat.run` returns for the request that began with `messageId`. */
export function answerOf(quest: Quest, stored: readonly StoredMessage[], messageId: string, small: boolean): Result<"chat.run"> {
  const from = stored.find(({ message }) => message.id === messageId)?.message.seq ?? 0;
  const answers = stored.flatMap(({ message }) => (message.seq > from && message.role === "assistant" ? [message] : []));
  const calls = answers.flatMap(({ parts }) => parts.filter((part): part is ToolPart => part.type === "tool"));
  const texts = answers.map(({ parts }) => parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n"));
  const notices = answers.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "notice" ? [part.text] : [])));
  // What the host answered itself stands in a notice.
  const said = texts.findLast((text) => text.trim() !== "") ?? (quest.status === "done" ? (notices.at(-1) ?? "") : "");
  return {
    response: [said, ...needOf(quest)].filter((text) => text !== "").join("\n\n"),
    confidence: confidenceOf(quest, calls, small),
    quest_id: quest.id,
    receipt_id: quest.receiptId,
    actions: calls.map(({ tool, title, status, receiptId }) => ({ tool, title, status, receipt_id: receiptId })),
  };
}

/** What the caller must know beside the model's words: why it ended, or what it waits for. */
function needOf({ status, problem, waitingFor }: Quest): string[] {
  if (status === "waiting" && waitingFor !== null) {
    if (waitingFor.kind === "answer") return [waitingFor.question ?? "It waits for your answer."];
    return [waitingFor.kind === "approval" ? "It waits for your approval." : "It waits for your review of the proposed changes."];
  }
  if (status === "cancelled") return ["The task was stopped."];
  return problem === null ? [] : [problem];
}
