import { effect, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { LocalServer } from "../../../agent-server/contract/models.ts";
import type { RouterDecision } from "../../../agent-server/contract/router.ts";
import type { Result } from "../../../agent-server/contract/table.ts";
import type { UsageCaps, UsageSummary } from "../../../agent-server/contract/usage.ts";
import { type Bridge, problemOf } from "../../shared/bridge.ts";
import type { Store } from "../../shared/store.ts";
import { createLiveQuery, type LiveQuery } from "../live-query.ts";

export const dayOptions = [7, 30, 90] as const;
/** The quantity that the charts show. */
export const measures = ["cost", "tokens"] as const;
export type Measure = (typeof measures)[number];
export type UsageRequest = "caps" | "download" | "pause" | "load" | "unload" | "servers" | "use";

export interface RouterView {
  readonly decisions: readonly RouterDecision[];
  readonly stats: Result<"router.stats">;
}

export interface UsageState {
  readonly summary: LiveQuery<UsageSummary>;
  readonly router: LiveQuery<RouterView>;
  readonly days: ReadonlySignal<number>;
  setDays(days: number): void;
  readonly measure: Signal<Measure>;
  /** Discovered servers; null until the user starts a search. */
  readonly servers: ReadonlySignal<readonly LocalServer[] | null>;
  /** The request that is in progress. */
  readonly busy: ReadonlySignal<UsageRequest | null>;
  /** The problem of the last request, and which request it was. */
  readonly problem: Signal<{ readonly request: UsageRequest; readonly text: string } | null>;
  /** The caps that the host saved, with their receipt; null before the first save. */
  readonly saved: ReadonlySignal<{ readonly caps: UsageCaps; readonly receiptId: string | null } | null>;
  saveCaps(caps: UsageCaps): Promise<boolean>;
  download(): void;
  pause(): void;
  load(): void;
  unload(): void;
  findServers(): void;
  useServer(url: string, model: string): void;
}

/** Minimum milliseconds between two reads, because small local tasks come in bursts. */
const minIntervalMs = 1000;
const decisionsShown = 50;

export function createUsageState(bridge: Bridge, store: Store, shown: ReadonlySignal<boolean>): UsageState {
  const days = signal<number>(30);
  const measure = signal<Measure>("cost");
  const summary = createLiveQuery<UsageSummary>({
    // The host sends this event at most twice a second.
    ...{ bridge, store, shown, topics: ["usage", "models", "questDeleted"] as const },
    read: (abort) => bridge.call("usage.summary", { days: days.peek() }, abort),
  });
  const router = createLiveQuery<RouterView>({
    ...{ bridge, store, shown, minIntervalMs, topics: ["routed", "models"] as const },
    async read(abort) {
      const [{ items }, stats] = await Promise.all([
        bridge.call("router.decisions", { limit: decisionsShown }, abort),
        bridge.call("router.stats", {}, abort),
      ]);
      return { decisions: items, stats };
    },
  });
  const servers = signal<readonly LocalServer[] | null>(null);
  const busy = signal<UsageRequest | null>(null);
  const problem = signal<UsageState["problem"]["value"]>(null);
  const saved = signal<UsageState["saved"]["value"]>(null);

  async function attempt(what: UsageRequest, work: () => Promise<void>): Promise<boolean> {
    if (busy.peek() !== null) return false;
    busy.value = what;
    problem.value = null;
    try {
      await work();
      return true;
    } catch (error) {
      problem.value = { request: what, text: problemOf(error) };
      return false;
    } finally {
      busy.value = null;
    }
  }

  // The receipt arrives in its own event, before or after the response.
  effect(() => {
    const receipt = store.latestReceipts.value.find(({ actionName, status }) => actionName === "usage.setCaps" && status === "success");
    const now = saved.value;
    if (now !== null && now.receiptId === null && receipt !== undefined) saved.value = { ...now, receiptId: receipt.id };
  });

  return {
    summary,
    router,
    days,
    setDays: (next) => {
      days.value = next;
      summary.refresh();
    },
    measure,
    servers,
    busy,
    problem,
    saved,
    saveCaps: (caps) =>
      attempt("caps", async () => {
        saved.value = { caps: await bridge.call("usage.setCaps", caps), receiptId: null };
        summary.refresh();
      }),
    download: () => void attempt("download", async () => void (await bridge.call("models.local.download", {}))),
    pause: () => void attempt("pause", async () => void (await bridge.call("models.local.cancel", {}))),
    load: () => void attempt("load", async () => void (await bridge.call("models.local.load", {}))),
    unload: () => void attempt("unload", async () => void (await bridge.call("models.local.unload", {}))),
    findServers: () =>
      void attempt("servers", async () => {
        servers.value = (await bridge.call("models.servers", {})).items;
      }),
    useServer: (url, model) =>
      void attempt("use", async () => {
        await bridge.call("models.useServer", { url, model });
        servers.value = (await bridge.call("models.servers", {})).items;
      }),
  };
}
