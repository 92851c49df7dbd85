import { LancelotError } from "../../contract/errors.ts";
import type { LoadedConfig } from "../models-config.ts";
import type { Candidate } from "../provider-selection.ts";
import type { Breakers } from "../resilience/breakers.ts";
import type { Connectivity } from "../resilience/connectivity.ts";
import { createAlternatives } from "./alternatives.ts";
import { createFailover, type MakeRoute } from "./failover.ts";
import { chooseLane, type LaneChoice } from "./lanes.ts";
import type { LoadedRouter } from "./router-config.ts";
import { isOnThisMachine, type Target, type Targets } from "./targets.ts";
import type { CallTask, Route, RouteSequence } from "./types.ts";

export interface RouterDeps {
  targets: Targets;
  breakers: Breakers;
  connectivity: Connectivity;
  candidates: () => Promise<readonly Candidate[]>;
  /** models.yaml and router.yaml as they are now. */
  models: () => LoadedConfig;
  rules: () => LoadedRouter;
}

export interface Router {
  /** Decides where one call goes; nothing is sent. @throws LancelotError `unavailable` with the next step when nothing can answer */
  route(task: CallTask): Promise<Route>;
  routes(): RouteSequence;
  /** The provider and profile behind a route of this router. */
  target(route: Route): Target | undefined;
}

export function createRouter(deps: RouterDeps): Router {
  const { targets, breakers, connectivity } = deps;
  const alternativesOf = createAlternatives(deps);
  /** Targets hold the providers' keys, so routes do not carry them. */
  const targetOf = new WeakMap<Route, Target>();

  const makeRoute: MakeRoute = (task, target, choice, more = {}) => {
    const problem = deps.rules().problem;
    const model = problem === null ? target.model : { ...target.model, notice: [target.model.notice, problem].filter(Boolean).join(" ") };
    const route: Route = {
      task,
      lane: target.lane,
      rule: choice.rule,
      rationale: target.note === null ? choice.rationale : `${choice.rationale} ${target.note}`,
      model,
      alternatives: [],
      notice: more.notice ?? null,
      tried: more.tried ?? [],
      decidedMs: 0,
    };
    targetOf.set(route, target);
    return route;
  };

  const failover = createFailover({ ...deps, makeRoute, targetOf: (route) => targetOf.get(route) });

  /** The lane by the rules and the user's override. A tool loop keeps the deep model once it has it. */
  function choose(task: CallTask, previous: Route | null): LaneChoice {
    const choice = chooseLane(deps.rules().config, task);
    const { override } = task;
    const keepsLane = previous?.lane === "flagship_deep" && choice.lane === "flagship_fast" && override?.lane === undefined;
    const lane = keepsLane ? { ...choice, lane: previous.lane, rule: previous.rule, rationale: previous.rationale } : choice;
    if (override?.provider === undefined && override?.model === undefined) return lane;
    const chosen = [override.provider, override.model].filter((one) => one !== undefined).join("/");
    return {
      ...lane,
      rule: "override",
      rationale: `You chose ${chosen} for this task.${choice.rule === "override" ? "" : ` ${lane.rationale}`}`,
    };
  }

  /** A run that failed over to another provider stays there unless the user chooses one. */
  function pinnedProvider(task: CallTask, previous: Route | null): string | undefined {
    return previous?.rule === "failover" && task.override?.provider === undefined && !breakers.isOpen(previous.model.provider)
      ? previous.model.provider
      : undefined;
  }

  async function decide(task: CallTask, previous: Route | null): Promise<Route> {
    const loaded = deps.models();
    const rules = deps.rules();
    const { config } = rules;
    const choice = choose(task, previous);
    const pinned = choice.lane.startsWith("flagship") ? pinnedProvider(task, previous) : undefined;
    let target: Target;
    try {
      target = await targets.resolve(
        { lane: choice.lane, profile: task.profile, override: task.override, provider: pinned },
        loaded,
        config,
      );
    } catch (error) {
      const mayFailOver = loaded.problem === null && choice.lane.startsWith("flagship");
      const instead = mayFailOver ? await failover.toNextProvider({ task, lane: choice.lane, error, tried: [] }) : null;
      if (instead === null) throw error;
      return instead;
    }
    const unknown = [loaded, rules].find(({ isUnknown }) => isUnknown);
    // The broken file may keep everything on this machine, or name another address.
    if (unknown?.problem !== undefined && unknown.problem !== null && !isOnThisMachine(target.candidate))
      throw new LancelotError("unavailable", `Not sent: ${unknown.problem}`, { data: { what: "model" } });
    const kept = pinned === undefined || previous === null ? choice : { ...choice, rule: previous.rule, rationale: previous.rationale };
    const route = makeRoute(task, target, kept);
    if (isOnThisMachine(target.candidate)) return route;
    if (connectivity.isOffline() && (await connectivity.checkAgain())) return failover.offline(route, null);
    return (await failover.aroundOpenBreaker(route, choice.lane)) ?? route;
  }

  async function finish(decision: Promise<Route | null>): Promise<Route | null> {
    const startedAt = performance.now();
    const route = await decision;
    if (route === null) return null;
    const alternatives = await alternativesOf(route);
    const finished: Route = { ...route, alternatives, decidedMs: performance.now() - startedAt };
    const target = targetOf.get(route);
    if (target !== undefined) targetOf.set(finished, target);
    return finished;
  }

  async function route(task: CallTask, previous: Route | null = null): Promise<Route> {
    const decided = await finish(decide(task, previous));
    if (decided === null) throw new LancelotError("internal", "The router made no decision.");
    return decided;
  }

  function routes(): RouteSequence {
    let last: Route | null = null;
    let rerouted: Route | null = null;
    const reroute = async (error: unknown): Promise<Route | null> => {
      rerouted = last === null ? null : await finish(failover.after(last, error));
      return rerouted;
    };
    return {
      async next(task) {
        last = rerouted ?? (await route(task, last));
        rerouted = null;
        return last;
      },
      async failover(error) {
        const next = await reroute(error);
        if (next === null) throw error;
        return next;
      },
      escalate: (problem) => reroute(new LancelotError("unavailable", problem, { data: { reason: "answer", problem } })).catch(() => null),
      isRerouted: () => rerouted !== null,
    };
  }

  return { route: (task) => route(task), routes, target: (made) => targetOf.get(made) };
}
