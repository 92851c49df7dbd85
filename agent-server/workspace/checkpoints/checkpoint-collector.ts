import { createHash } from "node:crypto";
import { readdirSync, renameSync, statSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import type { Ledger } from "../../receipts/receipts.ts";
import type { Log } from "../../security/security.ts";
import { createClock, type Storage } from "../../storage/storage.ts";
import type { Packs } from "./object-packs.ts";
import type { CheckpointSettings } from "./checkpoint-settings.ts";
import { loadTree } from "../effects/tree-file.ts";
import { entriesOf, flag, flagsOf, hashOf } from "../effects/file-tree.ts";

/** Objects used within this time (ms) are not removed: another window may be about to record a reference to them. */
const graceMs = 60 * 60_000;
/** Delay (ms) before a background run, so that it does not slow down startup. */
const quietMs = 20_000;
const dayMs = 24 * 60 * 60_000;
/** File name of a workspace's tree as of its last command. */
const index = "index.tree";
/** Hashes deleted per transaction. */
const batch = 500;

export interface Collected {
  readonly checkpoints: number;
  readonly objects: number;
  /** Bytes freed. */
  readonly bytes: number;
}

/** Keeps the store of before-images within its limits (T11). */
export interface Collector {
  /**
   * Removes expired checkpoints of ended quests, the oldest checkpoints while the store exceeds its limit, and then unreferenced objects.
   * With
   * `space`, the store counts as too large unless it shrinks by a tenth. Writes a receipt when it removed anything.
   */
  collect(of?: { space?: boolean }): Promise<Collected>;
  /** Runs `collect` in the background when the last run was long enough ago. */
  soon(): void;
}

interface Removable {
  id: string;
  quest_id: string | null;
  created_at: string;
  host_id: string;
}

export function createCollector(deps: {
  storage: Storage;
  ledger: Ledger;
  packs: Packs;
  settings: () => CheckpointSettings;
  /** Why the owner's limits are unknown; then nothing is removed. */
  configProblem: () => string | null;
  /** True while a quest may continue, so that none of its checkpoints are removed. False for deleted quests. */
  isQuestOpen: (questId: string) => boolean;
  now: () => Date;
  log: Log;
  graceMs?: number;
}): Collector {
  const { storage, ledger, packs, log } = deps;
  const { db } = storage;
  const grace = deps.graceMs ?? graceMs;
  const objects = join(storage.dataDir, "objects");
  const finished = db.prepare<[], Removable>(
    `SELECT c.id, c.quest_id, c.created_at, c.host_id FROM checkpoints c
     WHERE c.finished = 1 AND c.dropped_at IS NULL
       AND NOT EXISTS (SELECT 1 FROM verifications v WHERE v.checkpoint_id = c.id AND v.status = 'waiting')
       AND NOT EXISTS (SELECT 1 FROM changes g WHERE g.workspace = c.workspace AND g.quest_id = c.quest_id AND g.status = 'pending')
     ORDER BY c.seq`,
  );
  const drop = db.prepare("UPDATE checkpoints SET dropped_at = ? WHERE id = ? AND dropped_at IS NULL");
  const dropFiles = db.prepare("DELETE FROM checkpoint_files WHERE checkpoint_id = ?");
  const needed = db.prepare<[], { hash: string }>(
    `SELECT before_hash AS hash FROM checkpoint_files WHERE before_hash IS NOT NULL
     UNION SELECT planned_hash FROM checkpoint_files WHERE planned_hash IS NOT NULL
     UNION SELECT after_hash FROM checkpoint_files WHERE after_hash IS NOT NULL
     UNION SELECT images ->> '$.before.hash' FROM changes WHERE status = 'pending' AND images ->> '$.before.hash' IS NOT NULL
     UNION SELECT images ->> '$.after.hash' FROM changes WHERE status = 'pending' AND images ->> '$.after.hash' IS NOT NULL`,
  );
  const openCommand = db.prepare("SELECT 1 FROM checkpoints WHERE id || '.tree' = ? AND finished = 0");
  const clock = createClock({ storage, now: () => deps.now().getTime() });
  let running: Promise<Collected> | null = null;
  let last = 0;
  let waiting = false;

  /** Every content hash that is referenced. */
  async function references(): Promise<Set<string>> {
    const found = new Set(needed.all().map(({ hash }) => hash));
    for (const { path } of treesOf(storage.dataDir)) {
      const tree = await loadTree(path);
      if (tree === null) continue;
      for (const entry of entriesOf(tree)) if ((flagsOf(entry) & flag.kept) !== 0) found.add(hashOf(entry));
    }
    return found;
  }

  /** Removes manifests of hosts that died right after they recorded their command. */
  function removeAbandonedManifests(): void {
    for (const { path, name } of treesOf(storage.dataDir)) if (name !== index && openCommand.get(name) === undefined) unlink(path);
  }

  /** Removes the saved trees of workspaces without recent commands; the next command there scans the whole workspace. */
  function forgetWorkspaces(before: number): number {
    let count = 0;
    for (const { path, name, mtimeMs } of treesOf(storage.dataDir)) if (name === index && mtimeMs < before && unlink(path)) count += 1;
    return count;
  }

  /** Removes up to `most` removable checkpoints that `wants` selects, oldest first. */
  function dropSome(wants: (one: Removable) => boolean, most: number): number {
    let count = 0;
    const open = new Map<string, boolean>();
    for (const one of finished.all()) {
      if (count >= most) break;
      if (!wants(one)) continue;
      const { quest_id: questId } = one;
      if (questId !== null) {
        if (!open.has(questId)) open.set(questId, deps.isQuestOpen(questId));
        if (open.get(questId) === true) continue;
      }
      storage.transaction(() => {
        if (drop.run(deps.now().toISOString(), one.id).changes !== 1) return;
        dropFiles.run(one.id);
        count += 1;
      });
    }
    return count;
  }

  async function removeUnreferenced(): Promise<number> {
    const referenced = await references();
    const before = deps.now().getTime() - grace;
    let count = 0;
    const idle = packs.idle(before).filter((hash) => !referenced.has(hash));
    for (let at = 0; at < idle.length; at += batch) count += storage.transaction(() => packs.forget(idle.slice(at, at + batch), before));
    for (const { path, hash } of listLooseObjects(objects)) {
      if (hash !== null && referenced.has(hash)) continue;
      if (removeIdle(path, before)) count += 1;
    }
    await packs.compact();
    return count;
  }

  function size(): number {
    let bytes = packs.list().reduce((sum, pack) => sum + pack.bytes, 0);
    for (const { path } of listLooseObjects(objects)) bytes += statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    return bytes;
  }

  async function run(space: boolean): Promise<Collected> {
    last = deps.now().getTime();
    if (deps.configProblem() !== null) return { checkpoints: 0, objects: 0, bytes: 0 };
    const { max_total_bytes: most, keep_days: days } = deps.settings();
    const at = size();
    const limit = space ? Math.min(most, at * 0.9) : most;
    const oldest = new Date(deps.now().getTime() - days * dayMs).toISOString();
    removeAbandonedManifests();
    let checkpoints = 0;
    if (clock.mayRemove(days)) {
      forgetWorkspaces(deps.now().getTime() - days * dayMs);
      checkpoints = dropSome(({ created_at: created }) => created < oldest, Number.POSITIVE_INFINITY);
    }
    let removed = await removeUnreferenced();
    // Removes a tenth of the removable checkpoints at a time, oldest first, until the store fits. Objects within the grace period would not
    // free any space yet.
    const settled = new Date(deps.now().getTime() - grace).toISOString();
    const old = ({ created_at: created }: Removable): boolean => created < settled;
    const tenth = Math.max(1, Math.ceil(finished.all().filter(old).length / 10));
    for (let dropped = 1; dropped > 0 && size() > limit; ) {
      dropped = dropSome(old, tenth);
      checkpoints += dropped;
      if (dropped > 0) removed += await removeUnreferenced();
    }
    if (size() > limit && forgetWorkspaces(deps.now().getTime() - grace) > 0) removed += await removeUnreferenced();
    const collected = { checkpoints, objects: removed, bytes: Math.max(0, at - size()) };
    if (checkpoints > 0 || removed > 0) {
      ledger.record(
        {
          actionType: "system",
          actionName: "checkpoints.collect",
          inputs: { limitBytes: most, keepDays: days, reason: space ? "the disk is full" : "limits of config/checkpoints.yaml" },
          riskTier: "T0",
          parentId: null,
          questId: null,
        },
        { status: "success", outputs: { ...collected, storeBytes: at - collected.bytes } },
      );
    }
    return collected;
  }

  return {
    async collect({ space = false } = {}) {
      // Two concurrent runs would slow each other down. The second one waits for the first.
      await running?.catch(() => undefined);
      running = run(space);
      try {
        return await running;
      } finally {
        running = null;
      }
    },
    soon() {
      if (waiting || running !== null || Math.abs(deps.now().getTime() - last) < grace) return;
      waiting = true;
      setTimeout(() => {
        waiting = false;
        if (!db.open) return;
        this.collect().catch((error: unknown) => log("old checkpoints could not be removed; retrying later", error));
      }, quietMs).unref();
    },
  };
}

/** Saved trees of every workspace. The next scan, and undoing running commands, need the objects they reference. */
function treesOf(dataDir: string): { path: string; name: string; mtimeMs: number }[] {
  const root = join(dataDir, "effects");
  return readdirs(root).flatMap((folder) =>
    readdirs(join(root, folder)).flatMap((name) => {
      const path = join(root, folder, name);
      const stats = name.endsWith(".tree") ? statSync(path, { throwIfNoEntry: false }) : undefined;
      return stats === undefined ? [] : [{ path, name, mtimeMs: stats.mtimeMs }];
    }),
  );
}

function unlink(path: string): boolean {
  try {
    unlinkSync(path);
    return true;
  } catch {
    // Another window removed it first.
    return false;
  }
}

/** Objects stored as single files, with their hash; temporary files of interrupted writes have none. */
function listLooseObjects(objects: string): { path: string; hash: string | null }[] {
  return readdirs(objects).flatMap((folder) => {
    if (folder === "packs") return [];
    if (!/^[0-9a-f]{2}$/.test(folder)) return folder.endsWith(".tmp") ? [{ path: join(objects, folder), hash: null }] : [];
    return readdirs(join(objects, folder)).map((name) => {
      const rest = /^([0-9a-f]{62})(?:\.gz)?$/.exec(name)?.[1];
      return { path: join(objects, folder, name), hash: rest === undefined ? null : folder + rest };
    });
  });
}

/**
 * Renames before it checks the age: a concurrent reader either finds the file missing and writes it again, or its access time keeps the
 * file.
 */
function removeIdle(path: string, before: number): boolean {
  try {
    if (statSync(path).mtimeMs >= before) return false;
    const dead = `${path}.${createHash("sha256").update(path).digest("hex").slice(0, 8)}.dead`;
    renameSync(path, dead);
    if (statSync(dead).mtimeMs >= before) {
      renameSync(dead, path);
      return false;
    }
    unlinkSync(dead);
    return true;
  } catch {
    // Another window removed it first.
    return false;
  }
}

function readdirs(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
