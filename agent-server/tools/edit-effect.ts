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

/** An edit worked out and not yet made. */
export interface PlannedEdit {
  readonly file: ResolvedFile;
  /** What it was worked out from; null for a file whose content must not be looked at (secrets) or need not be (deletion). */
  readonly current: CurrentText | null;
  /** The file as it is to be; null: no file. */
  readonly text: string | null;
  /** What was done, for the model: "3 places". */
  readonly note: string;
  /** Whether it may be run afterwards; as before unless said. Only what is applied at once can say so: proposals hold text. */
  readonly executable?: boolean;
  /** True: the owner reviews it, whatever posture and mode say. */
  readonly review?: boolean;
}

interface Done {
  readonly edit: PlannedEdit;
  readonly change: Change | null;
  readonly written: Written | null;
}

/** Turns edits into an effect: proposed for review, or applied at once, as posture and mode say. All of them or none. */
export function editsEffect(scope: Scope, edits: readonly PlannedEdit[], action: "write" | "apply_patch"): Effect {
  const bytes = new Map(edits.map((edit) => [edit, plannedBytes(edit)]));
  const atOnce = edits.filter((edit) => appliesAtOnce(scope, edit));
  for (const edit of edits) {
    if (edit.executable === undefined || edit.text !== edit.current?.text || atOnce.includes(edit)) continue;
    throw new LancelotError(
      "invalid_params",
      `${edit.file.display}: only its mode would change, and the owner reviews text alone. Nothing was changed. Leave it out and ask the owner to do it.`,
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
    touches: atOnce.map((edit) => ({
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
        text: done.map(told).join("\n"),
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

/** The bytes a file is to have; null for none. @throws LancelotError for too many, or letters its encoding has not. */
function plannedBytes({ file, current, text }: PlannedEdit): Buffer | null {
  if (text === null) return null;
  let bytes: Buffer;
  try {
    bytes = encodeText(text, current?.encoding ?? utf8);
  } catch (error) {
    throw error instanceof LancelotError ? new LancelotError(error.code, `${file.display}: ${error.message}`, { cause: error }) : error;
  }
  if (bytes.length > maxEditBytes)
    throw new LancelotError("too_large", `${file.display} would have more than ${formatBytes(maxEditBytes)}. Make it in smaller files.`);
  return bytes;
}

/** Permission bits with leave to run it for whoever may read it, or for nobody. */
function modeOf(file: ResolvedFile, executable: boolean): number {
  const now = lstatSync(file.absolute, { throwIfNoEntry: false })?.mode ?? 0o666 & ~process.umask();
  const mode = now & 0o7777;
  return executable ? mode | ((mode & 0o444) >> 2) : mode & ~0o111;
}

/** Whether the write happens now. Deletions were asked for by name; secrets and files elsewhere are never kept as proposals. */
function appliesAtOnce(scope: Scope, edit: PlannedEdit): boolean {
  if (edit.review === true && edit.current !== null && edit.file.inside && edit.file.sensitive !== "secret") return false;
  return (
    scope.call.mode === "crusader" ||
    scope.governance.posture() === "autonomous" ||
    edit.current === null ||
    !edit.file.inside ||
    edit.file.sensitive === "secret"
  );
}

async function runEdits(scope: Scope, edits: readonly PlannedEdit[], receiptId: string): Promise<Done[]> {
  for (const edit of edits) await expectUnchanged(scope, edit);
  const applied: Applied[] = [];
  const undo: (() => Promise<unknown>)[] = [];
  try {
    for (const edit of edits) if (appliesAtOnce(scope, edit)) applied.push(await apply(scope, edit, undo));
  } catch (error) {
    // None of them, then: what was written goes back, newest first.
    for (const back of undo.toReversed()) await back().catch(() => undefined);
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
    if (appliesAtOnce(scope, edit) || edit.current === null) continue;
    const change = scope.changes.propose({ questId, file: edit.file, current: edit.current, text: edit.text, receiptId });
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
  // What is no text, or too large for one, is handled as bytes.
  const current = edit.current ?? (readable ? await scope.files.current(file).catch(() => null) : null);
  if (current === null) {
    // Such an edit comes alone (write_file, delete_file), so there is nothing after it that could fail and take it back.
    const written = await scope.files.writeBytes(file, await hashFile(file), text === null ? null : encodeText(text, utf8));
    return { edit, current, written };
  }
  const mode = edit.executable === undefined ? null : modeOf(file, edit.executable);
  const before = lstatSync(file.absolute, { throwIfNoEntry: false });
  // Taking back a file that was only proposed leaves nothing to write.
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

/** The owner, or another call, may have changed the file since the edit was worked out (an approval can take minutes). */
async function expectUnchanged(scope: Scope, edit: PlannedEdit): Promise<void> {
  if (edit.current === null) return;
  const now = await scope.files.current(edit.file);
  if (now.text === edit.current.text && now.diskHash === edit.current.diskHash) return;
  throw new LancelotError("conflict", `${edit.file.display} was changed meanwhile. Nothing was done; read it again and repeat the edit.`);
}

function detailOf(edit: PlannedEdit): string {
  const { file, current, text } = edit;
  if (text === null) return `Delete ${file.display}`;
  if (text === current?.text) return `${file.display}: ${edit.executable === true ? "may be run" : "may not be run"}`;
  // The old text of a file that must not be looked at stays out of the question.
  if (current === null) return `Write ${file.display}:\n${text}`;
  return unifiedDiff(file.display, current.text, text);
}

function told({ edit, change, written }: Done): string {
  const { file, current, text, note, executable } = edit;
  const size = current === null || text === null ? "" : ` ${sizeOf(current.text, text)}`;
  if (written === null && change === null) return `${file.display}: nothing is proposed any more; it reads as it is on disk.`;
  if (written === null) {
    const what = text === null ? "Proposed to delete" : current?.text === null ? "Proposed to create" : "Proposed";
    const mode = executable === undefined ? "" : " Its mode is left as it is: the owner reviews text alone.";
    return `${what} ${file.display}${note === "" ? "" : ` (${note})`}${size}. It waits for the owner's review; you already see the file as if it were accepted, so go on.${mode}`;
  }
  const what =
    text === null ? "Deleted" : written.before === null ? "Created" : written.before === written.after ? "Changed the mode of" : "Wrote";
  const mode = executable === undefined ? "" : executable ? " It may be run." : " It may not be run.";
  const links = written.otherNames === undefined ? "" : " The file had another name (a hard link), which keeps the old content.";
  return `${what} ${file.display}${note === "" ? "" : ` (${note})`}${size}.${mode}${links}`;
}

function sizeOf(before: string | null, after: string): string {
  const hunks = computeHunks(before, after);
  const added = hunks.reduce((sum, hunk) => sum + hunk.newLines, 0);
  const removed = hunks.reduce((sum, hunk) => sum + hunk.oldLines, 0);
  return `[+${added} −${removed} lines]`;
}
