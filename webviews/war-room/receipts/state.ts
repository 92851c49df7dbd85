import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Receipt } from "../../../agent-server/contract/receipts.ts";
import type { ParamsIn } from "../../../agent-server/contract/table.ts";
import { type Bridge, isCancelled, problemOf } from "../../shared/bridge.ts";
import type { Store } from "../../shared/store.ts";
import type { Filters, SavedRoom } from "../state.ts";

/** What a row of the list shows. The rest of a receipt is read when it is opened, so that long lists stay small. */
export type Row = Pick<Receipt, "id" | "timestamp" | "actionType" | "actionName" | "status" | "riskTier" | "durationMs" | "questId"> & {
  /** What it was about: a file, a search, a title; empty when the receipt does not say. */
  readonly subject: string;
};

export interface ReceiptsState {
  readonly filters: Signal<Filters>;
  readonly selected: Signal<string | null>;
  /** Newest first. */
  readonly rows: ReadonlySignal<readonly Row[]>;
  readonly loading: ReadonlySignal<boolean>;
  /** True once the first page is here. */
  readonly loaded: ReadonlySignal<boolean>;
  readonly problem: ReadonlySignal<string | null>;
  /** Receipts that came since, while the owner was further down or searched by text. */
  readonly fresh: ReadonlySignal<number>;
  /** True while the newest rows are on screen; then new receipts join at once. */
  readonly atTop: Signal<boolean>;
  reload(): void;
  /** Fetches the next page when the last rows are near. */
  needRow(index: number): void;
}

const pageSize = 200;
/** Rows left below the screen when the next page is asked for. */
const lookAhead = 60;

export function rowOf(receipt: Receipt): Row {
  const { id, timestamp, actionType, actionName, status, riskTier, durationMs, questId } = receipt;
  return { id, timestamp, actionType, actionName, status, riskTier, durationMs, questId, subject: subjectOf(receipt) };
}

const subjectFields = ["path", "title", "query", "command", "url", "reason", "model", "file"] as const;
const longestSubject = 200;

/** The first of a receipt's inputs that says what it was about. A denied intent carries them one level down, in `args`. */
export function subjectOf({ inputs }: Pick<Receipt, "inputs">): string {
  const nested = inputs["args"];
  for (const fields of [inputs, typeof nested === "object" && nested !== null ? (nested as Record<string, unknown>) : {}])
    for (const name of subjectFields) {
      const value = fields[name];
      if (typeof value === "string" && value.trim() !== "") return value.replace(/\s+/g, " ").trim().slice(0, longestSubject);
    }
  return "";
}

/** Start of a local day (`YYYY-MM-DD`) as a timestamp, `days` later; null for no day. */
export function dayStart(day: string, days = 0): string | null {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day);
  if (match === null) return null;
  const date = new Date(Number(match[1]), Number(match[2]) - 1, Number(match[3]) + days);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

/** The search that a set of filters stands for. `to` includes its day. */
export function searchOf(filters: Filters): ParamsIn<"receipts.search"> {
  const { actionType, status, tier } = filters;
  const query = filters.query.trim();
  const questId = filters.questId.trim();
  const from = dayStart(filters.from);
  const end = dayStart(filters.to, 1);
  return {
    ...(query === "" ? {} : { query }),
    ...(questId === "" ? {} : { questId }),
    ...(actionType === null ? {} : { actionType }),
    ...(status === null ? {} : { status }),
    ...(tier === null ? {} : { tier }),
    ...(from === null ? {} : { from }),
    ...(end === null ? {} : { to: new Date(new Date(end).getTime() - 1).toISOString() }),
  };
}

/** What of the filters an export knows: the task and the days. */
export function exportRange(filters: Filters): Record<string, string> {
  const { questId, from, to } = searchOf(filters);
  return { ...(questId === undefined ? {} : { questId }), ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
}

/** Whether a receipt belongs in the list; null when only the host can tell (text search). */
export function matches(receipt: Receipt, filters: Filters): boolean | null {
  const search = searchOf(filters);
  const fits =
    (search.questId === undefined || receipt.questId === search.questId) &&
    (search.actionType === undefined || receipt.actionType === search.actionType) &&
    (search.status === undefined || receipt.status === search.status) &&
    (search.tier === undefined || receipt.riskTier === search.tier) &&
    (search.from === undefined || receipt.timestamp >= search.from) &&
    (search.to === undefined || receipt.timestamp <= search.to);
  if (!fits) return false;
  return search.query === undefined ? true : null;
}

export function createReceiptsState(bridge: Bridge, store: Pick<Store, "generation">, saved: SavedRoom): ReceiptsState {
  const filters = signal<Filters>(saved.filters);
  const selected = signal<string | null>(saved.receiptId);
  const rows = signal<readonly Row[]>([]);
  const loading = signal(false);
  const loaded = signal(false);
  const problem = signal<string | null>(null);
  const fresh = signal(0);
  const atTop = signal(true);
  let cursor: string | undefined;
  let stop: AbortController | undefined;

  async function fetchPage(first: boolean): Promise<void> {
    stop?.abort();
    const mine = new AbortController();
    stop = mine;
    loading.value = true;
    try {
      const page = await bridge.call(
        "receipts.search",
        { ...searchOf(filters.peek()), limit: pageSize, ...(first || cursor === undefined ? {} : { cursor }) },
        mine.signal,
      );
      if (stop !== mine) return;
      const known = new Set(first ? [] : rows.peek().map((row) => row.id));
      const next = page.items.filter((receipt) => !known.has(receipt.id)).map(rowOf);
      rows.value = first ? next : [...rows.peek(), ...next];
      cursor = page.nextCursor;
      if (first) fresh.value = 0;
      loaded.value = true;
      problem.value = null;
    } catch (error) {
      if (stop === mine && !isCancelled(error)) problem.value = problemOf(error);
    } finally {
      if (stop === mine) {
        loading.value = false;
        stop = undefined;
      }
    }
  }

  function receive(receipt: Receipt): void {
    const index = rows.peek().findIndex((row) => row.id === receipt.id);
    const fits = matches(receipt, filters.peek());
    if (index >= 0) {
      // A closed receipt may no longer fit a filter by status.
      rows.value = fits === false ? rows.peek().toSpliced(index, 1) : rows.peek().with(index, rowOf(receipt));
      return;
    }
    const newest = rows.peek()[0];
    if (fits === false || (newest !== undefined && receipt.timestamp < newest.timestamp)) return;
    if (fits === true && atTop.peek()) rows.value = [rowOf(receipt), ...rows.peek()];
    else if (receipt.status === "pending") fresh.value += 1;
  }

  bridge.onEvent((event) => {
    if (event.topic === "receipt" && loaded.peek()) receive(event.payload);
  });
  store.generation.subscribe((generation) => {
    if (generation > 0) void fetchPage(true);
  });
  let before = filters.peek();
  filters.subscribe((next) => {
    if (next === before) return;
    before = next;
    if (store.generation.peek() > 0) void fetchPage(true);
  });

  return {
    filters,
    selected,
    rows,
    loading,
    loaded,
    problem,
    fresh,
    atTop,
    reload: () => void fetchPage(true),
    needRow: (index) => {
      if (cursor !== undefined && stop === undefined && index >= rows.peek().length - lookAhead) void fetchPage(false);
    },
  };
}
