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

/** The stored context of a quest: the request for its next prompt, and the items and pieces in it. */
export interface QuestView {
  readonly request: QuestPromptRequest & { head: ContextMessage[] };
  readonly items: readonly KeptItem[];
  readonly pieces: readonly QuestPiece[];
  readonly compaction: Compaction | null;
  readonly messages: readonly StoredMessage[];
  readonly states: ReadonlyMap<string, EvictionState>;
}

/** The key of an item that the user added, among the pieces. */
export const itemKey = (path: string): string => `item:${path}`;

/** Composes the view from stored state alone, without reading files, so that the same state gives the same view. */
export function viewQuest(
  deps: { store: QuestStore; kept: ContextStore; governance: { approvals: Pick<Governance["approvals"], "list"> } },
  questId: string,
  request: QuestPromptRequest,
  budget: number,
): QuestView {
  const messages = deps.store.messages(questId);
  const items = deps.kept.items(questId);
  const found = deps.kept.states(questId);
  const states = new Map([...found].map(([key, { state }]) => [key, state]));
  const head = itemsHead(items);
  if (request.small) {
    return { request: { ...request, head, budget }, items, pieces: [], compaction: null, messages, states };
  }
  const compaction = deps.kept.compaction(questId);
  const after = compaction?.upTo ?? -1;
  const body = messages.filter(({ message }) => message.seq > after);
  if (compaction !== null) head.push({ role: "user", content: compaction.head });
  return {
    request: {
      ...request,
      head,
      messages: applyStates(toConversation(body, { cite: offersMemory(request.tools) }), states),
      tail: tailOf(deps, questId, request, body, compaction),
      budget,
    },
    items,
    pieces: piecesOf(messages, found, after),
    compaction,
    messages,
    states,
  };
}

/** Facts first, then files, each sorted by name, so that the order of additions does not change the prompt. */
function itemsHead(items: readonly KeptItem[]): ContextMessage[] {
  const facts = items.filter(({ kind }) => kind === "fact");
  const files = items.filter(({ kind, state }) => kind === "file" && state !== "left_out");
  const content: ContextUserContent[] = [];
  if (facts.length > 0)
    content.push({
      type: "text",
      text: `[The user pinned these facts for this task. They hold until the user removes them.]\n${facts.map(({ text }) => `- ${text}`).join("\n")}`,
    });
  for (const { path, text, pinned, state, findings } of files) {
    content.push({
      type: "text",
      text: renderPiece(text, state),
      attached: true,
      source: `${path}, which the user ${pinned ? "pinned" : "added"}`,
      key: itemKey(path),
      ...(pinned ? { pinned } : {}),
      ...(findings.length === 0 ? {} : { findings }),
    });
  }
  return content.length === 0 ? [] : [{ role: "user", content }];
}

/** The end of the prompt, which may differ from prompt to prompt: a plan that changed since the model wrote it, and pending approvals. */
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
    sections.push(`The current plan:\n${lines.join("\n")}`);
  const open = governance.approvals.list({ questId, status: "pending", limit: 50 });
  if (open.length > 0)
    sections.push(
      `These approvals are pending. Until the user decides, do not attempt the same in another way:\n${approvalLines(open).join("\n")}`,
    );
  return sections.length === 0 ? "" : `[From the host, for this step:]\n${sections.join("\n\n")}`;
}

/** The plan that the model last wrote in these messages; null for none. */
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
