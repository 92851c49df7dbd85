import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { DoctorLine, ProviderInfo, RouteDecision, SandboxState } from "../../../agent-server/contract/providers.ts";
import { type Bridge, problemOf } from "../../shared/bridge.ts";
import type { Store } from "../../shared/store.ts";
import { createLiveQuery, type LiveQuery } from "../live-query.ts";

export interface Route {
  readonly capability: string;
  readonly decision: RouteDecision;
}

export interface ToolsView {
  readonly providers: readonly ProviderInfo[];
  /** One route for each capability that a provider offers, sorted by name. */
  readonly routes: readonly Route[];
}

export interface ToolsState {
  readonly view: LiveQuery<ToolsView>;
  readonly sandbox: LiveQuery<SandboxState>;
  /** Null until the user runs Doctor. */
  readonly doctor: ReadonlySignal<readonly DoctorLine[] | null>;
  /** The request that is in progress. */
  readonly busy: ReadonlySignal<"build" | "cancel" | "doctor" | "health" | null>;
  /** The problem of the last request. */
  readonly problem: Signal<string | null>;
  build(): void;
  cancelBuild(): void;
  runDoctor(): void;
  /** Checks the health of every provider. */
  checkHealth(): void;
}

/** Minimum milliseconds between two reads, because a provider can connect and disconnect often. */
const minIntervalMs = 1000;

export function createToolsState(bridge: Bridge, store: Pick<Store, "generation">, shown: ReadonlySignal<boolean>): ToolsState {
  const view = createLiveQuery<ToolsView>({
    bridge,
    store,
    shown,
    topics: ["providers", "flags"],
    minIntervalMs,
    async read(abort) {
      const { items } = await bridge.call("tools.providers", {}, abort);
      const names = [...new Set(items.flatMap(({ capabilities }) => capabilities.map(({ capability }) => capability)))].sort();
      const decisions = await Promise.all(names.map((capability) => bridge.call("tools.route", { capability }, abort)));
      const routes = decisions.map((decision, index) => ({ capability: names[index] ?? "", decision }));
      return { providers: items.toSorted((a, b) => a.priority - b.priority || a.title.localeCompare(b.title)), routes };
    },
  });
  const read = createLiveQuery<SandboxState>({
    bridge,
    store,
    shown,
    topics: [],
    read: (abort) => bridge.call("tools.sandbox", {}, abort),
  });
  /** The state from the last event or response, which is newer than the last read. */
  const latest = signal<SandboxState | null>(null);
  const sandbox: LiveQuery<SandboxState> = { ...read, value: computed(() => latest.value ?? read.value.value) };
  const doctor = signal<readonly DoctorLine[] | null>(null);
  const busy = signal<ToolsState["busy"]["value"]>(null);
  const problem = signal<string | null>(null);

  bridge.onEvent((event) => {
    if (event.topic === "sandbox") latest.value = event.payload;
  });
  store.generation.subscribe(() => {
    latest.value = null;
  });

  async function attempt(what: NonNullable<typeof busy.value>, work: () => Promise<void>): Promise<void> {
    if (busy.peek() !== null) return;
    busy.value = what;
    problem.value = null;
    try {
      await work();
    } catch (error) {
      problem.value = problemOf(error);
    } finally {
      busy.value = null;
    }
  }

  return {
    view,
    sandbox,
    doctor,
    busy,
    problem,
    build: () =>
      void attempt("build", async () => {
        latest.value = await bridge.call("tools.sandbox.build", {});
      }),
    cancelBuild: () =>
      void attempt("cancel", async () => {
        latest.value = await bridge.call("tools.sandbox.cancelBuild", {});
      }),
    runDoctor: () =>
      void attempt("doctor", async () => {
        doctor.value = (await bridge.call("tools.doctor", {})).items;
      }),
    checkHealth: () =>
      void attempt("health", async () => {
        await bridge.call("tools.health", {});
        view.refresh();
      }),
  };
}
