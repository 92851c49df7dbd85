import { realpathSync } from "node:fs";
import type { AskEditor } from "../contract/editor.ts";
import type { Governance } from "../governance/governance.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Log, Placeholders } from "../security/security.ts";
import type { Storage } from "../storage/storage.ts";
import { type ChangeStore, createChangeStore } from "./changes/change-store.ts";
import { type CheckpointServices, createCheckpointServices } from "./checkpoints/checkpoint-services.ts";
import { createRepositoryMoves, type RepositoryMoves } from "./git/repository-moves.ts";
import { createTaskCopies } from "./tasks/task-copy.ts";
import { createTaskFolders, type TaskFolders } from "./tasks/task-folders.ts";
import { createTaskStore, type TaskStore } from "./tasks/task-store.ts";
import { createPathLeases } from "./path-leases.ts";
import { createPathLocks, type PathLocks } from "./path-locks.ts";
import { createWorkspaceFiles, type WorkspaceFiles } from "./workspace-files.ts";

export { displayPath, fromBytes, toBytes } from "./byte-path.ts";
export { createChanges, noQuest } from "./changes/changes.ts";
export type { AcceptedText, AcceptedWhole, ApplyAccepted, ChangeReview, Changes, Overlay } from "./changes/types.ts";
export type { ChangeStore, StoredChange } from "./changes/change-store.ts";
export { imageOf, isPlainFolder, putEntry, sameImage } from "./checkpoints/checkpoint-entries.ts";
export type { CheckpointFile, Checkpoints, SweptAction, Touch } from "./checkpoints/checkpoints.ts";
export type { FileImage } from "./checkpoints/file-image.ts";
export type { ObjectStore } from "./checkpoints/object-store.ts";
export { settleRepositories } from "./checkpoints/repository-state.ts";
export { describeReversals } from "./checkpoints/restore-description.ts";
export { type Plan, type Reversal, inOrder, inWaves, isNamedAsShown, planReversals, resolveTarget } from "./checkpoints/restore-plan.ts";
export {
  type Effects,
  type Touched,
  type CommandChanges,
  toTouched,
  describeTouchedFiles,
  commandChangesOutputs,
} from "./effects/effects.ts";
export { fileError } from "./file-errors.ts";
export {
  type FileContent,
  type FilePath,
  changeMode,
  fileProvider,
  hashFile,
  openForReading,
  readImage,
  readWhole,
  statPath,
} from "./file-operations.ts";
export { withAccessSync } from "./folder-access.ts";
export { stagingFolder, sweepStaging } from "./git/clone-staging.ts";
export { type Repository, assertNoLinks, findRepository, isBelow, operationInProgress } from "./git/git-repository.ts";
export { type ListedSetting, ownerSettings, parseSettings } from "./git/git-settings.ts";
export { type Remote, borrowObjects, inPrivateFolder, receivePack, remoteOf, tooLarge, transfer, uploadPack } from "./git/git-transfer.ts";
export { type Git, gitOf, gitProvider, listSettings, openGit } from "./git/git.ts";
export { type Head, branchName, headOf, shortHash, switchTo } from "./git/git-head.ts";
export { type RepositorySummary, summarizeRepository } from "./git/repository-summary.ts";
export { type RefState, findSharingRef, readRefState } from "./git/ref-state.ts";
export type { Move, RecordedMove, RepositoryMoves } from "./git/repository-moves.ts";
export { changedFiles, findFilteredFiles, hooksOf, list, nameInTree, refuseFiltered } from "./git/git-work-tree.ts";
export { type Outliner, createOutliner } from "./outline/outline.ts";
export { outlineFile } from "./outline/workspace-outline.ts";
export type { PathLocks } from "./path-locks.ts";
export { type ResolvedFile, resolveFile } from "./resolve-file.ts";
export { judgeTestRun, readTestReport } from "./test-reports/test-reports.ts";
export type { TestReport } from "./test-reports/types.ts";
export { baseArgs, ripgrepProvider, runRipgrep } from "./ripgrep.ts";
export { placeSecrets, refuseSecrets, describeUnknownPlaceholders } from "./secret-placement.ts";
export { type ChangeClass, classesOf } from "./tasks/change-class.ts";
export { ignoredPaths } from "./tasks/ignored-paths.ts";
export { type LayerChange, scanLayer } from "./tasks/layer-scan.ts";
export { proposeChange } from "./tasks/propose-change.ts";
export { describeGroups, describeOutcome, taskOutputs, toProposed } from "./tasks/describe-outcome.ts";
export { type TaskStore, nothingLeft, toTaskLeft } from "./tasks/task-store.ts";
export { type BackgroundProgram, type OpenView, type TaskOutcome, type Tasks, createTasks } from "./tasks/tasks.ts";
export { createSecretIndex, type SecretIndex, type SecretPaths } from "./tasks/secret-index.ts";
export { type ImportResult, importCommits } from "./tasks/commit-import.ts";
export type { RefProblem } from "./tasks/ref-changes.ts";
export { type ReadWorkOptions, type RepositoryWork, readRepositoryWork } from "./tasks/repository-work.ts";
export { type GeneratedRequest, applyGenerated, generatedState, recoverGenerated, undoGenerated } from "./tasks/apply-generated.ts";
export { dropFromLayer, findOpaque } from "./tasks/layer-drop.ts";
export { recordCopy } from "./tasks/copy-record.ts";
export { type TaskFolders, createTaskFolders } from "./tasks/task-folders.ts";
export type { LeftInCopy, OverlayLayer, OverlayView } from "./tasks/types.ts";
export { type ViewFile, type ViewFiles, type ViewPath, listViewFiles, readViewFile, statViewFile } from "./tasks/view-files.ts";
export { summarizeGenerated } from "./tasks/generated-summary.ts";
export { type ChangedEntry, type ChangeSet, writeChangeSet } from "./tasks/write-change-set.ts";
export { putInView, revertInView } from "./tasks/write-to-view.ts";
export { boundText, cutLine, formatBytes, maxLineChars, maxOutputBytes, maxOutputLines } from "./text/output-bounds.ts";
export { decodeText, detectEncoding, encodeText, sha256, utf8 } from "./text/encoding.ts";
export { globFilter } from "./text/glob.ts";
export { computeHunks, unifiedDiff } from "./text/hunks.ts";
export { mergeFiles } from "./text/three-way-merge.ts";
export { mergeEnds } from "./text/line-ends.ts";
export { mainEol } from "./text/lines.ts";
export { replaceText } from "./text/match.ts";
export { type FilePatch, applyFilePatch, parseFilePatches } from "./text/patch.ts";
export { aboutText, describeBytes, showWindow, streamWindow, textWindow } from "./text/line-window.ts";
export {
  type CurrentText,
  type FileOutcome,
  type TargetFile,
  type WorkspaceFiles,
  type Written,
  fileOutcomesOf,
  maxEditBytes,
} from "./workspace-files.ts";
export { type SearchDeps, type SearchQuery, findFiles, searchWorkspace } from "./workspace-search.ts";

export { workspaceMigrations } from "./migrations.ts";

/** The files of one workspace, with review and undo of their changes. */
export interface Workspace extends CheckpointServices {
  /** Absolute, links resolved; null while no folder is open. */
  readonly root: string | null;
  /** The workspace's name in database rows: the root, or "" while no folder is open. */
  readonly key: string;
  readonly files: WorkspaceFiles;
  readonly locks: PathLocks;
  /** The same locks, held in every window of the data folder: for changes that are accepted. */
  readonly leases: PathLocks;
  readonly moves: RepositoryMoves;
  readonly changeStore: ChangeStore;
  /** The folders and records of tasks; null without a folder to work in. */
  readonly taskFolders: TaskFolders | null;
  /** True when a task may have another version of a file than the workspace. */
  readonly hasTaskCopy: (questId: string, absolute: string) => boolean;
  readonly taskStore: TaskStore;
}

export interface WorkspaceDeps {
  readonly storage: Storage;
  readonly ledger: Ledger;
  readonly governance: Pick<Governance, "resolvePath" | "judgeName">;
  readonly placeholders: Placeholders;
  /** Absolute; null while no folder is open. */
  readonly workspace: string | null;
  /** Null without an editor. */
  readonly askEditor: AskEditor | null;
  /** The folder of the shipped configuration; null uses the built-in defaults. */
  readonly configDir: string | null;
  /** True while a quest may continue: its checkpoints are kept. */
  readonly isQuestOpen: (questId: string) => boolean;
  readonly now: () => Date;
  readonly log: Log;
}

export function createWorkspace(deps: WorkspaceDeps): Workspace {
  const { storage, now } = deps;
  const root = deps.workspace === null ? null : realpathSync(deps.workspace);
  const key = root ?? "";
  const services = createCheckpointServices({ ...deps, workspace: root });
  const { settings, configProblem } = services;
  const taskFolders =
    root === null ? null : createTaskFolders({ storage, ledger: deps.ledger, workspace: root, settings, configProblem, log: deps.log });
  const locks = createPathLocks();
  return {
    ...{ root, key, locks },
    ...services,
    files: createWorkspaceFiles(deps.askEditor),
    leases: createPathLeases({ storage, locks, now }),
    moves: createRepositoryMoves({ storage, workspace: key, now }),
    changeStore: createChangeStore(storage, key, deps.placeholders),
    taskFolders,
    hasTaskCopy: root === null || taskFolders === null ? () => true : createTaskCopies(storage, root, taskFolders.folderOf),
    taskStore: createTaskStore(storage, key, now),
  };
}
