import { LancelotError } from "../../contract/errors.ts";
import type { Lane, RouterDecision } from "../../contract/router.ts";
import type { LoadedConfig } from "../models-config.ts";
import type { Breakers } from "../resilience/breakers.ts";
import type { LoadedRouter } from "./router-config.ts";
import { lanesInUse } from "./lanes.ts";
import type { Route } from "./types.ts";
import type { Targets } from "./targets.ts";

type Alternatives = RouterDecision["alternatives"];
/** The target of a lane, or why it has none. */
type Place = { lane: Lane; provider: string; model: string } | { problem: string };

/** How long alternatives are cached (ms). People read them, and reading keys and disks for them takes longer than the decision. */
const keptMs = 5_000;

/** The alternatives to a route, and why they were not chosen: the other lanes, then the user's failover list. */
export function createAlternatives(deps: {
  targets: Targets;
  breakers: Pick<Breakers, "isOpen">;
  models: () => LoadedConfig;
  rules: () => LoadedRouter;
}) {
  let known: { at: number; models: LoadedConfig; rules: LoadedRouter; places: Map<string, Promise<Place>> } | null = null;

  function place(lane: Lane, provider: string | undefined): Promise<Place> {
    const [models, rules] = [deps.models(), deps.rules()];
    if (known === null || known.models !== models || known.rules !== rules || performance.now() - known.at > keptMs)
      known = { at: performance.now(), models, rules, places: new Map() };
    const key = `${lane} ${provider ?? ""}`;
    const found =
      known.places.get(key) ??
      deps.targets.resolve({ lane, provider }, models, rules.config).then(
        (target): Place => ({ lane: target.lane, provider: target.candidate.name, model: target.model.model }),
        (error: unknown): Place => ({ problem: error instanceof LancelotError ? error.message : "It is unavailable." }),
      );
    known.places.set(key, found);
    return found;
  }

  return async (route: Route): Promise<Alternatives> => {
    const { config } = deps.rules();
    const found: Alternatives = [];
    const add = async (lane: Lane, reason: string, provider?: string): Promise<void> => {
      const there = await place(lane, provider);
      if ("problem" in there) found.push({ lane, provider: provider ?? "none", model: "", reason: there.problem });
      else found.push({ ...there, reason });
    };
    for (const lane of ["flagship_deep", "flagship_fast", "local_utility"] as const)
      if (lane !== route.lane && lanesInUse(config).includes(lane)) await add(lane, whyNotLane(lane, route));
    for (const name of config.failover)
      if (name !== route.model.provider) await add("flagship_fast", whyNotProvider(name, route, deps.breakers), name);
    const seen = new Set([`${route.lane} ${route.model.provider} ${route.model.model}`]);
    return found.filter(({ lane, provider, model }) => {
      const key = `${lane} ${provider} ${model}`;
      return seen.has(key) ? false : seen.add(key);
    });
  };
}

function whyNotLane(lane: Lane, route: Route): string {
  if (route.rule === "override") return "You chose another model for this task.";
  if (route.tried.some((one) => one.endsWith(` ${lane}`))) return "It failed.";
  if (lane === "flagship_deep") return "Simple request; used when the fast model fails.";
  if (lane === "flagship_fast") return "The request requires the deep model.";
  return "Used for local tasks, and without a network.";
}

function whyNotProvider(name: string, route: Route, breakers: Pick<Breakers, "isOpen">): string {
  if (route.tried.some((one) => one.startsWith(`${name} `))) return "It failed.";
  return breakers.isOpen(name) ? "Paused after repeated failures." : "In your failover list.";
}
