import { randomUUID } from "node:crypto";
import { LancelotError } from "../contract/errors.ts";
import type { MemoryCommit, QuarantineEntry } from "../contract/memory.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Storage } from "../storage/storage.ts";
import { createCaps } from "./core-block-caps.ts";
import { type CommitRow, createCommitRows } from "./commit-rows.ts";
import { createCommitFinish } from "./commit-finish.ts";
import { createDrafts, type Draft } from "./commit-draft.ts";
import { createImages, diffOf } from "./commit-images.ts";
import type { Commits, Finished, QuarantineStore, RollbackRequest, RolledBack, Staged, StoredQuarantine } from "./commit-types.ts";
import type { Author, GatedEdit, Gates, MemoryStore, ProposedEdit } from "./item-types.ts";
import { createQuarantineEdit } from "./quarantine-edit.ts";
import { toQuarantineEntry } from "./quarantine-entry-view.ts";
import { createCommitRollbacks } from "./commit-rollback.ts";
import type { MemorySettings } from "./memory-settings.ts";
import { createStagedEdits } from "./staged-edit-rows.ts";

export interface CommitsDeps {
  readonly storage: Storage;
  readonly store: MemoryStore;
  readonly gates: Gates;
  readonly quarantine: QuarantineStore;
  /** `open` and `close` write inside the commit's transaction; `record` would survive a failed one. */
  readonly ledger: Pick<Ledger, "open" | "close" | "record">;
  readonly settings: () => MemorySettings;
  readonly estimateTokens: (text: string) => number;
  /** Removes secrets from a text. The reasons of commits and rollbacks pass no gate. */
  readonly scrub: (text: string) => string;
  /** Absolute path; `-` when no folder is open. */
  readonly workspace: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Called after a change was written. */
  readonly changed: () => void;
  /** Current findings about a quarantined edit; defaults to those of the gates. */
  readonly verify?: (entry: StoredQuarantine) => QuarantineEntry["verifier"];
}

/** Changes of one commit in a list. */
const maxListedChanges = 200;

/** Edits in one open commit. */
const maxEdits = 1_000;

/**
 * Commits: the only way to change an item. A commit is staged in the database and takes effect when it is finished,
 * in one transaction with its receipt, or not at all. Several hosts may use one data folder.
 *
 * A commit belongs to its workspace, or to every workspace when all its changes are global (`workspace` is `''`).
 */
export function createCommits(deps: CommitsDeps): Commits {
  const { storage, store, quarantine, workspace, now } = deps;
  const rows = createCommitRows({ storage, workspace });
  const images = createImages(storage);
  const stagedEdits = createStagedEdits(storage);
  const drafts = createDrafts({ storage, store, workspace, workingHours: () => deps.settings().working_hours });
  const caps = createCaps({
    storage,
    workspace,
    estimateTokens: deps.estimateTokens,
    cap: (block) => deps.settings().block_tokens[block],
  });
  const rollbacks = createCommitRollbacks({ storage, store, rows, images, caps, snapshots: () => deps.settings().snapshots, now });
  const { finish: conclude, conflict } = createCommitFinish({ ...deps, rows, images, caps });
  const quarantineEdit = createQuarantineEdit({ quarantine, store });

  const verify = (entry: StoredQuarantine): QuarantineEntry["verifier"] => {
    if (deps.verify !== undefined) return deps.verify(entry);
    const problems = deps.gates.verify(entry);
    return { ok: problems.length === 0, problems };
  };
  const toEntry = (entry: StoredQuarantine): QuarantineEntry => toQuarantineEntry(entry, store, verify(entry));

  const announce = (): void => {
    storage.afterTransaction((committed) => {
      if (committed) deps.changed();
    });
  };
  const begin = (author: Author, reason: string): string => {
    const id = `commit_${randomUUID()}`;
    rows.begin({ id, author, reason: deps.scrub(reason), at: now() });
    return id;
  };
  const withdraw = (commitId: string, reason: string): void => {
    for (const { id } of quarantine.ofCommit(commitId)) quarantine.settle(id, { status: "withdrawn", reason });
  };
  const drop = (commitId: string): void => {
    if (!rows.abandon(commitId, now())) return;
    stagedEdits.clear(commitId);
    withdraw(commitId, "Its commit was abandoned.");
  };
  /** The open commit, if this author may continue it. */
  const openOf = (commitId: string, author: Author): CommitRow => {
    const row = rows.get(commitId);
    if (row.status !== "open") {
      const how = row.status === "abandoned" ? "was abandoned" : "is finished";
      throw new LancelotError("conflict", `This commit ${how}. Begin another one.`);
    }
    if (author.by === "agent" && (row.author !== "agent" || row.quest_id !== author.questId)) {
      throw new LancelotError("denied", "Another author began this commit. Begin your own.", {
        data: { rule: "commit-author" },
      });
    }
    return row;
  };

  const edit = (commitId: string, proposed: ProposedEdit, author: Author, parentId: string | null): Staged => {
    const { author: begunBy } = openOf(commitId, author);
    if (begunBy !== author.by) {
      throw new LancelotError("denied", "Another author began this commit. Begin your own.", {
        data: { rule: "commit-author" },
      });
    }
    const verdict = deps.gates.judge(proposed, author);
    if (verdict.kind === "refuse") {
      const { rule, message } = verdict.problem;
      // The action of the caller has its own receipt for the denial, so only a call without one is recorded here.
      if (parentId === null)
        deps.ledger.record(
          {
            actionType: "system",
            actionName: "memory.edit",
            inputs: { commitId, op: proposed.op, target: proposed.target },
            riskTier: "T1",
            parentId,
            questId: author.questId,
          },
          { status: "failure", errorMessage: message, metadata: { rule } },
        );
      throw new LancelotError("denied", message, { data: { rule, alternatives: verdict.alternatives } });
    }
    return storage.transaction((): Staged => {
      const row = openOf(commitId, author);
      const draft = drafts({ commitId, questId: row.quest_id, now: now() });
      const staged = stagedEdits.of(commitId);
      for (const one of staged) draft.replay(one);
      const { target, content } = verdict.edit;
      const report = { target, content, notes: verdict.notes };
      const why = verdict.kind === "quarantine" ? verdict.why : approvalReason(verdict.edit, author, draft);
      if (why !== null) {
        const quarantineId = quarantineEdit({ draft, edit: verdict.edit, author, commitId, why, isFinished });
        announce();
        return { ...report, index: null, outcome: quarantineId === null ? "reinforced" : "quarantined", quarantineId };
      }
      if (staged.length >= maxEdits) {
        throw new LancelotError("too_large", `A commit can hold at most ${String(maxEdits)} edits. Finish this one and begin another.`);
      }
      const stale = draft.stale();
      const one = draft.stage(verdict.edit);
      // An edit staged against an older version of the item is replaced by the new one.
      if (stale.has(one.itemId)) stagedEdits.removeOf(commitId, one.itemId);
      const index = stagedEdits.add(commitId, one);
      const known = one.confirms !== null;
      return { ...report, index: known ? null : index, outcome: known ? "reinforced" : "staged", quarantineId: null };
    });
  };
  /**
   * Why an accepted edit still needs approval; null when it does not, as with the owner's words as evidence. A program may hold the
   * owner's token, so its own statement about a core block waits like the agent's.
   */
  const approvalReason = (edit: GatedEdit, { by }: Author, draft: Draft): string | null => {
    if (edit.provenance.source === "user") return null;
    if (edit.target.startsWith("core:")) return "It changes a core block, and its stated source is not you.";
    if (by === "owner" || edit.op === "insert") return null;
    const item = store.get(draft.find(edit).id);
    return item !== null && item.provenance.source === "user" && item.tier !== "working"
      ? "You wrote this text. Only you can change it, or a message of yours as evidence."
      : null;
  };
  const isFinished = (commitId: string): boolean => rows.find(commitId)?.status === "committed";

  const finish = (commitId: string, author: Author, parentId: string | null): Finished =>
    storage.transaction(() => {
      const row = openOf(commitId, author);
      const draft = drafts({ commitId, questId: row.quest_id, now: now() });
      const staged = stagedEdits.of(commitId);
      for (const one of staged) if (!draft.replay(one)) throw conflict(one);
      stagedEdits.clear(commitId);
      const finished = conclude(row, {
        changes: draft.changes(),
        confirmations: draft.confirmations(),
        provenance: staged.map((one) => one.edit.provenance),
        rollbackOf: [],
        parentId,
      });
      announce();
      return { ...finished, quarantined: pendingOf(commitId) };
    });
  const pendingOf = (commitId: string): QuarantineEntry[] =>
    quarantine
      .ofCommit(commitId)
      .filter(({ status }) => status === "pending")
      .map(toEntry);

  const apply: Commits["apply"] = (edits: readonly GatedEdit[], author, { reason, parentId }) =>
    storage.transaction(() => {
      const commitId = begin(author, reason);
      const draft = drafts({ commitId, questId: author.questId, now: now() });
      for (const one of edits) draft.stage(one);
      // Read first: an insert of a known text turns out to be a confirmation here.
      const changes = draft.changes();
      const finished = conclude(rows.get(commitId), {
        changes,
        confirmations: draft.confirmations(),
        provenance: edits.map(({ provenance }) => provenance),
        rollbackOf: [],
        parentId,
      });
      announce();
      return { ...finished, quarantined: [] };
    });

  const rollBack = (
    targets: readonly CommitRow[],
    itemIds: readonly string[] | null,
    request: RollbackRequest,
    by: Author,
    parentId: string | null,
  ) => {
    const plan = rollbacks.plan(targets, itemIds);
    if ("refusal" in plan) {
      const which = targets.length === 1 ? `The commit ${targets[0]?.id ?? ""}` : `The last ${String(targets.length)} commits`;
      throw new LancelotError("conflict", `${which} cannot be rolled back. ${plan.refusal}`);
    }
    const reason = deps.scrub(request.reason);
    const ids = targets.map(({ id }) => id);
    const row = rows.get(begin(by, reason));
    const changes = plan.changes.map((change) => ({ ...change, reason }));
    const finished = conclude(row, { changes, confirmations: [], provenance: [], rollbackOf: ids, parentId });
    if (itemIds === null) {
      for (const id of ids) {
        rows.setState(id, "rolled_back", row.id);
        withdraw(id, "Its commit was rolled back.");
      }
      rollbacks.settle(targets.flatMap(({ rollback_of: of }) => JSON.parse(of) as string[]));
    } else rollbacks.settle(ids);
    announce();
    return { commitId: row.id, rolledBack: ids, diff: finished.diff };
  };

  const rollback = (request: RollbackRequest, author: Author, parentId: string | null): RolledBack =>
    storage.transaction(() => {
      if ("last" in request) {
        const targets = rows.inForce(request.last);
        if (targets.length < request.last) {
          throw new LancelotError(
            "conflict",
            `Only ${String(targets.length)} ${targets.length === 1 ? "commit" : "commits"} can be rolled back, not ${String(request.last)}.`,
          );
        }
        return rollBack(targets, null, request, author, parentId);
      }
      const row = rows.get(request.commitId);
      if (row.status !== "open") return rollBack([row], request.itemIds ?? null, request, author, parentId);
      drop(row.id);
      announce();
      return { commitId: null, rolledBack: [row.id], diff: [] };
    });

  const toCommit = (row: CommitRow, most = maxListedChanges): MemoryCommit => {
    return {
      id: row.id,
      status: row.status,
      author: row.author,
      questId: row.quest_id,
      reason: row.reason,
      createdAt: new Date(row.created_at).toISOString(),
      finishedAt: row.finished_at === null ? null : new Date(row.finished_at).toISOString(),
      receiptId: row.receipt_id,
      diff: images.ofCommit(row.id, most).flatMap(diffOf),
      changes: row.changes,
      quarantined: quarantine.ofCommit(row.id).length,
      rollbackOf: JSON.parse(row.rollback_of) as string[],
      rolledBackBy: row.rolled_back_by,
      problem: rollbacks.problem(row),
    };
  };

  return {
    begin: (author, reason) => ({ commitId: storage.transaction(() => begin(author, reason)) }),
    edit,
    staged: (commitId) => {
      const row = rows.get(commitId);
      return { author: { by: row.author, questId: row.quest_id }, edits: stagedEdits.of(commitId).map((one) => one.edit) };
    },
    finish,
    abandon: (commitId, author) => {
      storage.transaction(() => {
        drop(openOf(commitId, author).id);
        announce();
      });
    },
    apply,
    rollback,
    list: ({ questId, limit, cursor }) => {
      const page = rows.list({ before: readCursor(cursor), limit: limit + 1, questId: questId ?? null });
      const items = page.slice(0, limit);
      const last = items.at(-1);
      return {
        items: items.map((row) => toCommit(row)),
        ...(page.length > limit && last !== undefined ? { nextCursor: String(last.seq) } : {}),
      };
    },
    get: (id) => toCommit(rows.get(id), -1),
    history: (itemId) =>
      images.ofItem(itemId).flatMap(({ commitId, change }) => {
        const row = rows.find(commitId);
        const [diff] = diffOf(change);
        return row === null || diff === undefined ? [] : [{ commit: toCommit(row), diff }];
      }),
    last: (count) => rows.inForce(count).map(({ id }) => toCommit(rows.get(id))),
    open: rows.countOpen,
    reconcile: () => {
      const oldest = now() - deps.settings().open_minutes * 60_000;
      const left = (): CommitRow[] => rows.open().filter((row) => row.created_at < oldest || !storage.hostAlive(row.host_id));
      if (left().length === 0) return 0;
      return storage.transaction(() => {
        const due = left();
        for (const { id } of due) drop(id);
        if (due.length > 0) announce();
        return due.length;
      });
    },
  };
}

function readCursor(cursor: string | undefined): number {
  if (cursor === undefined) return Number.MAX_SAFE_INTEGER;
  if (!/^\d{1,15}$/.test(cursor)) throw new LancelotError("invalid_params", "The cursor is invalid. Start from the first page.");
  return Number(cursor);
}
