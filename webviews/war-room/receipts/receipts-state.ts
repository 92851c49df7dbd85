import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { actionTypesOfActions, type Receipt } from "../../../agent-server/contract/receipts.ts";
import type { ParamsIn } from "../../../agent-server/contract/table.ts";
import { type Bridge, isCancelled, problemOf } from "../../shared/bridge.ts";
import type { Store } from "../../shared/store.ts";
import type { Filters, SavedWarRoom } from "../war-room-types.ts";

/** The fields of a list row. The full receipt is read when it is opened, which keeps long lists small. */
export type Row = Pick<Receipt, "id" | "timestamp" | "actionType" | "actionName" | "status" | "riskTier" | "durationMs" | "questId"> & {
  /** The subject of the action, such as a file, a search or a title; empty if the receipt names none. */
  readonly subject: string;
};

export interface ReceiptsState {
  readonly filters: Signal<Filters>;
  readonly selected: Signal<string | null>;
  /** Newest first. */
  readonly rows: ReadonlySignal<readonly Row[]>;
  readonly loading: ReadonlySignal<boolean>;
  /** True after the first page has loaded. */
  readonly loaded: ReadonlySignal<boolean>;
  readonly problem: ReadonlySignal<string | null>;
  /** Number of new receipts while the user is scrolled down or searches by text. */
  readonly fresh: ReadonlySignal<number>;
  /** True while the newest rows are visible; new receipts are then added at once. */
  readonly atTop: Signal<boolean>;
  reload(): void;
  /** Loads the next page when the last rows are near. */
  needRow(index: number): void;
}

const pageSize = 200;
/** Number of rows before the end at which the next page is loaded. */
const lookAhead = 60;

export function rowOf(receipt: Receipt): Row {
  const { id, timestamp, actionType, actionName, status, riskTier, durationMs, questId } = receipt;
  return { id, timestamp, actionType, actionName, status, riskTier, durationMs, questId, subject: subjectOf(receipt) };
}

const subjectFields = ["path", "title", "query", "command", "url", "reason", "model", "file"] as const;
const maxSubjectLength = 200;

/** Returns the first input of a receipt that names its subject. A denied action has its inputs one level down, in `args`. */
export function subjectOf({ inputs }: Pick<Receipt, "inputs">): string {
  const nested = inputs["args"];
  for (const fields of [inputs, typeof nested === "object" && nested !== null ? (nested as Record<string, unknown>) : {}])
    for (const name of subjectFields) {
      const value = fields[name];
      if (typeof value === "string" && value.trim() !== "") return value.replace(/\s+/g, " ").trim().slice(0, maxSubjectLength);
    }
  return "";
}

/** Returns the start of a local day (`YYYY-MM-DD`) plus `days` as a timestamp; null for an invalid day. */
export function dayStart(day: string, days = 0): string | null {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day);
  if (match === null) return null;
  const date = new Date(Number(match[1]), Number(match[2]) - 1, Number(match[3]) + days);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

/** Converts filters to a search request. `to` includes the whole day. */
export function searchOf(filters: Filters): ParamsIn<"receipts.search"> {
  const { actionType, status, tier } = filters;
  const query = filters.query.trim();
  const questId = filters.questId.trim();
  const from = dayStart(filters.from);
  const end = dayStart(filters.to, 1);
  return {
    ...(query === "" ? {} : { query }),
    ...(questId === "" ? {} : { questId }),
    ...(actionType === null ? {} : actionType === "actions" ? { actionTypes: [...actionTypesOfActions] } : { actionType }),
    ...(status === null ? {} : { status }),
    ...(tier === null ? {} : { tier }),
    ...(from === null ? {} : { from }),
    ...(end === null ? {} : { to: new Date(new Date(end).getTime() - 1).toISOString() }),
  };
}

/** Returns the filters that an export supports: the task and the days. */
export function exportRange(filters: Filters): Record<string, string> {
  const { questId, from, to } = searchOf(filters);
  return { ...(questId === undefined ? {} : { questId }), ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
}

/** Returns whether a receipt belongs in the list; null when only the host can tell (text search). */
export function matches(receipt: Receipt, filters: Filters): boolean | null {
  const search = searchOf(filters);
  const fits =
    (search.questId === undefined || receipt.questId === search.questId) &&
    (search.actionType === undefined || receipt.actionType === search.actionType) &&
    (search.actionTypes === undefined || search.actionTypes.includes(receipt.actionType)) &&
    (search.status === undefined || receipt.status === search.status) &&
    (search.tier === undefined || receipt.riskTier === search.tier) &&
    (search.from === undefined || receipt.timestamp >= search.from) &&
    (search.to === undefined || receipt.timestamp <= search.to);
  if (!fits) return false;
  return search.query === undefined ? true : null;
}

export function createReceiptsState(bridge: Bridge, store: Pick<Store, "generation">, saved: SavedWarRoom): ReceiptsState {
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
      // A closed receipt may no longer match a status filter.
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
