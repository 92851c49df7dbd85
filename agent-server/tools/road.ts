import { LancelotError } from "../contract/errors.ts";
import { type Approval, Decision, type Intent, type Mode } from "../contract/governance.ts";
import type { ActionType } from "../contract/receipts.ts";
import type { Tier } from "../contract/common.ts";
import type { Authorization, Governance, Question } from "../governance/governance.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Checkpoints, Touch } from "./checkpoints.ts";

/**
 * One thing that is about to be done, judged by itself. Of a file, `path` is what was asked for (its name counts for policy)
 * and `absolute` where it leads, which is the path that is used.
 */
export interface IntentSpec {
  readonly capability: string;
  readonly action: string;
  readonly args: Record<string, unknown>;
}

export interface Traveller {
  readonly questId: string | null;
  readonly parentId: string | null;
  readonly mode: Mode;
  readonly signal: AbortSignal;
  readonly onWaiting?: (approval: Approval) => void;
}

export interface Provider {
  readonly name: string;
  readonly version: string;
}

export interface Result<T> {
  readonly value: T;
  readonly outputs: Record<string, unknown>;
  /** Words when it did not work though nothing was thrown. */
  readonly failure?: string;
}

export interface Undertaking<T> extends Traveller {
  readonly actionType: ActionType;
  readonly actionName: string;
  readonly inputs: Record<string, unknown>;
  readonly steps: readonly IntentSpec[];
  readonly question: Question;
  /** `review`: the owner decided on exactly this a moment ago; nothing is asked again, but a denial stays a denial. */
  readonly consent: "ask" | "review";
  /** Files that may change. */
  readonly touches: readonly Touch[];
  readonly provider: Provider;
  readonly onDecided?: (decisions: readonly Decision[], approvalId: string | null) => void;
  readonly onReceipt?: (receiptId: string) => void;
  readonly run: (context: { receiptId: string; checkpointId: string | null }) => Promise<Result<T>>;
}

/** The road every effect takes (architecture.md, One way through). */
export interface Road {
  /** For what only looks: asks the gate and uses the leave at once. @throws LancelotError as `Governance.authorize`. */
  look(steps: readonly IntentSpec[], traveller: Traveller, question: Question): Promise<Decision[]>;
  /**
   * decision → receipt opened → before-images → last check → effect → receipt closed.
   * @throws LancelotError of the gate (then the receipt is a closed failure) or of the effect.
   */
  carry<T>(undertaking: Undertaking<T>): Promise<{ value: T; receiptId: string; decisions: readonly Decision[] }>;
}

export function createRoad(deps: { governance: Governance; ledger: Ledger; checkpoints: Checkpoints }): Road {
  const { governance, ledger, checkpoints } = deps;

  function toIntent(step: IntentSpec, traveller: Traveller): Intent {
    return { ...step, mode: traveller.mode, ...(traveller.questId === null ? {} : { questId: traveller.questId }) };
  }

  /** The step as it would be done now: the same path, resolved again. */
  function afresh(step: IntentSpec): IntentSpec {
    const { path, absolute } = step.args;
    if (typeof path !== "string" || absolute === undefined) return step;
    const resolved = governance.resolvePath(path);
    if (!resolved.ok) throw new LancelotError("denied", resolved.message);
    return { ...step, args: { ...step.args, absolute: resolved.absolute } };
  }

  interface Leave {
    readonly step: IntentSpec;
    readonly decision: Decision;
    readonly authorization: Authorization | null;
  }

  async function ask(step: IntentSpec, undertaking: Undertaking<unknown> | null, traveller: Traveller, question: Question): Promise<Leave> {
    const intent = toIntent(step, traveller);
    if (undertaking?.consent === "review") {
      const decision = governance.evaluate(intent);
      if (decision.verdict === "deny") throw refused(decision);
      if (decision.verdict === "ask") return { step, decision, authorization: null };
    }
    const authorization = await governance.authorize(intent, question, {
      questId: traveller.questId,
      parentId: traveller.parentId,
      signal: traveller.signal,
      ...(traveller.onWaiting === undefined ? {} : { onWaiting: traveller.onWaiting }),
    });
    return { step, decision: authorization.decision, authorization };
  }

  function redeem(leave: Leave, traveller: Traveller): void {
    const fresh = afresh(leave.step);
    if (leave.authorization !== null) governance.redeem(leave.authorization, toIntent(fresh, traveller));
    else if (fresh.args["absolute"] !== leave.step.args["absolute"]) {
      throw new LancelotError("denied", "The path leads elsewhere than when it was reviewed; nothing was touched.");
    }
  }

  function recordRefusal(undertaking: Undertaking<unknown>, error: LancelotError): void {
    const decision = decisionOf(error);
    const receiptId = ledger.record(
      {
        actionType: undertaking.actionType,
        actionName: undertaking.actionName,
        inputs: undertaking.inputs,
        riskTier: decision?.tier ?? "T3",
        parentId: undertaking.parentId,
        questId: undertaking.questId,
        metadata: { provider: undertaking.provider, ...(decision === null ? {} : { decision: brief([decision]) }) },
      },
      { status: error.code === "cancelled" ? "cancelled" : "failure", errorMessage: error.message },
    );
    undertaking.onReceipt?.(receiptId);
  }

  return {
    async look(steps, traveller, question) {
      const leaves: Leave[] = [];
      for (const step of steps) leaves.push(await ask(step, null, traveller, question));
      for (const leave of leaves) redeem(leave, traveller);
      return leaves.map((leave) => leave.decision);
    },

    async carry(undertaking) {
      const leaves: Leave[] = [];
      try {
        for (const step of undertaking.steps) leaves.push(await ask(step, undertaking, undertaking, undertaking.question));
      } catch (error) {
        if (error instanceof LancelotError) recordRefusal(undertaking, error);
        throw error;
      }
      const decisions = leaves.map((leave) => leave.decision);
      const approvalId = leaves.map((leave) => leave.authorization?.approvalId ?? null).find((id) => id !== null) ?? null;
      undertaking.onDecided?.(decisions, approvalId);
      const tier = highestTier(decisions);
      if (tier === "T2" || tier === "T3") ledger.flush();
      const receiptId = ledger.open({
        actionType: undertaking.actionType,
        actionName: undertaking.actionName,
        inputs: undertaking.inputs,
        riskTier: tier,
        parentId: undertaking.parentId,
        questId: undertaking.questId,
        metadata: { provider: undertaking.provider, decision: brief(decisions), approvalId, consent: undertaking.consent },
      });
      undertaking.onReceipt?.(receiptId);
      let checkpointId: string | null = null;
      try {
        if (undertaking.touches.length > 0) {
          checkpointId = await checkpoints.take({ questId: undertaking.questId, receiptId, touches: undertaking.touches });
        }
        if (undertaking.signal.aborted) throw new LancelotError("cancelled", "Stopped before anything was done.");
        for (const leave of leaves) redeem(leave, undertaking);
        const result = await undertaking.run({ receiptId, checkpointId });
        if (checkpointId !== null) for (const { path } of undertaking.touches) await checkpoints.finishFile(checkpointId, path);
        ledger.close(receiptId, {
          status: result.failure === undefined ? "success" : "failure",
          outputs: { ...result.outputs, ...(checkpointId === null ? {} : { checkpointId }) },
          ...(result.failure === undefined ? {} : { errorMessage: result.failure }),
        });
        return { value: result.value, receiptId, decisions };
      } catch (error) {
        // What was half done is told too, so that undo knows it.
        if (checkpointId !== null)
          for (const { path } of undertaking.touches) await checkpoints.finishFile(checkpointId, path).catch(() => undefined);
        const cancelled = error instanceof LancelotError && error.code === "cancelled";
        ledger.close(receiptId, {
          status: cancelled ? "cancelled" : "failure",
          errorMessage: error instanceof LancelotError ? error.message : "An internal error stopped it.",
        });
        throw error;
      } finally {
        if (checkpointId !== null) checkpoints.finish(checkpointId);
      }
    },
  };
}

/** The decision an error of the gate carries; null when it carries none. */
export function decisionOf(error: LancelotError): Decision | null {
  const parsed = Decision.safeParse(error.data?.["decision"] ?? error.data);
  return parsed.success ? parsed.data : null;
}

export function highestTier(decisions: readonly Decision[]): Tier {
  const tiers: Tier[] = ["T3", "T2", "T1"];
  return tiers.find((tier) => decisions.some((decision) => decision.tier === tier)) ?? "T0";
}

/** What of decisions goes into a receipt. */
export function brief(decisions: readonly Decision[]): Record<string, unknown>[] {
  return decisions.map(({ verdict, tier, riskLevel, rules }) => ({ verdict, tier, riskLevel, rules }));
}

/** The error of a decision that denies. */
export function refused(decision: Decision): LancelotError {
  const why = decision.rules.map((rule) => rule.message).join(" ");
  return new LancelotError("denied", why === "" ? "This is not permitted." : why, { data: { decision } });
}
