import type { Part, ToolPart } from "../contract/chat.ts";
import type { Governance } from "../governance/governance.ts";
import type { QuestStore } from "./quest-store.ts";
import type { Cut, StoredMessage } from "./stored-quest.ts";

export const interruptedOutput = "interrupted: the host ended; it was not run again";
const words: Record<Exclude<Cut, "failed">, { running: string; queued: string }> = {
  interrupted: { running: interruptedOutput, queued: "not run: the host ended before its turn" },
  cancelled: { running: "stopped by the owner; it may have had part of its effect", queued: "not run: the owner stopped the task" },
};

export function isUnfinished(part: Part): part is ToolPart {
  return part.type === "tool" && (part.status === "queued" || part.status === "waiting" || part.status === "running");
}

/**
 * Closes what a stopped run left open: streamed text is kept and marked as cut off, running tools become cancelled.
 * After an interruption, calls that certainly had no effect (still waiting for the owner, or queued behind such a one)
 * stay, so that `resume` can ask again.
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
        part.output = ran(part) ? words[cut].running : words[cut].queued;
        part.status = "cancelled";
      } else if (part.status === "running") {
        part.status = "waiting";
      }
    }
    store.saveMessage({ ...message, open: false }, turn ?? partialTurn(stored, cut));
  }
}

/**
 * False only for a call that certainly had no effect. A question to the owner has none, and a call that waited for a review was
 * not begun: both can be made again.
 */
function mayHaveRun(part: ToolPart, governance: { approvals: Pick<Governance["approvals"], "get"> }): boolean {
  if (part.status === "queued" || part.tool === "ask_owner") return false;
  if (part.status === "waiting" && part.approvalId === null) return false;
  if (part.status === "running" || part.approvalId === null) return true;
  const status = governance.approvals.get(part.approvalId)?.status;
  return status === undefined || status === "allowed_once" || status === "allowed_quest";
}

/** What the model said before it was cut off; null when that is nothing. */
export function partialTurn({ message }: StoredMessage, cut: Cut): Extract<StoredMessage["turn"], { kind: "assistant" }> | null {
  if (message.role !== "assistant") return null;
  const text = message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  return text.trim() === "" ? null : { kind: "assistant", content: [{ type: "text", text }], cut, altered: [] };
}
