import type { RestoreResult } from "../contract/changes.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Governance } from "../governance/governance.ts";
import type { CheckpointFile, Checkpoints } from "./checkpoints.ts";
import type { ObjectStore } from "./checkpoints-objects.ts";
import type { Locks } from "./locks.ts";
import { fileProvider, readWhole } from "./providers/file-ops.ts";
import type { IntentSpec, Road } from "./road.ts";
import { decodeText, type Encoding, encodeText, sha256 } from "./text/encoding.ts";
import { unifiedDiff } from "./text/hunks.ts";
import { mergeFiles } from "./text/merge.ts";
import type { TargetFile, WorkspaceFiles } from "./workspace-files.ts";

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
  /** By the full road, with a checkpoint of its own. @throws LancelotError `not_found`, `denied`. */
  restore(of: { id: string } | { questId: string }): Promise<RestoreResult>;
}

export function createRestore(deps: {
  checkpoints: Checkpoints;
  objects: ObjectStore;
  files: WorkspaceFiles;
  governance: Governance;
  road: Road;
  locks: Locks;
}): Restore {
  const { checkpoints, objects, files, governance, road, locks } = deps;

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
      const paths = [...new Set(checkpoints.files(of).map((file) => file.path.absolute))];
      return locks.hold(paths, async () => {
        const { reversals, conflicts } = await plan(of);
        const questId =
          "questId" in of ? of.questId : (checkpoints.list({ limit: 500 }).find((checkpoint) => checkpoint.id === of.id)?.questId ?? null);
        const allowed: { reversal: Reversal; step: IntentSpec }[] = [];
        for (const reversal of reversals) {
          const { file } = reversal;
          const args = { path: file.asked, absolute: file.absolute };
          const step = { capability: "file_ops", action: reversal.target === null ? "delete" : "write", args };
          const decision = governance.evaluate({ ...step, mode: "normal" });
          if (decision.verdict !== "deny") allowed.push({ reversal, step });
          else conflicts.push({ path: file.display, message: decision.rules.map((rule) => rule.message).join(" ") });
        }
        if (allowed.length === 0) return { restored: [], conflicts, undoCheckpointId: null };
        const restored: string[] = [];
        const { value } = await road.carry<string | null>({
          questId,
          parentId: null,
          mode: "normal",
          signal: new AbortController().signal,
          actionType: "file_op",
          actionName: "checkpoint_restore",
          inputs: { ...of, paths: allowed.map(({ reversal }) => reversal.file.display) },
          steps: allowed.map(({ step }) => step),
          question: { title: `Restore ${allowed.length} files`, detail: allowed.map(({ reversal }) => reversal.file.display).join("\n") },
          consent: "review",
          touches: allowed.map(({ reversal }) => ({ path: reversal.file, planned: reversal.target?.bytes ?? null })),
          provider: fileProvider,
          run: async ({ checkpointId }) => {
            const changedFiles: unknown[] = [];
            for (const { reversal } of allowed) {
              try {
                changedFiles.push(await write(reversal));
                restored.push(reversal.file.display);
              } catch (error) {
                if (!(error instanceof LancelotError)) throw error;
                conflicts.push({ path: reversal.file.display, message: error.message });
              }
            }
            return { value: checkpointId, outputs: { changedFiles, conflicts } };
          },
        });
        return { restored, conflicts, undoCheckpointId: value };
      });
    },
  };
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
