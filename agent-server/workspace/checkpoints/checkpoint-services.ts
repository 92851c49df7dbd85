import type { Governance } from "../../governance/governance.ts";
import type { Ledger } from "../../receipts/receipts.ts";
import type { Log } from "../../security/security.ts";
import type { Storage } from "../../storage/storage.ts";
import { type Checkpoints, createCheckpoints } from "./checkpoints.ts";
import { type Collector, createCollector } from "./checkpoint-collector.ts";
import { createObjectStore, type ObjectStore } from "./object-store.ts";
import { createPacks } from "./object-packs.ts";
import { isFull } from "../effects/content-capture.ts";
import { type CheckpointSettings, createCheckpointSettings } from "./checkpoint-settings.ts";
import { createEffects } from "../effects/effect-watcher.ts";
import type { Effects } from "../effects/effects.ts";

/** Undo services of a workspace: contents, checkpoints, detection of command changes, and their limits. */
export interface CheckpointServices {
  readonly objects: ObjectStore;
  readonly checkpoints: Checkpoints;
  /** Null without a workspace. */
  readonly effects: Effects | null;
  readonly collector: Collector;
  /** Limits of storage, and which files count as generated. */
  readonly settings: () => CheckpointSettings;
  /** Why the owner's config/checkpoints.yaml is not used; null when it is, or there is none. */
  readonly configProblem: () => string | null;
}

export interface CheckpointServicesDeps {
  readonly storage: Storage;
  readonly ledger: Ledger;
  readonly governance: Pick<Governance, "resolvePath" | "judgeName">;
  /** Absolute, links resolved; null without a workspace. */
  readonly workspace: string | null;
  /** Folder of the shipped configuration. */
  readonly configDir: string | null;
  /** True while a quest may continue: its checkpoints are not removed to free space. */
  readonly isQuestOpen: (questId: string) => boolean;
  readonly now: () => Date;
  readonly log: Log;
}

export function createCheckpointServices(deps: CheckpointServicesDeps): CheckpointServices {
  const { storage, ledger, governance, workspace, now, log } = deps;
  const settingsFile = createCheckpointSettings({
    configDir: deps.configDir,
    dataDir: storage.dataDir,
    onProblem: (message) => log(message),
  });
  const settings = () => settingsFile.read().value;
  const configProblem = () => settingsFile.read().problem;
  const packs = createPacks({ storage, now: () => now().getTime() });
  const objects = createObjectStore(storage.dataDir, packs);
  const collector = createCollector({ storage, ledger, packs, settings, configProblem, isQuestOpen: deps.isQuestOpen, now, log });
  const kept = createCheckpoints({ storage, objects, workspace: workspace ?? "", now });
  const checkpoints: Checkpoints = {
    ...kept,
    /** On a full disk, collects garbage and retries once. */
    async take(of) {
      try {
        return await kept.take(of);
      } catch (error) {
        if (!isFull(error)) throw error;
        await collector.collect({ space: true });
        return kept.take(of);
      }
    },
    finish(id) {
      kept.finish(id);
      collector.soon();
    },
  };
  const effects =
    workspace === null
      ? null
      : createEffects({
          storage,
          objects,
          checkpoints,
          governance,
          ledger,
          workspace,
          settings,
          collect: async () => void (await collector.collect({ space: true })),
          now,
          log,
        });
  return { objects, checkpoints, effects, collector, settings, configProblem };
}
