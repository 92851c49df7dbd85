import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Quest } from "../../../agent-server/contract/chat.ts";
import type { Emit, HostEvent } from "../../../agent-server/contract/events.ts";
import { createGovernance, governanceMigrations } from "../../../agent-server/governance/governance.ts";
import type { Models } from "../../../agent-server/models/models.ts";
import { plansMigrations } from "../../../agent-server/plans/plans.ts";
import { runLoop } from "../../../agent-server/turn/turn.ts";
import { createQuests, questsMigrations } from "../../../agent-server/quests/quests.ts";
import { createLedger, receiptsMigrations } from "../../../agent-server/receipts/receipts.ts";
import { createPlaceholders, createRedactor, createSanitizer } from "../../../agent-server/security/security.ts";
import type { Storage } from "../../../agent-server/storage/storage.ts";
import { openMigratedStorage } from "../migrated-storage.ts";
import type { ComposedTools } from "../compose-tools.ts";
import type { Tools } from "../../../agent-server/tools/tools.ts";

export const configDir = join(import.meta.dirname, "../../../config");

// Shared, because loading its rules is slow and they never change.
const sanitizer = createSanitizer(configDir);

/** The tools, with the change review and verifications that a host passes to quests. */
export type HostTools = Tools & Pick<ComposedTools, "changes" | "verifications">;

/** Creates a data folder and a workspace; `remove` deletes both. */
export function makeFolders(within = tmpdir()): { root: string; dataDir: string; workspace: string; remove(): void } {
  const root = realpathSync(mkdtempSync(join(within, "lancelot-quests-")));
  const folders = { root, dataDir: join(root, "data"), workspace: join(root, "project") };
  mkdirSync(folders.dataDir);
  mkdirSync(folders.workspace);
  return { ...folders, remove: () => rmSync(root, { recursive: true, force: true, maxRetries: 3 }) };
}

type QuestsDeps = Parameters<typeof createQuests>[0];

/** Opens quests on a real database, ledger and governance, with the models and tools of the test. */
export function openHost(
  folders: { dataDir: string; workspace: string },
  models: Models,
  tools: HostTools,
  more: Partial<QuestsDeps> | ((of: { storage: Storage; emit: Emit }) => Partial<QuestsDeps>) = {},
) {
  const storage = openMigratedStorage({
    dataDir: folders.dataDir,
    migrations: [...receiptsMigrations, ...governanceMigrations, ...questsMigrations, ...plansMigrations],
  });
  const redactor = createRedactor();
  const ledger = createLedger({ storage, redactor });
  const events: HostEvent[] = [];
  const watchers = new Set<() => void>();
  const emit: Emit = (topic, payload) => {
    events.push({ seq: events.length, topic, payload: structuredClone(payload) } as HostEvent);
    if (topic !== "delta") for (const watch of watchers) watch();
  };
  const governance = createGovernance({
    storage,
    ledger,
    redactor,
    workspace: folders.workspace,
    dataDir: folders.dataDir,
    configDir,
    trusted: true,
    posture: "supervised",
    approvalTimeoutSeconds: 60,
    editsOf: () => null,
    hasTaskCopy: () => false,
    emit,
  });
  const orchestrator = createQuests({
    runLoop,
    storage,
    models,
    tools,
    changes: tools.changes,
    verifications: tools.verifications,
    settlement: null,
    governance,
    ledger,
    redactor,
    placeholders: createPlaceholders({ dataDir: folders.dataDir }),
    sanitizer,
    emit,
    workspace: folders.workspace,
    ...(typeof more === "function" ? more({ storage, emit }) : more),
  });

  /** Resolves when `condition` holds. Checks it after every event except deltas. */
  function when(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const watch = (): void => {
        if (!condition()) return;
        watchers.delete(watch);
        resolve();
      };
      watchers.add(watch);
      watch();
    });
  }

  const reaches = async (questId: string, ...statuses: Quest["status"][]): Promise<Quest> => {
    await when(() => statuses.includes(orchestrator.get(questId).quest.status));
    return orchestrator.get(questId).quest;
  };

  return {
    storage,
    ledger,
    governance,
    orchestrator,
    events,
    when,
    /** The quest, once it has this status. */
    reaches,
    async close(): Promise<void> {
      await orchestrator.close();
      storage.close();
    },
  };
}
