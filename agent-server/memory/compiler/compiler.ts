import { hash, randomUUID } from "node:crypto";
import type { CompiledContext } from "../../contract/memory.ts";
import type { Ledger } from "../../receipts/receipts.ts";
import type { Redactor } from "../../security/security.ts";
import type { Storage } from "../../storage/storage.ts";
import { type CoreBlocks, type Exclusion, textOf } from "../core-blocks.ts";
import type { Contexts } from "../compiled-context-store.ts";
import type { MemorySearch } from "../item-types.ts";
import type { CompileQuery, MemoryDeps } from "../types.ts";
import type { MemorySettings } from "../memory-settings.ts";
import { byPlace, createWorkingCandidates, isRequest, retrieve, scoreFor } from "./prompt-candidates.ts";
import { type Content, dataLines, dataParts, render, renderSmall } from "./render-context.ts";
import type { SecurityFilter } from "./security-filter.ts";
import { coreContent, fitWhole, selectData } from "./data-selection.ts";
import { createRemovedContentFilter } from "./removed-content-filter.ts";

/** Compiles the memory part of a prompt (specification, 3: the context compiler). */
export interface Compiler {
  /**
   * The same memory, soul, owner files and query give the same `renderedPrompt`, byte for byte: on any machine, in any locale and time
   * zone, in whatever order the items were written. Only expiry and the UTC day depend on the clock. With an
   * empty memory the text is empty. Each call is recorded as `memory.compile` and stored for inspection.
   *
   * `mode` crusader: the same core blocks and working memory, half of the retrieved items, for a shorter prompt.
   * `chat.small`: only core facts as one list of at most `smallTokens`, unless `maxTokens` is given. `maxTokens`
   * never exceeds `context_tokens` of the settings.
   */
  compile(query: CompileQuery): CompiledContext;
}

export interface CompilerDeps {
  readonly storage: Storage;
  readonly ledger: Pick<Ledger, "record">;
  readonly redactor: Redactor;
  readonly search: Pick<MemorySearch, "search">;
  /** Results of the search below this score answer no question (`minScore` of the search). */
  readonly minimalScore: number;
  readonly blocks: CoreBlocks;
  readonly contexts: Pick<Contexts, "keep">;
  readonly filter: SecurityFilter;
  readonly settings: () => MemorySettings;
  readonly estimateTokens: (text: string) => number;
  readonly soul: MemoryDeps["soul"];
  /** Absolute path; `-` when no folder is open. */
  readonly workspace: string;
  /** Milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
}

/** Tokens for a model with a small window. */
const smallTokens = 200;
/** Characters of the objective in a stored context and its receipt. */
const keptObjective = 2_000;
const receiptObjective = 500;
/** Most included and most excluded items that the receipt names; the numbers are of all. */
const maxReceiptItems = 50;
/** The fraction of retrieved tokens in crusader mode. */
const crusaderShare = 0.5;

export function createCompiler(deps: CompilerDeps): Compiler {
  const { storage, ledger, redactor, search, minimalScore, blocks, contexts, settings, estimateTokens, soul, now = Date.now } = deps;
  const working = createWorkingCandidates(storage, deps.workspace);
  const withoutRemoved = createRemovedContentFilter(storage, deps.workspace);
  const tokensOf = (text: string): number => (text === "" ? 0 : estimateTokens(text));

  /** Included and excluded items, from one state of the database. */
  const select = (query: CompileQuery, max: number, at: number): { content: Content; excluded: Exclusion[] } => {
    const limits = shared(settings(), query.mode);
    const filter = ofTask(deps.filter, query.chat?.marker);
    const parts = blocks.parts({ outside: query.chat === undefined, scale: Math.min(1, max / limits.context_tokens), now: at, filter });
    const core = parts.flatMap(({ entries }) => entries);
    const small = query.chat?.small === true;
    const retrieved = withoutRemoved(small ? [] : retrieve(search, { ...query, limit: limits.retrieved_items, now: at }), core);
    const { data, excluded } = selectData({
      working: small ? [] : working(query.questId, at),
      retrieved: retrieved.kept,
      core,
      limits,
      minimalScore: scoreFor(query.objective, minimalScore),
      mentions: isRequest(query.objective),
      filter,
      estimateTokens,
    });
    const content = {
      blocks: coreContent(parts),
      data: {
        working: data.working.toSorted(byPlace),
        episodic: data.episodic.toSorted(byPlace),
        archival: data.archival.toSorted(byPlace),
      },
    };
    const whole = fitWhole(content, max, (some) => tokensOf(textFor(some, query)));
    return {
      content: whole.content,
      excluded: [...parts.flatMap((part) => part.excluded), ...retrieved.excluded, ...excluded, ...whole.excluded],
    };
  };

  return {
    compile(query) {
      const at = now();
      const { context_tokens } = settings();
      const max = Math.min(query.maxTokens ?? (query.chat?.small === true ? smallTokens : context_tokens), context_tokens);
      const { content, excluded } = storage.db.transaction(() => select(query, max, at)).deferred();
      const renderedPrompt = textFor(content, query);
      const tokenEstimate = tokensOf(renderedPrompt);
      const includedItemIds = [...content.blocks.flatMap(({ entries }) => entries), ...dataParts.flatMap((part) => content.data[part])].map(
        ({ id }) => id,
      );
      const breakdown = tokensByPart(content, tokenEstimate, tokensOf);
      const objective = redactor.text(query.objective).text;

      const receiptId = ledger.record(
        {
          actionType: "system",
          actionName: "memory.compile",
          inputs: { objective: start(objective, receiptObjective), questId: query.questId, mode: query.mode, maxTokens: max },
          riskTier: "T0",
          questId: query.questId,
          parentId: query.parentId ?? null,
        },
        {
          status: "success",
          outputs: {
            tokens: tokenEstimate,
            breakdown,
            included: includedItemIds.length,
            excluded: excluded.length,
            includedIds: includedItemIds.slice(0, maxReceiptItems),
            excludedItems: excluded.slice(0, maxReceiptItems).map(({ id, reason }) => ({ id, reason })),
            sha256: hash("sha256", renderedPrompt, "hex"),
          },
        },
      );
      const context: CompiledContext = {
        contextId: randomUUID(),
        createdAt: new Date(at).toISOString(),
        objective: start(objective, keptObjective),
        questId: query.questId,
        mode: query.mode,
        soulVersion: soul()?.version ?? null,
        includedBlocks: content.blocks.filter(({ head, entries }) => textOf(head, entries) !== "").map(({ block }) => block),
        includedItemIds,
        excluded,
        tokenEstimate,
        maxTokens: max,
        breakdown,
        receiptId,
        renderedPrompt,
      };
      contexts.keep(context);
      return context;
    },
  };
}

function textFor(content: Content, { chat }: CompileQuery): string {
  return (chat?.small === true ? renderSmall(content) : render(content, chat?.marker ?? null)).toWellFormed();
}

/** Crusader mode uses the same memory with fewer retrieved items. */
function shared(settings: MemorySettings, mode: CompileQuery["mode"]): MemorySettings {
  if (mode === "normal") return settings;
  return {
    ...settings,
    retrieved_items: Math.ceil(settings.retrieved_items * crusaderShare),
    retrieved_tokens: Math.floor(settings.retrieved_tokens * crusaderShare),
  };
}

/** A text that contains this task's marker was written to end its data marks. */
function ofTask(filter: SecurityFilter, marker: string | undefined): SecurityFilter {
  if (marker === undefined) return filter;
  return (text) => (text.includes(marker) ? "It contains this task's data marker." : filter(text));
}

function tokensByPart({ blocks, data }: Content, whole: number, tokensOf: (text: string) => number): Record<string, number> {
  const parts: Record<string, number> = {};
  for (const { block, head, entries } of blocks) parts[block] = tokensOf(textOf(head, entries));
  for (const part of dataParts) parts[part] = tokensOf(dataLines(data[part]));
  const sum = Object.values(parts).reduce((total, tokens) => total + tokens, 0);
  return { ...parts, frame: Math.max(0, whole - sum) };
}

function start(text: string, characters: number): string {
  return text.slice(0, characters).toWellFormed();
}
