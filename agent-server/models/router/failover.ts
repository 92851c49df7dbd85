import { LancelotError } from "../../contract/errors.ts";
import type { Lane } from "../../contract/router.ts";
import type { LoadedConfig } from "../models-config.ts";
import type { Candidate } from "../provider-selection.ts";
import type { Breakers } from "../resilience/breakers.ts";
import type { Connectivity } from "../resilience/connectivity.ts";
import { chooseLane, lanesInUse, trigger } from "./lanes.ts";
import type { LoadedRouter } from "./router-config.ts";
import { hasOwnDeep, isOnThisMachine, type Target, type Targets } from "./targets.ts";
import type { CallTask, Route } from "./types.ts";

/** Creates a route to a target. */
export type MakeRoute = (
  task: CallTask,
  target: Target,
  choice: Pick<Route, "rule" | "rationale">,
  more?: { notice?: string; tried?: readonly string[] },
) => Route;

interface FailoverDeps {
  targets: Targets;
  breakers: Pick<Breakers, "isOpen" | "states">;
  connectivity: Pick<Connectivity, "isOffline" | "checkAfterFailure">;
  candidates: () => Promise<readonly Candidate[]>;
  models: () => LoadedConfig;
  rules: () => LoadedRouter;
  makeRoute: MakeRoute;
  targetOf: (route: Route) => Target | undefined;
}

interface FailedCall {
  task: CallTask;
  lane: Lane;
  /** An error, or its message. */
  error: unknown;
  tried: readonly string[];
}

export interface Failover {
  /**
   * The route after a failed one: the deep model (escalation), the user's failover list, or without a network the local model.
   * Null: there is none, and the error stands.
   * @throws LancelotError `unavailable` when there is no network and no local model
   */
  after(failed: Route, error: unknown): Promise<Route | null>;
  /** The next usable provider of the user's failover list; null when there is none or this failure would occur there too. */
  toNextProvider(failed: FailedCall): Promise<Route | null>;
  /** A route around a provider whose circuit breaker is open; null when it is closed or there is no other provider. */
  aroundOpenBreaker(route: Route, lane: Lane): Promise<Route | null>;
  /** The route without a network. @throws LancelotError `unavailable` with the next step */
  offline(route: Route, error: LancelotError | null): Promise<Route>;
}

const noNetwork = "No provider can be reached: there seems to be no network.";
const unreachable = "No provider can be reached.";

/** Failures of one model or one request: another model may succeed. */
const modelReasons: ReadonlySet<unknown> = new Set(["model", "refused", "request", "too_long", "answer"]);
/** Failures of a provider, which often has more capacity for one model than for another. */
const capacityReasons: ReadonlySet<unknown> = new Set(["overloaded", "server", "rate_limited", "timeout"]);

/** Chooses where a failed call goes (M1, M9). Only providers that the user's failover list names are asked instead of the chosen one. */
export function createFailover(deps: FailoverDeps): Failover {
  const { targets, breakers, connectivity, makeRoute } = deps;

  async function after(failed: Route, error: unknown): Promise<Route | null> {
    if (!(error instanceof LancelotError) || error.code === "cancelled" || error.code === "denied") return null;
    // Another model would begin the answer again, and it may be as long.
    if (error.data?.["keepsAnswer"] === true || error.data?.["reason"] === "answer_too_large") return null;
    const target = deps.targetOf(failed);
    if (target === undefined) return null;
    const tried = [...failed.tried, tag(failed)];
    if (!isOnThisMachine(target.candidate)) {
      const reach = await connectivity.checkAfterFailure(target.candidate.name, error, await deps.candidates());
      if (reach === "offline") return offline(failed, error);
      if (reach === "refused") {
        const next = await offline(failed, error, unreachable).catch(() => null);
        if (next !== null) return next;
      }
    }
    // A provider takes over the local model's call in its fast lane, unless the task itself belongs to a local lane: then nothing leaves.
    const mustStay = chooseLane(deps.rules().config, failed.task).lane.startsWith("local");
    const lane = failed.lane === "local_utility" && !mustStay ? "flagship_fast" : failed.lane;
    const provider = (): Promise<Route | null> => toNextProvider({ task: failed.task, lane, error, tried });
    const strongModel = (): Promise<Route | null> => escalate(failed, target, error, tried);
    const reason = error.data?.["reason"];
    // An unusable answer is no reason to send the task to another provider.
    if (reason === "answer") return strongModel();
    const isModelFailure = modelReasons.has(reason) || error.code === "internal";
    const [first, second] = isModelFailure ? [strongModel, provider] : [provider, strongModel];
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
    const isOtherProvider = next.candidate.name !== target.candidate.name;
    if ((!isOtherProvider && !hasOwnDeep(next.candidate)) || breakers.isOpen(next.candidate.name)) return null;
    if (error.data?.["reason"] === "too_long" && next.model.contextWindow <= target.model.contextWindow) return null;
    const problem = error.data?.["problem"];
    const notice =
      typeof problem === "string"
        ? `${target.model.model} ${problem}; retrying with ${next.model.model}.`
        : `${target.model.model} failed: ${messageOf(error)} Retrying with ${next.model.model}.`;
    return makeRoute(failed.task, next, { rule: "failure", rationale: notice }, { tried, notice });
  }

  async function toNextProvider(failed: FailedCall, isLocalOnly = connectivity.isOffline()): Promise<Route | null> {
    const { task, lane, error, tried } = failed;
    const { config } = deps.rules();
    if (task.override?.provider !== undefined || (error instanceof LancelotError && !mayFailOver(error))) return null;
    for (const name of config.failover) {
      if (tried.some((one) => one.startsWith(`${name} `)) || breakers.isOpen(name)) continue;
      const next = await targets.resolve({ lane, profile: task.profile, provider: name }, deps.models(), config).catch(() => null);
      if (next === null || (isLocalOnly && !isOnThisMachine(next.candidate))) continue;
      const problem = messageOf(error);
      return makeRoute(
        task,
        next,
        { rule: "failover", rationale: `${problem} Failover to ${name} (config/router.yaml).` },
        { tried, notice: `${problem} Continuing with ${next.model.displayName} (${next.model.model}), as your config/router.yaml allows.` },
      );
    }
    return null;
  }

  async function aroundOpenBreaker(route: Route, lane: Lane): Promise<Route | null> {
    const { provider, displayName } = route.model;
    if (!breakers.isOpen(provider)) return null;
    const state = breakers.states().find((one) => one.provider === provider);
    return toNextProvider({ task: route.task, lane, error: state?.reason ?? `${displayName} failed several times.`, tried: [tag(route)] });
  }

  async function offline(route: Route, error: LancelotError | null, why = noNetwork): Promise<Route> {
    const { config } = deps.rules();
    if (route.task.override?.provider !== undefined)
      throw offlineError(`${why} You chose the provider for this task, so no other one is used. Resume when it is back.`, "resume", error);
    const tried = [...route.tried, tag(route)];
    const next = await toNextProvider({ task: route.task, lane: route.lane, error: why, tried }, true);
    if (next !== null) return next;
    if (config.offline === "wait") throw offlineError(`${why} config/router.yaml is set to wait. Resume when it is back.`, "resume", error);
    try {
      const target = await targets.resolve({ lane: "local_utility" }, deps.models(), config);
      const choice = { rule: "offline", rationale: `${why} The local model is used meanwhile.` } as const;
      return makeRoute(route.task, target, choice, { tried, notice: `${why} The local model is used until it is back.` });
    } catch (cause) {
      const problem = cause instanceof LancelotError ? ` ${cause.message}` : "";
      throw offlineError(`${why} Resume when it is back. To work offline, download the local model.${problem}`, "download_model", cause);
    }
  }

  return { after, toNextProvider: (failed) => toNextProvider(failed), aroundOpenBreaker, offline: (route, error) => offline(route, error) };
}

function tag({ model, lane }: Route): string {
  return `${model.provider} ${lane}`;
}

/** A failure without the advice that ends a series of retries. */
function messageOf(error: unknown): string {
  if (typeof error === "string") return error;
  if (!(error instanceof LancelotError)) return "It failed.";
  const plain = error.data?.["plainMessage"];
  return (typeof plain === "string" ? plain : error.message).trim();
}

/** A stronger model of the same provider would meet a wrong key, an empty account, a cap or an unreachable server too. */
function mayEscalate(error: LancelotError): boolean {
  const reason = error.data?.["reason"];
  return modelReasons.has(reason) || capacityReasons.has(reason) || error.code === "internal";
}

/** Another provider would meet these failures too. */
function mayFailOver(error: LancelotError): boolean {
  return error.code !== "cancelled" && error.code !== "denied" && error.code !== "too_large";
}

function offlineError(message: string, action: string, cause: unknown): LancelotError {
  return new LancelotError("unavailable", message, { data: { what: "network", reason: "offline", action, retryable: false }, cause });
}
