import { offersMemory, type PromptRequest } from "../../context/context.ts";
import type { Tier } from "../../contract/common.ts";
import type { ToolInfo } from "../../contract/tools.ts";
import { permitsAction } from "../../governance/governance.ts";
import type { ActiveModel, ToolSchema } from "../../models/models.ts";
import type { Tools } from "../../tools/tools.ts";
import { toConversation, toSmallConversation } from "../conversation.ts";
import type { QuestStore } from "../quest-store.ts";
import { asksForChange, smallAnswerTokens, smallModelTools } from "./small-model-policy.ts";

/** The contents of the next prompt of a quest, before they are cut to the budget. */
export type QuestPromptRequest = PromptRequest & { tools: ToolSchema[] };

/** Requests a prompt with the complete conversation, and with tools and limits that suit the model. */
export function createPromptRequest(
  { store, tools }: { store: QuestStore; tools: Pick<Tools, "list" | "schemas"> },
  questId: string,
  active: Pick<ActiveModel, "small" | "contextWindow">,
  planning = false,
): QuestPromptRequest {
  const { quest, soulScope } = store.stored(questId);
  const stored = store.messages(questId);
  const request = lastRequest(stored.flatMap(({ turn }) => (turn?.kind === "user" ? [turn.content] : [])));
  const limits = soulScope?.limits;
  const isPermitted = ({ capability, action, baseTier }: ToolInfo): boolean =>
    limits === undefined || (baseTier <= limits.max_tier && permitsAction(limits, { capability, action, isLook: baseTier === "T0" }));
  const usable = tools.list().flatMap((tool) => (tool.problem === null && isPermitted(tool) && suits(tool, planning) ? [tool.name] : []));
  const offered = tools.schemas(active.small ? usable.filter((tool) => smallModelTools(request).includes(tool)) : usable);
  return {
    small: active.small,
    canEdit: asksForChange(request),
    questId,
    mode: quest.mode,
    marker: store.marker(questId),
    plan: quest.plan,
    tools: offered,
    messages: active.small ? toSmallConversation(stored) : toConversation(stored, { cite: offersMemory(offered) }),
    window: active.contextWindow,
    answer: active.small ? smallAnswerTokens : Math.min(8_192, Math.floor(active.contextWindow / 4)),
  };
}

/** Tools without an effect of their own that belong to the work, not to its plan. */
const ofWork: ReadonlySet<string> = new Set(["update_plan", "report_outcome", "spawn_subtask"]);

/** A plan is made with what only looks; the plan itself is proposed only then. */
function suits({ name, baseTier }: { name: string; baseTier: Tier }, planning: boolean): boolean {
  if (name === "propose_plan") return planning;
  return !planning || (baseTier === "T0" && !ofWork.has(name)) || name === "fetch_url";
}

function lastRequest(turns: readonly Extract<PromptRequest["messages"][number], { role: "user" }>["content"][]): string {
  return (turns.at(-1) ?? []).map((item) => (item.type === "text" && item.attached !== true ? item.text : "")).join("\n");
}
