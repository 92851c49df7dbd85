import type { Tool } from "../tool.ts";
import { applyPatch } from "./apply-patch.ts";
import { askOwner } from "./ask-owner.ts";
import { commandOutput } from "./command-output.ts";
import { deleteFile } from "./delete-file.ts";
import { deploy } from "./deploy.ts";
import { diagnostics } from "./diagnostics.ts";
import { download } from "./download.ts";
import { editFile } from "./edit-file.ts";
import { fetchUrl } from "./fetch-url.ts";
import { findReferences } from "./find-references.ts";
import { getFileOutline } from "./get-file-outline.ts";
import { gitBranch } from "./git-branch.ts";
import { gitCheckout } from "./git-checkout.ts";
import { gitClone } from "./git-clone.ts";
import { gitCommit } from "./git-commit.ts";
import { gitDiff } from "./git-diff.ts";
import { gitLog } from "./git-log.ts";
import { gitPush } from "./git-push.ts";
import { gitShow } from "./git-show.ts";
import { gitStatus } from "./git-status.ts";
import { goToDefinition } from "./go-to-definition.ts";
import { httpPost } from "./http-post.ts";
import { listFiles } from "./list-files.ts";
import { memoryBeginEdits } from "./memory-begin-edits.ts";
import { memoryDelete } from "./memory-delete.ts";
import { memoryFinishEdits } from "./memory-finish-edits.ts";
import { memoryGetCoreBlocks } from "./memory-get-core-blocks.ts";
import { memoryInsert } from "./memory-insert.ts";
import { memoryQuarantine } from "./memory-quarantine.ts";
import { memoryReplace } from "./memory-replace.ts";
import { memoryRollback } from "./memory-rollback.ts";
import { memorySearch } from "./memory-search.ts";
import { proposePlan } from "./propose-plan.ts";
import { readFile } from "./read-file.ts";
import { reportOutcome } from "./report-outcome.ts";
import { runCommand } from "./run-command.ts";
import { searchWorkspace } from "./search-workspace.ts";
import { soulProposeAmendment } from "./soul-propose-amendment.ts";
import { spawnSubtask } from "./spawn-subtask.ts";
import { stopCommand } from "./stop-command.ts";
import { updatePlan } from "./update-plan.ts";
import { writeFile } from "./write-file.ts";

/** Every tool, in the order models receive them. */
export const catalog: readonly Tool[] = [
  readFile,
  listFiles,
  searchWorkspace,
  getFileOutline,
  goToDefinition,
  findReferences,
  editFile,
  writeFile,
  applyPatch,
  deleteFile,
  runCommand,
  commandOutput,
  stopCommand,
  gitStatus,
  gitDiff,
  gitLog,
  gitShow,
  gitCommit,
  gitBranch,
  gitCheckout,
  gitPush,
  gitClone,
  fetchUrl,
  download,
  httpPost,
  deploy,
  diagnostics,
  askOwner,
  updatePlan,
  reportOutcome,
  proposePlan,
  spawnSubtask,
  soulProposeAmendment,
  memorySearch,
  memoryGetCoreBlocks,
  memoryInsert,
  memoryReplace,
  memoryDelete,
  memoryBeginEdits,
  memoryFinishEdits,
  memoryQuarantine,
  memoryRollback,
];
