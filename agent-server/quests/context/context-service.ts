import type { ContextItem } from "../../contract/context.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { Params, Result } from "../../contract/table.ts";
import { type Context, estimateTokens, renderPiece, type PromptSources } from "../../context/context.ts";
import type { Governance } from "../../governance/governance.ts";
import type { ActiveModel, Models } from "../../models/models.ts";
import { type Ledger, withReceipt } from "../../receipts/receipts.ts";
import type { Redactor } from "../../security/security.ts";
import { requireOwnerForSecrets } from "../attachments.ts";
import { approvalLines, planLines } from "./compaction.ts";
import type { ContextStore, KeptItem } from "./context-store.ts";
import { stampOf } from "./freshness.ts";
import type { QuestContext } from "./quest-context.ts";
import type { QuestStore } from "../quest-store.ts";
import type { QuestView } from "./quest-view.ts";
import type { QuestRecall } from "../../memory/memory.ts";
import { lastUses } from "./quest-pieces.ts";

/** Maximum length of an item list. `used` counts all items. */
const shownItems = 500;
const removedReason = "You removed it.";

interface Deps {
  store: QuestStore;
  kept: ContextStore;
  context: Pick<Context, "readSources" | "measure" | "attached">;
  /** The memories in the last prompt of a quest. */
  recall: Pick<QuestRecall, "last">;
  questContext: QuestContext;
  models: Pick<Models, "active">;
  governance: Pick<Governance, "resolvePath" | "soul"> & { approvals: Pick<Governance["approvals"], "list"> };
  ledger: Pick<Ledger, "open" | "close">;
  redactor: Redactor;
  /** The token budget of one prompt in the settings. */
  budget: () => number;
  now: () => Date;
}

type ItemToAdd = Params<"context.add"> & { questId: string };

/** Lists, adds, removes and summarizes the context of a quest. */
export interface ContextService {
  items(questId: string | undefined): Promise<Result<"context.items">>;
  /** @throws LancelotError `invalid_params` with the reason, `conflict` when the item does not fit. */
  add(params: ItemToAdd, owner: boolean): Promise<ContextItem>;
  remove(questId: string, path: string): Promise<{ removed: boolean }>;
  /** @throws LancelotError `conflict` when there is nothing to summarize. */
  compact(questId: string, signal: AbortSignal, focus?: string): Promise<Result<"context.compact">>;
}

export function createContextService(deps: Deps): ContextService {
  const { store, kept, context, questContext, recall, ledger, governance, redactor } = deps;

  /** The model that would answer. Without one, only the budget limits the prompt. */
  async function model(): Promise<Pick<ActiveModel, "small" | "contextWindow" | "displayName">> {
    return deps.models.active().catch(() => ({ small: false, contextWindow: deps.budget(), displayName: "the model" }));
  }

  function fixedItems({ instructions, memory = "" }: PromptSources): ContextItem[] {
    const soul = governance.soul.prompt();
    const base = { pinned: true, state: "whole" as const, reason: null, lastUsedAt: null };
    return [
      ...(soul === null
        ? []
        : [{ ...base, path: `soul ${soul.version}`, kind: "soul" as const, origin: "owner" as const, tokens: estimateTokens(soul.text) }]),
      ...instructions.map(({ name, origin, text, truncated }) => ({
        ...base,
        path: name,
        kind: "instruction" as const,
        origin,
        tokens: estimateTokens(text),
        reason: truncated ? "Only its beginning is included, because the file exceeds the limit for instruction files." : null,
      })),
      ...(memory === ""
        ? []
        : [{ ...base, path: "memory", kind: "memory" as const, origin: "host" as const, tokens: estimateTokens(memory) }]),
    ];
  }

  function taskItems(questId: string, view: QuestView): ContextItem[] {
    const { plan } = store.quest(questId);
    const base = { pinned: true, state: "whole" as const, reason: null, lastUsedAt: null };
    const approvals = governance.approvals.list({ questId, status: "pending", limit: 50 });
    const uses = lastUses(
      view.messages,
      view.items.map(({ path }) => path),
    );
    return [
      ...(plan.length === 0
        ? []
        : [{ ...base, path: "plan", kind: "plan" as const, origin: "host" as const, tokens: estimateTokens(planLines(plan).join("\n")) }]),
      ...approvals.map((approval) => ({
        ...base,
        path: approval.title,
        kind: "approval" as const,
        origin: "host" as const,
        tokens: estimateTokens(approvalLines([approval]).join("\n")),
      })),
      ...view.items.map((item) => toItem(item, uses.get(item.path)?.at ?? null)),
      ...(view.compaction === null
        ? []
        : [
            {
              ...base,
              path: "summary of the earlier part",
              kind: "summary" as const,
              origin: "host" as const,
              tokens: view.compaction.head.reduce((sum, item) => sum + (item.type === "text" ? estimateTokens(item.text) : 0), 0),
              lastUsedAt: view.compaction.createdAt,
            },
          ]),
      ...view.pieces.map((piece) => ({
        path: piece.path ?? piece.title,
        kind: piece.kind,
        origin: piece.kind === "tool_output" ? ("tool" as const) : ("repository" as const),
        tokens: estimateTokens(renderPiece(piece.text, piece.state)),
        pinned: false,
        state: piece.state,
        reason: piece.reason,
        lastUsedAt: piece.usedAt,
      })),
    ];
  }

  async function makeItem({ questId, path, pinned, text }: ItemToAdd, owner: boolean): Promise<KeptItem> {
    const messages = store.messages(questId);
    const base = { state: "whole" as const, reason: null, usedSeq: messages.at(-1)?.message.seq ?? 0, usedAt: deps.now().toISOString() };
    if (text !== undefined)
      return {
        ...base,
        path: redactor.text(path).text,
        kind: "fact",
        pinned: true,
        text: redactor.text(text).text,
        findings: [],
        stamp: "",
      };
    requireOwnerForSecrets(governance, path, owner);
    const read = await context.attached(path, { questId, parentId: store.quest(questId).receiptId });
    if (!read.ok) throw new LancelotError("invalid_params", `${read.path} was not added. ${read.problem}`);
    const stamp = (await stampOf(governance, read.path)) ?? "";
    return { ...base, path: read.path, kind: "file", pinned, text: read.text, findings: read.findings, stamp };
  }

  return {
    async items(questId) {
      const active = await model();
      const near = questId === undefined ? [] : kept.items(questId).map(({ path }) => path);
      const base = await context.readSources(near, null);
      const surroundings = questId === undefined ? base : { ...base, memory: recall.last(questId) };
      const budget = Math.min(deps.budget(), active.contextWindow);
      const fixed = fixedItems(surroundings);
      if (questId === undefined)
        return { items: fixed, budget, used: fixed.reduce((sum, { tokens }) => sum + tokens, 0), window: active.contextWindow };
      const view = questContext.view(questId, active);
      const size = context.measure(surroundings, view.request);
      const items = [...fixed, ...taskItems(questId, view)];
      return {
        items: items.length <= shownItems ? items : [...items.slice(0, shownItems / 2), ...items.slice(-shownItems / 2)],
        budget,
        used: size.used + size.fixed,
        window: active.contextWindow,
      };
    },

    add: (params, owner) =>
      withReceipt(
        ledger,
        {
          actionType: "user_interaction",
          actionName: "context.add",
          inputs: { path: params.path, pinned: params.pinned, ...(params.text === undefined ? {} : { fact: true }) },
          riskTier: "T0",
          questId: params.questId,
          parentId: store.quest(params.questId).receiptId,
        },
        async () => {
          const item = await makeItem(params, owner);
          const limit = Math.min(deps.budget(), (await model()).contextWindow);
          const others = kept.items(params.questId).filter(({ path, pinned }) => pinned && path !== item.path);
          const tokens = estimateTokens(item.text);
          const pinnedTokens = others.reduce((sum, { text }) => sum + estimateTokens(text), 0) + (item.pinned ? tokens : 0);
          if (tokens > limit || pinnedTokens > limit) {
            const nextStep =
              item.pinned && others.length > 0
                ? ` Unpin one of ${others.map(({ path }) => path).join(", ")} first, or`
                : " Name a smaller part, or";
            throw new LancelotError(
              "conflict",
              `${item.path} takes about ${tokens.toLocaleString("en-US")} tokens and does not fit the ${limit.toLocaleString("en-US")} of a prompt with the pinned items.${nextStep} choose a model with a larger window.`,
            );
          }
          kept.putItem(params.questId, item);
          return toItem(item, item.usedAt);
        },
      ),

    async remove(questId, path) {
      const { receiptId } = store.quest(questId);
      const resolved = governance.resolvePath(path);
      const name = resolved.ok ? resolved.display : path;
      return withReceipt(
        ledger,
        {
          actionType: "user_interaction",
          actionName: "context.remove",
          inputs: { path: name },
          riskTier: "T0",
          questId,
          parentId: receiptId,
        },
        async () => {
          const view = questContext.view(questId, await model());
          return store.transaction(() => {
            const item = kept.removeItem(questId, path) || kept.removeItem(questId, name);
            const pieces = view.pieces.filter((piece) => piece.path === name && piece.state !== "left_out");
            for (const piece of pieces) kept.putState(questId, piece.messageId, { key: piece.key, state: "left_out" }, removedReason);
            return { removed: item || pieces.length > 0 };
          });
        },
      );
    },

    async compact(questId, signal, focus) {
      const { receiptId } = store.quest(questId);
      const surroundings = { ...(await context.readSources([], null)), memory: recall.last(questId) };
      const active = await model();
      const result = await questContext.compact({
        questId,
        model: active,
        surroundings,
        trace: { questId, parentId: receiptId },
        signal,
        ...(focus === undefined || focus === "" ? {} : { focus }),
      });
      if (result === null) throw new LancelotError("conflict", "There is nothing to summarize yet, because the task is still short.");
      store.patch(questId, { context: { tokens: result.after, window: active.contextWindow } });
      return result;
    },
  };
}

function toItem(item: KeptItem, usedAt: string | null): ContextItem {
  return {
    path: item.path,
    kind: item.kind,
    origin: item.kind === "fact" ? "owner" : "repository",
    tokens: estimateTokens(renderPiece(item.text, item.state)),
    pinned: item.pinned,
    state: item.state,
    reason: item.reason,
    lastUsedAt: usedAt !== null && usedAt > item.usedAt ? usedAt : item.usedAt,
  };
}
