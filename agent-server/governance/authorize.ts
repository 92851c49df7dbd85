import type { ActionContext } from "../contract/action.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Approval, Decision, Intent, Rule } from "../contract/governance.ts";
import type { ActionType } from "../contract/receipts.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Log, Redactor } from "../security/security.ts";
import type { Approvals, Question } from "./approvals.ts";
import type { Evaluation } from "./decide.ts";
import type { CodeFingerprint } from "./code-fingerprint.ts";
import { intentHash } from "./intent-hash.ts";
import type { StoredRule } from "./workspace-approvals/approval-rule-store.ts";
import type { WorkspaceApprovals } from "./workspace-approvals/workspace-approvals.ts";

/** A grant for the intent with this hash, to be used once. */
export interface Authorization {
  readonly decision: Decision;
  readonly intentHash: string;
  readonly approvalId: string | null;
}

/** Who requests authorization, and how a pending approval is reported. */
export interface AuthorizeContext extends Pick<ActionContext, "quest" | "parent" | "signal"> {
  onWaiting?: (approval: Approval) => void;
  /** Name and inputs of a denial's receipt; the gate describes the intent itself without it. */
  receipt?: RefusedAction;
}

/** The action a denial is recorded as, so that gate and tool share one receipt. */
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

/** Observes decisions and answers for statistics, trust and learning. It never changes the current decision. */
export interface DecisionObserver {
  readonly decided: (intent: Intent, evaluation: Evaluation) => void;
  /** The owner allowed or denied. Called once for each answer that this host awaited or found. */
  readonly answered: (evaluation: Evaluation, approval: Approval) => void;
  /** Counts one use of a learned rule; false when the rule may no longer decide. */
  readonly countLearnedUse: (ruleId: string, context: Pick<ActionContext, "quest" | "parent">) => boolean;
}

/** Turns decisions into one-time authorizations, asking the owner where the verdict is `ask`. */
export function createAuthorizer(deps: {
  evaluate: (intent: Intent) => Evaluation;
  /** The soul's escalation when an approval expires: `skip_and_log` or `stop_task`. */
  escalation: () => string;
  observer: DecisionObserver;
  approvals: Approvals;
  workspaceApprovals: Pick<WorkspaceApprovals, "offer" | "find" | "use">;
  /** The code that an intent would run; null when it is unknown. Reads the files now. */
  codeOf: (intent: Intent) => CodeFingerprint | null;
  /** Hash of what a denial depends on besides the intent: this code, the soul and the policy. */
  basisOf: (intent: Intent, code: CodeFingerprint | null) => string;
  ledger: Ledger;
  redactor: Redactor;
  log: Log;
}): Authorizer {
  const { evaluate, observer, approvals, ledger, redactor, log } = deps;
  let canAsk = true;
  /** Every authorization of this gate; an object that is not in here is not an authorization. */
  const grants = new WeakMap<Authorization, Granted>();

  function grant(
    { decision, learnedRule }: Evaluation,
    hash: string,
    by: { approval: Approval; code: CodeFingerprint | null } | { rule: StoredRule; code: CodeFingerprint | null } | null,
  ): Authorization {
    const approval = by !== null && "approval" in by ? by.approval : null;
    const rule = by !== null && "rule" in by ? by.rule : null;
    const authorization: Authorization = Object.freeze({
      decision: rule === null ? decision : allowedBy(rule, decision),
      intentHash: hash,
      approvalId: approval?.id ?? null,
    });
    grants.set(authorization, {
      used: false,
      once: approval?.status !== "allowed_quest",
      learned: by === null && learnedRule !== null,
      ruleId: rule?.id ?? null,
      code: by === null ? unasked : (by.code?.exact ?? null),
    });
    return authorization;
  }

  /** Writes the one receipt of a denial; its id is in the error's data. */
  function refuse(intent: Intent, decision: Decision, context: AuthorizeContext): LancelotError {
    const requested = { capability: intent.capability, action: intent.action, mode: intent.mode, args: redactor.value(intent.args, 8192) };
    const recorded: RefusedAction = context.receipt ?? { actionType: "system", actionName: "governance.deny", inputs: requested };
    const receiptId = ledger.record(
      {
        actionType: recorded.actionType,
        actionName: recorded.actionName,
        inputs: recorded.inputs,
        riskTier: decision.tier,
        parentId: context.parent,
        questId: context.quest,
        metadata: { ...recorded.metadata, gate: context.receipt === undefined ? {} : requested },
      },
      {
        status: "failure",
        errorMessage: ruleMessages(decision),
        outputs: { verdict: decision.verdict, rules: decision.rules, alternatives: decision.alternatives },
      },
    );
    return new LancelotError("denied", ruleMessages(decision), { data: { decision, receiptId } });
  }

  /** Evaluates the intent and counts the use of a learned rule; a rule that is used up allows nothing. */
  function decideNow(intent: Intent, context: AuthorizeContext): { evaluation: Evaluation; mustAsk: boolean } {
    let evaluation = evaluate(intent);
    let mustAsk = false;
    if (evaluation.learnedRule !== null && !observer.countLearnedUse(evaluation.learnedRule, context)) {
      evaluation = evaluate(intent);
      mustAsk = evaluation.learnedRule !== null;
    }
    observer.decided(intent, evaluation);
    return { evaluation, mustAsk };
  }

  async function ask(
    intent: Intent,
    hash: string,
    evaluation: Evaluation,
    question: Question,
    context: AuthorizeContext,
  ): Promise<Authorization> {
    const { decision } = evaluation;
    const { quest: questId, parent: parentId, signal } = context;
    const code = deps.codeOf(intent);
    const basis = deps.basisOf(intent, code);
    const existing = approvals.existingAnswer(hash, questId, { code, basis });
    if (existing?.status === "denied") throw deniedBefore(existing, decision);
    // The same arguments can come to mean more, for example when a link leads elsewhere since the approval.
    if (existing !== null && includesAll(existing.rules, decision.rules)) {
      observer.answered(evaluation, existing);
      return grant(evaluation, hash, { approval: existing, code });
    }
    const rule = deps.workspaceApprovals.find(intent, decision, code);
    if (rule !== null) return grant(evaluation, hash, { rule, code });
    const binding = { scopes: deps.workspaceApprovals.offer(intent, decision, code), code, basis };
    const asked = approvals.ask({ intent, hash, decision, question, questId, parentId, binding }, !canAsk);
    if (!canAsk) {
      throw new LancelotError("needs_approval", `Requires approval, and nobody can be asked here: ${asked.title}`, {
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
    if (answer.status !== "expired" && answer.status !== "cancelled" && answer.status !== "pending") observer.answered(evaluation, answer);
    switch (answer.status) {
      case "allowed_once":
      case "allowed_quest":
      case "allowed_workspace":
        return grant(evaluation, hash, { approval: answer, code });
      case "denied":
        throw new LancelotError("denied", answer.reason === null ? "Approval denied." : `Approval denied: ${answer.reason}`, {
          data: { ...data, reason: answer.reason },
        });
      case "expired":
        throw new LancelotError("needs_approval", `The approval request expired: ${answer.title}`, {
          data: { ...data, expired: true, escalation: deps.escalation() },
        });
      case "cancelled":
      case "pending":
        throw new LancelotError("cancelled", "Canceled while waiting for approval.", { data });
    }
  }

  return {
    async authorize(intent, question, context) {
      if (context.signal.aborted) throw new LancelotError("cancelled", "Canceled before a decision.");
      try {
        const { evaluation, mustAsk } = decideNow(intent, context);
        const { decision } = evaluation;
        if (decision.verdict === "deny") throw refuse(intent, decision, context);
        const hash = intentHash(intent);
        if (decision.verdict === "allow" && !mustAsk) return grant(evaluation, hash, null);
        return await ask(intent, hash, evaluation, question, context);
      } catch (error) {
        if (error instanceof LancelotError && expected.has(error.code)) throw error;
        log("policy check failed; denying", error);
        throw new LancelotError("denied", "The policy check failed, so this action is denied. Try again; the log has the cause.", {
          cause: error,
        });
      }
    },

    redeem(authorization, intent) {
      const granted = grants.get(authorization);
      if (granted === undefined) throw new LancelotError("denied", "This action was not authorized.");
      if (granted.used) throw new LancelotError("denied", "This authorization was already used. Request a new one.");
      // An authorization is used up even when the checks below fail.
      granted.used = true;
      let hash: string;
      try {
        hash = intentHash(intent);
      } catch (error) {
        throw new LancelotError("denied", "The action cannot be compared with the authorized one.", { cause: error });
      }
      if (hash !== authorization.intentHash) {
        throw new LancelotError("denied", "The action differs from the authorized one. Request approval for exactly this action.");
      }
      const now = evaluate(intent);
      const { decision } = now;
      // The learned rule's use was counted when it granted this; that may have been its last one.
      const lastUse = granted.learned && decision.verdict === "ask" && now.heldBy === null && decision.tier <= authorization.decision.tier;
      if (!lastUse && !covers(authorization, granted, decision)) {
        throw new LancelotError("denied", `The policy result changed after authorization: ${ruleMessages(decision)}`, {
          data: { decision },
        });
      }
      if (granted.code !== unasked && (deps.codeOf(intent)?.exact ?? null) !== granted.code)
        throw new LancelotError("denied", "A script that this runs has changed since it was approved. Request approval again.");
      if (granted.ruleId !== null && !deps.workspaceApprovals.use(granted.ruleId))
        throw new LancelotError("denied", "The approval for this workspace was revoked or has ended. Request a new one.");
      const { approvalId } = authorization;
      if (approvalId === null) return;
      const valid = granted.once ? approvals.use(approvalId) : approvals.get(approvalId)?.status === "allowed_quest";
      if (!valid) throw new LancelotError("denied", "The approval was already used or canceled. Request a new one.");
    },

    setCanAsk(can) {
      canAsk = can;
    },
  };
}

/** The code of a grant for which nobody was asked: what it runs is up to the policy. */
const unasked = Symbol("unasked");

/** What a grant depends on when it is redeemed. */
interface Granted {
  used: boolean;
  /** The approval is used up with the grant. */
  readonly once: boolean;
  readonly learned: boolean;
  /** The approval for the workspace that allowed it. */
  readonly ruleId: string | null;
  /** The exact code that was approved: a hash, null when it was unknown. */
  readonly code: string | null | typeof unasked;
}

/** The decision on an action that an approval for the workspace allows, which names that approval. */
function allowedBy({ id, scope }: StoredRule, decision: Decision): Decision {
  const rule: Rule = {
    id: `approval.rule.${id}`,
    source: "approval",
    message: `You always allow this in this workspace: ${scope.pattern}`,
  };
  return { ...decision, verdict: "allow", rules: [rule, ...decision.rules], alternatives: [] };
}

/** The refusal of a request that the owner denied before in the same task. */
function deniedBefore({ id, reason }: Approval, decision: Decision): LancelotError {
  const message = "The user denied this request before in this task, and nothing it depends on has changed, so they were not asked again.";
  return new LancelotError("denied", reason === null ? message : `${message} Their reason: ${reason}`, {
    data: { approvalId: id, decision, reason, remembered: true },
  });
}

const expected: ReadonlySet<string> = new Set(["denied", "needs_approval", "cancelled"]);

/** True while an authorization suffices for the current decision: no rule was added that would have to be asked. */
function covers(authorization: Authorization, { ruleId }: Granted, now: Decision): boolean {
  if (now.verdict === "allow") return true;
  if (now.verdict === "deny" || (authorization.approvalId === null && ruleId === null)) return false;
  return includesAll(authorization.decision.rules, now.rules);
}

/** True when the owner was shown every rule of the current decision. */
function includesAll(shown: readonly Rule[], now: readonly Rule[]): boolean {
  return now.every((rule) => shown.some((asked) => asked.id === rule.id));
}

function ruleMessages(decision: Decision): string {
  return decision.rules.map((rule) => rule.message).join(" ");
}
