import { type ActionContext, intentOf } from "../contract/action.ts";
import type { Tier } from "../contract/common.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Decision } from "../contract/governance.ts";
import type { Governance, OutcomeReport, OutcomeStep, Question, RefusedAction } from "../governance/governance.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Log } from "../security/security.ts";
import { type Checkpoints, type Effects, type Tasks, type Touched, toTouched } from "../workspace/workspace.ts";
import type { Action, ActionObserver, IntentSpec } from "./action.ts";
import { type ActionEffect, createActionEffect, type RanEffect } from "./action-effect.ts";
import { brief, decisionOf, highestTier, receiptOf } from "./decisions.ts";
import { createGrants, type Grant, toOutcomeStep } from "./grants.ts";
import { isRefusal } from "./refusals.ts";
import type { TierBoundary } from "./tier-boundary.ts";
import type { Verification } from "./verification-store.ts";
import type { Verifications } from "./verifications.ts";

/** What an executed action gave. */
export interface Executed<T> {
  readonly value: T;
  readonly receiptId: string;
  readonly decisions: readonly Decision[];
  readonly touched?: Touched;
}

/** The path of every effect (design/architecture.md, The execution pipeline). */
export interface ExecutionPipeline {
  /**
   * For reading only: authorizes the steps and redeems the grants at once. Governance records a denial as `receipt`.
   * @throws LancelotError as `Governance.authorize`.
   */
  authorize(
    steps: readonly IntentSpec[],
    context: ActionContext & Pick<ActionObserver, "onWaiting">,
    question: Question,
    receipt?: RefusedAction,
  ): Promise<Decision[]>;
  /**
   * Tier boundary (T2, T3) → decision → receipt opened → before-images → redeemed grant → effect → verification → receipt closed.
   * At T1 the verification follows the closing, unless its queue is full or the user waits for the result.
   * @throws LancelotError of the boundary, of governance (one receipt, a failure), of the effect or of its verification.
   */
  execute<T>(action: Action<T>): Promise<Executed<T>>;
}

export interface PipelineDeps {
  readonly governance: Governance;
  readonly ledger: Ledger;
  readonly checkpoints: Checkpoints;
  readonly verifications: Verifications;
  readonly boundary: TierBoundary;
  /** Null where no workspace can be watched. */
  readonly effects: Effects | null;
  /** Null where there are no tasks. */
  readonly tasks: Pick<Tasks, "begin"> | null;
  readonly log: Log;
}

export function createPipeline(deps: PipelineDeps): ExecutionPipeline {
  const { governance, ledger, verifications } = deps;
  const grants = createGrants(deps);

  /** Feeds trust and learning. Their failure does not change the result of the action. */
  function report(outcome: OutcomeReport): void {
    if (outcome.steps.length === 0) return;
    try {
      governance.outcome(outcome);
    } catch (error) {
      deps.log("governance could not record the outcome of an action", error);
    }
  }

  /** Before T2 and T3: earlier effects are recorded and verified. */
  async function passBoundary(steps: readonly IntentSpec[], consent: "ask" | "review", context: ActionContext): Promise<void> {
    let tier: Tier = "T3";
    try {
      tier = highestTier(steps.map((step) => governance.evaluate(intentOf(step, context))));
    } catch (error) {
      // `authorize` follows, and denies.
      deps.log("governance failed", error);
    }
    if (isBounded(tier)) await deps.boundary({ ...context, stop: consent === "ask" });
  }

  /** The receipt of a refusal: the one of governance where there is one. */
  function recordRefusal(action: Action<unknown>, error: LancelotError): string {
    const decision = decisionOf(error);
    const receiptId =
      receiptOf(error) ??
      ledger.record(
        {
          actionType: action.actionType,
          actionName: action.actionName,
          inputs: action.inputs,
          riskTier: decision?.tier ?? "T3",
          parentId: action.parent,
          questId: action.quest,
          metadata: { ...providerFacts(action), ...(decision === null ? {} : { decision: brief([decision]) }) },
        },
        { status: error.code === "cancelled" ? "cancelled" : "failure", errorMessage: error.message },
      );
    action.onReceipt?.(receiptId);
    return receiptId;
  }

  /** @throws LancelotError of the boundary or of governance; one receipt records it. */
  async function authorizeAction(action: Action<unknown>): Promise<Grant[]> {
    const { quest, consent, steps, question, isRollback = false } = action;
    let asked: readonly OutcomeStep[] = [];
    try {
      if (!isRollback) await passBoundary(steps, consent, action);
      const { actionType, actionName, inputs } = action;
      const given = await grants.authorize({
        ...{ steps, consent, question, context: action },
        receipt: { actionType, actionName, inputs, metadata: providerFacts(action) },
        onRefused: (_error, decided) => {
          asked = decided;
        },
      });
      // An approval can take minutes, and other actions of the quest continue meanwhile.
      if (!isRollback && isBounded(highestTier(given.map(({ decision }) => decision))))
        await deps.boundary({ quest, signal: action.signal, stop: consent === "ask" });
      return given;
    } catch (error) {
      if (error instanceof LancelotError) {
        const receiptId = recordRefusal(action, error);
        if (isRefusal(error) && consent === "ask") report({ receiptId, questId: quest, steps: asked, result: "refused" });
      }
      throw error;
    }
  }

  /**
   * Closes the receipt once the effect is verified; at T1 the queue verifies later.
   * @throws LancelotError `unavailable` when the verification failed.
   */
  async function conclude<T>(
    action: Action<T>,
    effect: ActionEffect<T>,
    { result, expectations }: RanEffect<T>,
    { receiptId, tier, steps }: { receiptId: string; tier: Tier; steps: readonly OutcomeStep[] },
  ): Promise<void> {
    const verify = action.verify ?? null;
    // What an irreversible action did is confirmed before its receipt closes; the receipt says by what.
    const confirmedBy = tier === "T3" ? { confirmedBy: confirmationOf(expectations.length > 0, verify !== null) } : {};
    const close = (): void => {
      ledger.close(receiptId, {
        status: result.failure === undefined ? "success" : "failure",
        outputs: { ...effect.outputs(result.outputs), ...confirmedBy },
        ...(result.failure === undefined ? {} : { errorMessage: result.failure }),
      });
    };
    if (expectations.length === 0 && verify === null) return close();
    const verification: Verification = {
      receiptId,
      questId: action.quest,
      checkpointId: effect.checkpointId,
      name: action.actionName,
      expectations,
      steps: [...steps],
      own: verify !== null,
    };
    const isDeferrable = tier === "T1" && action.consent === "ask" && result.failure === undefined;
    if (isDeferrable && verifications.enqueue(verification, verify, close)) return;
    const { locksHeld = false, isRollback = false } = action;
    const verdict = await verifications.verifyNow(verification, verify, { held: locksHeld, restore: !isRollback });
    if (verdict.status === "failed") throw new LancelotError("unavailable", verdict.message, { data: { verification: verdict.receiptId } });
    close();
  }

  return {
    async authorize(steps, context, question, receipt) {
      await passBoundary(steps, "ask", context);
      await ledger.ready(context.signal);
      const given = await grants.authorize({
        ...{ steps, context, question, receipt, consent: "ask" },
        onRefused: (error, asked) => {
          const receiptId = receiptOf(error);
          if (isRefusal(error) && receiptId !== null) report({ receiptId, questId: context.quest, steps: asked, result: "refused" });
        },
      });
      for (const grant of given) grants.redeem(grant, context);
      return given.map(({ decision }) => decision);
    },

    async execute<T>(action: Action<T>) {
      const { quest, consent } = action;
      await ledger.ready(action.signal);
      const given = await authorizeAction(action);
      const decisions = given.map(({ decision }) => decision);
      const steps = given.map(toOutcomeStep);
      const approvalId = steps.find((step) => step.approvalId !== null)?.approvalId ?? null;
      action.onDecided?.(decisions, approvalId);
      const tier = highestTier(decisions);
      await ledger.ready(action.signal);
      const receiptId = ledger.open({
        actionType: action.actionType,
        actionName: action.actionName,
        inputs: action.inputs,
        riskTier: tier,
        parentId: action.parent,
        questId: quest,
        metadata: {
          ...providerFacts(action),
          ...{ decision: brief(decisions), approvalId, consent },
          ...(action.job === undefined ? {} : { job: action.job.id }),
        },
      });
      action.onReceipt?.(receiptId);
      const reportOutcome = (result: OutcomeReport["result"]): void => {
        // A change that the user accepted by hand says nothing about how far the agent can be trusted.
        if (consent === "ask") report({ receiptId, questId: quest, steps, result });
      };
      const effect = createActionEffect(deps, action, receiptId, () => {
        for (const grant of given) grants.redeem(grant, action);
      });
      let hasEnded = false;
      try {
        const ran = await effect.run();
        hasEnded = true;
        await ledger.ready();
        await conclude(action, effect, ran, { receiptId, tier, steps });
        reportOutcome(ran.result.failure === undefined ? "success" : "failure");
        const touched = effect.watched === null ? {} : { touched: toTouched(effect.watched) };
        return { value: ran.result.value, receiptId, decisions, ...touched };
      } catch (error) {
        if (!hasEnded) await effect.recordPartial();
        await ledger.ready().catch(() => undefined);
        const problem = error instanceof LancelotError ? error : null;
        // A provider can refuse too, as memory's gates do.
        const refusedBy = (problem === null ? null : decisionOf(problem))?.rules.map(({ id }) => id);
        ledger.close(receiptId, {
          status: problem?.code === "cancelled" ? "cancelled" : "failure",
          errorMessage: problem?.message ?? "An internal error stopped the action.",
          outputs: effect.outputs(refusedBy === undefined ? {} : { refusedBy }),
        });
        if (problem !== null && !hasEnded && isRefusal(problem)) reportOutcome("refused");
        // An effect that never started, for lack of disk space for example, says nothing about the action.
        else if (effect.hasStarted && problem?.code !== "cancelled") reportOutcome("failure");
        throw error;
      } finally {
        effect.finish();
      }
    },
  };
}

function providerFacts({ provider, route }: Pick<Action<unknown>, "provider" | "route">): Record<string, unknown> {
  return { provider, ...(route === undefined ? {} : { route }) };
}

/** True for the tiers before which earlier effects must be recorded and verified. */
function isBounded(tier: Tier): boolean {
  return tier === "T2" || tier === "T3";
}

/** `result`: the provider's own report (an exit code, a status) is all there is to go by. */
function confirmationOf(hasFiles: boolean, hasCheck: boolean): ("files" | "check" | "result")[] {
  if (!hasFiles && !hasCheck) return ["result"];
  return [...(hasFiles ? (["files"] as const) : []), ...(hasCheck ? (["check"] as const) : [])];
}
