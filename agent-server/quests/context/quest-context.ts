import type { AssembledPrompt, Context, Piece, ContextUsage, PromptSources, Trace } from "../../context/context.ts";
import { chooseEvictions, estimateTokens } from "../../context/context.ts";
import type { Governance } from "../../governance/governance.ts";
import type { ActiveModel, ToolSchema } from "../../models/models.ts";
import type { Ledger } from "../../receipts/receipts.ts";
import { compactQuest, type CompactionResult, type CompactorDeps } from "./compactor.ts";
import type { KeptItem } from "./context-store.ts";
import { refreshItems, refreshLoaded } from "./freshness.ts";
import { createPromptRequest } from "./prompt-request.ts";
import { lastUses } from "./quest-pieces.ts";
import { itemKey, type QuestView, viewQuest } from "./quest-view.ts";
import type { Tools } from "../../tools/tools.ts";

export interface QuestContextDeps extends CompactorDeps {
  context: Context;
  tools: Pick<Tools, "list" | "schemas">;
  governance: Pick<Governance, "resolvePath"> & { approvals: Pick<Governance["approvals"], "list"> };
  ledger: Pick<Ledger, "open" | "close" | "record">;
}

/** A prompt ready to be sent. */
export interface PreparedPrompt extends AssembledPrompt {
  tools: ToolSchema[];
  /** Tokens reserved for the answer. */
  answer: number;
  /** Why the prompt does not fit, and the next step; null when it fits. */
  problem: string | null;
}

export type QuestContext = ReturnType<typeof createQuestContext>;

type Model = Pick<ActiveModel, "small" | "contextWindow" | "displayName">;

/** Builds the prompts of quests and keeps them within the budget. (Requirements C2, C3.) */
export function createQuestContext(deps: QuestContextDeps) {
  const { store, kept, context, ledger, settings } = deps;
  const compacting = new Map<string, Promise<CompactionResult | null>>();

  function view(questId: string, model: Pick<Model, "small" | "contextWindow">, planning = false): QuestView {
    return viewQuest(deps, questId, createPromptRequest(deps, questId, model, planning), settings().budget_tokens);
  }

  /** Allows one summary of a quest at a time: a second request joins the first. */
  function compactOnce(questId: string, work: () => Promise<CompactionResult | null>): Promise<CompactionResult | null> {
    const running = compacting.get(questId);
    if (running !== undefined) return running;
    const result = work().finally(() => compacting.delete(questId));
    compacting.set(questId, result);
    return result;
  }

  /** Shortens, then excludes the least recently used texts until the conversation is down to the configured share. */
  function evictToFit(questId: string, current: QuestView, size: ContextUsage, trace: Trace): void {
    const excess = size.used - Math.floor(size.limit * settings().keep);
    const items = current.items.filter(({ kind, pinned }) => kind === "file" && !pinned);
    const uses = lastUses(
      current.messages,
      items.map(({ path }) => path),
    );
    const added = new Map(items.map((item) => [itemKey(item.path), item]));
    const pieces: Piece[] = [
      ...current.pieces,
      ...items.map((item) => ({
        key: itemKey(item.path),
        text: item.text,
        state: item.state,
        lastUsed: Math.max(uses.get(item.path)?.seq ?? 0, item.usedSeq),
        kept: false,
      })),
    ];
    const chosen = chooseEvictions(pieces, excess);
    if (chosen.length === 0) return;
    const reason = "Least recently used when the budget was nearly full.";
    const known = new Map(current.pieces.map((piece) => [piece.key, piece]));
    store.transaction(() => {
      for (const eviction of chosen) {
        const item = added.get(eviction.key);
        const piece = known.get(eviction.key);
        if (item !== undefined) kept.putItem(questId, { ...item, state: eviction.state, reason });
        else if (piece !== undefined) kept.putState(questId, piece.messageId, eviction, reason);
      }
      const count = (state: string): number => chosen.filter((eviction) => eviction.state === state).length;
      ledger.record(
        {
          actionType: "system",
          actionName: "context.evict",
          inputs: { tokens: size.used + size.fixed, budget: size.limit + size.fixed },
          riskTier: "T0",
          ...trace,
        },
        {
          status: "success",
          outputs: {
            shortened: count("summarized"),
            leftOut: count("left_out"),
            items: chosen.slice(0, 20).map(({ key }) => known.get(key)?.title ?? key.replace(/^item:/, "")),
          },
        },
      );
    });
  }

  return {
    view,
    compactOnce,

    /**
     * Builds the next prompt of a quest: refreshes changed files, then shortens, excludes and summarizes until the prompt fits.
     * @throws LancelotError `cancelled`.
     */
    async prompt(of: {
      questId: string;
      model: Model;
      surroundings: PromptSources;
      trace: Trace;
      signal: AbortSignal;
      /** True when the run makes a plan. */
      planning?: boolean;
    }): Promise<PreparedPrompt> {
      const { questId, model, surroundings, trace, signal, planning } = of;
      const measure = (): { current: QuestView; size: ContextUsage } => {
        const current = view(questId, model, planning);
        return { current, size: context.measure(surroundings, current.request) };
      };
      await refreshItems(deps, questId, trace);
      if (!model.small) {
        await refreshLoaded(deps, questId, view(questId, model).pieces, trace);
        signal.throwIfAborted();
        let { current, size } = measure();
        if (size.used > size.limit * settings().shorten_at) {
          evictToFit(questId, current, size, trace);
          ({ current, size } = measure());
        }
        if (size.used > size.limit * settings().compact_at) {
          await compactOnce(questId, () =>
            compactQuest(deps, { questId, reason: "budget", view: current, size, measure: () => measure().size, trace, signal }),
          ).catch((error: unknown) => {
            // Without a summary the prompt is cut to fit. The receipt contains the error.
            if (!signal.aborted) deps.log("could not summarize a task", error);
          });
          signal.throwIfAborted();
        }
      }
      const { request, items } = view(questId, model, planning);
      const assembled = context.assemble(surroundings, request, trace);
      const problem = assembled.fitted.fits
        ? null
        : overflowProblem(items, model, Math.min(request.window, request.budget ?? request.window));
      return { ...assembled, tools: request.tools, answer: request.answer, problem };
    },

    /** Summarizes the older messages now. Null when there is nothing to summarize. */
    async compact(of: {
      questId: string;
      model: Model;
      surroundings: PromptSources;
      focus?: string;
      trace: Trace;
      signal: AbortSignal;
    }): Promise<CompactionResult | null> {
      const { questId, model, surroundings, ...rest } = of;
      const current = view(questId, model);
      const measure = (): ContextUsage => context.measure(surroundings, view(questId, model).request);
      return compactOnce(questId, () =>
        compactQuest(deps, {
          questId,
          reason: "owner",
          view: current,
          size: context.measure(surroundings, current.request),
          measure,
          ...rest,
        }),
      );
    },
  };
}

/** Explains why the prompt does not fit and what to do, the largest pinned item first. */
function overflowProblem(items: readonly KeptItem[], model: Model, limit: number): string {
  const figure = (tokens: number): string => tokens.toLocaleString("en-US");
  const pinned = items
    .filter((item) => item.pinned)
    .map(({ path, text }) => ({ path, tokens: estimateTokens(text) }))
    .toSorted((a, b) => b.tokens - a.tokens || (a.path < b.path ? -1 : 1));
  const where =
    limit < model.contextWindow
      ? `the budget of ${figure(limit)} tokens (config/context.yaml)`
      : `the window of ${model.displayName} (${figure(limit)} tokens)`;
  if (pinned.length > 0) {
    const names = pinned.slice(0, 5).map(({ path, tokens }) => `${path} (about ${figure(tokens)} tokens)`);
    return `The pinned items of this task no longer fit ${where}. Unpin ${names.join(", ")}, or choose a model with a larger window.`;
  }
  return `Your messages in this task no longer fit ${where}. Start a new task, attach less, or choose a model with a larger window.`;
}
