import { LancelotError } from "../contract/errors.ts";
import type { Approval, Decision, Intent, Mode } from "../contract/governance.ts";
import type { Authorization, Governance, OutcomeStep, Question, RefusedAction } from "../governance/governance.ts";
import type { Log } from "../security/security.ts";
import { decisionOf, refused } from "./decisions.ts";

/**
 * One thing that is about to be done, judged by itself. Of a file, `path` is what was asked for (its name counts for policy)
 * and `absolute` where it leads, which is the path that is used.
 */
export interface IntentSpec {
  readonly capability: string;
  readonly action: string;
  readonly args: Record<string, unknown>;
  /** Folder a command is run in; absolute. */
  readonly cwd?: string;
}

export interface Traveller {
  readonly questId: string | null;
  readonly parentId: string | null;
  readonly mode: Mode;
  readonly signal: AbortSignal;
  readonly onWaiting?: (approval: Approval) => void;
}

/** The gate's yes to one step. */
export interface Leave {
  readonly step: IntentSpec;
  readonly intent: Intent;
  readonly decision: Decision;
  readonly authorization: Authorization | null;
}

/** How the road asks the gate, and uses what it was given. */
export interface Leaves {
  toIntent(step: IntentSpec, traveller: Traveller): Intent;
  /** Every step, in order; what was asked before one was refused is told with the refusal. @throws LancelotError of the gate. */
  askAll(
    steps: readonly IntentSpec[],
    consent: "ask" | "review",
    traveller: Traveller,
    question: Question,
    receipt: RefusedAction | undefined,
    onRefused: (error: LancelotError, asked: readonly OutcomeStep[]) => void,
  ): Promise<Leave[]>;
  /** Right before the effect: what is about to be done is what was authorized. @throws LancelotError `denied`. */
  redeem(leave: Leave, traveller: Traveller): void;
}

export function createLeaves({ governance, log }: { readonly governance: Governance; readonly log: Log }): Leaves {
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

  async function ask(
    step: IntentSpec,
    consent: "ask" | "review",
    traveller: Traveller,
    question: Question,
    receipt: RefusedAction | undefined,
  ): Promise<Leave> {
    const intent = toIntent(step, traveller);
    if (consent === "review") {
      const decision = governance.evaluate(intent);
      if (decision.verdict === "deny") throw refused(decision);
      if (decision.verdict === "ask") return { step, intent, decision, authorization: null };
    }
    const authorization = await governance.authorize(intent, question, {
      questId: traveller.questId,
      parentId: traveller.parentId,
      signal: traveller.signal,
      ...(traveller.onWaiting === undefined ? {} : { onWaiting: traveller.onWaiting }),
      ...(receipt === undefined ? {} : { receipt }),
    });
    return { step, intent, decision: authorization.decision, authorization };
  }

  /** Every step, in order; what was asked before one was refused is told with the refusal. */
  async function askAll(
    steps: readonly IntentSpec[],
    consent: "ask" | "review",
    traveller: Traveller,
    question: Question,
    receipt: RefusedAction | undefined,
    onRefused: (error: LancelotError, asked: readonly OutcomeStep[]) => void,
  ): Promise<Leave[]> {
    const leaves: Leave[] = [];
    for (const step of steps) {
      try {
        leaves.push(await ask(step, consent, traveller, question, receipt));
      } catch (cause) {
        const error = cause instanceof LancelotError ? cause : brokenGate(cause);
        const decision = decisionOf(error);
        const approvalId = error.data?.["approvalId"];
        const last = { intent: toIntent(step, traveller), approvalId: typeof approvalId === "string" ? approvalId : null };
        onRefused(error, [...leaves.map(toOutcomeStep), ...(decision === null ? [] : [{ ...last, decision }])]);
        throw error;
      }
    }
    return leaves;
  }

  function redeem(leave: Leave, traveller: Traveller): void {
    const fresh = afresh(leave.step);
    if (leave.authorization !== null) {
      try {
        governance.redeem(leave.authorization, toIntent(fresh, traveller));
      } catch (error) {
        throw error instanceof LancelotError ? error : brokenGate(error);
      }
    } else if (fresh.args["absolute"] !== leave.step.args["absolute"]) {
      throw new LancelotError("denied", "The path leads elsewhere than when it was reviewed; nothing was touched.");
    }
  }

  /** A gate that throws denies. */
  function brokenGate(cause: unknown): LancelotError {
    log("the gate failed and denies", cause);
    return new LancelotError("denied", "The gate failed, so this is refused. Try again; the log says what failed.", { cause });
  }

  return { toIntent, askAll, redeem };
}

export function toOutcomeStep({ intent, decision, authorization }: Leave): OutcomeStep {
  return { intent, decision, approvalId: authorization?.approvalId ?? null };
}
