import { type ActionContext, actionContextOf, intentOf } from "../contract/action.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Decision, Intent } from "../contract/governance.ts";
import type { Authorization, Governance, OutcomeStep, Question, RefusedAction } from "../governance/governance.ts";
import type { Log } from "../security/security.ts";
import type { Action, ActionObserver, IntentSpec } from "./action.ts";
import { decisionOf, refused } from "./decisions.ts";

/** Permission for one step, usable once. */
export interface Grant {
  readonly step: IntentSpec;
  readonly intent: Intent;
  readonly decision: Decision;
  /** Null where the user's review replaces the question. */
  readonly authorization: Authorization | null;
}

/** The steps of one action to authorize. */
export interface GrantRequest {
  readonly steps: readonly IntentSpec[];
  readonly consent: Action<unknown>["consent"];
  readonly context: ActionContext & Pick<ActionObserver, "onWaiting">;
  readonly question: Question;
  /** How the receipt of a denial is named. */
  readonly receipt: RefusedAction | undefined;
  /** Called before a refusal is thrown, with the steps that were decided so far. */
  readonly onRefused: (error: LancelotError, asked: readonly OutcomeStep[]) => void;
}

/** Requests permission from governance, and redeems it right before the effect. */
export interface Grants {
  /** Authorizes every step in order. @throws LancelotError of governance. */
  authorize(request: GrantRequest): Promise<Grant[]>;
  /** Checks that the step about to run is the one that was authorized. @throws LancelotError `denied`. */
  redeem(grant: Grant, context: ActionContext): void;
}

export function createGrants({ governance, log }: { readonly governance: Governance; readonly log: Log }): Grants {
  /** The step with its path resolved again. */
  function resolveAgain(step: IntentSpec): IntentSpec {
    const { path, absolute } = step.args;
    if (typeof path !== "string" || absolute === undefined) return step;
    const resolved = governance.resolvePath(path);
    if (!resolved.ok) throw new LancelotError("denied", resolved.message);
    return { ...step, args: { ...step.args, absolute: resolved.absolute } };
  }

  async function authorizeStep(step: IntentSpec, { consent, context, question, receipt }: GrantRequest): Promise<Grant> {
    const intent = intentOf(step, context);
    if (consent === "review") {
      const decision = governance.evaluate(intent);
      if (decision.verdict === "deny") throw refused(decision);
      if (decision.verdict === "ask") return { step, intent, decision, authorization: null };
    }
    const authorization = await governance.authorize(intent, question, {
      ...actionContextOf(context),
      ...(context.onWaiting === undefined ? {} : { onWaiting: context.onWaiting }),
      ...(receipt === undefined ? {} : { receipt }),
    });
    return { step, intent, decision: authorization.decision, authorization };
  }

  async function authorize(request: GrantRequest): Promise<Grant[]> {
    const grants: Grant[] = [];
    for (const step of request.steps) {
      try {
        grants.push(await authorizeStep(step, request));
      } catch (cause) {
        const error = cause instanceof LancelotError ? cause : governanceFailed(cause);
        const decision = decisionOf(error);
        const approvalId = error.data?.["approvalId"];
        const last = { intent: intentOf(step, request.context), approvalId: typeof approvalId === "string" ? approvalId : null };
        request.onRefused(error, [...grants.map(toOutcomeStep), ...(decision === null ? [] : [{ ...last, decision }])]);
        throw error;
      }
    }
    return grants;
  }

  function redeem(grant: Grant, context: ActionContext): void {
    const step = resolveAgain(grant.step);
    if (grant.authorization !== null) {
      try {
        governance.redeem(grant.authorization, intentOf(step, context));
      } catch (error) {
        throw error instanceof LancelotError ? error : governanceFailed(error);
      }
      return;
    }
    if (step.args["absolute"] !== grant.step.args["absolute"]) {
      throw new LancelotError("denied", "The path resolves to another file than the one you reviewed. Nothing was changed.");
    }
    // The review replaces a question, never a denial: the policy may have changed since.
    const decision = governance.evaluate(intentOf(step, context));
    if (decision.verdict === "deny") throw refused(decision);
  }

  /** Governance that throws denies. */
  function governanceFailed(cause: unknown): LancelotError {
    log("governance failed and denies the action", cause);
    return new LancelotError("denied", "The policy check failed, so the action was denied. Try again; the log has the details.", { cause });
  }

  return { authorize, redeem };
}

export function toOutcomeStep({ intent, decision, authorization }: Grant): OutcomeStep {
  return { intent, decision, approvalId: authorization?.approvalId ?? null };
}
