import { randomUUID } from "node:crypto";
import type { Usage } from "../../contract/chat.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { Lane, RouterDecision } from "../../contract/router.ts";
import type { Ledger } from "../../receipts/receipts.ts";
import type { Redactor } from "../../security/security.ts";
import type { TaskName } from "../local/catalog.ts";
import type { TaskContext, TaskMethod } from "./types.ts";

/** A method for a task that requires a model. */
export interface ModelMethod<T> {
  method: Exclude<TaskMethod, "rules">;
  /** The model's file. */
  model: string;
  /** Why it cannot be used now; null when it can. */
  unfit: string | null;
  /** After this time, the next method is used (ms). */
  timeoutMs: number;
  /** A null value is no result, and `why` is the reason. @throws LancelotError */
  work(
    signal: AbortSignal,
  ): Promise<{ value: T; usage?: Usage; outputs: Record<string, unknown> } | { value: null; why: string; usage?: Usage }>;
}

/** A task with its methods, best first; the rules are last. */
export interface Task<T> {
  name: TaskName;
  /** Inputs for the receipt, redacted there. */
  inputs: Record<string, unknown>;
  methods: ModelMethod<T>[];
  /** @throws LancelotError `unavailable` where rules cannot do it */
  rules: () => { value: T; outputs: Record<string, unknown> };
}

export interface RunDeps {
  ledger: Pick<Ledger, "open" | "close" | "record">;
  redactor: Redactor;
  /** The router's choice. A lane that is not local means that the user allows no model on this machine for it. */
  route?: (task: TaskName) => { lane: Lane; rule: RouterDecision["rule"]; rationale: string };
  keep?: (decision: RouterDecision) => void;
  /** Factor for the time limits in evaluations; 1 by default. */
  timeoutFactor?: number;
  /** Counts the usage of a model on this machine. */
  count?: (call: { questId: string | null; model: string; lane: Lane; usage: Usage; receiptId: string }) => void;
}

export type RunTask = <T>(task: Task<T>, context: TaskContext) => Promise<{ value: T; method: TaskMethod }>;

/**
 * Does a task by the first method that works. Its receipt names the method and the reason: `llm_call` for a model (also a failed one), `system`
 * with method `rules` for the rules. Each is a decision of the router too.
 */
export function createRun(deps: RunDeps): RunTask {
  const { ledger, redactor } = deps;

  return async (task, context) => {
    const started = performance.now();
    const timestamp = new Date().toISOString();
    const fallback = { lane: laneOf(task.name), rule: ruleOf(task.name), rationale: "It is a local task." };
    const route = deps.route?.(task.name) ?? fallback;
    const isLocal = route.lane === "local_utility" || route.lane === "local_redaction";
    const lane = isLocal ? route.lane : fallback.lane;
    const left: RouterDecision["alternatives"] = [];

    const decided = (model: string, receiptId: string, why: string, error: string | null) => {
      deps.keep?.({
        id: randomUUID(),
        timestamp,
        taskType: task.name,
        lane,
        provider: model === "rules" ? "none" : "local",
        model,
        rationale: `${route.rationale} ${why}`,
        rule: isLocal ? route.rule : fallback.rule,
        alternatives: left,
        elapsedMs: performance.now() - started,
        success: error === null,
        error,
        questId: context.questId,
        receiptId,
      });
    };
    const opening = {
      inputs: redactor.value(task.inputs),
      riskTier: "T0" as const,
      parentId: context.parentId,
      questId: context.questId,
    };

    for (const step of task.methods) {
      if (context.signal.aborted) throw new LancelotError("cancelled", "Stopped.");
      const skipped = isLocal ? step.unfit : "Your routing does not allow a local model for this task.";
      if (skipped !== null) {
        left.push({ lane, provider: "local", model: step.model, reason: skipped });
        continue;
      }
      const metadata = { provider: "local", kind: "local", model: step.model, lane, method: step.method, task: task.name };
      const call = {
        ...opening,
        actionType: "llm_call" as const,
        actionName: `local/${task.name}`,
        cognitionTier: "CLASSIFICATION" as const,
        metadata,
      };
      // An embedding takes milliseconds, so its receipt is written at the end. A generation may be interrupted by a crash and leaves a trace.
      const receipt = step.method === "model" ? ledger.open(call) : null;
      const began = performance.now();
      const close = (closing: Parameters<Ledger["close"]>[1]): string => {
        if (receipt === null) return ledger.record(call, { ...closing, durationMs: performance.now() - began });
        ledger.close(receipt, closing);
        return receipt;
      };
      const limitMs = step.timeoutMs * (deps.timeoutFactor ?? 1);
      const late = AbortSignal.timeout(limitMs);
      try {
        const outcome = await step.work(AbortSignal.any([context.signal, late]));
        const used =
          outcome.usage === undefined
            ? {}
            : { tokenCount: outcome.usage.inputTokens + outcome.usage.outputTokens, metadata: { usage: outcome.usage } };
        const count = (receiptId: string) => {
          if (outcome.usage !== undefined)
            deps.count?.({ questId: context.questId, model: step.model, lane, usage: outcome.usage, receiptId });
        };
        if (outcome.value === null) {
          const reason = "why" in outcome ? outcome.why : "It found no result.";
          count(close({ status: "failure", errorMessage: reason, ...used }));
          left.push({ lane, provider: "local", model: step.model, reason });
          continue;
        }
        const outputs = "outputs" in outcome ? redactor.value(outcome.outputs) : {};
        const receiptId = close({ status: "success", outputs, ...used });
        count(receiptId);
        decided(step.model, receiptId, step.method === "embedding" ? "Done by the intent classifier." : "Done by the local model.", null);
        return { value: outcome.value, method: step.method };
      } catch (error) {
        const cancelled = context.signal.aborted;
        const reason = cancelled ? "Stopped." : late.aborted ? `It took longer than ${Math.round(limitMs / 1_000)} s.` : wordsOf(error);
        close({ status: cancelled ? "cancelled" : "failure", errorMessage: reason });
        if (cancelled) throw new LancelotError("cancelled", "Stopped.", { cause: error });
        left.push({ lane, provider: "local", model: step.model, reason });
      }
    }

    const why = `Done by rules: ${left.map(({ reason }) => reason).join(" ") || "there is no other method."}`;
    const call = {
      ...opening,
      actionType: "system" as const,
      actionName: `local/${task.name}`,
      metadata: { method: "rules", lane, task: task.name, reason: why },
    };
    const began = performance.now();
    try {
      const { value, outputs } = task.rules();
      const receiptId = ledger.record(call, { status: "success", outputs: redactor.value(outputs), durationMs: performance.now() - began });
      decided("rules", receiptId, why, null);
      return { value, method: "rules" };
    } catch (error) {
      const message = wordsOf(error);
      const receiptId = ledger.record(call, { status: "failure", errorMessage: message, durationMs: performance.now() - began });
      decided("rules", receiptId, why, message);
      throw error;
    }
  };
}

function laneOf(task: TaskName): Lane {
  return task === "redact" ? "local_redaction" : "local_utility";
}

function ruleOf(task: TaskName): RouterDecision["rule"] {
  return task === "redact" ? "redact" : "local_task";
}

function wordsOf(error: unknown): string {
  return error instanceof LancelotError ? error.message : "It failed unexpectedly.";
}
