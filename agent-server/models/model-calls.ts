import { randomUUID } from "node:crypto";
import { LancelotError } from "../contract/errors.ts";
import type { AnsweredBy, RouterDecision } from "../contract/router.ts";
import type { Provider } from "./providers/types.ts";
import { answerInAttempts, type AttemptDeps } from "./attempts.ts";
import type { Outbound } from "./outbound/outbound.ts";
import type { ModelEvent, ModelRequest } from "./request.ts";
import type { Limits } from "./resilience/timeouts.ts";
import type { LoadedRouter, RouterConfig } from "./router/router-config.ts";
import type { Decisions } from "./router/decisions.ts";
import type { Router } from "./router/router.ts";
import type { CallTask, Route } from "./router/types.ts";
import { isOnThisMachine, type Target } from "./router/targets.ts";
import type { Candidate } from "./provider-selection.ts";
import { checkedAnswer, isStructured } from "./structured-output.ts";

/** Tokens of an answer that a raised thinking budget leaves for the answer itself. */
const answerReserve = 4_000;

function thinkingOf(
  { thinking, max_tokens }: Target["profile"],
  request: ModelRequest,
): { enabled: boolean; budgetTokens: number } | undefined {
  if (thinking === undefined) return undefined;
  const raised = Math.min(request.thinkingTokens ?? 0, (request.maxTokens ?? max_tokens) - answerReserve);
  return { enabled: thinking.enabled, budgetTokens: Math.max(thinking.budget_tokens, raised) };
}

/** The quest, parent receipt and purpose of a call. */
export interface CallContext {
  questId: string | null;
  parentId: string | null;
  signal: AbortSignal;
  /** A route of `models.routes()`. The call follows it, and its error goes to the caller. */
  route?: Route | undefined;
  /** The call's task where there is no route yet: the router chooses one, and another when the call fails. */
  task?: CallTask | undefined;
}

export interface CallDeps extends AttemptDeps {
  router: Router;
  rules: () => LoadedRouter;
  decisions: Decisions;
  providerOf: (candidate: Candidate) => Provider;
  /** Hides secrets and personal data in a request for a model, and restores them in its answer. */
  outbound: (request: ModelRequest, candidate: Candidate, context: CallContext) => Promise<Outbound>;
  onDecision: (decision: RouterDecision) => void;
  /** Overrides the time limits of router.yaml in tests. */
  limits?: Partial<Limits> | undefined;
  /** Aborts when models are closed. */
  closing: AbortSignal;
}

/** Calls models along the router's routes. Each decision is stored, emitted and recorded as a receipt. */
export function createCalls(deps: CallDeps) {
  async function* stream(request: ModelRequest, context: CallContext): AsyncGenerator<ModelEvent> {
    const routes = deps.router.routes();
    const task = context.task ?? { type: "chat", text: "", profile: request.lane };
    for (;;) {
      const route = context.route ?? (await routes.next(task));
      const target = deps.router.target(route);
      if (target === undefined) throw new LancelotError("internal", "A call requires a decision of the router.");
      const decision = begin(route, target, context);
      const startedAt = performance.now();
      let hasEnded = false;
      const end = (success: boolean, error: string | null): void => {
        if (hasEnded) return;
        hasEnded = true;
        report({ ...decision, elapsedMs: performance.now() - startedAt, success, error });
      };
      try {
        yield { type: "routed", by: answeredBy(route, target, decision) };
        const ask = (asked: ModelRequest): Promise<AsyncIterable<ModelEvent>> => openAnswer(target, decision.id, route, asked, context);
        for await (const event of isStructured(request) ? checkedAnswer(request, ask) : await ask(request)) {
          if (event.type === "done") end(true, null);
          yield event;
        }
        return;
      } catch (error) {
        end(false, error instanceof LancelotError ? error.message : "The call failed unexpectedly.");
        if (context.route !== undefined) throw error;
        const next = await routes.failover(error);
        yield { type: "retry", attempt: 1, delayMs: 0, reason: next.notice ?? next.rationale };
      } finally {
        end(false, "Stopped.");
      }
    }
  }

  /** The events of one model's answer. The request is redacted for its destination first. */
  async function openAnswer(
    { candidate, profile }: Target,
    decisionId: string,
    { lane }: Route,
    request: ModelRequest,
    context: CallContext,
  ): Promise<AsyncIterable<ModelEvent>> {
    const { config } = deps.rules();
    const onThisMachine = isOnThisMachine(candidate);
    const signal = AbortSignal.any([context.signal, deps.closing]);
    const outbound = await deps.outbound(request, candidate, { ...context, signal });
    const provider = deps.providerOf(candidate);
    const events = answerInAttempts(
      candidate.connection === null ? { ...deps, breakers: undefined } : deps,
      {
        provider: candidate.name,
        displayName: candidate.displayName,
        server: candidate.connection === null ? null : new URL(candidate.connection.baseUrl).host,
        kind: candidate.kind,
        lane,
        onThisMachine,
        decisionId,
        hidden: outbound.hidden,
        call: {
          model: profile.model,
          maxTokens: request.maxTokens ?? profile.max_tokens,
          temperature: request.temperature ?? profile.temperature,
          thinking: thinkingOf(profile, request),
        },
        answer: {
          text: config.answer.max_characters,
          thinking: config.answer.max_thinking_characters,
          arguments: config.answer.max_argument_characters,
          calls: config.answer.max_calls,
        },
        limits: { ...limitsOf(config, onThisMachine), ...deps.limits },
        retries: {
          tries: config.retries.tries,
          baseMs: config.retries.base_seconds * 1000,
          maxWaitMs: config.retries.max_wait_seconds * 1000,
          maxCharacters: config.retries.max_characters,
        },
        stream: (...parameters) => provider.stream(...parameters),
      },
      outbound.request,
      { questId: context.questId, parentId: context.parentId, signal },
    );
    return outbound.restore(events);
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
    report(kept);
    return kept;
  }

  function report(decision: RouterDecision): void {
    const safe = deps.redactor.value(decision);
    deps.decisions.keep(safe);
    deps.onDecision(safe);
  }

  return { stream };
}

/** A route as a decision of the contract. */
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
    progressMs: 10_000,
  };
}
