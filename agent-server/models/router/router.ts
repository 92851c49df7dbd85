import { LancelotError } from "../../contract/errors.ts";
import type { Lane, RouterDecision } from "../../contract/router.ts";
import type { LoadedConfig } from "../config.ts";
import type { ActiveModel } from "../request.ts";
import type { Breakers } from "../resilience/breakers.ts";
import type { Connectivity } from "../resilience/connectivity.ts";
import { isProvidersTrouble, mayEscalate } from "../resilience/mending.ts";
import type { Candidate } from "../selection.ts";
import { createAlternatives } from "./alternatives.ts";
import type { LoadedRouter } from "./config.ts";
import { type CallTask, chooseLane, type LaneChoice, lanesInUse, type RoutingRule, trigger } from "./lanes.ts";
import { hasOwnDeep, isOnThisMachine, type Target, type Targets } from "./targets.ts";

/** Where a call goes and why. Nothing is sent yet. */
export interface Route {
  readonly task: CallTask;
  readonly lane: Lane;
  readonly rule: RoutingRule;
  /** In sentences for the owner. */
  readonly rationale: string;
  /** What answers. */
  readonly model: ActiveModel;
  readonly alternatives: RouterDecision["alternatives"];
  /** What the owner should read in the answer: what could not be used, and what is used instead. */
  readonly notice: string | null;
  /** What was tried for this call before, as `provider lane`. */
  readonly tried: readonly string[];
  /** How long the decision took (ms). */
  readonly decidedMs: number;
}

export interface RouterDeps {
  targets: Targets;
  breakers: Breakers;
  connectivity: Connectivity;
  candidates: () => Promise<readonly Candidate[]>;
  /** models.yaml and router.yaml as they are now. */
  models: () => LoadedConfig;
  rules: () => LoadedRouter;
}

const lost = "No provider can be reached: there seems to be no network.";
const unreached = "No provider can be reached.";

export type Router = ReturnType<typeof createRouter>;

export function createRouter(deps: RouterDeps) {
  const { targets, breakers, connectivity } = deps;
  const alternativesOf = createAlternatives(deps);
  /** With the keys of the providers, so it leaves this room with no route. */
  const targetOf = new WeakMap<Route, Target>();

  function made(
    task: CallTask,
    target: Target,
    choice: Omit<LaneChoice, "lane">,
    more: { notice?: string; tried?: readonly string[] },
  ): Route {
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
  }

  /** The lane by the rules, and what the owner's override adds to it. A tool loop that goes on keeps its lane, or goes up. */
  function choose(task: CallTask, keep: Route | null): LaneChoice {
    const choice = chooseLane(deps.rules().config, task);
    const { override } = task;
    const kept = keep !== null && keep.lane === "flagship_deep" && choice.lane === "flagship_fast" && override?.lane === undefined;
    const lane = kept ? { ...choice, lane: keep.lane, rule: keep.rule, rationale: keep.rationale } : choice;
    if (override?.provider === undefined && override?.model === undefined) return lane;
    const what = [override.provider, override.model].filter((one) => one !== undefined).join("/");
    return {
      ...lane,
      rule: "override",
      rationale: `You chose ${what} for this task.${choice.rule === "override" ? "" : ` ${lane.rationale}`}`,
    };
  }

  /** A run that went over to another provider stays there, unless the owner says otherwise. */
  function pinnedProvider(task: CallTask, keep: Route | null): string | undefined {
    return keep?.rule === "failover" && task.override?.provider === undefined && !breakers.isOpen(keep.model.provider)
      ? keep.model.provider
      : undefined;
  }

  /**
   * Decides where a call goes. Executes nothing.
   * @param keep the route of the step before in the same run
   * @throws LancelotError `unavailable` with the next step when nothing can answer
   */
  async function route(task: CallTask, keep: Route | null = null): Promise<Route> {
    const startedAt = performance.now();
    const decided = await decide(task, keep);
    const alternatives = await alternativesOf(decided);
    return finished(decided, alternatives, performance.now() - startedAt);
  }

  async function decide(task: CallTask, keep: Route | null): Promise<Route> {
    const loaded = deps.models();
    const { config } = deps.rules();
    const choice = choose(task, keep);
    const pinned = choice.lane.startsWith("flagship") ? pinnedProvider(task, keep) : undefined;
    let target: Target;
    try {
      target = await targets.resolve(
        { lane: choice.lane, profile: task.profile, override: task.override, provider: pinned },
        loaded,
        config,
      );
    } catch (error) {
      const instead = loaded.problem === null && choice.lane.startsWith("flagship") ? await failover(task, choice.lane, error, []) : null;
      if (instead === null) throw error;
      return instead;
    }
    const same =
      pinned === undefined ? choice : { ...choice, rule: keep?.rule ?? choice.rule, rationale: keep?.rationale ?? choice.rationale };
    const first = made(task, target, same, {});
    if (isOnThisMachine(target.candidate)) return first;
    if (connectivity.isOffline() && (await connectivity.lookAgain())) return goOffline(first, null, lost);
    if (breakers.isOpen(target.candidate.name)) {
      const state = breakers.states().find(({ provider }) => provider === target.candidate.name);
      const instead = await failover(task, choice.lane, state?.reason ?? "it failed several times", [tag(first)], target.model.displayName);
      if (instead !== null) return instead;
    }
    return first;
  }

  /**
   * Where a call goes on after it failed: to the strong model, along the owner's chain, or with no network to the local model.
   * Null: nowhere, and the error stands.
   * @throws LancelotError `unavailable` when there is no network and nothing here can answer
   */
  async function after(failed: Route, error: unknown): Promise<Route | null> {
    const startedAt = performance.now();
    const next = await instead(failed, error);
    if (next === null) return null;
    const alternatives = await alternativesOf(next);
    return finished(next, alternatives, performance.now() - startedAt);
  }

  async function instead(failed: Route, error: unknown): Promise<Route | null> {
    if (!(error instanceof LancelotError) || error.code === "cancelled" || error.code === "denied") return null;
    const target = targetOf.get(failed);
    if (target === undefined) return null;
    const tried = [...failed.tried, tag(failed)];
    if (!isOnThisMachine(target.candidate)) {
      const reach = await connectivity.lookAfter(target.candidate.name, error, await deps.candidates());
      if (reach === "offline") return goOffline(failed, error, lost);
      if (reach === "refused") {
        const next = await goOffline(failed, error, unreached).catch(() => null);
        if (next !== null) return next;
      }
    }
    // What the local model was asked to do as the owner's own model, a provider does in its fast lane.
    const lane = failed.lane === "local_utility" && failed.rule !== "local_task" ? "flagship_fast" : failed.lane;
    const chain = (): Promise<Route | null> => failover(failed.task, lane, error, tried, target.model.displayName);
    const stronger = (): Promise<Route | null> => escalate(failed, target, error, tried);
    // That an answer was of no use is no reason to send the task to another provider.
    if (error.data?.["reason"] === "answer") return stronger();
    const [first, second] = isProvidersTrouble(error) ? [chain, stronger] : [stronger, chain];
    return (await first()) ?? (await second());
  }

  async function escalate(failed: Route, target: Target, error: LancelotError, tried: readonly string[]): Promise<Route | null> {
    const { config } = deps.rules();
    const { override, profile } = failed.task;
    if (failed.lane !== "flagship_fast" || !mayEscalate(error) || trigger(config, "failure") === undefined) return null;
    if (override?.lane !== undefined || override?.model !== undefined || profile === "cache") return null;
    if (!lanesInUse(config).includes("flagship_deep") || tried.some((one) => one.endsWith(" flagship_deep"))) return null;
    const provider = failed.rule === "failover" || config.lanes.flagship_deep?.provider === undefined ? target.candidate.name : undefined;
    const next = await targets.resolve({ lane: "flagship_deep", override, provider }, deps.models(), config).catch(() => null);
    if (next === null || next.lane !== "flagship_deep") return null;
    const another = next.candidate.name !== target.candidate.name;
    if ((!another && !hasOwnDeep(next.candidate)) || breakers.isOpen(next.candidate.name)) return null;
    if (error.data?.["reason"] === "too_long" && next.model.contextWindow <= target.model.contextWindow) return null;
    const why = `${target.model.model} did not manage: ${said(error)}`;
    return made(
      failed.task,
      next,
      { rule: "failure", rationale: `${why} The strong model tries instead.` },
      { tried, notice: `${why} The stronger model ${next.model.model} tries instead.` },
    );
  }

  async function failover(
    task: CallTask,
    lane: Lane,
    error: unknown,
    tried: readonly string[],
    displayName?: string,
    hereOnly = connectivity.isOffline(),
  ): Promise<Route | null> {
    const { config } = deps.rules();
    if (task.override?.provider !== undefined || (error instanceof LancelotError && !mayFailOver(error))) return null;
    for (const name of config.failover) {
      if (tried.some((one) => one.startsWith(`${name} `)) || breakers.isOpen(name)) continue;
      const next = await targets.resolve({ lane, profile: task.profile, provider: name }, deps.models(), config).catch(() => null);
      if (next === null || (hereOnly && !isOnThisMachine(next.candidate))) continue;
      const what = displayName === undefined ? said(error) : `${displayName} could not be used: ${said(error)}`;
      return made(
        task,
        next,
        { rule: "failover", rationale: `${what} config/router.yaml names ${name} to go on.` },
        { tried, notice: `${what} ${next.model.displayName} (${next.model.model}) goes on instead, as your config/router.yaml says.` },
      );
    }
    return null;
  }

  /**
   * With no network: what the owner's chain names on this machine, else the local model where that is allowed and it is here.
   * @throws LancelotError `unavailable` with the next step
   */
  async function goOffline(route: Route, error: LancelotError | null, why: string): Promise<Route> {
    const { config } = deps.rules();
    if (route.task.override?.provider !== undefined)
      throw noNetwork(`${why} You chose the provider for this task, so nothing else answers. Resume when it is back.`, "resume", error);
    const tried = [...route.tried, tag(route)];
    const chained = await failover(route.task, route.lane, why, tried, undefined, true);
    if (chained !== null) return chained;
    if (config.offline === "wait") throw noNetwork(`${why} config/router.yaml says to wait. Resume when it is back.`, "resume", error);
    try {
      const target = await targets.resolve({ lane: "local_utility" }, deps.models(), config);
      return made(
        route.task,
        target,
        { rule: "offline", rationale: `${why} The local model answers meanwhile.` },
        { tried, notice: `${why} The local model answers until that changes.` },
      );
    } catch (cause) {
      const problem = cause instanceof LancelotError ? ` ${cause.message}` : "";
      throw noNetwork(`${why} Resume when it is back. To work without it, download the local model.${problem}`, "download_model", cause);
    }
  }

  function finished(route: Route, alternatives: Route["alternatives"], decidedMs: number): Route {
    const whole: Route = { ...route, alternatives, decidedMs };
    const target = targetOf.get(route);
    if (target !== undefined) targetOf.set(whole, target);
    return whole;
  }

  return { route, after, target: (route: Route): Target | undefined => targetOf.get(route) };
}

function tag({ model, lane }: Route): string {
  return `${model.provider} ${lane}`;
}

/** A failure without the advice that was added for its end. */
function said(error: unknown): string {
  if (typeof error === "string") return error;
  if (!(error instanceof LancelotError)) return "It failed.";
  const plain = error.data?.["said"];
  return (typeof plain === "string" ? plain : error.message).trim();
}

/** What another provider would meet as well. */
function mayFailOver(error: LancelotError): boolean {
  return error.code !== "cancelled" && error.code !== "denied" && error.code !== "too_large";
}

function noNetwork(message: string, action: string, cause: unknown): LancelotError {
  return new LancelotError("unavailable", message, { data: { what: "network", reason: "offline", action, retryable: false }, cause });
}
