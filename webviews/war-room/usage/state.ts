import { effect, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { LocalServer } from "../../../agent-server/contract/models.ts";
import type { RouterDecision } from "../../../agent-server/contract/router.ts";
import type { Result } from "../../../agent-server/contract/table.ts";
import type { UsageCaps, UsageSummary } from "../../../agent-server/contract/usage.ts";
import { type Bridge, problemOf } from "../../shared/bridge.ts";
import type { Store } from "../../shared/store.ts";
import { createLive, type Live } from "../live.ts";

export const spans = [7, 30, 90] as const;
/** What the charts are drawn of. */
export type Measure = "cost" | "tokens";
export type Busy = "caps" | "download" | "pause" | "load" | "unload" | "servers" | "use";

export interface RouterView {
  readonly decisions: readonly RouterDecision[];
  readonly stats: Result<"router.stats">;
}

export interface UsageState {
  readonly summary: Live<UsageSummary>;
  readonly router: Live<RouterView>;
  readonly days: Signal<number>;
  readonly measure: Signal<Measure>;
  /** Servers that were found; null until the owner asked. */
  readonly servers: ReadonlySignal<readonly LocalServer[] | null>;
  /** What the host is at for the owner. */
  readonly busy: ReadonlySignal<Busy | null>;
  /** Why the last of these did not work, and which it was. */
  readonly problem: Signal<{ readonly of: Busy; readonly text: string } | null>;
  /** Caps the host has written, with the receipt of it; null until some were. */
  readonly saved: ReadonlySignal<{ readonly caps: UsageCaps; readonly receiptId: string | null } | null>;
  saveCaps(caps: UsageCaps): Promise<boolean>;
  download(): void;
  pause(): void;
  load(): void;
  unload(): void;
  find(): void;
  use(url: string, model: string): void;
}

/** Milliseconds between two reads of what the router did; small local tasks come in bursts. */
const restMs = 1000;
const decisionsShown = 50;

export function createUsageState(bridge: Bridge, store: Store, shown: ReadonlySignal<boolean>): UsageState {
  const days = signal<number>(30);
  const measure = signal<Measure>("cost");
  const summary = createLive<UsageSummary>({
    // The host tells of calls at most twice a second.
    ...{ bridge, store, shown, topics: ["usage", "models", "questDeleted"] as const },
    read: (abort) => bridge.call("usage.summary", { days: days.peek() }, abort),
  });
  const router = createLive<RouterView>({
    ...{ bridge, store, shown, restMs, topics: ["routed", "models"] as const },
    async read(abort) {
      const [{ items }, stats] = await Promise.all([
        bridge.call("router.decisions", { limit: decisionsShown }, abort),
        bridge.call("router.stats", {}, abort),
      ]);
      return { decisions: items, stats };
    },
  });
  const servers = signal<readonly LocalServer[] | null>(null);
  const busy = signal<Busy | null>(null);
  const problem = signal<UsageState["problem"]["value"]>(null);
  const saved = signal<UsageState["saved"]["value"]>(null);

  let first = true;
  days.subscribe(() => {
    if (!first) summary.refresh();
    first = false;
  });

  async function attempt(what: Busy, work: () => Promise<void>): Promise<boolean> {
    if (busy.peek() !== null) return false;
    busy.value = what;
    problem.value = null;
    try {
      await work();
      return true;
    } catch (error) {
      problem.value = { of: what, text: problemOf(error) };
      return false;
    } finally {
      busy.value = null;
    }
  }

  // The receipt of what was written is told by its own event, before or after the answer.
  effect(() => {
    const receipt = store.latestReceipts.value.find(({ actionName, status }) => actionName === "usage.setCaps" && status === "success");
    const now = saved.value;
    if (now !== null && now.receiptId === null && receipt !== undefined) saved.value = { ...now, receiptId: receipt.id };
  });

  return {
    summary,
    router,
    days,
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
    find: () =>
      void attempt("servers", async () => {
        servers.value = (await bridge.call("models.servers", {})).items;
      }),
    use: (url, model) =>
      void attempt("use", async () => {
        await bridge.call("models.useServer", { url, model });
        servers.value = (await bridge.call("models.servers", {})).items;
      }),
  };
}
