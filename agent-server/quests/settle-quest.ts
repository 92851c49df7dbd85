import type { Part, ToolPart } from "../contract/chat.ts";
import type { Governance } from "../governance/governance.ts";
import type { QuestStore } from "./quest-store.ts";
import type { Cut, StoredMessage } from "./stored-quest.ts";

export const interruptedOutput = "interrupted: the host stopped; the call was not repeated";
const outputs: Record<Exclude<Cut, "failed">, { running: string; queued: string }> = {
  interrupted: { running: interruptedOutput, queued: "not run: the host stopped first" },
  cancelled: { running: "stopped by the user; the call may have taken effect in part", queued: "not run: the user stopped the task" },
};

export function isUnfinished(part: Part): part is ToolPart {
  return part.type === "tool" && (part.status === "queued" || part.status === "waiting" || part.status === "running");
}

/**
 * Closes the open messages and calls of a stopped run: streamed text is kept and marked as cut off, and running tools become cancelled.
 * After an interruption, calls that certainly had no effect (waiting for the user, or queued behind such a call) remain, so that
 * `resume` can ask again.
 */
export function settleQuest(
  { store, governance }: { store: QuestStore; governance: { approvals: Pick<Governance["approvals"], "get"> } },
  questId: string,
  cut: "interrupted" | "cancelled",
): void {
  for (const stored of store.messages(questId)) {
    const { message, turn } = stored;
    const unfinished = message.parts.filter(isUnfinished);
    if (!message.open && unfinished.length === 0) continue;
    const ran = (part: ToolPart): boolean => mayHaveRun(part, governance);
    const dropAll = cut === "cancelled" || unfinished.some(ran);
    for (const part of unfinished) {
      if (dropAll) {
        part.output = ran(part) ? outputs[cut].running : outputs[cut].queued;
        part.status = "cancelled";
      } else if (part.status === "running") {
        part.status = "waiting";
      }
    }
    store.saveMessage({ ...message, open: false }, turn ?? partialTurn(stored, cut));
  }
}

/**
 * False only for a call that certainly had no effect. A question has none, and a call that waited for a review had not started:
 * both can be repeated.
 */
function mayHaveRun(part: ToolPart, governance: { approvals: Pick<Governance["approvals"], "get"> }): boolean {
  if (part.status === "queued" || part.tool === "ask_owner") return false;
  if (part.status === "waiting" && part.approvalId === null) return false;
  if (part.status === "running" || part.approvalId === null) return true;
  const status = governance.approvals.get(part.approvalId)?.status;
  return status === undefined || status === "allowed_once" || status === "allowed_quest" || status === "allowed_workspace";
}

/** The text that the model streamed before it was cut off; null when there is none. */
export function partialTurn({ message }: StoredMessage, cut: Cut): Extract<StoredMessage["turn"], { kind: "assistant" }> | null {
  if (message.role !== "assistant") return null;
  const text = message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  return text.trim() === "" ? null : { kind: "assistant", content: [{ type: "text", text }], cut, altered: [] };
}
