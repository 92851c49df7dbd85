import { randomUUID } from "node:crypto";
import { LancelotError } from "../contract/errors.ts";
import type { AnsweredBy, RouterDecision } from "../contract/router.ts";
import type { Provider } from "./providers/provider.ts";
import { answerInAttempts, type AttemptDeps } from "./attempts.ts";
import type { Outbound } from "./outbound.ts";
import type { ModelEvent, ModelRequest } from "./request.ts";
import type { Limits } from "./resilience/patience.ts";
import type { LoadedRouter, RouterConfig } from "./router/config.ts";
import type { Decisions } from "./router/decisions.ts";
import type { CallTask } from "./router/lanes.ts";
import type { Route, Router } from "./router/router.ts";
import { isOnThisMachine, type Target } from "./router/targets.ts";
import type { Candidate } from "./selection.ts";
import { checkedAnswer } from "./structured.ts";

/** Under which quest and receipt a call runs, and what it is for. */
export interface CallContext {
  questId: string | null;
  parentId: string | null;
  signal: AbortSignal;
  /** Where it goes: a decision that `models.route` made. It is followed as it stands, and an error goes to who asked. */
  route?: Route | undefined;
  /** What it is for, where no decision was made yet: the router makes one, and others when the call fails. */
  task?: CallTask | undefined;
}

export interface CallDeps extends AttemptDeps {
  router: Router;
  rules: () => LoadedRouter;
  decisions: Decisions;
  providerOf: (candidate: Candidate) => Provider;
  /** The request as it may be told to that model, and the way back. */
  outbound: (request: ModelRequest, candidate: Candidate, context: CallContext) => Promise<Outbound>;
  onDecision: (decision: RouterDecision) => void;
  /** What a test holds still. */
  limits?: Partial<Limits> | undefined;
  /** Aborts when the room closes. */
  closing: AbortSignal;
}

/** Calls of models by the router's decisions; each decision is kept, told and receipted. */
export function createCalls(deps: CallDeps) {
  async function* stream(request: ModelRequest, context: CallContext): AsyncGenerator<ModelEvent> {
    if (context.route !== undefined) return yield* follow(context.route, request, context);
    const { router } = deps;
    let route = await router.route(context.task ?? { type: "chat", text: "", profile: request.lane });
    for (;;) {
      let next: Route | null;
      try {
        return yield* follow(route, request, context);
      } catch (error) {
        next = await router.after(route, error);
        if (next === null) throw error;
      }
      yield { type: "retry", attempt: 1, delayMs: 0, reason: next.notice ?? next.rationale };
      route = next;
    }
  }

  async function* follow(route: Route, request: ModelRequest, context: CallContext): AsyncGenerator<ModelEvent> {
    const target = deps.router.target(route);
    if (target === undefined) throw new LancelotError("internal", "A call without the router's decision was refused.");
    const decision = begin(route, target, context);
    const startedAt = performance.now();
    let ended = false;
    const end = (success: boolean, error: string | null): void => {
      if (ended) return;
      ended = true;
      tell({ ...decision, elapsedMs: performance.now() - startedAt, success, error });
    };
    try {
      yield { type: "routed", by: answeredBy(route, target, decision) };
      const run = (asked: ModelRequest): AsyncIterable<ModelEvent> => attempts(target, decision.id, route, asked, context);
      for await (const event of checkedAnswer(request, run)) {
        if (event.type === "done") end(true, null);
        yield event;
      }
    } catch (error) {
      end(false, error instanceof LancelotError ? error.message : "The call failed unexpectedly.");
      throw error;
    } finally {
      end(false, "Stopped.");
    }
  }

  async function* attempts(
    target: Target,
    decisionId: string,
    { lane }: Route,
    request: ModelRequest,
    context: CallContext,
  ): AsyncGenerator<ModelEvent> {
    const { candidate, profile } = target;
    const { thinking } = profile;
    const { config } = deps.rules();
    const provider = deps.providerOf(candidate);
    const here = isOnThisMachine(candidate);
    const signal = AbortSignal.any([context.signal, deps.closing]);
    const outbound = await deps.outbound(request, candidate, { ...context, signal });
    const events = answerInAttempts(
      candidate.connection === null ? { ...deps, breakers: undefined } : deps,
      {
        provider: candidate.name,
        displayName: candidate.displayName,
        kind: candidate.kind,
        lane,
        onThisMachine: here,
        decisionId,
        hidden: outbound.hidden,
        call: {
          model: profile.model,
          maxTokens: request.maxTokens ?? profile.max_tokens,
          temperature: profile.temperature,
          thinking: thinking === undefined ? undefined : { enabled: thinking.enabled, budgetTokens: thinking.budget_tokens },
        },
        limits: { ...limitsOf(config, here), ...deps.limits },
        retries: {
          tries: config.retries.tries,
          baseMs: config.retries.base_seconds * 1000,
          maxWaitMs: config.retries.max_wait_seconds * 1000,
        },
        stream: (...parameters) => provider.stream(...parameters),
      },
      outbound.request,
      { questId: context.questId, parentId: context.parentId, signal },
    );
    yield* outbound.restore(events);
  }

  function begin(route: Route, target: Target, { questId, parentId }: CallContext): RouterDecision {
    const { receipts } = deps.rules().config;
    const decision: RouterDecision = { ...decisionOf(route, questId), id: randomUUID() };
    const { taskType, lane, provider, model, rule, rationale, alternatives } = decision;
    const receiptId = receipts.enabled
      ? deps.ledger.record(
          {
            actionType: "system",
            actionName: "router.decide",
            inputs: deps.redactor.value({ taskType, ...(route.tried.length === 0 ? {} : { tried: route.tried }) }),
            riskTier: "T0",
            cognitionTier: "DETERMINISTIC",
            questId,
            parentId,
            metadata: { decisionId: decision.id, lane, provider, model, onThisMachine: isOnThisMachine(target.candidate) },
          },
          {
            status: "success",
            outputs: {
              lane,
              provider,
              model,
              rule,
              ...(receipts.include_rationale ? deps.redactor.value({ rationale, alternatives }) : {}),
            },
            ...(receipts.include_timing ? { durationMs: route.decidedMs } : {}),
          },
        )
      : null;
    const kept = { ...decision, receiptId };
    tell(kept);
    return kept;
  }

  function tell(decision: RouterDecision): void {
    const safe = deps.redactor.value(decision);
    deps.decisions.keep(safe);
    deps.onDecision(safe);
  }

  return { stream };
}

/** A decision as the contract has it, nothing executed. */
export function decisionOf(route: Route, questId: string | null): RouterDecision {
  return {
    id: randomUUID(),
    timestamp: new Date().toISOString(),
    taskType: route.task.type,
    lane: route.lane,
    provider: route.model.provider,
    model: route.model.model,
    rationale: route.rationale,
    rule: route.rule,
    alternatives: route.alternatives,
    elapsedMs: 0,
    success: null,
    error: null,
    questId,
    receiptId: null,
  };
}

function answeredBy({ lane, rationale, model }: Route, target: Target, { id }: RouterDecision): AnsweredBy {
  return { provider: target.candidate.name, model: model.model, displayName: model.displayName, lane, rationale, decisionId: id };
}

function limitsOf({ timeouts }: RouterConfig, onThisMachine: boolean): Limits {
  return {
    firstTokenMs: (onThisMachine ? timeouts.local_first_token_seconds : timeouts.first_token_seconds) * 1000,
    idleMs: timeouts.idle_seconds * 1000,
    totalMs: (onThisMachine ? timeouts.local_total_seconds : timeouts.total_seconds) * 1000,
  };
}
