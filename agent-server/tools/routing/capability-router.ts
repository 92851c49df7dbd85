import { LancelotError } from "../../contract/errors.ts";
import type { ProviderInfo, RouteDecision } from "../../contract/providers.ts";
import type { FlagName } from "../../flags/flags.ts";
import {
  type ActionOf,
  actionsOf,
  type Capability,
  type CapabilityActions,
  capabilities,
  isCapability,
  type TaskProfile,
  type ToolProvider,
} from "./capabilities.ts";
import type { Health } from "./provider-health.ts";
import type { Preferences } from "./provider-preferences.ts";

/** The action to find a provider for. */
export interface RouteRequest {
  readonly capability: string;
  /** Any action of the capability if absent. */
  readonly action?: string;
  /** The id of the only acceptable provider. */
  readonly only?: string;
  readonly profile?: TaskProfile;
}

export interface Chosen {
  readonly provider: ToolProvider;
  readonly route: RouteDecision;
}

/** Chooses the provider of an action (requirement T1). */
export interface Router {
  /** Decides by the last known health, without checking it. */
  decide(request: RouteRequest): RouteDecision;
  /** The usable providers by the last known health, in the order they are tried. */
  candidates(request: RouteRequest): readonly ToolProvider[];
  /** The first usable provider. Checks providers of unknown health, and providers that are down if no other is usable. */
  resolve(request: RouteRequest): Promise<{ provider: ToolProvider | null; route: RouteDecision }>;
  /** As `resolve`. @throws LancelotError `unavailable` with the next step when no provider is usable. */
  choose(request: RouteRequest): Promise<Chosen>;
  /** True when a provider declares the action. */
  knows(request: RouteRequest): boolean;
  /** Why no provider is allowed, regardless of health: a flag, safe mode, the user's list; null when one is allowed. */
  problem(request: RouteRequest): string | null;
  providers(): ProviderInfo[];
}

export interface RouterDeps {
  readonly providers: readonly ToolProvider[];
  readonly health: Health;
  readonly preferences: Preferences;
  readonly flag: (name: FlagName) => boolean;
  readonly safeMode: () => boolean;
}

interface Assessment {
  readonly provider: ToolProvider;
  /** Why it is not allowed, regardless of its health; null when it is allowed. */
  readonly barred: string | null;
  /** Why it does not work now; null when it does. */
  readonly down: string | null;
  readonly step: string | null;
}

const defaultProfile: TaskProfile = { network: false, unattended: false };

export function createRouter(deps: RouterDeps): Router {
  const { health, preferences } = deps;

  function barred(provider: ToolProvider, capability: Capability, profile: TaskProfile): string | null {
    if (provider.flag !== null && !deps.flag(provider.flag))
      return `${provider.title} is turned off. The user can turn it on with the flag ${provider.flag}.`;
    if (deps.safeMode() && !provider.local())
      return "Safe mode allows only providers that work on this machine. The user can turn safe mode off.";
    // While the file cannot be read, it is unknown which providers the user turned off. Files and git stay available to repair it.
    const problem = capability === "file_ops" || capability === "repo_ops" ? null : preferences.problem();
    if (problem !== null) return problem;
    if (preferences.off(capability, provider.id)) return `${provider.title} is turned off in your config/tools.yaml.`;
    return provider.unsuited?.(profile) ?? null;
  }

  function assess({ capability, action, only, profile = defaultProfile }: RouteRequest): Assessment[] {
    if (!isCapability(capability)) return [];
    return deps.providers
      .filter((provider) => (only === undefined || provider.id === only) && offers(provider, capability, action))
      .map((provider) => {
        const { status, message, nextStep } = health.of(provider.id);
        // A provider can report `off` because of a flag or a setting of its own.
        const down = status === "down" || status === "off" ? message : null;
        return { provider, barred: barred(provider, capability, profile), down, step: nextStep };
      })
      .toSorted((a, b) => {
        const [first, second] = [place(capability, a.provider), place(capability, b.provider)];
        return Number(!usable(a)) - Number(!usable(b)) || first - second || a.provider.priority - b.provider.priority;
      });
  }

  function place(capability: Capability, provider: ToolProvider): number {
    return preferences.place(capability, provider.id) ?? Number.MAX_SAFE_INTEGER;
  }

  function decision(request: RouteRequest, assessments: readonly Assessment[]): RouteDecision {
    const first = assessments.find(usable);
    const alternatives = assessments
      .filter((one) => one !== first)
      .map((one) => ({
        provider: one.provider.id,
        usable: usable(one),
        reason: one.barred ?? one.down ?? `Used if ${first?.provider.title ?? "another provider"} cannot start.`,
      }));
    if (first === undefined) return { provider: null, reason: missing(request, assessments), alternatives };
    return { provider: first.provider.id, reason: reasonFor(request, first, assessments), alternatives };
  }

  function reasonFor({ capability }: RouteRequest, first: Assessment, assessments: readonly Assessment[]): string {
    const passed = assessments.filter((one) => !usable(one) && isCapability(capability) && precedes(capability, one, first));
    const instead = passed.map((one) => `${one.provider.title} cannot be used: ${one.barred ?? one.down ?? ""}`);
    if (instead.length > 0) return `${first.provider.title} is the next choice. ${instead.join(" ")}`;
    if (assessments.length === 1) return `${first.provider.title} is the only provider.`;
    const named = isCapability(capability) && preferences.place(capability, first.provider.id) !== null;
    return named ? `${first.provider.title} is first in config/tools.yaml.` : `${first.provider.title} has the highest priority.`;
  }

  /** True when `one` comes before `first` in the order of preference. */
  function precedes(capability: Capability, one: Assessment, first: Assessment): boolean {
    const [a, b] = [place(capability, one.provider), place(capability, first.provider)];
    return a < b || (a === b && one.provider.priority < first.provider.priority);
  }

  function missing({ capability, action, only }: RouteRequest, assessments: readonly Assessment[]): string {
    if (!isCapability(capability))
      return `Unknown capability ${capability.slice(0, 100)}. Capabilities: ${Object.keys(capabilities).join(", ")}.`;
    const [best] = assessments;
    if (best === undefined) {
      const known = [...new Set(deps.providers.flatMap((provider) => actionsOf(provider, capability)))];
      if (action === undefined || known.length === 0 || only !== undefined) return capabilities[capability].missing;
      return `No provider supports the action ${action.slice(0, 100)} of ${capabilities[capability].title}. Supported: ${known.join(", ")}.`;
    }
    if (assessments.length === 1) return [best.barred ?? best.down ?? "", best.barred === null ? (best.step ?? "") : ""].join(" ").trim();
    const reasons = assessments.map((one) => one.barred ?? [one.down ?? "", one.step ?? ""].join(" ").trim());
    return `No provider for ${capabilities[capability].title} is available now. ${[...new Set(reasons)].join(" ")}`;
  }

  const router: Router = {
    decide: (request) => decision(request, assess(request)),
    candidates: (request) =>
      assess(request)
        .filter(usable)
        .map(({ provider }) => provider),

    async resolve(request) {
      const checked = new Set<string>();
      for (const { provider } of assess(request).filter((one) => one.barred === null)) {
        if (health.of(provider.id).status === "unknown") {
          checked.add(provider.id);
          await health.check(provider.id);
        }
        if (usableNow(health.of(provider.id).status)) break;
      }
      let assessments = assess(request);
      if (!assessments.some(usable)) {
        const again = assessments.filter(
          ({ provider: { id }, barred }) => barred === null && !checked.has(id) && !health.isCoolingDown(id),
        );
        await Promise.all(again.map(({ provider: { id } }) => health.check(id)));
        assessments = assess(request);
      }
      return { provider: assessments.find(usable)?.provider ?? null, route: decision(request, assessments) };
    },

    async choose(request) {
      const { provider, route } = await router.resolve(request);
      if (provider === null) throw new LancelotError("unavailable", route.reason, { data: { route } });
      return { provider, route };
    },

    knows: (request) => assess(request).length > 0,

    problem(request) {
      const assessments = assess(request);
      return assessments.some((one) => one.barred === null) ? null : missing(request, assessments);
    },

    providers: () =>
      deps.providers.map((provider) => {
        const declared = Object.keys(provider.offers).filter(isCapability);
        const bars = declared.map((capability) => barred(provider, capability, defaultProfile));
        const [bar] = bars;
        const off = bar !== undefined && bar !== null && bars.every((one) => one !== null);
        const seen = health.of(provider.id);
        return {
          id: provider.id,
          title: provider.title,
          version: provider.version(),
          capabilities: declared.map((capability) => ({ capability, actions: actionsOf(provider, capability) })),
          priority: provider.priority,
          local: provider.local(),
          flag: provider.flag,
          health: off ? { ...seen, status: "off" as const, message: bar, nextStep: null } : seen,
        };
      }),
  };
  return router;
}

function usable(one: Assessment): boolean {
  return one.barred === null && one.down === null;
}

function usableNow(status: string): boolean {
  return status === "ok" || status === "degraded" || status === "unknown";
}

function offers(provider: ToolProvider, capability: Capability, action: string | undefined): boolean {
  const actions = actionsOf(provider, capability);
  return action === undefined ? actions.length > 0 : actions.includes(action);
}

/** The function of a provider that implements an action. */
export function implementation<C extends Capability, A extends ActionOf<C>>(
  provider: ToolProvider,
  capability: C,
  action: A,
): CapabilityActions[C][A] | undefined {
  const offered: Partial<CapabilityActions[C]> | undefined = provider.offers[capability];
  return offered?.[action];
}
