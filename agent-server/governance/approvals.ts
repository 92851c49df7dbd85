import { randomUUID } from "node:crypto";
import type { Transport } from "../contract/common.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Emit } from "../contract/events.ts";
import type { Approval, ApprovalDecision, ApprovalStatus, Decision, Intent } from "../contract/governance.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Redactor } from "../security/security.ts";
import type { Storage } from "../storage/storage.ts";
import { createApprovalReceipts } from "./approval-receipts.ts";
import { type ApprovalBinding, type ApprovalStore, createApprovalStore, type StoredApproval } from "./approval-store.ts";
import { createApprovalWaiters } from "./approval-waiting.ts";
import type { WorkspaceApprovals } from "./workspace-approvals/workspace-approvals.ts";

/** What an approval card shows. */
export interface Question {
  /** One line: the action and its object. */
  title: string;
  /** The exact command, diff or arguments. */
  detail: string;
}

interface ApprovalRequest {
  readonly intent: Intent;
  readonly hash: string;
  readonly decision: Decision;
  readonly question: Question;
  readonly questId: string | null;
  readonly parentId: string | null;
  readonly binding: ApprovalBinding;
}

export interface Approvals {
  /**
   * The newest answer that already covers the intent and its code: one for the whole quest, a late answer to a deferred request, or a denial
   * in the same quest under the same soul and policy.
   */
  readonly existingAnswer: (hash: string, questId: string | null, binding: Pick<ApprovalBinding, "code" | "basis">) => Approval | null;
  /** Creates an approval; nobody waits for a deferred one. Reuses the pending approval that a dead host left for the same intent. */
  readonly ask: (request: ApprovalRequest, deferred: boolean) => Approval;
  /** Waits until the approval is answered, cancelled or expired, here or in another window. Aborting cancels it. */
  readonly wait: (id: string, signal: AbortSignal) => Promise<Approval>;
  /** Cancels a pending approval; does nothing when it has ended. */
  readonly cancel: (id: string) => void;
  /** Uses up a one-time approval; false when it is missing or was used. */
  readonly use: (id: string) => boolean;
  readonly list: (filter: { status?: ApprovalStatus; questId?: string; limit: number }) => Approval[];
  readonly get: (id: string) => Approval | null;
  /** `scope`: for `allow_workspace`, the index in the approval's scopes. */
  readonly decide: (id: string, decision: ApprovalDecision, reason?: string, scope?: number, transport?: Transport) => Approval;
  /** Forgets a denial, so that the next identical request asks. */
  readonly askAgain: (id: string, transport?: Transport) => Approval;
  readonly cancelQuest: (questId: string) => void;
  /** Approvals of this workspace since a time (ISO 8601), by status, and all pending ones. */
  readonly counts: (since: string) => { pending: number; allowed: number; denied: number; expired: number };
}

/** How the owner is asked: set by the soul, bounded by the owner's settings. */
export interface ApprovalRules {
  readonly timeoutSeconds: number;
  readonly channels: readonly string[];
}

const maxTitle = 500;
const maxDetail = 100_000;
const maxReason = 4000;
const answers: Record<ApprovalDecision, ApprovalStatus> = {
  allow_once: "allowed_once",
  allow_quest: "allowed_quest",
  allow_workspace: "allowed_workspace",
  deny: "denied",
};

/** Approval requests: persisted, answered once, bound to one exact intent. Each request and each answer writes a receipt. */
export function createApprovals(deps: {
  storage: Storage;
  ledger: Ledger;
  redactor: Redactor;
  workspace: string | null;
  /** Read for each request. */
  rules: (soulScope?: Intent["soulScope"]) => ApprovalRules;
  workspaceApprovals: Pick<WorkspaceApprovals, "save" | "announce">;
  emit: Emit;
  /** Milliseconds since 1970. */
  now: () => number;
}): Approvals {
  const { storage, redactor, emit } = deps;
  const receipts = createApprovalReceipts(deps.ledger);
  const store: ApprovalStore = createApprovalStore(storage, deps.workspace ?? "");
  const timeoutMs = (scope?: Intent["soulScope"]): number => deps.rules(scope).timeoutSeconds * 1000;

  const time = (offset = 0): string => new Date(deps.now() + offset).toISOString();

  function bounded(text: string, limit: number): string {
    const { text: clean } = redactor.text(text);
    return clean.length <= limit ? clean : `${clean.slice(0, limit)}\n… ${clean.length - limit} more characters`;
  }

  /** Ends an approval and writes its receipt; returns null when it has ended already. */
  function settle(
    one: StoredApproval,
    to: { status: ApprovalStatus; reason: string | null; name: string; transport?: Transport; expiresAt?: string; notAfter?: string },
    alsoWrite: () => void = () => undefined,
  ): Approval | null {
    const { approval } = one;
    const settled = storage.transaction(() => {
      const at = time();
      if (!store.settle(approval.id, { ...to, at })) return null;
      receipts.ended(one, to);
      alsoWrite();
      return store.get(approval.id)?.approval ?? null;
    });
    if (settled === null) return null;
    if (waiters.has(settled.id)) announced.add(settled.id);
    emit("approval", settled);
    waiters.wake(settled.id);
    return settled;
  }

  /** Ends the approvals that nobody answered in time. */
  function expire(): void {
    const now = time();
    for (const one of store.due(now)) settle(one, { status: "expired", reason: null, name: "approval.expire" });
  }

  function get(id: string): StoredApproval {
    const one = store.get(id);
    if (one === null) throw new LancelotError("not_found", `No approval has the id ${id}.`);
    return one;
  }

  /** Awaited approvals whose end this host has emitted; an answer from another window is emitted when it is noticed. */
  const announced = new Set<string>();
  const waiters = createApprovalWaiters({
    ended(id) {
      let one = get(id);
      if (one.approval.status === "pending" && one.approval.expiresAt <= time()) {
        settle(one, { status: "expired", reason: null, name: "approval.expire" });
        one = get(id);
      }
      if (one.approval.status === "pending") return null;
      if (!announced.has(id)) {
        announced.add(id);
        emit("approval", one.approval);
      }
      return one.approval;
    },
    cancel(id) {
      settle(get(id), { status: "cancelled", reason: null, name: "approval.cancel" });
    },
  });

  return {
    existingAnswer(hash, questId, { code, basis }) {
      const now = time();
      for (const { approval, deferred, ...bound } of store.ofIntent(hash, questId)) {
        if (approval.isRemembered && bound.basis === basis) return approval;
        if (code === null || bound.code?.exact !== code.exact) continue;
        if (approval.status === "allowed_quest" && questId !== null) return approval;
        if (approval.status === "allowed_once" && deferred && approval.expiresAt > now) return approval;
      }
      return null;
    },

    ask({ intent, hash, decision, question, questId, parentId, binding }, deferred) {
      expire();
      const title = bounded(question.title, maxTitle);
      const detail = bounded(question.detail, maxDetail);
      const asked = storage.transaction(() => {
        const open = store
          .ofIntent(hash, questId)
          .find(
            (one) =>
              one.approval.status === "pending" &&
              !waiters.has(one.approval.id) &&
              (one.deferred || !storage.hostAlive(one.hostId) || one.hostId === storage.hostId),
          );
        const id = open?.approval.id ?? randomUUID();
        const expiresAt = time(timeoutMs(intent.soulScope));
        const request = { approvalId: id, intentHash: hash, intent, decision, title, detail, parentId, questId, expiresAt, deferred };
        const receiptId = receipts.asked(request);
        const { tier, rules } = decision;
        if (open === undefined || !store.adopt(id, { expiresAt, receiptId, deferred, tier, rules, binding })) {
          store.insert(
            {
              id,
              questId,
              intentHash: hash,
              capability: intent.capability,
              action: intent.action,
              title,
              detail,
              tier,
              rules,
              channels: [...deps.rules().channels],
              status: "pending",
              reason: null,
              createdAt: time(),
              expiresAt,
              decidedAt: null,
            },
            { receiptId, deferred, binding },
          );
        }
        return get(id).approval;
      });
      emit("approval", asked);
      return asked;
    },

    wait: (id, signal) => waiters.wait(id, signal).finally(() => announced.delete(id)),

    cancel(id) {
      const one = store.get(id);
      if (one?.approval.status === "pending") settle(one, { status: "cancelled", reason: null, name: "approval.cancel" });
    },

    use: (id) => store.use(id, time()),

    list({ status, questId, limit }) {
      expire();
      return store.list({ status: status ?? "pending", limit, ...(questId === undefined ? {} : { questId }) });
    },

    get(id) {
      expire();
      return store.get(id)?.approval ?? null;
    },

    decide(id, decision, reason, index, transport) {
      const one = get(id);
      const scope = decision === "allow_workspace" ? chosenScope(one, index) : null;
      if (decision === "allow_quest" && one.approval.questId === null) {
        throw new LancelotError("conflict", "This request does not belong to a task. Allow it once, or deny it.");
      }
      const words = reason === undefined || reason.trim() === "" ? null : bounded(reason.trim(), maxReason);
      const to = {
        status: answers[decision],
        reason: words,
        name: "approval.answer",
        ...(transport === undefined ? {} : { transport }),
        notAfter: time(),
        // Nobody waits for it, so the answer covers the next identical intent for one approval timeout.
        ...(one.deferred ? { expiresAt: time(timeoutMs()) } : {}),
      };
      const settled = settle(one, to, () => {
        if (scope !== null) deps.workspaceApprovals.save({ approval: one.approval, ...scope, receiptId: one.receiptId });
      });
      if (settled !== null) {
        if (scope !== null) deps.workspaceApprovals.announce();
        return settled;
      }
      expire();
      const { status } = get(id).approval;
      const state: Record<ApprovalStatus, string> = {
        pending: "is being answered",
        allowed_once: "was already allowed",
        allowed_quest: "was already allowed for this task",
        allowed_workspace: "was already allowed for this workspace",
        denied: "was already denied",
        expired: "has expired, so the action was denied",
        cancelled: "was canceled, because its task stopped",
      };
      throw new LancelotError("conflict", `This request ${state[status]}.`, { data: { status } });
    },

    askAgain(id, transport) {
      const one = get(id);
      storage.transaction(() => {
        if (!store.forget(id, time())) throw new LancelotError("conflict", "There is no denial to forget.");
        receipts.ended(one, {
          status: "pending",
          reason: null,
          name: "approval.ask_again",
          ...(transport === undefined ? {} : { transport }),
        });
      });
      const { approval } = get(id);
      emit("approval", approval);
      return approval;
    },

    cancelQuest(questId) {
      for (const one of store.pending(questId)) settle(one, { status: "cancelled", reason: null, name: "approval.cancel" });
    },

    counts(since) {
      expire();
      return store.counts(since);
    },
  };
}

/** @throws LancelotError `conflict` when the request offers no such scope. */
function chosenScope(
  { scopes, code }: StoredApproval,
  index: number | undefined,
): { scope: StoredApproval["scopes"][number]; code: NonNullable<StoredApproval["code"]> } {
  const scope = index === undefined ? undefined : scopes[index];
  if (scope === undefined || code === null)
    throw new LancelotError("conflict", "This request cannot be allowed for the whole workspace in this way. Allow it once, or deny it.");
  return { scope, code };
}
