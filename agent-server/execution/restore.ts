import { basename, dirname } from "node:path";
import type { RestoreOf, RestoreResult } from "../contract/changes.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Governance } from "../governance/governance.ts";
import type { Ledger } from "../receipts/receipts.ts";
import {
  type CheckpointFile,
  type Checkpoints,
  decodeText,
  describeReversals,
  type FileOutcome,
  fileOutcomesOf,
  fileProvider,
  imageOf,
  inOrder,
  inWaves,
  type ObjectStore,
  type PathLocks,
  type Plan,
  planReversals,
  putEntry,
  resolveTarget,
  type Reversal,
  sameImage,
  settleRepositories,
  type WorkspaceFiles,
} from "../workspace/workspace.ts";
import { brief } from "./decisions.ts";
import type { IntentSpec } from "./action.ts";
import type { ExecutionPipeline } from "./pipeline.ts";
import type { Verifications } from "./verifications.ts";

/** How long (ms) an undo waits for verifications that are under way. */
const drainTimeout = 5_000;
/** Above this many files an editor is not asked to write each: what it shows of them follows the disk by itself. */
const maxThroughEditor = 50;
/** Folders that are written side by side then: most of the time goes into waiting for the disk. */
const width = 12;
const ownerWrite = 0o200;
/** Files that are named in the question and on the receipt. */
const maxNamed = 200;
/** What puts files back is no action of the agent. */
const restores: ReadonlySet<string> = new Set(["checkpoint_restore", "verification_restore"]);

/** Undoing: files go back to how they were before a checkpoint or a quest, keeping what the owner did to them since. */
export interface Restore {
  diff(of: RestoreOf): Promise<{ path: string; diff: string }[]>;
  /** The owner's: by the full pipeline, with a checkpoint of its own. @throws LancelotError `not_found`, `denied`. */
  restore(of: RestoreOf): Promise<RestoreResult>;
  /** The same for an action that failed its verification; nothing is waited for. `held`: the caller holds the files' locks. */
  rollBack(checkpointId: string, of: { questId: string | null; parentId: string; held: boolean }): Promise<RestoreResult>;
  /** Completes restores of hosts that died; resolves with how many. Call it at the start. */
  resume(): Promise<number>;
}

interface Occasion {
  readonly actionName: string;
  readonly questId: string | null;
  readonly parentId: string | null;
  readonly isRollback: boolean;
}

export function createRestore(deps: {
  checkpoints: Checkpoints;
  objects: ObjectStore;
  files: WorkspaceFiles;
  governance: Governance;
  pipeline: ExecutionPipeline;
  locks: PathLocks;
  ledger: Ledger;
  verifications: Pick<Verifications, "drain">;
  /** What has to be known before anything is undone: what hosts that died left under way. */
  ready?: () => Promise<unknown>;
}): Restore {
  const { checkpoints, objects, files, governance, pipeline, locks, ledger } = deps;

  /** @throws LancelotError `not_found` for what is not there any more. */
  function touchesOf(of: RestoreOf): CheckpointFile[] {
    const dropped = checkpoints.dropped(of);
    if (dropped !== null && "id" in of) throw new LancelotError("not_found", droppedWords(dropped.at));
    const all = checkpoints.files(of);
    if (!("paths" in of) || of.paths === undefined) return all;
    const paths = of.paths.map((path) => path.replace(/\/$/, ""));
    return all.filter(({ path }) => {
      const name = path.display.replace(/\/$/, "");
      return paths.some((asked) => name === asked || name.startsWith(`${asked}/`));
    });
  }

  async function plan(of: RestoreOf): Promise<Plan> {
    await deps.ready?.();
    const planned = await settleRepositories(await planReversals(touchesOf(of), { objects, files, governance }), objects);
    const dropped = "questId" in of ? checkpoints.dropped(of) : null;
    if (dropped !== null) planned.conflicts.unshift({ path: "(earlier steps)", message: droppedWords(dropped.at), touches: [] });
    return planned;
  }

  async function write({ file, current, target, unsaved }: Reversal, throughEditor: boolean) {
    const bytes = target === null || target.kind !== undefined ? null : await objects.get(target.hash);
    const plain = (current === null || current.kind === undefined) && (target === null || target.kind === undefined);
    const sameMode = current === null || target === null || current.mode === target.mode;
    // A text goes through the editor, so that its undo works there too; modes and other bytes only the disk can keep.
    const writable = current !== null && (current.mode & ownerWrite) !== 0;
    if (plain && sameMode && current !== null && writable && (throughEditor || unsaved !== null)) {
      const disk = await files.current(file).catch(() => null);
      const text = bytes === null ? null : decodeText(bytes);
      if (disk !== null && disk.diskHash === current.hash && (target === null || text?.encoding.name === "utf8")) {
        const written = await files.write(file, disk, text?.text ?? null);
        if (!written.saved || written.after === (target?.hash ?? null)) return written;
        return files.writeBytes(file, written.after, bytes, target?.mode);
      }
    }
    if (unsaved !== null) throw new LancelotError("conflict", "It has unsaved edits in the editor. Save it there, then try again.");
    await putEntry(file, current, target, objects);
    return { path: file.display, before: hashOf(current), after: hashOf(target), via: "disk" as const, saved: true };
  }

  async function restoreHeld(of: RestoreOf, occasion: Occasion): Promise<RestoreResult> {
    const { reversals, conflicts } = await plan(of);
    const { actionName, questId, parentId, isRollback } = occasion;
    const allowed: { reversal: Reversal; step: IntentSpec }[] = [];
    const told = conflicts.map(({ path, message }) => ({ path, message }));
    for (const reversal of inOrder(reversals)) {
      const step = stepOf(reversal);
      const decision = governance.evaluate({ ...step, mode: "normal" });
      if (decision.verdict !== "deny") {
        allowed.push({ reversal, step });
        continue;
      }
      const message = decision.rules.map((rule) => rule.message).join(" ");
      told.push({ path: reversal.file.display, message });
      ledger.record(
        {
          actionType: "file_op",
          actionName,
          inputs: { ...of, paths: [reversal.file.display] },
          riskTier: decision.tier,
          parentId,
          questId,
          metadata: { provider: fileProvider, decision: brief([decision]) },
        },
        { status: "failure", errorMessage: message },
      );
    }
    if (allowed.length === 0) return { restored: [], conflicts: told, undoCheckpointId: null };
    const restored: string[] = [];
    const names = allowed.map(({ reversal }) => reversal.file.display);
    const more = names.length > maxNamed ? [`… and ${names.length - maxNamed} more`] : [];
    const wrote: { reversal: Reversal; hash: string | null; saved: boolean; via: "editor" | "disk" }[] = [];
    const { value } = await pipeline.execute<string | null>({
      actor: isRollback ? "system" : "owner",
      quest: questId,
      parent: parentId,
      mode: "normal",
      signal: new AbortController().signal,
      actionType: "file_op",
      actionName,
      inputs: { ...of, paths: [...names.slice(0, maxNamed), ...more] },
      steps: allowed.map(({ step }) => step),
      question: { title: `Restore ${allowed.length} files`, detail: [...names.slice(0, maxNamed), ...more].join("\n") },
      consent: "review",
      touches: allowed.map(({ reversal: { file, target } }) => ({ path: file, plannedImage: target })),
      provider: fileProvider,
      locksHeld: true,
      isRollback,
      isResumable: true,
      run: async ({ checkpointId }) => {
        const changedFiles: unknown[] = [];
        const left: FileOutcome[] = [];
        const throughEditor = allowed.length <= maxThroughEditor;
        await inWaves(
          allowed.map(({ reversal }) => reversal),
          throughEditor ? 1 : width,
          async (reversal) => {
            try {
              const written = await write(reversal, throughEditor);
              wrote.push({ reversal, hash: written.after, saved: written.saved, via: written.via });
              if (changedFiles.length < maxNamed) changedFiles.push(written);
              left.push(...fileOutcomesOf(reversal.file, written));
              restored.push(reversal.file.display);
            } catch (error) {
              if (!(error instanceof LancelotError)) throw error;
              told.push({ path: reversal.file.display, message: error.message });
              left.push(...fileOutcomesOf(reversal.file, null));
            }
          },
        );
        const outputs = { changedFiles, changedTotal: restored.length, conflicts: told.slice(0, maxNamed) };
        return { value: checkpointId, outputs, fileOutcomes: left };
      },
      verify: async () => {
        const wrong: string[] = [];
        for (const { reversal, via, saved } of wrote) {
          if (via === "editor" || !saved) continue;
          const now = await imageOf(reversal.file);
          // A folder that was not empty stays; what is in it is somebody's.
          if (!sameImage(now, reversal.target) && !(reversal.target === null && now?.kind === "folder")) wrong.push(reversal.file.display);
        }
        if (wrong.length === 0) return null;
        return `${wrong.slice(0, 10).join(", ")}${wrong.length > 10 ? ` and ${wrong.length - 10} more` : ""} ${wrong.length === 1 ? "does" : "do"} not hold what was put back`;
      },
    });
    return { restored, conflicts: told, undoCheckpointId: value };
  }

  function pathsOf(of: RestoreOf): string[] {
    return [...new Set(touchesOf(of).map((file) => file.path.absolute))];
  }

  /** The receipts of the agent's own actions; of what the owner accepted by hand, that of the proposal. */
  function actionsOf(of: RestoreOf): string[] {
    const actions = checkpoints.receipts(of).flatMap((id) => {
      const receipt = ledger.get(id);
      if (receipt === null || restores.has(receipt.actionName)) return [];
      return receipt.metadata["consent"] === "review" && receipt.parentId !== null ? [receipt.parentId] : [id];
    });
    return [...new Set(actions)];
  }

  /** Writes what a host that died had not written yet. What is neither as it was nor as it was to be is somebody's, and stays. */
  async function completeOne({ id, questId, receiptId }: { id: string; questId: string | null; receiptId: string | null }): Promise<void> {
    const opened = ledger.open({
      actionType: "file_op",
      actionName: "checkpoint_restore.resume",
      inputs: { checkpointId: id },
      riskTier: "T1",
      parentId: receiptId,
      questId,
      metadata: { provider: fileProvider },
    });
    const restored: string[] = [];
    const conflicts: { path: string; message: string }[] = [];
    const planned = checkpoints
      .files({ id })
      .flatMap(({ path, before, planned: target }) =>
        target === undefined ? [] : [{ file: { ...path, asked: path.absolute, inside: true }, current: before, target }],
      );
    await inWaves(planned, width, async ({ file: named, current: before, target }) => {
      try {
        const file = resolveTarget(named.absolute, named.display, governance);
        const current = await imageOf(file);
        if (sameImage(current, target)) return;
        // Nothing there: it died between taking away what stood there and placing what was to.
        const reached = current === null || (before !== null && current.kind === before.kind && current.hash === before.hash);
        if (!reached) throw new LancelotError("conflict", "It was changed since. It was left as it is.");
        if (governance.evaluate({ ...stepOf({ file, current, target }), mode: "normal" }).verdict === "deny")
          throw new LancelotError("denied", "The gate denies this now.");
        await putEntry(file, current, target, objects);
        restored.push(file.display);
      } catch (error) {
        if (!(error instanceof LancelotError)) throw error;
        conflicts.push({ path: named.display, message: error.message });
      }
    });
    await checkpoints.finishFiles(
      id,
      checkpoints.files({ id }).map(({ path }) => path),
    );
    checkpoints.finish(id);
    const outputs = {
      checkpointId: id,
      restored: restored.slice(0, maxNamed),
      restoredTotal: restored.length,
      conflicts: conflicts.slice(0, maxNamed),
    };
    ledger.close(opened, { status: "success", outputs });
  }

  return {
    diff: async (of) => describeReversals(await plan(of), { objects }),

    async restore(of) {
      // What is still being verified might be put back by that; whatever it takes, the owner is not kept waiting for long.
      await deps.verifications.drain({ timeoutMs: drainTimeout });
      const questId = "questId" in of ? of.questId : checkpoints.questOf(of.id);
      const occasion = { actionName: "checkpoint_restore", questId, parentId: null, isRollback: false };
      await deps.ready?.();
      const actions = actionsOf(of);
      const result = await locks.hold(pathsOf(of), () => restoreHeld(of, occasion));
      if (result.restored.length > 0 && actions.length > 0) governance.rolledBack({ receiptIds: actions, questId });
      return result;
    },

    rollBack(checkpointId, { questId, parentId, held }) {
      const of = { id: checkpointId };
      const work = () => restoreHeld(of, { actionName: "verification_restore", questId, parentId, isRollback: true });
      return held ? work() : locks.hold(pathsOf(of), work);
    },

    async resume() {
      const left = checkpoints.adopt();
      for (const one of left) await completeOne(one);
      return left.length;
    },
  };
}

/**
 * The intent to put an entry back. Of a link or a folder the folder above is judged: where a link leads is not what is written. Of what
 * lies below a folder that is put back first, the folder above that.
 */
function stepOf({ file, current, target, below }: Pick<Reversal, "file" | "current" | "target" | "below">): IntentSpec {
  const action = target === null ? "delete" : "write";
  if (below === undefined && current?.kind === undefined && target?.kind === undefined)
    return { capability: "file_ops", action, args: { path: file.asked, absolute: file.absolute } };
  const above = dirname(below ?? file.absolute);
  return { capability: "file_ops", action: "write", args: { path: above, absolute: above, entry: basename(file.absolute) } };
}

function hashOf(image: Reversal["current"]): string | null {
  return image === null || image.kind === "folder" ? null : image.hash;
}

function droppedWords(at: string): string {
  return `What is needed to undo this was removed on ${at.slice(0, 10)} to keep the store of checkpoints within its limits (config/checkpoints.yaml), so it can no longer be restored.`;
}
