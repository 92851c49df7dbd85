import { addUsage, noUsage, type Usage } from "../../contract/chat.ts";
import type { ProviderKind } from "../../contract/models.ts";
import type { Storage } from "../../storage/storage.ts";
import type { Nanos } from "./call-cost.ts";
import type { CountedCall } from "./types.ts";

/** A sum of calls. */
export interface Sum {
  calls: number;
  usage: Usage;
  cost: Nanos;
  cacheSavings: Nanos;
  unpriced: number;
}
/** The smallest groups, read in one pass; every part of the summary adds them up. */
export interface Cell extends Sum {
  day: string;
  lane: string;
  provider: string;
  model: string;
  /** Empty outside a quest. */
  questId: string;
  /** On this machine and free. A local proxy with a price set by the user is not. */
  free: boolean;
}

/** The calls to add up: since a day, of one quest or of all. */
export interface Scope {
  fromDay: string;
  questId: string | null;
}

export interface StoredCall extends CountedCall {
  at: string;
  day: string;
  cost: Nanos | null;
  cacheSavings: Nanos;
}

interface TokenRow {
  input: number;
  output: number;
  cached: number;
  writes: number;
  long: number;
  reasoning: number;
  tool: number;
}
interface CellRow extends TokenRow {
  day: string;
  lane: string;
  provider: string;
  model: string;
  questId: string;
  free: number;
  calls: number;
  cost: number;
  savings: number;
  unpriced: number;
}

/** The tables of usage: calls, reservations of running calls, and the date of the last reset. */
export function createUsageStore({ db, transaction, hostId, hostAlive }: Pick<Storage, "db" | "transaction" | "hostId" | "hostAlive">) {
  const insert = db.prepare(`
    INSERT INTO usage_calls (at, day, quest_id, provider, kind, model, lane, on_this_machine, input_tokens, output_tokens,
      cached_input_tokens, cache_write_tokens, long_cache_write_tokens, reasoning_tokens, tool_tokens, cost, cache_savings, receipt_id)
    VALUES (@at, @day, @questId, @provider, @kind, @model, @lane, @here, @input, @output, @cached, @writes, @long, @reasoning, @tool,
      @cost, @cacheSavings, @receiptId)`);
  const cells = db.prepare<Scope, CellRow>(`
    SELECT day, lane, provider, model, COALESCE(quest_id, '') AS questId, on_this_machine = 1 AND cost = 0 AS free,
      COUNT(*) AS calls, SUM(input_tokens) AS input, SUM(output_tokens) AS output, SUM(cached_input_tokens) AS cached,
      SUM(cache_write_tokens) AS writes, SUM(long_cache_write_tokens) AS long, SUM(reasoning_tokens) AS reasoning,
      SUM(tool_tokens) AS tool, COALESCE(SUM(cost), 0) AS cost, SUM(cache_savings) AS savings, COUNT(*) - COUNT(cost) AS unpriced
    FROM usage_calls WHERE day >= @fromDay AND (@questId IS NULL OR quest_id = @questId) GROUP BY 1, 2, 3, 4, 5, 6`);
  const questCost = db.prepare<[string], { calls: number; cost: number }>(
    "SELECT COUNT(*) AS calls, COALESCE(SUM(cost), 0) AS cost FROM usage_calls WHERE quest_id = ?",
  );
  const dayCost = db.prepare<[string], number>("SELECT COALESCE(SUM(cost), 0) FROM usage_calls WHERE day = ?").pluck();
  const held = db.prepare<[], { id: string; host_id: string; quest_id: string | null; amount: number }>("SELECT * FROM usage_reservations");
  const hold = db.prepare("INSERT INTO usage_reservations (id, host_id, quest_id, amount) VALUES (?, ?, ?, ?)");
  const free = db.prepare("DELETE FROM usage_reservations WHERE id = ?");
  const since = db.prepare<[], string | null>("SELECT since FROM usage_since WHERE only_row = 1").pluck();
  const first = db.prepare<[], string | null>("SELECT at FROM usage_calls ORDER BY id LIMIT 1").pluck();
  const unpriced = db.prepare<
    [],
    { id: number; day: string; provider: string; kind: ProviderKind; model: string; here: number } & TokenRow
  >(`
    SELECT id, day, provider, kind, model, on_this_machine AS here, input_tokens AS input, output_tokens AS output,
      cached_input_tokens AS cached, cache_write_tokens AS writes, long_cache_write_tokens AS long, reasoning_tokens AS reasoning,
      tool_tokens AS tool FROM usage_calls WHERE cost IS NULL`);
  const price = db.prepare("UPDATE usage_calls SET cost = ?, cache_savings = ? WHERE id = ?");

  return {
    transaction,
    add({ usage, onThisMachine, ...call }: StoredCall): void {
      insert.run({
        ...call,
        here: onThisMachine === true ? 1 : 0,
        input: usage.inputTokens,
        output: usage.outputTokens,
        cached: usage.cachedInputTokens,
        writes: usage.cacheWriteTokens,
        long: usage.longCacheWriteTokens ?? 0,
        reasoning: usage.reasoningTokens,
        tool: usage.toolTokens,
      });
    },
    cells: (scope: Scope): Cell[] => cells.all(scope).map(toCell),
    questCost: (questId: string): Nanos | null => {
      const found = questCost.get(questId);
      return found === undefined || found.calls === 0 ? null : found.cost;
    },
    dayCost: (day: string): Nanos => dayCost.get(day) ?? 0,

    /** Reservations of running calls. Those of ended hosts are released. */
    held(questId: string | null): { all: Nanos; quest: Nanos } {
      const kept = held.all().filter((row) => {
        if (row.host_id === hostId || hostAlive(row.host_id)) return true;
        free.run(row.id);
        return false;
      });
      const sumOf = (rows: typeof kept): Nanos => rows.reduce((sum, { amount }) => sum + amount, 0);
      return { all: sumOf(kept), quest: questId === null ? 0 : sumOf(kept.filter((row) => row.quest_id === questId)) };
    },
    hold: (id: string, questId: string | null, amount: Nanos): void => void hold.run(id, hostId, questId, amount),
    free: (id: string): void => void free.run(id),

    since: (): string | null => since.get() ?? first.get() ?? null,
    reset(at: string): void {
      db.exec("DELETE FROM usage_calls");
      db.prepare("UPDATE usage_since SET since = ? WHERE only_row = 1").run(at);
    },
    /** Visits calls without a price and stores the result of `priceOf`. */
    reprice(
      priceOf: (
        call: Pick<StoredCall, "day" | "provider" | "kind" | "model" | "usage"> & { onThisMachine: boolean },
      ) => { cost: Nanos; cacheSavings: Nanos } | null,
    ): void {
      for (const { id, day, provider, kind, model, here, ...row } of unpriced.all()) {
        const found = priceOf({ day, provider, kind, model, onThisMachine: here === 1, usage: toUsage(row) });
        if (found !== null) price.run(found.cost, found.cacheSavings, id);
      }
    },
  };
}
export type UsageStore = ReturnType<typeof createUsageStore>;

/** Adds two sums. */
export function addSums(one: Sum, other: Sum): Sum {
  return {
    calls: one.calls + other.calls,
    usage: addUsage(one.usage, other.usage),
    cost: one.cost + other.cost,
    cacheSavings: one.cacheSavings + other.cacheSavings,
    unpriced: one.unpriced + other.unpriced,
  };
}

export function noSum(): Sum {
  return { calls: 0, usage: noUsage(), cost: 0, cacheSavings: 0, unpriced: 0 };
}

function toCell({ day, lane, provider, model, questId, free, calls, cost, savings, unpriced, ...tokens }: CellRow): Cell {
  return { day, lane, provider, model, questId, free: free === 1, calls, usage: toUsage(tokens), cost, cacheSavings: savings, unpriced };
}

function toUsage(row: TokenRow): Usage {
  return {
    inputTokens: row.input,
    outputTokens: row.output,
    cachedInputTokens: row.cached,
    cacheWriteTokens: row.writes,
    ...(row.long === 0 ? {} : { longCacheWriteTokens: row.long }),
    reasoningTokens: row.reasoning,
    toolTokens: row.tool,
  };
}
