import type { RestoreResult } from "../contract/changes.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Governance } from "../governance/governance.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { CheckpointFile, Checkpoints } from "./checkpoints.ts";
import type { ObjectStore } from "./checkpoints-objects.ts";
import type { Locks } from "./locks.ts";
import { fileProvider, readWhole } from "./providers/file-ops.ts";
import { brief } from "./decisions.ts";
import type { IntentSpec, Road } from "./road.ts";
import { decodeText, type Encoding, encodeText, sha256 } from "./text/encoding.ts";
import { unifiedDiff } from "./text/hunks.ts";
import { mergeFiles } from "./text/merge.ts";
import type { Verifications } from "./verifications.ts";
import type { Left } from "./verify-files.ts";
import { leftBy, type TargetFile, type WorkspaceFiles } from "./workspace-files.ts";

/** How long (ms) an undo waits for verifications that are under way. */
const drainTimeout = 5_000;
/** What puts files back is no action of the agent. */
const restores: ReadonlySet<string> = new Set(["checkpoint_restore", "verification_restore"]);

/** Bytes and permission bits of a file; null when there is none. */
type State = { readonly bytes: Buffer; readonly mode: number } | null;

interface Reversal {
  readonly file: TargetFile;
  readonly current: State;
  readonly target: State;
  /** Unsaved text of the editor; null when there is none. */
  readonly unsaved: string | null;
}

interface Refusal {
  readonly path: string;
  readonly message: string;
}

/** Undoing: files go back to how they were before a checkpoint or a quest, keeping what the owner did to them since. */
export interface Restore {
  diff(of: { id: string } | { questId: string }): Promise<{ path: string; diff: string }[]>;
  /** The owner's: by the full road, with a checkpoint of its own. @throws LancelotError `not_found`, `denied`. */
  restore(of: { id: string } | { questId: string }): Promise<RestoreResult>;
  /** The same for an action that failed its verification; nothing is waited for. `held`: the caller holds the files' locks. */
  takeBack(checkpointId: string, of: { questId: string | null; parentId: string; held: boolean }): Promise<RestoreResult>;
}

interface Occasion {
  readonly actionName: string;
  readonly questId: string | null;
  readonly parentId: string | null;
  readonly takesBack: boolean;
}

export function createRestore(deps: {
  checkpoints: Checkpoints;
  objects: ObjectStore;
  files: WorkspaceFiles;
  governance: Governance;
  road: Road;
  locks: Locks;
  ledger: Ledger;
  verifications: Pick<Verifications, "drain">;
}): Restore {
  const { checkpoints, objects, files, governance, road, locks, ledger } = deps;

  /** Follows the touches of one file back from what it is now. */
  async function reverse(touches: readonly CheckpointFile[], current: State): Promise<State> {
    let state = current;
    for (const touch of touches.toReversed()) {
      const before = await load(touch.before);
      if (same(state, before)) continue;
      // A host that died may or may not have written what it planned. Taking that out of a file it never reached changes nothing.
      const image = touch.after === undefined ? touch.planned : touch.after;
      if (image === undefined)
        throw new LancelotError("conflict", "Lancelot was stopped while it wrote this file, so what it held then is not known.");
      const after = await load(image);
      state = same(state, after) ? before : merge(after, state, before);
    }
    return state;
  }

  async function load(image: CheckpointFile["before"]): Promise<State> {
    return image === null ? null : { bytes: await objects.get(image.hash), mode: image.mode };
  }

  async function plan(of: { id: string } | { questId: string }): Promise<{ reversals: Reversal[]; conflicts: Refusal[] }> {
    const byPath = Map.groupBy(checkpoints.files(of), (file) => file.path.absolute);
    const reversals: Reversal[] = [];
    const conflicts: Refusal[] = [];
    for (const [absolute, touches] of byPath) {
      const display = touches[0]?.path.display ?? absolute;
      try {
        const resolved = governance.resolvePath(absolute);
        if (!resolved.ok) throw new LancelotError("denied", resolved.message);
        if (resolved.absolute !== absolute) throw new LancelotError("denied", "It leads elsewhere now.");
        const file: TargetFile = { absolute, display, asked: absolute, inside: resolved.inside };
        const disk = await readWhole(file, Number.MAX_SAFE_INTEGER);
        const unsaved = await files.unsavedText(file);
        const current = unsaved === null || disk === null ? disk : { bytes: encodeLike(unsaved, disk.bytes), mode: disk.mode };
        const target = await reverse(touches, current);
        if (!same(current, target)) reversals.push({ file, current: disk, target, unsaved });
      } catch (error) {
        if (!(error instanceof LancelotError)) throw error;
        conflicts.push({ path: display, message: error.message });
      }
    }
    return { reversals, conflicts };
  }

  async function write({ file, current, target, unsaved }: Reversal) {
    const text = target === null ? null : decodeText(target.bytes);
    const was = current === null ? null : decodeText(current.bytes);
    const sameMode = current === null || target === null || current.mode === target.mode;
    const diskHash = current === null ? null : sha256(current.bytes);
    // A text goes through the editor, so that its undo works there too; modes and other bytes only the disk can keep.
    if (sameMode && current !== null && was !== null && (target === null || text?.encoding.name === "utf8")) {
      const from = { text: unsaved ?? was.text, encoding: was.encoding, diskHash, unsaved: unsaved !== null };
      const written = await files.write(file, from, text?.text ?? null);
      if (!written.saved || written.after === (target === null ? null : sha256(target.bytes))) return written;
      return files.writeBytes(file, written.after, target?.bytes ?? null, target?.mode);
    }
    if (unsaved !== null) throw new LancelotError("conflict", "It has unsaved edits in the editor. Save it there, then try again.");
    return files.writeBytes(file, diskHash, target?.bytes ?? null, target?.mode);
  }

  return {
    async diff(of) {
      const { reversals, conflicts } = await plan(of);
      return [
        ...reversals.map(({ file, current, target, unsaved }) => ({
          path: file.display,
          diff: describe(file.display, current, target, unsaved),
        })),
        ...conflicts.map(({ path, message }) => ({ path, diff: `(not restored: ${message})` })),
      ];
    },

    async restore(of) {
      // What is still being verified might be put back by that; whatever it takes, the owner is not kept waiting for long.
      await deps.verifications.drain({ timeoutMs: drainTimeout });
      const questId =
        "questId" in of ? of.questId : (checkpoints.list({ limit: 500 }).find((checkpoint) => checkpoint.id === of.id)?.questId ?? null);
      const occasion = { actionName: "checkpoint_restore", questId, parentId: null, takesBack: false };
      const actions = actionsOf(of);
      const result = await locks.hold(pathsOf(of), () => restoreHeld(of, occasion));
      if (result.restored.length > 0 && actions.length > 0) governance.rolledBack({ receiptIds: actions, questId });
      return result;
    },

    takeBack(checkpointId, { questId, parentId, held }) {
      const of = { id: checkpointId };
      const work = () => restoreHeld(of, { actionName: "verification_restore", questId, parentId, takesBack: true });
      return held ? work() : locks.hold(pathsOf(of), work);
    },
  };

  function pathsOf(of: { id: string } | { questId: string }): string[] {
    return [...new Set(checkpoints.files(of).map((file) => file.path.absolute))];
  }

  /** The receipts of the agent's own actions; of what the owner accepted by hand, that of the proposal. */
  function actionsOf(of: { id: string } | { questId: string }): string[] {
    const actions = checkpoints.receipts(of).flatMap((id) => {
      const receipt = ledger.get(id);
      if (receipt === null || restores.has(receipt.actionName)) return [];
      return receipt.metadata["consent"] === "review" && receipt.parentId !== null ? [receipt.parentId] : [id];
    });
    return [...new Set(actions)];
  }

  async function restoreHeld(of: { id: string } | { questId: string }, occasion: Occasion): Promise<RestoreResult> {
    const { reversals, conflicts } = await plan(of);
    const { actionName, questId, parentId, takesBack } = occasion;
    const allowed: { reversal: Reversal; step: IntentSpec }[] = [];
    for (const reversal of reversals) {
      const { file } = reversal;
      const args = { path: file.asked, absolute: file.absolute };
      const step = { capability: "file_ops", action: reversal.target === null ? "delete" : "write", args };
      const decision = governance.evaluate({ ...step, mode: "normal" });
      if (decision.verdict !== "deny") {
        allowed.push({ reversal, step });
        continue;
      }
      const message = decision.rules.map((rule) => rule.message).join(" ");
      conflicts.push({ path: file.display, message });
      ledger.record(
        {
          actionType: "file_op",
          actionName,
          inputs: { ...of, paths: [file.display] },
          riskTier: decision.tier,
          parentId,
          questId,
          metadata: { provider: fileProvider, decision: brief([decision]) },
        },
        { status: "failure", errorMessage: message },
      );
    }
    if (allowed.length === 0) return { restored: [], conflicts, undoCheckpointId: null };
    const restored: string[] = [];
    const { value } = await road.carry<string | null>({
      questId,
      parentId,
      mode: "normal",
      signal: new AbortController().signal,
      actionType: "file_op",
      actionName,
      inputs: { ...of, paths: allowed.map(({ reversal }) => reversal.file.display) },
      steps: allowed.map(({ step }) => step),
      question: { title: `Restore ${allowed.length} files`, detail: allowed.map(({ reversal }) => reversal.file.display).join("\n") },
      consent: "review",
      touches: allowed.map(({ reversal: { file, target } }) => ({
        path: file,
        planned: target?.bytes ?? null,
        ...(target === null ? {} : { plannedMode: target.mode }),
      })),
      provider: fileProvider,
      held: true,
      takesBack,
      run: async ({ checkpointId }) => {
        const changedFiles: unknown[] = [];
        const left: Left[] = [];
        for (const { reversal } of allowed) {
          try {
            const written = await write(reversal);
            changedFiles.push(written);
            left.push(...leftBy(reversal.file, written));
            restored.push(reversal.file.display);
          } catch (error) {
            if (!(error instanceof LancelotError)) throw error;
            conflicts.push({ path: reversal.file.display, message: error.message });
            left.push(...leftBy(reversal.file, null));
          }
        }
        return { value: checkpointId, outputs: { changedFiles, conflicts }, left };
      },
    });
    return { restored, conflicts, undoCheckpointId: value };
  }
}

function same(a: State, b: State): boolean {
  if (a === null || b === null) return a === b;
  return a.mode === b.mode && a.bytes.equals(b.bytes);
}

/** Takes the step from `after` back to `before` out of a file that was edited since. @throws LancelotError `conflict`. */
function merge(after: State, state: State, before: State): State {
  if (after !== null && state !== null && before !== null && after.bytes.equals(state.bytes))
    return { bytes: before.bytes, mode: before.mode };
  const [base, ours, theirs] = [textOf(after), textOf(state), textOf(before)];
  if (base === null || ours === null || theirs === null) throw edited();
  const merged = mergeFiles(base.text, ours.text, theirs.text);
  if (merged === null) throw edited();
  if (merged.text === null) return null;
  const encoding = theirs.encoding ?? ours.encoding ?? base.encoding;
  if (encoding === null) throw edited();
  return { bytes: encodeText(merged.text, encoding), mode: before?.mode ?? state?.mode ?? 0o644 };
}

/** The text of a state; null when it is not text. */
function textOf(state: State): { text: string | null; encoding: Encoding | null } | null {
  return state === null ? { text: null, encoding: null } : decodeText(state.bytes);
}

function edited(): LancelotError {
  return new LancelotError("conflict", "It was edited since in a way that does not merge. It was left as it is.");
}

function encodeLike(text: string, bytes: Buffer): Buffer {
  const decoded = decodeText(bytes);
  return encodeText(text, decoded?.encoding ?? { name: "utf8", bom: false });
}

function describe(path: string, current: State, target: State, unsaved: string | null): string {
  const from = current === null ? null : decodeText(current.bytes);
  const to = target === null ? null : decodeText(target.bytes);
  if ((current !== null && from === null) || (target !== null && to === null)) return `Binary file ${path} differs\n`;
  const text = unifiedDiff(path, unsaved ?? from?.text ?? null, to?.text ?? null);
  const modes = current !== null && target !== null && current.mode !== target.mode;
  return modes ? `old mode ${current.mode.toString(8)}\nnew mode ${target.mode.toString(8)}\n${text}` : text;
}
