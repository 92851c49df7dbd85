import { randomUUID } from "node:crypto";
import { LancelotError } from "../../contract/errors.ts";
import type { Emit } from "../../contract/events.ts";
import { type Approval, type ApprovalRule, ApprovalScope, type Decision, type Intent, type Rule } from "../../contract/governance.ts";
import type { Ledger } from "../../receipts/receipts.ts";
import { createClock, type Storage } from "../../storage/storage.ts";
import type { CodeFingerprint } from "../code-fingerprint.ts";
import { type ApprovalRuleStore, createApprovalRuleStore, type StoredRule } from "./approval-rule-store.ts";
import { type ScopeContext, scopeCovers, scopesOf, type StoredScope } from "./approval-scope.ts";

const dayMs = 24 * 60 * 60 * 1000;
/** A rule ends after this time without use. */
export const unusedMs = 90 * dayMs;
/** Most rules of one workspace. */
const maxRules = 200;

/** Approvals that the owner gave for the whole workspace ("Always allow in this workspace"). */
export interface WorkspaceApprovals {
  /** What the owner may allow for the workspace when this action asks; empty when only the action itself may be allowed. */
  readonly offer: (intent: Intent, decision: Decision, code: CodeFingerprint | null) => StoredScope[];
  /** The rule that allows an action which asks, or null. Does not count as a use. */
  readonly find: (intent: Intent, decision: Decision, code: CodeFingerprint | null) => StoredRule | null;
  /** Counts a use right before the effect; false when the rule has ended since. */
  readonly use: (id: string) => boolean;
  /** Saves a rule inside the running transaction. @throws LancelotError `conflict` at the limit of rules */
  readonly save: (of: { approval: Approval; scope: StoredScope; code: CodeFingerprint; receiptId: string }) => void;
  readonly list: () => ApprovalRule[];
  /** @throws LancelotError `not_found` */
  readonly revoke: (id: string) => void;
  /** Tells the clients that the list changed. */
  readonly announce: () => void;
}

export function createWorkspaceApprovals(deps: {
  storage: Storage;
  ledger: Ledger;
  /** Null without a workspace: then nothing is offered or found. */
  context: ScopeContext | null;
  emit: Emit;
  /** Milliseconds since 1970. */
  now: () => number;
}): WorkspaceApprovals {
  const { storage, ledger, context, emit } = deps;
  const store: ApprovalRuleStore = createApprovalRuleStore(storage, context?.workspace ?? "");
  const clock = createClock({ storage, now: deps.now });
  const time = (offset = 0): string => new Date(deps.now() + offset).toISOString();

  /** Writes a receipt inside the running transaction, so that a rollback removes it too. */
  function record(name: string, { scope, ...rule }: Pick<StoredRule, "id" | "scope" | "tier" | "questId">, parentId: string | null): void {
    const id = ledger.open({
      actionType: "user_interaction",
      actionName: name,
      inputs: { ruleId: rule.id, scope: ApprovalScope.parse(scope) },
      riskTier: rule.tier,
      parentId,
      questId: rule.questId,
    });
    ledger.close(id, { status: "success" });
  }

  /** The rules of this workspace. Ends those that were not used for too long. */
  function current(): StoredRule[] {
    const all = store.list();
    const ended = all.filter((rule) => lastUse(rule) <= deps.now() - unusedMs);
    if (ended.length === 0) return all;
    const left = all.filter((rule) => !ended.includes(rule));
    // With a clock that jumped, an unused approval is not applied, but it is not lost either.
    if (!clock.mayRemove(unusedMs / dayMs)) return left;
    storage.transaction(() => {
      for (const rule of ended) if (store.end(rule.id, time())) record("approval.rule.expire", rule, null);
    });
    return left;
  }

  return {
    offer(intent, decision, code) {
      if (context === null || code === null || !isCoverable(intent, decision)) return [];
      return scopesOf(intent, decision, context);
    },

    find(intent, decision, code) {
      if (context === null || code === null || !isCoverable(intent, decision)) return null;
      return (
        current().find(
          (rule) =>
            decision.tier <= rule.tier &&
            decision.rules.every(({ id }) => rule.rules.some((shown) => shown.id === id)) &&
            scopeCovers(rule.scope, intent) &&
            codeIsKnown(rule, code),
        ) ?? null
      );
    },

    use: (id) => store.use(id, time(), time(-unusedMs)),

    save({ approval, scope, code, receiptId }) {
      const known = store.sameScope(approval.id, scope);
      if (known === null && store.count(approval.id) >= maxRules)
        throw new LancelotError(
          "conflict",
          `This workspace has ${maxRules} saved approvals. Revoke one in the War Room (Governance) first.`,
        );
      const rule: StoredRule = {
        id: known?.id ?? randomUUID(),
        scope,
        // A wide rule keeps what the owner was shown before: each answer adds code and reasons.
        tier: known !== null && known.tier > approval.tier ? known.tier : approval.tier,
        rules: scope.match === "exact" ? [...approval.rules] : union(known?.rules ?? [], approval.rules),
        codeExact: code.exact,
        codeFiles: scope.match === "exact" ? [...code.files] : [...new Set([...(known?.codeFiles ?? []), ...code.files])].slice(-maxFiles),
        approvalId: approval.id,
        questId: approval.questId,
        hostId: storage.hostId,
        createdAt: time(),
        uses: known?.uses ?? 0,
        lastUsedAt: known?.lastUsedAt ?? null,
      };
      store.save(rule);
      record("approval.rule.save", rule, receiptId);
    },

    list: () => current().map(toContract),

    revoke(id) {
      storage.transaction(() => {
        const rule = store.get(id);
        if (rule === null || !store.end(id, time()))
          throw new LancelotError("not_found", "This approval was already revoked, or has ended.");
        record("approval.rule.revoke", rule, null);
      });
      emit("approvalRules", {});
    },

    announce: () => emit("approvalRules", {}),
  };
}

/** Most files of a rule; the oldest are forgotten, so that their commands ask again. */
const maxFiles = 500;

/** Rules that no saved approval may answer, besides the soul's. */
const neverCovered: ReadonlySet<string> = new Set(["tier.unknown", "trust.lost", "soul.scheduling.irreversible"]);

/**
 * True when a saved approval may answer an action that asks: nothing of a scheduled job, nothing for which the soul requires approval,
 * and nothing that governance does not know.
 */
function isCoverable(intent: Intent, { verdict, rules }: Decision): boolean {
  if (verdict !== "ask" || intent.job !== undefined || rules.length === 0) return false;
  return rules.every(({ id, source }) => !neverCovered.has(id) && (source !== "soul" || id === "soul.not-named"));
}

/** An exact rule is bound to exactly the code that was shown, a wider one to files that were. */
function codeIsKnown({ scope, codeExact, codeFiles }: StoredRule, code: CodeFingerprint): boolean {
  return scope.match === "exact" ? code.exact === codeExact : code.files.every((file) => codeFiles.includes(file));
}

function union(known: readonly Rule[], more: readonly Rule[]): Rule[] {
  return [...known.filter(({ id }) => !more.some((rule) => rule.id === id)), ...more];
}

function lastUse({ createdAt, lastUsedAt }: StoredRule): number {
  return Math.max(Date.parse(createdAt), lastUsedAt === null ? 0 : Date.parse(lastUsedAt));
}

function toContract(rule: StoredRule): ApprovalRule {
  const { codeExact: _exact, codeFiles: _files, scope, ...shown } = rule;
  return { ...shown, scope: ApprovalScope.parse(scope), expiresAt: new Date(lastUse(rule) + unusedMs).toISOString() };
}
