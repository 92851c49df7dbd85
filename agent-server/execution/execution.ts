import type { Checkpoint, RestoreOf, RestoreResult } from "../contract/changes.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Emit } from "../contract/events.ts";
import type { Governance } from "../governance/governance.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Log, Placeholders, Redactor } from "../security/security.ts";
import type { Storage } from "../storage/storage.ts";
import {
  type Changes,
  createChanges,
  createTasks,
  type FilePath,
  sweepStaging,
  type Tasks,
  type Workspace,
} from "../workspace/workspace.ts";
import { createApplyAccepted } from "./apply-accepted.ts";
import { createPipeline, type ExecutionPipeline } from "./pipeline.ts";
import { createRepositoryUndo } from "./repository-undo.ts";
import { createRestore } from "./restore.ts";
import { createSubtaskChanges, type SubtaskChanges } from "./subtask-changes.ts";
import { createTaskSettlement, type TaskSettlement } from "./task-settlement.ts";
import { createTierBoundary, failureText } from "./tier-boundary.ts";
import { createUndo } from "./undo.ts";
import { createVerificationStore } from "./verification-store.ts";
import { createVerifications } from "./verifications.ts";

export type { InView, IntentSpec, Provider, Result, RunContext } from "./action.ts";
export { brief, decisionOf, highestTier, receiptOf, refused } from "./decisions.ts";
export type { ExecutionPipeline } from "./pipeline.ts";
export { isRefusal, refusalOf, refusalText } from "./refusals.ts";
export type { JoinedChanges, SubtaskChanges } from "./subtask-changes.ts";
export type { VerifyOwn } from "./verifications.ts";

/** Everything that happens to the workspace: actions, their verification, the review of changes, and undo. */
export interface Execution {
  readonly pipeline: ExecutionPipeline;
  readonly changes: Changes;
  readonly checkpoints: {
    list(filter: { questId?: string; limit: number }): Checkpoint[];
    diff(of: RestoreOf): Promise<{ path: string; diff: string }[]>;
    restore(of: RestoreOf): Promise<RestoreResult>;
  };
  readonly verifications: {
    /** Verifications of reversible actions that are pending, and those that failed in this workspace. */
    stats(): { waiting: number; failed: number };
    /** Waits for those of a quest; false after `timeoutMs`. @throws LancelotError `cancelled`. */
    settle(questId: string, options: { timeoutMs: number; signal?: AbortSignal }): Promise<boolean>;
    /** What failed since the model was last informed, for the model; empty when nothing failed. */
    takeFailures(questId: string): string;
    onFailure(listener: (failure: { questId: string | null; receiptId: string; message: string }) => void): () => void;
  };
  /** Programs of tasks that run in the background; null without a folder. */
  readonly background: Tasks["background"] | null;
  /** What becomes of the changes of tasks' commands; null without a folder. */
  readonly settlement: TaskSettlement | null;
  /** The proposals of sub-tasks; null without a folder. */
  readonly subtasks: SubtaskChanges | null;
  /** The files that a quest changed on disk. */
  questFiles(questId: string): FilePath[];
  /** Verifies pending effects for `timeoutMs`, and records the rest as unverified. */
  close(timeoutMs: number): Promise<void>;
}

export interface ExecutionDeps {
  readonly workspace: Workspace;
  readonly storage: Storage;
  readonly governance: Governance;
  readonly ledger: Ledger;
  readonly redactor: Redactor;
  readonly placeholders: Placeholders;
  readonly emit: Emit;
  /** True while a quest may continue: the files of its task are kept. */
  readonly isQuestOpen: (questId: string) => boolean;
  /** True for a sub-task, whose changes join those of its task. Absent: there are none. */
  readonly isSubtask?: (questId: string) => boolean;
  readonly now: () => Date;
  readonly log: Log;
  /** How long (ms) an action of T2 or T3 waits for earlier verifications; the default of tier-boundary.ts if absent. */
  readonly boundaryTimeoutMs?: number;
  /** How many verifications may be pending; the default of verifications.ts if absent. */
  readonly verificationQueue?: number;
}

/** Creates the pipeline, and first recovers what a host that died left unfinished: commands, restores, clones, verifications. */
export function createExecution(deps: ExecutionDeps): Execution {
  const { workspace, storage, governance, ledger, redactor, placeholders, now, log } = deps;
  const { checkpoints, objects, effects, collector, files, locks, moves, key } = workspace;
  const verifications = createVerifications({
    ...{ storage, ledger, redactor, governance, checkpoints, log },
    store: createVerificationStore(storage, key, now),
    rollBack: (checkpointId, of) => restore.rollBack(checkpointId, of),
    outcome: (report) => governance.outcome(report),
    ...(deps.verificationQueue === undefined ? {} : { queueSize: deps.verificationQueue }),
  });
  const boundary = createTierBoundary({
    ...{ ledger, verifications },
    ...(deps.boundaryTimeoutMs === undefined ? {} : { timeoutMs: deps.boundaryTimeoutMs }),
  });
  const { root, taskFolders, taskStore, settings } = workspace;
  const pipeline = createPipeline({
    ...{ governance, ledger, checkpoints, verifications, boundary, effects, log },
    tasks: { begin: (of) => requireTasks().begin(of) },
  });
  const changes = createChanges({
    ...{ store: workspace.changeStore, files, governance, ledger, now },
    locks: workspace.leases,
    emit: deps.emit,
    applyAccepted: createApplyAccepted({ files, objects, governance, pipeline }),
    hide: (questId, text) => placeholders.of(questId).secrets.text(text).text,
    isSubtask: deps.isSubtask,
  });
  const store = workspace.changeStore;
  const generatedFolders = () => new Set(settings().generated_folders);
  const tasks =
    root === null || taskFolders === null
      ? null
      : createTasks({
          ...{ workspace: root, folders: taskFolders, tasks: taskStore, files, objects, changes, store, governance, generatedFolders, log },
          onChanged: changes.review.onChange,
        });
  const requireTasks = (): Tasks => {
    if (tasks === null) throw new LancelotError("unavailable", "No folder is open, so there are no tasks.");
    return tasks;
  };
  const settlement =
    root === null || tasks === null || taskFolders === null
      ? null
      : createTaskSettlement({
          ...{ folders: taskFolders, records: taskStore },
          ...{ root, tasks, changes, store, governance, pipeline, locks, moves },
          mode: () => settings().generated_files,
          isSubtask: deps.isSubtask ?? (() => false),
          ...{ ledger, emit: deps.emit, log },
        });
  const restore = createRestore({ checkpoints, objects, files, governance, pipeline, locks, ledger, verifications, ready: () => ready });
  const repository = createRepositoryUndo({ moves, pipeline, locks, governance, workspace: key });
  const undo = createUndo({ checkpoints, files: restore, repository, generated: settlement, log });
  const swept = checkpoints.sweep();
  verifications.resume();
  if (workspace.root !== null)
    void sweepStaging(workspace.root).catch((error: unknown) => log("the files of an interrupted clone could not be removed", error));
  const ready = (async () => {
    await effects?.recover();
    for (const { questId, ...outputs } of (await tasks?.rests.recover()) ?? [])
      ledger.record(
        { actionType: "system", actionName: "generated_recover", inputs: {}, riskTier: "T1", questId },
        { status: outputs.conflicts.length === 0 ? "success" : "failure", outputs },
      );
    await restore.resume();
    collector.soon();
  })().catch((error: unknown) => log("actions of a host that died could not be recovered", error));
  const recovered = ready.then(() => undo.undoUnfinished(swept));
  // Measures the files of all tasks, so nothing waits for it.
  const collected = ready
    .then(() => taskFolders?.collect({ isQuestOpen: deps.isQuestOpen, now }))
    .catch((error: unknown) => log("the files of ended tasks could not be removed", error));

  return {
    pipeline,
    changes,
    background: tasks?.background ?? null,
    settlement,
    subtasks:
      tasks === null || settlement === null
        ? null
        : createSubtaskChanges({ changes, store, files, governance, locks, settlement, background: tasks.background }),
    checkpoints: {
      list: (filter) => checkpoints.list(filter),
      diff: async (of) => restore.diff(of),
      restore: undo.restore,
    },
    verifications: {
      stats: verifications.stats,
      settle: (questId, options) => verifications.drain({ ...options, questId }),
      takeFailures: (questId) => failureText(verifications.take(questId)),
      onFailure: verifications.onFailure,
    },
    questFiles: undo.questFiles,
    async close(timeoutMs) {
      settlement?.close();
      await recovered;
      await collected;
      await verifications.close(timeoutMs);
    },
  };
}
