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

/** A prompt ready to be sent, and what it came to. */
export interface PreparedPrompt extends AssembledPrompt {
  tools: ToolSchema[];
  /** Tokens of the room for the answer. */
  answer: number;
  /** Why it does not fit and what to do, for the owner; null when it fits. */
  problem: string | null;
}

export type QuestContext = ReturnType<typeof createQuestContext>;

type Model = Pick<ActiveModel, "small" | "contextWindow" | "displayName">;

/** What a task's prompts are made of, kept within its budget. (Requirements C2, C3.) */
export function createQuestContext(deps: QuestContextDeps) {
  const { store, kept, context, ledger, settings } = deps;
  const compacting = new Map<string, Promise<CompactionResult | null>>();

  function view(questId: string, model: Pick<Model, "small" | "contextWindow">): QuestView {
    return viewQuest(deps, questId, createPromptRequest(deps, questId, model), settings().budget_tokens);
  }

  /** One summary of a task at a time: a second wish for one waits for the first and is done with it. */
  function compactOnce(questId: string, work: () => Promise<CompactionResult | null>): Promise<CompactionResult | null> {
    const running = compacting.get(questId);
    if (running !== undefined) return running;
    const made = work().finally(() => compacting.delete(questId));
    compacting.set(questId, made);
    return made;
  }

  /** Shortens, then leaves out what was used longest ago, until the conversation is down to the share that is kept. */
  function evictToFit(questId: string, current: QuestView, room: ContextUsage, trace: Trace): void {
    const excess = room.used - Math.floor(room.limit * settings().keep);
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
    const reason = "It was used longest ago, and the budget was nearly full.";
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
          inputs: { tokens: room.used + room.fixed, budget: room.limit + room.fixed },
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
     * The next prompt of a task: what changed on the disk is looked at, what is too much makes room, and what cannot leave stays.
     * @throws LancelotError `cancelled`.
     */
    async prompt(of: {
      questId: string;
      model: Model;
      surroundings: PromptSources;
      trace: Trace;
      signal: AbortSignal;
    }): Promise<PreparedPrompt> {
      const { questId, model, surroundings, trace, signal } = of;
      const measure = (): { current: QuestView; room: ContextUsage } => {
        const current = view(questId, model);
        return { current, room: context.measure(surroundings, current.wish) };
      };
      await refreshItems(deps, questId, trace);
      if (!model.small) {
        await refreshLoaded(deps, questId, view(questId, model).pieces, trace);
        signal.throwIfAborted();
        let { current, room } = measure();
        if (room.used > room.limit * settings().shorten_at) {
          evictToFit(questId, current, room, trace);
          ({ current, room } = measure());
        }
        if (room.used > room.limit * settings().compact_at) {
          await compactOnce(questId, () =>
            compactQuest(deps, { questId, reason: "budget", view: current, room, measure: () => measure().room, trace, signal }),
          ).catch((error: unknown) => {
            // Without a summary the prompt is cut as far as it must be; the receipt says what went wrong.
            if (!signal.aborted) deps.log("the older part of a task was not summarized", error);
          });
          signal.throwIfAborted();
        }
      }
      const { wish, items } = view(questId, model);
      const assembled = context.assemble(surroundings, wish, trace);
      const problem = assembled.fitted.fits ? null : overflowProblem(items, model, Math.min(wish.window, wish.budget ?? wish.window));
      return { ...assembled, tools: wish.tools, answer: wish.answer, problem };
    },

    /** Summarizes the older part now. Null when nothing is older than what is kept. */
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
      const measure = (): ContextUsage => context.measure(surroundings, view(questId, model).wish);
      return compactOnce(questId, () =>
        compactQuest(deps, {
          questId,
          reason: "owner",
          view: current,
          room: context.measure(surroundings, current.wish),
          measure,
          ...rest,
        }),
      );
    },
  };
}

/** What no longer fits and what the owner can do, the largest pinned item first. */
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
    return `What must stay in this task no longer fits ${where}. Unpin ${names.join(", ")}, or choose a model with a larger window.`;
  }
  return `Your messages in this task no longer fit ${where}. Start a new task, attach less, or choose a model with a larger window.`;
}
