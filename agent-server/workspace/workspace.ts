import { realpathSync } from "node:fs";
import type { AskEditor } from "../contract/editor.ts";
import type { Governance } from "../governance/governance.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Log, Placeholders } from "../security/security.ts";
import type { Storage } from "../storage/storage.ts";
import { type ChangeStore, createChangeStore } from "./changes/change-store.ts";
import { type CheckpointServices, createCheckpointServices } from "./checkpoints/checkpoint-services.ts";
import { createRepositoryMoves, type RepositoryMoves } from "./git/repository-moves.ts";
import { createPathLocks, type PathLocks } from "./path-locks.ts";
import { createWorkspaceFiles, type WorkspaceFiles } from "./workspace-files.ts";

export { workspaceMigrations } from "./migrations.ts";

/** The files of one workspace with what reviews and undoes their changes. */
export interface Workspace extends CheckpointServices {
  /** Absolute, links resolved; null while no folder is open. */
  readonly root: string | null;
  /** The workspace's name in database rows: the root, or "" while no folder is open. */
  readonly key: string;
  readonly files: WorkspaceFiles;
  readonly locks: PathLocks;
  readonly moves: RepositoryMoves;
  readonly changeStore: ChangeStore;
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
  /** True while a quest may continue: what undoes it is kept. */
  readonly isQuestOpen: (questId: string) => boolean;
  readonly now: () => Date;
  readonly log: Log;
}

export function createWorkspace(deps: WorkspaceDeps): Workspace {
  const { storage, now } = deps;
  const root = deps.workspace === null ? null : realpathSync(deps.workspace);
  const key = root ?? "";
  return {
    ...{ root, key },
    ...createCheckpointServices({ ...deps, workspace: root }),
    files: createWorkspaceFiles(deps.askEditor),
    locks: createPathLocks(),
    moves: createRepositoryMoves({ storage, workspace: key, now }),
    changeStore: createChangeStore(storage, key, deps.placeholders),
  };
}
