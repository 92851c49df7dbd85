import { join } from "node:path";
import type { GeneratedGroup } from "../../contract/changes.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { Governance } from "../../governance/governance.ts";
import { openGit } from "../git/git.ts";
import { type AppliedGenerated, applyGenerated, generatedState, recoverGenerated, undoGenerated } from "./apply-generated.ts";
import { completeImport, importCommits, type ImportOptions, type ImportResult } from "./commit-import.ts";
import { readCopyRecord } from "./copy-record.ts";
import { readLayerText } from "./layer-file.ts";
import { journalFolder } from "./generated-journal.ts";
import { dropFromLayer } from "./layer-drop.ts";
import { emptyLayer, linkedUpper } from "./own-repository.ts";
import type { RepositoryWork } from "./repository-work.ts";
import type { TaskRest, TaskStore } from "./task-store.ts";
import { maxEditBytes } from "../workspace-files.ts";
import { workspaceLayer } from "./workspace-layer.ts";

/** Who asks, and for which task. */
export interface RestOf {
  readonly questId: string;
  /** The receipt of the action. */
  readonly receiptId: string;
  readonly signal: AbortSignal;
}

/** An application of generated files that a dead host left unfinished: it is complete now, or nothing of it is left. */
export interface RecoveredFiles {
  readonly questId: string;
  readonly outcome: "applied" | "reverted";
  /** Paths that were changed meanwhile and stay as they are. */
  readonly conflicts: readonly string[];
}

/** What a task's layer holds besides proposed changes: generated files and commits. No command of the task runs meanwhile. */
export interface TaskRests {
  of(questId: string): TaskRest;
  /** Files that stay in the engine's copy of the workspace, where the task's commands work in one. */
  inCopy(questId: string): readonly GeneratedGroup[];
  /** The text of a file that only the task has; null when there is none. @throws LancelotError `too_large`. */
  readText(questId: string, path: string): Promise<string | null>;
  /**
   * Puts the task's generated files into the workspace.
   * @throws LancelotError as `applyGenerated`; `not_found` when there are none.
   */
  applyGenerated(of: RestOf): Promise<AppliedGenerated>;
  /** Removes the generated files from the task. */
  discardGenerated(of: Omit<RestOf, "receiptId">): Promise<void>;
  /** True when generated files of a quest were applied and not undone. */
  hasApplied(questId: string): boolean;
  /** Undoes every application of generated files of a quest, newest first. @returns the paths that were changed since and stay */
  undoGenerated(questId: string): Promise<{ readonly count: number; readonly conflicts: readonly string[] }>;
  /** Imports the task's commits; branches that would lose commits stay. @throws LancelotError as `importCommits`; `not_found` without any. */
  importCommits(of: Omit<RestOf, "receiptId"> & Pick<ImportOptions, "record" | "expectFiles">): Promise<ImportResult>;
  /** Removes what the task did to the repository. */
  dropCommits(of: Omit<RestOf, "receiptId">): Promise<void>;
  /** Ends unfinished applications of hosts that died, in every task of the workspace. */
  recover(): Promise<RecoveredFiles[]>;
}

export interface TaskRestsDeps {
  readonly workspace: string;
  readonly governance: Pick<Governance, "judgeName" | "obeyed">;
  readonly tasks: TaskStore;
  readonly folderOf: (questId: string) => string;
  /** Tasks whose generated files a dead host left half applied. */
  readonly interrupted: () => string[];
  /** Runs while no command of the task runs, with the task's folder reserved. @throws LancelotError `cancelled`, `conflict`. */
  readonly hold: <T>(of: { questId: string; signal: AbortSignal }, work: (folder: string) => Promise<T>) => Promise<T>;
}

export function createTaskRests(deps: TaskRestsDeps): TaskRests {
  const { workspace, tasks, hold, governance } = deps;
  const { name } = workspaceLayer(workspace);

  const layerOf = (folder: string, { opaque }: TaskRest) => ({ upper: join(folder, name, "upper"), lower: workspace, opaque });

  /** Removes what the task did to the repository. */
  async function dropRepository(folder: string, rest: TaskRest): Promise<void> {
    const linked = linkedUpper(folder, workspace);
    if (linked === null) await dropFromLayer(layerOf(folder, rest), ".git");
    else await emptyLayer(linked);
  }

  async function drop(of: Omit<RestOf, "receiptId">, part: "generated" | "repository"): Promise<void> {
    await hold(of, async (folder) => {
      const rest = tasks.get(of.questId);
      if (rest[part] === null) return;
      if (part === "repository") await dropRepository(folder, rest);
      else for (const path of rest.generated?.paths ?? []) await dropFromLayer(layerOf(folder, rest), path);
      tasks.save(of.questId, { ...rest, [part]: null });
    });
  }

  /** Completes what a host that died had begun to import. The commits stay with the task, so that nothing is lost if it fails. */
  async function complete(questId: string, work: RepositoryWork): Promise<void> {
    const { signal } = new AbortController();
    try {
      await hold({ questId, signal }, async () => completeImport(await openGit(workspace, signal), work));
    } catch (error) {
      // Another window works on the task, or the user staged something else.
      if (!(error instanceof LancelotError)) throw error;
    }
  }

  return {
    of: (questId) => tasks.get(questId),
    inCopy: (questId) => readCopyRecord(deps.folderOf(questId)).kept,

    async readText(questId, path) {
      if (tasks.get(questId).generated === null) return null;
      return readLayerText(join(deps.folderOf(questId), name, "upper"), path, maxEditBytes);
    },

    applyGenerated: (of) =>
      hold(of, async (taskFolder) => {
        const { questId, receiptId } = of;
        await recoverGenerated(taskFolder);
        const rest = tasks.get(questId);
        if (rest.generated === null) throw new LancelotError("not_found", "This task has no generated files that are not applied yet.");
        const journal = journalFolder(taskFolder, receiptId);
        tasks.applying({ questId, receiptId, journal });
        const applied = await applyGenerated({
          ...{ taskFolder, id: receiptId, ...layerOf(taskFolder, rest) },
          paths: rest.generated.paths,
          judgeName: (path) => governance.judgeName(path) ?? (governance.obeyed(path) === null ? null : "protected"),
        });
        tasks.save(questId, { ...rest, generated: null });
        return applied;
      }),

    discardGenerated: (of) => drop(of, "generated"),
    dropCommits: (of) => drop(of, "repository"),

    hasApplied: (questId) => tasks.applied(questId).length > 0,

    undoGenerated(questId) {
      const open = tasks.applied(questId);
      return hold({ questId, signal: new AbortController().signal }, async (folder) => {
        await recoverGenerated(folder);
        const conflicts: string[] = [];
        let count = 0;
        for (const { id, journal } of open) {
          if (generatedState(journal) === "applied") {
            conflicts.push(...(await undoGenerated(journal)).conflicts);
            count += 1;
          }
          tasks.undone(id);
        }
        return { count, conflicts };
      });
    },

    importCommits: ({ record, expectFiles, ...of }) =>
      hold(of, async (folder) => {
        const rest = tasks.get(of.questId);
        if (rest.repository === null) throw new LancelotError("not_found", "This task has no commits that are not imported yet.");
        const git = await openGit(workspace, of.signal);
        const upper = linkedUpper(folder, workspace) ?? join(layerOf(folder, rest).upper, ".git");
        const result = await importCommits(rest.repository.work, {
          git,
          upper,
          allowRewrite: false,
          expectFiles,
          record,
          signal: of.signal,
        });
        await dropRepository(folder, rest);
        tasks.save(of.questId, { ...rest, repository: null });
        return result;
      }),

    async recover() {
      const { signal } = new AbortController();
      const recovered: RecoveredFiles[] = [];
      for (const questId of deps.interrupted())
        for (const { outcome, conflicts } of await hold({ questId, signal }, recoverGenerated))
          recovered.push({ questId, outcome, conflicts });
      for (const questId of tasks.quests()) {
        const rest = tasks.get(questId);
        const { generated, repository } = rest;
        if (repository !== null) await complete(questId, repository.work);
        const isApplied = tasks
          .applied(questId)
          .some(({ at, journal }) => generated !== null && at >= generated.at && generatedState(journal) === "applied");
        // The host died after the files were in the workspace and before it recorded that.
        if (isApplied) tasks.save(questId, { ...rest, generated: null });
      }
      return recovered;
    },
  };
}
