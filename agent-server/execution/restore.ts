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
  isNamedAsShown,
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
import { entryStep } from "./entry-step.ts";
import type { ExecutionPipeline } from "./pipeline.ts";
import type { Verifications } from "./verifications.ts";

/** How long (ms) an undo waits for pending verifications. */
const drainTimeout = 5_000;
/** Above this many files, restores write to the disk directly. The editor reloads open files by itself. */
const maxThroughEditor = 50;
/** Files that are written at the same time on disk, because most of the time is spent waiting for it. */
const width = 12;
const ownerWrite = 0o200;
/** Most file names in the question and on the receipt. */
const maxNamed = 200;
/** Restores are not actions of the agent, so they are not reported as undone. */
const restoreActions: ReadonlySet<string> = new Set(["checkpoint_restore", "verification_restore"]);

/** Restores files to their state before a checkpoint or a quest, and keeps the user's later edits. */
export interface Restore {
  diff(of: RestoreOf): Promise<{ path: string; diff: string }[]>;
  /** A restore by the user, through the full pipeline and with its own checkpoint. @throws LancelotError `not_found`, `denied`. */
  restore(of: RestoreOf): Promise<RestoreResult>;
  /** Restores the files of an action that failed its verification, without waiting. `held`: the caller holds the locks. */
  rollBack(checkpointId: string, of: { questId: string | null; parentId: string; held: boolean }): Promise<RestoreResult>;
  /** Completes restores of hosts that died, and resolves with their number. Call it at the start. */
  resume(): Promise<number>;
}

interface RestoreCause {
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
  /** Resolves when the unfinished actions of hosts that died are recovered. */
  ready?: () => Promise<unknown>;
}): Restore {
  const { checkpoints, objects, files, governance, pipeline, locks, ledger } = deps;

  /** @throws LancelotError `not_found` when the checkpoint was removed. */
  function touchesOf(of: RestoreOf): CheckpointFile[] {
    const dropped = checkpoints.dropped(of);
    if (dropped !== null && "id" in of) throw new LancelotError("not_found", removedMessage(dropped.at));
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
    if (dropped !== null) planned.conflicts.unshift({ path: "(earlier steps)", message: removedMessage(dropped.at), touches: [] });
    return planned;
  }

  async function write({ file, current, target, unsaved }: Reversal, throughEditor: boolean) {
    const bytes = target === null || target.kind !== undefined ? null : await objects.get(target.hash);
    const plain = (current?.kind ?? target?.kind) === undefined && isNamedAsShown(file);
    const sameMode = current === null || target === null || current.mode === target.mode;
    // Text is written through the editor, so that the editor's own undo works. Modes and other bytes are written to the disk.
    const writable = current !== null && (current.mode & ownerWrite) !== 0;
    if (plain && sameMode && current !== null && writable && (throughEditor || unsaved !== null)) {
      const disk = await files.current(file).catch(() => null);
      const text = bytes === null ? null : decodeText(bytes);
      // The text is written in the encoding of the file that is there.
      const isUtf8 = text?.encoding.name === "utf8" && disk?.encoding.name === "utf8";
      if (disk !== null && disk.diskHash === current.hash && (target === null || isUtf8)) {
        const written = await files.write(file, disk, text?.text ?? null);
        if (!written.saved || written.after === (target?.hash ?? null)) return written;
        return files.writeBytes(file, written.after, bytes, target?.mode);
      }
    }
    if (unsaved !== null) throw new LancelotError("conflict", "The file has unsaved edits in the editor. Save it, then try again.");
    await putEntry(file, current, target, objects);
    return { path: file.display, before: hashOf(current), after: hashOf(target), via: "disk" as const, saved: true };
  }

  async function restoreHeld(of: RestoreOf, cause: RestoreCause): Promise<RestoreResult> {
    const { reversals, conflicts } = await plan(of);
    const { actionName, questId, parentId, isRollback } = cause;
    const allowed: { reversal: Reversal; step: IntentSpec }[] = [];
    const reported = conflicts.map(({ path, message }) => ({ path, message }));
    for (const reversal of inOrder(reversals)) {
      const step = entryStep(reversal);
      const decision = governance.evaluate({ ...step, mode: "normal" });
      if (decision.verdict !== "deny") {
        allowed.push({ reversal, step });
        continue;
      }
      const message = decision.rules.map((rule) => rule.message).join(" ");
      reported.push({ path: reversal.file.display, message });
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
    if (allowed.length === 0) return { restored: [], conflicts: reported, undoCheckpointId: null };
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
      question: {
        title: `Restore ${allowed.length} ${allowed.length === 1 ? "file" : "files"}`,
        detail: [...names.slice(0, maxNamed), ...more].join("\n"),
      },
      consent: "review",
      touches: allowed.map(({ reversal: { file, target } }) => ({ path: file, plannedImage: target })),
      provider: fileProvider,
      locksHeld: true,
      isRollback,
      isResumable: true,
      run: async ({ checkpointId }) => {
        const changedFiles: unknown[] = [];
        const outcomes: FileOutcome[] = [];
        const throughEditor = allowed.length <= maxThroughEditor;
        await inWaves(
          allowed.map(({ reversal }) => reversal),
          throughEditor ? 1 : width,
          async (reversal) => {
            try {
              const written = await write(reversal, throughEditor);
              wrote.push({ reversal, hash: written.after, saved: written.saved, via: written.via });
              if (changedFiles.length < maxNamed) changedFiles.push(written);
              outcomes.push(...fileOutcomesOf(reversal.file, written));
              restored.push(reversal.file.display);
            } catch (error) {
              if (!(error instanceof LancelotError)) throw error;
              reported.push({ path: reversal.file.display, message: error.message });
              outcomes.push(...fileOutcomesOf(reversal.file, null));
            }
          },
        );
        const outputs = { changedFiles, changedTotal: restored.length, conflicts: reported.slice(0, maxNamed) };
        return { value: checkpointId, outputs, fileOutcomes: outcomes };
      },
      verify: async () => {
        const wrong: string[] = [];
        for (const { reversal, via, saved } of wrote) {
          if (via === "editor" || !saved) continue;
          const now = await imageOf(reversal.file);
          // A folder that is not empty is kept: its content is not ours.
          if (!sameImage(now, reversal.target) && !(reversal.target === null && now?.kind === "folder")) wrong.push(reversal.file.display);
        }
        if (wrong.length === 0) return null;
        return `${wrong.slice(0, 10).join(", ")}${wrong.length > 10 ? ` and ${wrong.length - 10} more` : ""} ${wrong.length === 1 ? "does" : "do"} not match the restored content`;
      },
    });
    return { restored, conflicts: reported, undoCheckpointId: value };
  }

  function pathsOf(of: RestoreOf): string[] {
    return [...new Set(touchesOf(of).map((file) => file.path.absolute))];
  }

  /** The receipts of the agent's actions. A write that the user accepted counts as the action that proposed it. */
  function actionsOf(of: RestoreOf): string[] {
    const actions = checkpoints.receipts(of).flatMap((id) => {
      const receipt = ledger.get(id);
      if (receipt === null || restoreActions.has(receipt.actionName)) return [];
      return receipt.metadata["consent"] === "review" && receipt.parentId !== null ? [receipt.parentId] : [id];
    });
    return [...new Set(actions)];
  }

  /** Completes a restore that a dead host left unfinished. Files that match neither the old nor the planned state are kept. */
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
        // A missing file is accepted: the host can have died between removing the old entry and writing the new one.
        const reached = current === null || (before !== null && current.kind === before.kind && current.hash === before.hash);
        if (!reached) throw new LancelotError("conflict", "The file was changed since, so it was kept.");
        if (governance.evaluate({ ...entryStep({ file, current, target }), mode: "normal" }).verdict === "deny")
          throw new LancelotError("denied", "Policy now denies this.");
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
      // A pending verification can restore the same files. The wait is short, because the user is waiting for the result.
      await deps.verifications.drain({ timeoutMs: drainTimeout });
      const questId = "questId" in of ? of.questId : checkpoints.questOf(of.id);
      const cause = { actionName: "checkpoint_restore", questId, parentId: null, isRollback: false };
      await deps.ready?.();
      const actions = actionsOf(of);
      const result = await locks.hold(pathsOf(of), () => restoreHeld(of, cause));
      if (result.restored.length > 0 && actions.length > 0) governance.rolledBack({ receiptIds: actions, questId });
      return result;
    },

    rollBack(checkpointId, { questId, parentId, held }) {
      const of = { id: checkpointId };
      const work = () => restoreHeld(of, { actionName: "verification_restore", questId, parentId, isRollback: true });
      return held ? work() : locks.hold(pathsOf(of), work);
    },

    async resume() {
      const unfinished = checkpoints.adopt();
      for (const checkpoint of unfinished) await completeOne(checkpoint);
      return unfinished.length;
    },
  };
}

function hashOf(image: Reversal["current"]): string | null {
  return image === null || image.hash === "" ? null : image.hash;
}

function removedMessage(at: string): string {
  return `This can no longer be undone: its checkpoint was removed on ${at.slice(0, 10)} to keep the checkpoint store within its limits (config/checkpoints.yaml).`;
}
