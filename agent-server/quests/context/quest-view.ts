import {
  applyStates,
  type ContextMessage,
  type ContextUserContent,
  offersMemory,
  type EvictionState,
  renderPiece,
} from "../../context/context.ts";
import type { Governance } from "../../governance/governance.ts";
import type { Compaction, ContextStore, KeptItem } from "./context-store.ts";
import { approvalLines, planLines } from "./compaction.ts";
import { toConversation } from "../conversation.ts";
import { piecesOf, type QuestPiece } from "./quest-pieces.ts";
import type { QuestPromptRequest } from "./prompt-request.ts";
import type { QuestStore } from "../quest-store.ts";
import type { StoredMessage } from "../stored-quest.ts";

/** A task's context as it is kept: what stands before its conversation, the conversation in its state, what stands behind. */
export interface QuestView {
  readonly wish: QuestPromptRequest & { head: ContextMessage[] };
  readonly items: readonly KeptItem[];
  readonly pieces: readonly QuestPiece[];
  readonly compaction: Compaction | null;
  readonly messages: readonly StoredMessage[];
  readonly states: ReadonlyMap<string, EvictionState>;
}

/** Names an item of the owner's among the pieces. */
export const itemKey = (path: string): string => `item:${path}`;

/** The same state gives the same view: nothing is read from the disk here. */
export function viewQuest(
  deps: { store: QuestStore; kept: ContextStore; governance: { approvals: Pick<Governance["approvals"], "list"> } },
  questId: string,
  wish: QuestPromptRequest,
  budget: number,
): QuestView {
  const messages = deps.store.messages(questId);
  const items = deps.kept.items(questId);
  const found = deps.kept.states(questId);
  const states = new Map([...found].map(([key, { state }]) => [key, state]));
  const head = itemsHead(items);
  if (wish.small) {
    return { wish: { ...wish, head, budget }, items, pieces: [], compaction: null, messages, states };
  }
  const compaction = deps.kept.compaction(questId);
  const after = compaction?.upTo ?? -1;
  const body = messages.filter(({ message }) => message.seq > after);
  if (compaction !== null) head.push({ role: "user", content: compaction.head });
  return {
    wish: {
      ...wish,
      head,
      messages: applyStates(toConversation(body, { cite: offersMemory(wish.tools) }), states),
      tail: tailOf(deps, questId, wish, body, compaction),
      budget,
    },
    items,
    pieces: piecesOf(messages, found, after),
    compaction,
    messages,
    states,
  };
}

/** Facts first, then files, each by name: the order in which they were added says nothing. */
function itemsHead(items: readonly KeptItem[]): ContextMessage[] {
  const facts = items.filter(({ kind }) => kind === "fact");
  const files = items.filter(({ kind, state }) => kind === "file" && state !== "left_out");
  const content: ContextUserContent[] = [];
  if (facts.length > 0)
    content.push({
      type: "text",
      text: `[The owner pinned these facts for this task; they hold until the owner takes them back.]\n${facts.map(({ text }) => `- ${text}`).join("\n")}`,
    });
  for (const { path, text, pinned, state, findings } of files) {
    content.push({
      type: "text",
      text: renderPiece(text, state),
      attached: true,
      source: `${path}, which the owner ${pinned ? "pinned" : "added"}`,
      key: itemKey(path),
      ...(pinned ? { pinned } : {}),
      ...(findings.length === 0 ? {} : { findings }),
    });
  }
  return content.length === 0 ? [] : [{ role: "user", content }];
}

/** What changes from prompt to prompt stands last: a plan the conversation does not show as it is now, and what waits for the owner. */
function tailOf(
  { governance }: { governance: { approvals: Pick<Governance["approvals"], "list"> } },
  questId: string,
  { plan }: QuestPromptRequest,
  body: readonly StoredMessage[],
  compaction: Compaction | null,
): string {
  const sections: string[] = [];
  const lines = planLines(plan);
  if (lines.length > 0 && lines.join("\n") !== planLines(lastWrittenPlan(body) ?? compaction?.plan ?? []).join("\n"))
    sections.push(`The plan as it stands now:\n${lines.join("\n")}`);
  const open = governance.approvals.list({ questId, status: "pending", limit: 50 });
  if (open.length > 0)
    sections.push(
      `These approvals are open; the owner has not decided, so do not do the same in another way:\n${approvalLines(open).join("\n")}`,
    );
  return sections.length === 0 ? "" : `[From the host, for this step:]\n${sections.join("\n\n")}`;
}

/** The plan as the model last wrote it in these messages; null when it did not. */
function lastWrittenPlan(body: readonly StoredMessage[]): QuestPromptRequest["plan"] | null {
  for (const { message, turn } of body.toReversed()) {
    if (turn?.kind !== "assistant") continue;
    const call = turn.content.findLast((item) => item.type === "tool_call" && item.name === "update_plan");
    if (call?.type !== "tool_call") continue;
    const done = message.parts.some((part) => part.type === "tool" && part.callId === call.id && part.status === "success");
    const steps = call.args["steps"];
    if (!done || !Array.isArray(steps)) continue;
    return steps.filter(isStep);
  }
  return null;
}

function isStep(step: unknown): step is QuestPromptRequest["plan"][number] {
  return typeof step === "object" && step !== null && "title" in step && "status" in step;
}
