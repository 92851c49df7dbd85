import { LancelotError } from "../contract/errors.ts";
import type { Approval, Decision, Intent, Rule } from "../contract/governance.ts";
import type { ActionType } from "../contract/receipts.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Log, Redactor } from "../security/security.ts";
import type { Approvals, Question } from "./approvals.ts";
import type { Judged } from "./decide.ts";
import { intentHash } from "./intent-hash.ts";

/** Leave to do one exact thing: the intent with this hash, once. */
export interface Authorization {
  readonly decision: Decision;
  readonly intentHash: string;
  readonly approvalId: string | null;
}

/** Who asks for leave, and how the asking is told. */
export interface AuthorizeContext {
  questId: string | null;
  parentId: string | null;
  signal: AbortSignal;
  onWaiting?: (approval: Approval) => void;
  /** What a denial's receipt is named and shows; the gate's own words for the intent without it. */
  receipt?: RefusedAction;
}

/** The action a denial is recorded as, so that it leaves one receipt and not one of the gate and one of the tool. */
export interface RefusedAction {
  readonly actionType: ActionType;
  readonly actionName: string;
  readonly inputs: Record<string, unknown>;
  readonly metadata?: Record<string, unknown>;
}

export interface Authorizer {
  readonly authorize: (intent: Intent, question: Question, context: AuthorizeContext) => Promise<Authorization>;
  readonly redeem: (authorization: Authorization, intent: Intent) => void;
  readonly setCanAsk: (canAsk: boolean) => void;
}

/** Who learns from what was decided and answered. None of it changes the decision at hand. */
export interface Witness {
  readonly decided: (intent: Intent, judged: Judged) => void;
  /** The owner allowed or denied; told once for each answer this host waited for or found standing. */
  readonly answered: (judged: Judged, approval: Approval) => void;
  /** Counts one use of a learned rule; false when it may not decide any more. */
  readonly useLearned: (ruleId: string, context: { questId: string | null; parentId: string | null }) => boolean;
}

/** Turns decisions into leave that can be used once, and asks the owner in between. */
export function createAuthorizer(deps: {
  evaluate: (intent: Intent) => Judged;
  /** What the soul does when nobody answers in time: `skip_and_log` or `stop_task`. */
  escalation: () => string;
  witness: Witness;
  approvals: Approvals;
  ledger: Ledger;
  redactor: Redactor;
  log: Log;
}): Authorizer {
  const { evaluate, witness, approvals, ledger, redactor, log } = deps;
  let canAsk = true;
  /** What this gate gave out, and whether it was used; anything else is not an authorization. */
  const given = new WeakMap<Authorization, { used: boolean; once: boolean; learned: boolean }>();

  function grant({ decision, learnedRule }: Judged, hash: string, approval: Approval | null): Authorization {
    const authorization: Authorization = Object.freeze({ decision, intentHash: hash, approvalId: approval?.id ?? null });
    given.set(authorization, {
      used: false,
      once: approval?.status === "allowed_once",
      learned: approval === null && learnedRule !== null,
    });
    return authorization;
  }

  /** The one receipt of a denial; its id is in the error. */
  function refuse(intent: Intent, decision: Decision, context: AuthorizeContext): LancelotError {
    const intended = { capability: intent.capability, action: intent.action, mode: intent.mode, args: redactor.value(intent.args, 8192) };
    const named: RefusedAction = context.receipt ?? { actionType: "system", actionName: "governance.deny", inputs: intended };
    const receiptId = ledger.record(
      {
        actionType: named.actionType,
        actionName: named.actionName,
        inputs: named.inputs,
        riskTier: decision.tier,
        parentId: context.parentId,
        questId: context.questId,
        metadata: { ...named.metadata, gate: context.receipt === undefined ? {} : intended },
      },
      {
        status: "failure",
        errorMessage: words(decision),
        outputs: { verdict: decision.verdict, rules: decision.rules, alternatives: decision.alternatives },
      },
    );
    return new LancelotError("denied", words(decision), { data: { decision, receiptId } });
  }

  /** The judgement, with the use of a learned rule counted; one that is used up does not allow anything. */
  function decideNow(intent: Intent, context: AuthorizeContext): { judged: Judged; mustAsk: boolean } {
    let judged = evaluate(intent);
    let mustAsk = false;
    if (judged.learnedRule !== null && !witness.useLearned(judged.learnedRule, context)) {
      judged = evaluate(intent);
      mustAsk = judged.learnedRule !== null;
    }
    witness.decided(intent, judged);
    return { judged, mustAsk };
  }

  async function ask(intent: Intent, hash: string, judged: Judged, question: Question, context: AuthorizeContext): Promise<Authorization> {
    const { decision } = judged;
    const { questId, parentId, signal } = context;
    const standing = approvals.standing(hash, questId);
    // The same words can come to mean more: a script that a command runs was changed since the owner said yes to it.
    if (standing !== null && namesAll(standing.rules, decision.rules)) {
      witness.answered(judged, standing);
      return grant(judged, hash, standing);
    }
    const asked = approvals.ask({ intent, hash, decision, question, questId, parentId }, !canAsk);
    if (!canAsk) {
      throw new LancelotError("needs_approval", `This needs the owner's approval, and nobody can be asked here: ${asked.title}`, {
        data: { approvalId: asked.id, decision },
      });
    }
    let answer: Approval;
    try {
      context.onWaiting?.(asked);
      answer = await approvals.wait(asked.id, signal);
    } catch (error) {
      approvals.cancel(asked.id);
      throw error;
    }
    const data = { approvalId: answer.id, decision };
    if (answer.status === "allowed_once" || answer.status === "allowed_quest" || answer.status === "denied")
      witness.answered(judged, answer);
    switch (answer.status) {
      case "allowed_once":
      case "allowed_quest":
        return grant(judged, hash, answer);
      case "denied":
        throw new LancelotError("denied", answer.reason === null ? "The owner said no." : `The owner said no: ${answer.reason}`, {
          data: { ...data, reason: answer.reason },
        });
      case "expired":
        throw new LancelotError("needs_approval", `Nobody answered in time, so this was not done: ${answer.title}`, {
          data: { ...data, expired: true, escalation: deps.escalation() },
        });
      case "cancelled":
      case "pending":
        throw new LancelotError("cancelled", "Stopped while waiting for the owner's approval.", { data });
    }
  }

  return {
    async authorize(intent, question, context) {
      if (context.signal.aborted) throw new LancelotError("cancelled", "Stopped before it was decided.");
      try {
        const { judged, mustAsk } = decideNow(intent, context);
        const { decision } = judged;
        if (decision.verdict === "deny") throw refuse(intent, decision, context);
        const hash = intentHash(intent);
        if (decision.verdict === "allow" && !mustAsk) return grant(judged, hash, null);
        return await ask(intent, hash, judged, question, context);
      } catch (error) {
        if (error instanceof LancelotError && expected.has(error.code)) throw error;
        log("the gate failed and denies", error);
        throw new LancelotError("denied", "The gate failed, so this is refused. Try again; the log says what failed.", { cause: error });
      }
    },

    redeem(authorization, intent) {
      const leave = given.get(authorization);
      if (leave === undefined) throw new LancelotError("denied", "This was not authorized.");
      if (leave.used) throw new LancelotError("denied", "This authorization was already used. Ask again.");
      // Whatever comes of it, an authorization is tried once.
      leave.used = true;
      let hash: string;
      try {
        hash = intentHash(intent);
      } catch (error) {
        throw new LancelotError("denied", "What is about to be done cannot be compared with what was authorized.", { cause: error });
      }
      if (hash !== authorization.intentHash) {
        throw new LancelotError("denied", "What is about to be done is not what was authorized. Ask again for exactly this.");
      }
      const now = evaluate(intent);
      const { decision } = now;
      // The use of a learned rule was counted when it gave leave; it may have been its last.
      const lastUse = leave.learned && decision.verdict === "ask" && now.held === null && decision.tier <= authorization.decision.tier;
      if (!lastUse && !covers(authorization, decision)) {
        throw new LancelotError("denied", `Since this was authorized, things have changed: ${words(decision)}`, { data: { decision } });
      }
      const { approvalId } = authorization;
      if (approvalId === null) return;
      const valid = leave.once ? approvals.use(approvalId) : approvals.get(approvalId)?.status === "allowed_quest";
      if (!valid) throw new LancelotError("denied", "The approval for this was already used or withdrawn. Ask again.");
    },

    setCanAsk(can) {
      canAsk = can;
    },
  };
}

const expected: ReadonlySet<string> = new Set(["denied", "needs_approval", "cancelled"]);

/** True while leave given for one decision is enough for the decision of now: nothing has been added that would have to be asked. */
function covers(authorization: Authorization, now: Decision): boolean {
  if (now.verdict === "allow") return true;
  if (now.verdict === "deny" || authorization.approvalId === null) return false;
  return namesAll(authorization.decision.rules, now.rules);
}

/** True when every rule that speaks now is among those the owner was shown. */
function namesAll(shown: readonly Rule[], now: readonly Rule[]): boolean {
  return now.every((rule) => shown.some((asked) => asked.id === rule.id));
}

function words(decision: Decision): string {
  return decision.rules.map((rule) => rule.message).join(" ");
}
