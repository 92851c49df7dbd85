import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { unlink } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { LancelotError } from "../../contract/errors.ts";
import type { Governance } from "../../governance/governance.ts";
import type { Ledger } from "../../receipts/receipts.ts";
import type { Log } from "../../security/security.ts";
import type { Storage } from "../../storage/storage.ts";
import type { Checkpoints } from "../checkpoints/checkpoints.ts";
import { createCommandCheckpointStore, type OpenCommand } from "../checkpoints/command-checkpoints.ts";
import type { ObjectStore } from "../checkpoints/object-store.ts";
import { isRestorable } from "../checkpoints/restore-plan.ts";
import { diskPath } from "../byte-path.ts";
import { sameIndex } from "../checkpoints/repository-state.ts";
import { type Effects, type CommandChanges, commandChangesOutputs, type WatchOptions } from "./effects.ts";
import { compare } from "./tree-compare.ts";
import { isFull, captureContents } from "./content-capture.ts";
import { isAddedObject, lossReason, revertProtectedChanges, repositoriesOf, split, toCommandFile } from "./entry-changes.ts";
import { protection } from "./protected-files.ts";
import { type ReportedChange, report } from "./effect-report.ts";
import type { CheckpointSettings } from "../checkpoints/checkpoint-settings.ts";
import { loadTree, saveTree } from "./tree-file.ts";
import { type Folder, folderAt, setFlags } from "./file-tree.ts";
import { createTurns } from "./write-turns.ts";
import { walk, type Walked } from "./tree-walk.ts";

export interface EffectsDeps {
  readonly storage: Storage;
  /** Must have packs. */
  readonly objects: ObjectStore;
  readonly checkpoints: Checkpoints;
  readonly governance: Pick<Governance, "resolvePath" | "judgeName">;
  readonly ledger: Ledger;
  /** Absolute, links resolved. */
  readonly workspace: string;
  readonly settings: () => CheckpointSettings;
  /** Frees space in the store; called when the disk is full. */
  readonly collect: () => Promise<void>;
  readonly now: () => Date;
  readonly log: Log;
}

/** Time (ms) a command waits for an earlier one that may still run. */
const settleWithin = 5_000;
/** Interval (ms) at which a window checks whether another window's command has ended. */
const otherWindowPoll = 250;

export function createEffects(deps: EffectsDeps): Effects {
  const { storage, objects, checkpoints, governance, ledger, workspace, log } = deps;
  const commands = createCommandCheckpointStore({ storage, workspace, now: deps.now });
  const turns = createTurns();
  const active = new Set<string>();
  /** Commands of this window that may still run although their actions are over. */
  const unsettled = new Map<string, Promise<void>>();
  const folder = join(storage.dataDir, "effects", createHash("sha256").update(workspace).digest("hex").slice(0, 16));
  const indexFile = join(folder, "index.tree");
  const manifestOf = (id: string) => join(folder, `${id}.tree`);
  let recovering: Promise<number> | null = null;

  /** Opens a checkpoint once no other window runs a command in this workspace. */
  async function open({ questId, receiptId, signal, onProgress }: WatchOptions): Promise<string> {
    for (let told = false; ; ) {
      const id = commands.open({ questId, receiptId });
      if (id !== null) return id;
      if (!told) onProgress?.("Waiting for a command in another window to finish");
      told = true;
      try {
        await wait(otherWindowPoll, undefined, { signal });
      } catch (error) {
        throw new LancelotError("cancelled", "Stopped while waiting for a command in another window. Nothing was run.", {
          cause: error,
        });
      }
      await recover();
    }
  }

  async function scanBefore(id: string, of: WatchOptions): Promise<Walked> {
    const { signal, onProgress } = of;
    onProgress?.("Scanning the workspace so that changes can be undone");
    const index = await loadTree(indexFile);
    const walked = await walk(workspace, index, { signal, skip: storage.dataDir });
    const limits = { workspace, objects, settings: deps.settings() };
    await captureContents(walked, limits, { signal, hashAll: false, store: true, onProgress }).finally(walked.release);
    await saveTree(manifestOf(id), walked.root);
    // If another window collected the index meanwhile, the contents it refers to may be deleted. From here on the manifest protects them.
    if (index !== null && !existsSync(indexFile)) return scanBefore(id, of);
    return walked;
  }

  async function withSpace<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!isFull(error)) throw error;
    }
    await deps.collect();
    try {
      return await work();
    } catch (error) {
      if (!isFull(error)) throw error;
      throw new LancelotError(
        "unavailable",
        "The disk that holds Lancelot's data folder is full, so the changes of a command could not be undone. Nothing was run. Free some space, or lower max_workspace_bytes in config/checkpoints.yaml, and try again.",
        { cause: error },
      );
    }
  }

  /** Scans after the command: computes hashes of new contents and stores their bytes as far as space permits. */
  async function scanAfter(before: Folder): Promise<Walked> {
    const walked = await walk(workspace, before, { skip: storage.dataDir, settled: true });
    const options = { workspace, objects, settings: deps.settings() };
    try {
      await captureContents(walked, options, { hashAll: true, store: true }).finally(walked.release);
    } catch (error) {
      if (!isFull(error)) throw error;
      log("the disk is full: only hashes of the changed files are stored", error);
      const again = await walk(workspace, before, { skip: storage.dataDir, settled: true });
      await captureContents(again, options, { hashAll: true, store: false }).finally(again.release);
      return again;
    }
    return walked;
  }

  async function complete(
    of: OpenCommand,
    before: Folder,
    closed: readonly string[],
    approved: readonly string[],
  ): Promise<CommandChanges> {
    const after = await scanAfter(before);
    const repositories = repositoriesOf(before);
    const generated = new Set(deps.settings().generated_folders);
    const unknown = new Set([...closed, ...after.closed]);
    const all = compare(before, after.root, unknown);
    const ownChanges = split(await withoutIndexRefreshes(all), commands.others(of.id), workspace);
    const isProtected = protection({
      workspace,
      judgeName: governance.judgeName,
      generated,
      approved: new Set(approved),
      after: after.root,
      repositories,
      read: (path) => readText(join(workspace, path)),
    });
    const revertResult = await revertProtectedChanges(
      ownChanges.flatMap(({ change, shared }) => (!shared && isProtected(change) ? [change] : [])),
      { workspace, receiptId: of.receiptId, checkpoints, objects },
    );
    forget(after.root, revertResult.done);
    const found = ownChanges
      .filter(({ change }) => !isAddedObject(change, before))
      .map(
        ({ change, shared }): ReportedChange => ({
          change,
          reverted: revertResult.done.has(change),
          lost: lossReason(change, shared, unknown),
        }),
      );
    const kept = found.filter(({ change, reverted }) => !reverted || change.before?.kind === "folder");
    if (kept.length === 0) commands.discard(of.id);
    else
      commands.fill(
        of.id,
        kept.map((one) => toCommandFile(workspace, one)),
      );
    await saveTree(indexFile, after.root).catch((error: unknown) => log("the index of the workspace could not be saved", error));
    await unlink(manifestOf(of.id)).catch(() => undefined);
    const told = report(found, { checkpointId: kept.length === 0 ? null : of.id, generated, restorable });
    return { ...told, putBackCheckpointId: revertResult.checkpointId };
  }

  /** Ignores index files that git only refreshed. */
  async function withoutIndexRefreshes(changes: ReturnType<typeof compare>): Promise<ReturnType<typeof compare>> {
    const refreshed = new Set<string>();
    for (const { path, before, after } of changes) {
      if (!/(?:^|\/)\.git\/index$/.test(path) || before === null || after === null || !before.kept || !after.kept) continue;
      if (before.hash === null || after.hash === null || before.mode !== after.mode) continue;
      const [was, is] = [await objects.get(before.hash), await objects.get(after.hash)];
      if (await sameIndex(join(workspace, path, "../.."), was, is)) refreshed.add(path);
    }
    return refreshed.size === 0 ? changes : changes.filter(({ path }) => !refreshed.has(path));
  }

  /** True unless the path gate refuses the location. Entries that block the path are restored with it. */
  function restorable(path: string): boolean {
    return isRestorable(governance.resolvePath(join(workspace, path)));
  }

  /** Completes the observation of a command whose action is over, with a receipt of its own. */
  async function completeLate(of: OpenCommand, before: Folder, closed: readonly string[], approved: readonly string[]): Promise<void> {
    const receiptId = ledger.open({
      actionType: "system",
      actionName: "effects.recover",
      inputs: { checkpointId: of.id },
      riskTier: "T1",
      parentId: of.receiptId,
      questId: of.questId,
    });
    try {
      const watched = await complete(of, before, closed, approved);
      const { checkpointId } = watched;
      const outputs = { ...(checkpointId === null ? {} : { checkpointId }), ...commandChangesOutputs(watched) };
      ledger.close(receiptId, { status: "success", outputs });
    } catch (error) {
      const errorMessage = "The changes of an interrupted command could not be determined. Lancelot retries later.";
      ledger.close(receiptId, { status: "failure", errorMessage });
      throw error;
    }
  }

  /** Waits a moment for commands that may still run. @throws LancelotError `unavailable` when they do. */
  async function untilSettled(signal: AbortSignal, onProgress: WatchOptions["onProgress"]): Promise<void> {
    if (unsettled.size === 0) return;
    onProgress?.("Waiting for an earlier command to end, whose container engine stopped responding");
    await Promise.race([Promise.all(unsettled.values()), wait(settleWithin, undefined, { signal, ref: false })]).catch(() => undefined);
    if (signal.aborted) throw new LancelotError("cancelled", "Stopped while waiting for an earlier command to end. Nothing was run.");
    if (unsettled.size > 0)
      throw new LancelotError(
        "unavailable",
        "An earlier command may still be running, because its container engine stopped responding. Nothing was run, so that its changes are not mistaken for those of this command. Start the container engine again, then run the command again.",
      );
  }

  async function recoverNow(): Promise<number> {
    let count = 0;
    for (const open of commands.adopt(active)) {
      const before = await loadTree(manifestOf(open.id));
      if (before === null) {
        const never = !existsSync(manifestOf(open.id));
        commands.discard(open.id);
        // A command starts only after its manifest is on the disk, so a manifest that exists but cannot be read was damaged since.
        if (!never) await unlink(manifestOf(open.id));
        if (!never) log("a command's manifest is damaged, so its changes are unknown");
        continue;
      }
      await completeLate(open, before, [], []);
      count += 1;
    }
    return count;
  }

  function recover(): Promise<number> {
    // Starts immediately when no recovery is running, so that a host that closes again leaves no recovery half done.
    const ownChanges = recovering === null ? recoverNow() : recovering.then(recoverNow, recoverNow);
    recovering = ownChanges;
    const over = (): void => {
      if (recovering === ownChanges) recovering = null;
    };
    ownChanges.then(over, over);
    return ownChanges;
  }

  return {
    share: (signal, work) => turns.share(signal, work),

    recover,

    async begin(of) {
      await recover();
      const release = await turns.alone(of.signal);
      let id: string | null = null;
      try {
        await untilSettled(of.signal, of.onProgress);
        const opened = await open(of);
        id = opened;
        active.add(opened);
        const before = await withSpace(() => scanBefore(opened, of));
        let watched: Promise<CommandChanges> | null = null;
        const { questId, receiptId, approved = [] } = of;
        const command = { id: opened, questId, receiptId };
        return {
          checkpointId: opened,
          finish: () => {
            watched ??= complete(command, before.root, before.closed, approved).finally(() => {
              active.delete(opened);
              release();
            });
            return watched;
          },
          finishLater(ended) {
            // Tools that declare their writes continue: their changes are told apart.
            const over = ended
              .then(() => completeLate(command, before.root, before.closed, approved))
              .catch((error: unknown) => log("the changes of a command that was lost could not be determined", error))
              .finally(() => {
                active.delete(opened);
                unsettled.delete(opened);
              });
            unsettled.set(opened, over);
            release();
          },
        };
      } catch (error) {
        if (id !== null) {
          active.delete(id);
          commands.discard(id);
          await unlink(manifestOf(id)).catch(() => undefined);
        }
        release();
        throw error;
      }
    },
  };
}

/** Resets the entries of reverted files, so that the next scan reads them again. */
function forget(root: Folder, changes: Iterable<{ readonly path: string }>): void {
  for (const { path } of changes) {
    const parts = path.split("/");
    const name = parts.pop() ?? "";
    const inner = folderAt(root, parts.join("/"));
    const at = inner?.names.indexOf(name) ?? -1;
    if (inner !== null && at !== -1) setFlags({ folder: inner, at }, 0);
  }
}

function readText(path: string): string | null {
  try {
    return readFileSync(diskPath(path), "utf8");
  } catch {
    return null;
  }
}
