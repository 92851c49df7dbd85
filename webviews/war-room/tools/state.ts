import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { DoctorLine, ProviderInfo, RouteDecision, SandboxState } from "../../../agent-server/contract/providers.ts";
import { type Bridge, problemOf } from "../../shared/bridge.ts";
import type { Store } from "../../shared/store.ts";
import { createLive, type Live } from "../live.ts";

export interface Route {
  readonly capability: string;
  readonly decision: RouteDecision;
}

export interface ToolsView {
  readonly providers: readonly ProviderInfo[];
  /** One for each capability that a provider has, by name. */
  readonly routes: readonly Route[];
}

export interface ToolsState {
  readonly view: Live<ToolsView>;
  readonly sandbox: Live<SandboxState>;
  /** Null until the owner asked. */
  readonly doctor: ReadonlySignal<readonly DoctorLine[] | null>;
  /** What the host is at for the owner. */
  readonly busy: ReadonlySignal<"build" | "cancel" | "doctor" | "health" | null>;
  /** Why the last of these did not work. */
  readonly problem: Signal<string | null>;
  build(): void;
  cancelBuild(): void;
  examine(): void;
  /** Looks at every provider now. */
  check(): void;
}

/** Milliseconds between two reads; a provider that comes and goes must not make the panel read all the time. */
const restMs = 1000;

export function createToolsState(bridge: Bridge, store: Pick<Store, "generation">, shown: ReadonlySignal<boolean>): ToolsState {
  const view = createLive<ToolsView>({
    bridge,
    store,
    shown,
    topics: ["providers", "flags"],
    restMs,
    async read(abort) {
      const { items } = await bridge.call("tools.providers", {}, abort);
      const names = [...new Set(items.flatMap(({ capabilities }) => capabilities.map(({ capability }) => capability)))].sort();
      const decisions = await Promise.all(names.map((capability) => bridge.call("tools.route", { capability }, abort)));
      const routes = decisions.map((decision, index) => ({ capability: names[index] ?? "", decision }));
      return { providers: items.toSorted((a, b) => a.priority - b.priority || a.title.localeCompare(b.title)), routes };
    },
  });
  const read = createLive<SandboxState>({ bridge, store, shown, topics: [], read: (abort) => bridge.call("tools.sandbox", {}, abort) });
  /** As the last event or answer had it: newer than what was read before it. */
  const told = signal<SandboxState | null>(null);
  const sandbox: Live<SandboxState> = { ...read, value: computed(() => told.value ?? read.value.value) };
  const doctor = signal<readonly DoctorLine[] | null>(null);
  const busy = signal<ToolsState["busy"]["value"]>(null);
  const problem = signal<string | null>(null);

  bridge.onEvent((event) => {
    if (event.topic === "sandbox") told.value = event.payload;
  });
  store.generation.subscribe(() => {
    told.value = null;
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
        told.value = await bridge.call("tools.sandbox.build", {});
      }),
    cancelBuild: () =>
      void attempt("cancel", async () => {
        told.value = await bridge.call("tools.sandbox.cancelBuild", {});
      }),
    examine: () =>
      void attempt("doctor", async () => {
        doctor.value = (await bridge.call("tools.doctor", {})).items;
      }),
    check: () =>
      void attempt("health", async () => {
        await bridge.call("tools.health", {});
        view.refresh();
      }),
  };
}
