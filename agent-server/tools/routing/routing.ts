import type { SandboxControl } from "../../sandbox/sandbox.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { Emit } from "../../contract/events.ts";
import type { DoctorLine, ProviderInfo, RouteDecision, SandboxState } from "../../contract/providers.ts";
import type { FlagName } from "../../flags/flags.ts";
import type { Ledger } from "../../receipts/receipts.ts";
import type { Log } from "../../security/security.ts";
import { type RunOnProvider, createFailover } from "./provider-failover.ts";
import type { ToolProvider } from "./capabilities.ts";
import { runChecks } from "./doctor.ts";
import { createHealth, type Health, type HealthDeps } from "./provider-health.ts";
import type { Preferences } from "./provider-preferences.ts";
import { createRouter, type Router } from "./capability-router.ts";

/** The providers, as the user sees and controls them. */
export interface Routing {
  providers(): ProviderInfo[];
  /** Checks every provider now. */
  health(): Promise<{ ok: boolean; items: ProviderInfo[] }>;
  route(capability: string, action: string | undefined): Promise<RouteDecision>;
  /** @param problems of the configuration files of other modules, by file */
  doctor(problems: Readonly<Record<string, string | null>>): Promise<DoctorLine[]>;
  sandbox: {
    state(): SandboxState;
    build(): Promise<SandboxState>;
    cancelBuild(): Promise<SandboxState>;
    restart(): Promise<SandboxState>;
  };
  /** Why the user's config/tools.yaml and config/deploy.yaml are not used; null for each that is, or is missing. */
  configProblems(): Record<"tools.yaml" | "deploy.yaml", string | null>;
  /** The current limitations of the tools, each with the next step. */
  degraded(): string[];
  /** Schedules the first check of all providers, after the more urgent work of the start. */
  start(): void;
  close(): void;
}

export interface RoutingDeps {
  readonly providers: readonly ToolProvider[];
  readonly preferences: Preferences;
  /** Why the user's config/deploy.yaml cannot be used. */
  readonly deployProblem: () => string | null;
  /** Null without a container engine. */
  readonly control: SandboxControl | null;
  readonly flag: (name: FlagName) => boolean;
  readonly safeMode: () => boolean;
  readonly ledger: Pick<Ledger, "record">;
  readonly emit: Emit;
  readonly log: Log;
  readonly dataDir: string;
  /** In ms; `grace`: how long to wait for a provider that was told to stop. */
  readonly times?: HealthDeps["times"] & { readonly grace?: number };
}

/** Delay (ms) of the first check after the start. */
const firstCheckMs = 1_500;

const noContainer: ReturnType<SandboxControl["state"]> = {
  engine: null,
  image: { name: "", source: "shipped", state: "unknown", bytes: null, message: null },
  container: { state: "none", id: null, since: null },
  limits: { memoryBytes: 0, cpus: 0, processes: 0, timeoutMs: 0, outputBytes: 0 },
  network: "off",
};

export function createRouting(deps: RoutingDeps): { routing: Routing; router: Router; health: Health; runOnProvider: RunOnProvider } {
  const { providers, preferences, control, ledger, log } = deps;
  const health = createHealth({
    providers,
    ledger,
    log,
    emit: (topic, payload) => {
      deps.emit(topic, payload);
      if (topic === "providers") deps.emit("sandbox", state());
    },
    ...(deps.times === undefined ? {} : { times: deps.times }),
  });
  const router = createRouter({ providers, health, preferences, flag: deps.flag, safeMode: deps.safeMode });
  const runOnProvider = createFailover({
    router,
    health,
    ledger,
    log,
    ...(deps.times?.grace === undefined ? {} : { graceMs: deps.times.grace }),
  });

  const state = (): SandboxState => {
    const route = router.decide({ capability: "shell_exec" });
    const chosen = providers.find(({ id }) => id === route.provider);
    // A provider that was not checked yet may not work.
    const known = chosen !== undefined && health.of(chosen.id).status !== "unknown";
    const osShell = providers.find(
      (provider) => provider.place === "os_sandbox" && ["ok", "degraded"].includes(health.of(provider.id).status),
    );
    const { engine, image, container, limits, network } = control?.state() ?? noContainer;
    return {
      place: known ? (chosen.place ?? null) : null,
      ...(known && chosen.containment !== undefined ? { containment: chosen.containment() } : {}),
      message: chosen === undefined ? route.reason : known ? health.of(chosen.id).message : "The sandbox was not checked yet.",
      nextStep: chosen === undefined ? null : health.of(chosen.id).nextStep,
      engine,
      image,
      container,
      osSandbox: osShell === undefined ? null : { name: osShell.id, version: osShell.version() },
      limits,
      network,
    };
  };
  const stopListening = control?.onChange(() => deps.emit("sandbox", state()));

  function controlled(): SandboxControl {
    if (control !== null) return control;
    throw new LancelotError(
      "unavailable",
      "There is no container engine, so there is no sandbox image. Install Docker or Podman and restart Lancelot.",
    );
  }

  const routing: Routing = {
    providers: () => router.providers(),
    async health() {
      await health.checkAll();
      const items = router.providers();
      return { ok: items.every(({ health: { status } }) => status === "ok" || status === "off"), items };
    },
    async route(capability, action) {
      return (await router.resolve({ capability, ...(action === undefined ? {} : { action }) })).route;
    },
    async doctor(problems) {
      await health.checkAll();
      return runChecks({
        providers: router.providers(),
        sandbox: state(),
        dataDir: deps.dataDir,
        networkEnabled: deps.flag("TOOLS_NETWORK"),
        problems: { ...problems, ...routing.configProblems() },
      });
    },
    configProblems: () => ({ "tools.yaml": preferences.problem(), "deploy.yaml": deps.deployProblem() }),
    sandbox: {
      state,
      async build() {
        await controlled().build();
        return state();
      },
      async cancelBuild() {
        await controlled().cancelBuild();
        return state();
      },
      async restart() {
        await controlled().restart();
        return state();
      },
    },
    degraded() {
      const shells = providers.filter(({ place }) => place !== undefined);
      const checked = shells.some(({ id }) => health.of(id).status !== "unknown");
      const commands = checked && router.decide({ capability: "shell_exec" }).provider === null ? [state().message] : [];
      const problem = preferences.problem();
      return [...(problem === null ? commands : [problem])];
    },
    start: () => health.start(firstCheckMs),
    close() {
      stopListening?.();
      health.close();
    },
  };
  return { routing, router, health, runOnProvider };
}
