import { createLedger, type Ledger, receiptsMigrations } from "../../../agent-server/receipts/receipts.ts";
import { createRedactor } from "../../../agent-server/security/security.ts";
import type { Storage } from "../../../agent-server/storage/storage.ts";
import { createTaskFolders, type TaskFolders, workspaceMigrations } from "../../../agent-server/workspace/workspace.ts";
import { openMigratedStorage } from "../migrated-storage.ts";

export interface FoldersHost {
  readonly folders: TaskFolders;
  readonly ledger: Ledger;
  readonly storage: Storage;
  readonly messages: readonly string[];
}

/** A host of a data folder, as far as the folders of tasks need one. */
export function openFoldersHost(
  dataDir: string,
  workspace: string,
  settings: { max_task_bytes: number; keep_task_days: number },
): FoldersHost {
  const storage = openMigratedStorage({ dataDir, migrations: [...receiptsMigrations, ...workspaceMigrations] });
  const ledger = createLedger({ storage, redactor: createRedactor() });
  const messages: string[] = [];
  const folders = createTaskFolders({ storage, ledger, workspace, settings: () => settings, log: (message) => messages.push(message) });
  return { folders, ledger, storage, messages };
}
