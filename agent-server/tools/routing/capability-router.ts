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

/** What is to be done, as far as it decides who does it. */
export interface RouteRequest {
  readonly capability: string;
  /** Any action of the capability when left out. */
  readonly action?: string;
  /** The one provider the work is written for. */
  readonly only?: string;
  readonly profile?: TaskProfile;
}

export interface Chosen {
  readonly provider: ToolProvider;
  readonly route: RouteDecision;
}

/** Chooses who carries out an action (requirement T1). */
export interface Router {
  /** By what is known now; nothing is looked at. */
  decide(request: RouteRequest): RouteDecision;
  /** Usable providers, in the order they are tried, by what is known now. */
  candidates(request: RouteRequest): readonly ToolProvider[];
  /** The first usable one. One that was never looked at is looked at, and where none is usable those that are down are looked at again. */
  resolve(request: RouteRequest): Promise<{ provider: ToolProvider | null; route: RouteDecision }>;
  /** The same. @throws LancelotError `unavailable` with the next step when there is none. */
  choose(request: RouteRequest): Promise<Chosen>;
  /** True when a provider declares it. */
  knows(request: RouteRequest): boolean;
  /** Why nothing can do it whatever its health: a flag, safe mode, the owner's list; null when something may. */
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

interface Weighed {
  readonly provider: ToolProvider;
  /** Why it may not be used whatever its health; null when it may. */
  readonly barred: string | null;
  /** Why it cannot be used now; null when it can. */
  readonly down: string | null;
  readonly step: string | null;
}

const usual: TaskProfile = { network: false, unattended: false };

export function createRouter(deps: RouterDeps): Router {
  const { health, preferences } = deps;

  function barred(provider: ToolProvider, capability: Capability, profile: TaskProfile): string | null {
    if (provider.flag !== null && !deps.flag(provider.flag))
      return `${provider.title} is switched off. The owner can switch it on with the flag ${provider.flag}.`;
    if (deps.safeMode() && !provider.local())
      return "Safe mode leaves only what works on this machine. The owner can switch safe mode off.";
    // What the owner meant to switch off cannot be known while the file cannot be read; files and git are what mends it.
    const problem = capability === "file_ops" || capability === "repo_ops" ? null : preferences.problem();
    if (problem !== null) return problem;
    if (preferences.off(capability, provider.id)) return `${provider.title} is switched off in your config/tools.yaml.`;
    return provider.unsuited?.(profile) ?? null;
  }

  function weigh({ capability, action, only, profile = usual }: RouteRequest): Weighed[] {
    if (!isCapability(capability)) return [];
    return deps.providers
      .filter((provider) => (only === undefined || provider.id === only) && offers(provider, capability, action))
      .map((provider) => {
        const { status, message, nextStep } = health.of(provider.id);
        // A provider that says it is off has its reason: a flag, a setting of its own.
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

  function decision(request: RouteRequest, weighed: readonly Weighed[]): RouteDecision {
    const first = weighed.find(usable);
    const alternatives = weighed
      .filter((one) => one !== first)
      .map((one) => ({
        provider: one.provider.id,
        usable: usable(one),
        reason: one.barred ?? one.down ?? `Tried when ${first?.provider.title ?? "another"} cannot begin.`,
      }));
    if (first === undefined) return { provider: null, reason: missing(request, weighed), alternatives };
    return { provider: first.provider.id, reason: reasonFor(request, first, weighed), alternatives };
  }

  function reasonFor({ capability }: RouteRequest, first: Weighed, weighed: readonly Weighed[]): string {
    const passed = weighed.filter((one) => !usable(one) && isCapability(capability) && wanted(capability, one, first));
    const instead = passed.map((one) => `${one.provider.title} cannot be used: ${one.barred ?? one.down ?? ""}`);
    if (instead.length > 0) return `${first.provider.title} is next in order. ${instead.join(" ")}`;
    if (weighed.length === 1) return `${first.provider.title} is what does this here.`;
    const named = isCapability(capability) && preferences.place(capability, first.provider.id) !== null;
    return named ? `${first.provider.title} comes first in config/tools.yaml.` : `${first.provider.title} comes first by its priority.`;
  }

  /** True when `one` would have gone before `first` had it been usable. */
  function wanted(capability: Capability, one: Weighed, first: Weighed): boolean {
    const [a, b] = [place(capability, one.provider), place(capability, first.provider)];
    return a < b || (a === b && one.provider.priority < first.provider.priority);
  }

  function missing({ capability, action, only }: RouteRequest, weighed: readonly Weighed[]): string {
    if (!isCapability(capability))
      return `There is no capability ${capability.slice(0, 100)}. There are: ${Object.keys(capabilities).join(", ")}.`;
    const [best] = weighed;
    if (best === undefined) {
      const known = [...new Set(deps.providers.flatMap((provider) => actionsOf(provider, capability)))];
      if (action === undefined || known.length === 0 || only !== undefined) return capabilities[capability].missing;
      return `Nothing here does ${action.slice(0, 100)} of ${capabilities[capability].title}. There are: ${known.join(", ")}.`;
    }
    if (weighed.length === 1) return [best.barred ?? best.down ?? "", best.barred === null ? (best.step ?? "") : ""].join(" ").trim();
    const reasons = weighed.map((one) => one.barred ?? [one.down ?? "", one.step ?? ""].join(" ").trim());
    return `None of the ways of ${capabilities[capability].title} can be used now. ${[...new Set(reasons)].join(" ")}`;
  }

  const router: Router = {
    decide: (request) => decision(request, weigh(request)),
    candidates: (request) =>
      weigh(request)
        .filter(usable)
        .map(({ provider }) => provider),

    async resolve(request) {
      const looked = new Set<string>();
      for (const { provider } of weigh(request).filter((one) => one.barred === null)) {
        if (health.of(provider.id).status === "unknown") {
          looked.add(provider.id);
          await health.check(provider.id);
        }
        if (usableNow(health.of(provider.id).status)) break;
      }
      let weighed = weigh(request);
      if (!weighed.some(usable)) {
        const again = weighed.filter(({ provider: { id }, barred }) => barred === null && !looked.has(id) && !health.isCoolingDown(id));
        await Promise.all(again.map(({ provider: { id } }) => health.check(id)));
        weighed = weigh(request);
      }
      return { provider: weighed.find(usable)?.provider ?? null, route: decision(request, weighed) };
    },

    async choose(request) {
      const { provider, route } = await router.resolve(request);
      if (provider === null) throw new LancelotError("unavailable", route.reason, { data: { route } });
      return { provider, route };
    },

    knows: (request) => weigh(request).length > 0,

    problem(request) {
      const weighed = weigh(request);
      return weighed.some((one) => one.barred === null) ? null : missing(request, weighed);
    },

    providers: () =>
      deps.providers.map((provider) => {
        const declared = Object.keys(provider.offers).filter(isCapability);
        const bars = declared.map((capability) => barred(provider, capability, usual));
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

function usable(one: Weighed): boolean {
  return one.barred === null && one.down === null;
}

function usableNow(status: string): boolean {
  return status === "ok" || status === "degraded" || status === "unknown";
}

function offers(provider: ToolProvider, capability: Capability, action: string | undefined): boolean {
  const actions = actionsOf(provider, capability);
  return action === undefined ? actions.length > 0 : actions.includes(action);
}

/** The function a provider implements an action with. */
export function implementation<C extends Capability, A extends ActionOf<C>>(
  provider: ToolProvider,
  capability: C,
  action: A,
): CapabilityActions[C][A] | undefined {
  const offered: Partial<CapabilityActions[C]> | undefined = provider.offers[capability];
  return offered?.[action];
}
