import { lstatSync } from "node:fs";
import { LancelotError } from "../contract/errors.ts";
import type { Change } from "../contract/changes.ts";
import {
  changeMode,
  computeHunks,
  type CurrentText,
  encodeText,
  fileOutcomesOf,
  formatBytes,
  hashFile,
  maxEditBytes,
  type ResolvedFile,
  sha256,
  unifiedDiff,
  utf8,
  type Written,
} from "../workspace/workspace.ts";
import { type Answer, type Effect, fileStep, type Scope } from "./tool.ts";

/** A planned edit of one file. */
export interface PlannedEdit {
  readonly file: ResolvedFile;
  /** The content the edit was planned from. Null when it must not be read (secrets) or is not needed (deletion). */
  readonly current: CurrentText | null;
  /** The planned content; null deletes the file. */
  readonly text: string | null;
  /** A summary for the model, such as "3 places". */
  readonly note: string;
  /** The planned executable bit; unchanged if absent. Only direct writes can set it, because proposals store text only. */
  readonly executable?: boolean;
  /** True: the user reviews the edit, regardless of posture and mode. */
  readonly review?: boolean;
}

interface Done {
  readonly edit: PlannedEdit;
  readonly change: Change | null;
  readonly written: Written | null;
}

/** Turns edits into one atomic effect: proposed for review or written directly, depending on posture and mode. */
export function editsEffect(scope: Scope, edits: readonly PlannedEdit[], action: "write" | "apply_patch"): Effect {
  const bytes = new Map(edits.map((edit) => [edit, plannedBytes(edit)]));
  const direct = edits.filter((edit) => isDirect(scope, edit));
  for (const edit of edits) {
    if (edit.executable === undefined || edit.text !== edit.current?.text || direct.includes(edit)) continue;
    throw new LancelotError(
      "invalid_params",
      `${edit.file.display}: the patch changes only its mode, but a review covers text only. Nothing was changed. Leave this file out and ask the user to change the mode.`,
    );
  }
  const names = edits.map(({ file }) => file.display).join(", ");
  return {
    kind: "effect",
    steps: edits.map((edit) =>
      edit.text === null && edit.file.type !== "missing"
        ? fileStep("delete", edit.file)
        : fileStep(action, edit.file, { contentSha256: edit.text === null ? null : sha256(edit.text) }),
    ),
    question: {
      title: `${edits.every(({ text }) => text === null) ? "Delete" : "Write"} ${names}`,
      detail: edits.map(detailOf).join("\n"),
    },
    touches: direct.map((edit) => ({
      path: edit.file,
      planned: bytes.get(edit) ?? null,
      ...(edit.executable === undefined ? {} : { plannedMode: modeOf(edit.file, edit.executable) }),
    })),
    run: async ({ receiptId }) => {
      const done = await scope.locks.hold(
        edits.map(({ file }) => file.absolute),
        () => runEdits(scope, edits, receiptId),
      );
      const answer: Answer = {
        kind: "answer",
        text: done.map(describeEdit).join("\n"),
        changeId: done.find(({ change }) => change !== null)?.change?.id ?? null,
      };
      return {
        value: answer,
        outputs: {
          changedFiles: done.flatMap(({ written }) => written ?? []),
          changes: done.flatMap(({ change }) => (change === null ? [] : { id: change.id, path: change.path, status: change.status })),
        },
        fileOutcomes: done.flatMap(({ edit, written }) => fileOutcomesOf(edit.file, written)),
      };
    },
  };
}

/** The planned bytes of a file; null for none. @throws LancelotError `too_large`, or for characters that its encoding does not have. */
function plannedBytes({ file, current, text }: PlannedEdit): Buffer | null {
  if (text === null) return null;
  let bytes: Buffer;
  try {
    bytes = encodeText(text, current?.encoding ?? utf8);
  } catch (error) {
    throw error instanceof LancelotError ? new LancelotError(error.code, `${file.display}: ${error.message}`, { cause: error }) : error;
  }
  if (bytes.length > maxEditBytes)
    throw new LancelotError("too_large", `${file.display} would exceed ${formatBytes(maxEditBytes)}. Split it into smaller files.`);
  return bytes;
}

/** The mode with the executable bit set for everyone who can read the file, or cleared. */
function modeOf(file: ResolvedFile, executable: boolean): number {
  const now = lstatSync(file.absolute, { throwIfNoEntry: false })?.mode ?? 0o666 & ~process.umask();
  const mode = now & 0o7777;
  return executable ? mode | ((mode & 0o444) >> 2) : mode & ~0o111;
}

/** True when the edit is written now. Deletions were approved by name, and secrets and files outside the workspace are never stored as proposals. */
function isDirect(scope: Scope, edit: PlannedEdit): boolean {
  const isReviewed = edit.review === true || (edit.file.sensitive === null && scope.governance.obeyed(edit.file.display) !== null);
  if (isReviewed && edit.current !== null && edit.file.inside && edit.file.sensitive !== "secret") return false;
  return (
    scope.governance.posture(scope.call) === "autonomous" || edit.current === null || !edit.file.inside || edit.file.sensitive === "secret"
  );
}

/** @throws LancelotError `denied` where a sub-task, which only proposes, would write at once. */
function requireProposals(scope: Scope, edits: readonly PlannedEdit[]): void {
  const direct = scope.call.soulScope?.limits === undefined ? undefined : edits.find((edit) => isDirect(scope, edit));
  if (direct === undefined) return;
  const message = `${direct.file.display} cannot be changed as a proposal, and a sub-task only proposes. Nothing was changed. Name it in your answer: the main task can do it.`;
  throw new LancelotError("denied", message);
}

async function runEdits(scope: Scope, edits: readonly PlannedEdit[], receiptId: string): Promise<Done[]> {
  requireProposals(scope, edits);
  for (const edit of edits) await expectUnchanged(scope, edit);
  const applied: Applied[] = [];
  const undo: (() => Promise<unknown>)[] = [];
  try {
    for (const edit of edits) if (isDirect(scope, edit)) applied.push(await apply(scope, edit, undo));
  } catch (error) {
    // The edit is atomic, so the files that were written are reverted, newest first.
    for (const revert of undo.toReversed()) await revert().catch(() => undefined);
    throw error;
  }
  const { quest: questId } = scope.call;
  const done = applied.map(({ edit, current, written }): Done => {
    const recorded =
      current !== null && written !== null && edit.text !== current.text && edit.file.inside && edit.file.sensitive !== "secret";
    const change = recorded ? scope.changes.recordApplied({ questId, file: edit.file, current, text: edit.text, receiptId }) : null;
    return { edit, change, written };
  });
  for (const edit of edits) {
    if (isDirect(scope, edit) || edit.current === null) continue;
    const caution = scope.governance.obeyed(edit.file.display);
    const change = scope.changes.propose({
      ...{ questId, file: edit.file, current: edit.current, text: edit.text, receiptId },
      ...(caution === null ? {} : { caution }),
    });
    done.push({ edit, change, written: null });
  }
  return done;
}

interface Applied {
  readonly edit: PlannedEdit;
  readonly current: CurrentText | null;
  readonly written: Written | null;
}

async function apply(scope: Scope, edit: PlannedEdit, undo: (() => Promise<unknown>)[]): Promise<Applied> {
  const { file, text } = edit;
  const readable = file.inside && file.sensitive !== "secret";
  // Binary and very large files are handled as bytes.
  const current = edit.current ?? (readable ? await scope.files.current(file).catch(() => null) : null);
  if (current === null) {
    // Only write_file and delete_file get here, with a single edit, so no later edit can fail and require a revert.
    const written = await scope.files.writeBytes(file, await hashFile(file), text === null ? null : encodeText(text, utf8));
    return { edit, current, written };
  }
  const mode = edit.executable === undefined ? null : modeOf(file, edit.executable);
  const before = lstatSync(file.absolute, { throwIfNoEntry: false });
  // Withdrawing a proposed new file writes nothing.
  let written = text === current.text ? null : await scope.files.write(file, current, text);
  undo.push(async () => {
    if (written !== null) await scope.files.write(file, { ...(await scope.files.current(file)), encoding: current.encoding }, current.text);
    if (mode !== null && before !== undefined) await changeMode(file, before.mode & 0o7777);
  });
  if (mode !== null && (before === undefined || (before.mode & 0o7777) !== mode)) {
    await changeMode(file, mode);
    written ??= { path: file.display, before: current.diskHash, after: current.diskHash, via: "disk", saved: true };
  }
  return { edit, current, written };
}

/** The user or another call can change the file after the edit was planned, because an approval can take minutes. */
async function expectUnchanged(scope: Scope, edit: PlannedEdit): Promise<void> {
  if (edit.current === null) return;
  const now = await scope.files.current(edit.file);
  if (now.text === edit.current.text && now.diskHash === edit.current.diskHash) return;
  throw new LancelotError(
    "conflict",
    `${edit.file.display} was changed in the meantime. Nothing was written. Read the file again and repeat the edit.`,
  );
}

function detailOf(edit: PlannedEdit): string {
  const { file, current, text } = edit;
  if (text === null) return `Delete ${file.display}`;
  if (text === current?.text) return `${file.display}: ${edit.executable === true ? "make executable" : "make not executable"}`;
  // The old content of a secret file is not part of the question.
  if (current === null) return `Write ${file.display}:\n${text}`;
  return unifiedDiff(file.display, current.text, text);
}

function describeEdit({ edit, change, written }: Done): string {
  const { file, current, text, note, executable } = edit;
  const size = current === null || text === null ? "" : ` ${sizeOf(current.text, text)}`;
  if (written === null && change === null) return `${file.display}: the proposal was withdrawn, and the file is unchanged on disk.`;
  if (written === null) {
    const what = text === null ? "Proposed to delete" : current?.text === null ? "Proposed to create" : "Proposed";
    const mode = executable === undefined ? "" : " Its mode is unchanged, because a review covers text only.";
    return `${what} ${file.display}${note === "" ? "" : ` (${note})`}${size}. It is waiting for the user's review. You already see the file as if the edit were accepted, so continue.${mode}`;
  }
  const what =
    text === null ? "Deleted" : written.before === null ? "Created" : written.before === written.after ? "Changed the mode of" : "Wrote";
  const mode = executable === undefined ? "" : executable ? " It is executable." : " It is not executable.";
  const links = written.otherNames === undefined ? "" : " The file has another name (a hard link), which still has the old content.";
  return `${what} ${file.display}${note === "" ? "" : ` (${note})`}${size}.${mode}${links}`;
}

function sizeOf(before: string | null, after: string): string {
  const hunks = computeHunks(before, after);
  const added = hunks.reduce((sum, hunk) => sum + hunk.newLines, 0);
  const removed = hunks.reduce((sum, hunk) => sum + hunk.oldLines, 0);
  return `[+${added} −${removed} lines]`;
}
