import { LancelotError } from "../contract/errors.ts";
import type { Change } from "../contract/changes.ts";
import { hashFile } from "./providers/file-ops.ts";
import { type Answer, type Effect, fileStep, type ResolvedFile, type Scope } from "./tool.ts";
import { encodeText, sha256, utf8 } from "./text/encoding.ts";
import { computeHunks, unifiedDiff } from "./text/hunks.ts";
import { type CurrentText, leftBy, maxEditBytes, type Written } from "./workspace-files.ts";

/** An edit worked out and not yet made. */
export interface PlannedEdit {
  readonly file: ResolvedFile;
  /** What it was worked out from; null for a file whose content must not be looked at (secrets) or need not be (deletion). */
  readonly current: CurrentText | null;
  /** The file as it is to be; null: no file. */
  readonly text: string | null;
  /** What was done, for the model: "3 places". */
  readonly note: string;
}

interface Done {
  readonly edit: PlannedEdit;
  readonly change: Change | null;
  readonly written: Written | null;
}

/** Turns edits into an effect: proposed for review, or applied at once, as posture and mode say. All of them or none. */
export function editsEffect(scope: Scope, edits: readonly PlannedEdit[], action: "write" | "apply_patch"): Effect {
  for (const { file, text } of edits) {
    if (text !== null && Buffer.byteLength(text) > maxEditBytes) {
      throw new LancelotError("too_large", `${file.display} would be larger than ${maxEditBytes} bytes. Make it in smaller files.`);
    }
  }
  const atOnce = edits.filter((edit) => appliesAtOnce(scope, edit));
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
    touches: atOnce.map(({ file, current, text }) => ({
      path: file,
      planned: text === null ? null : encodeText(text, current?.encoding ?? utf8),
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
        left: done.flatMap(({ edit, written }) => leftBy(edit.file, written)),
      };
    },
  };
}

/** Whether the write happens now. Deletions were asked for by name; secrets and files elsewhere are never kept as proposals. */
function appliesAtOnce(scope: Scope, edit: PlannedEdit): boolean {
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
  const { questId } = scope.call;
  const done = applied.map(({ edit, current, written }): Done => {
    const recorded = current !== null && written !== null && edit.file.inside && edit.file.sensitive !== "secret";
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
  // Taking back a file that was only proposed leaves nothing to write.
  const written = text === current.text ? null : await scope.files.write(file, current, text);
  undo.push(async () => {
    if (written !== null) await scope.files.write(file, { ...(await scope.files.current(file)), encoding: current.encoding }, current.text);
  });
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
  // The old text of a file that must not be looked at stays out of the question.
  if (current === null) return `Write ${file.display}:\n${text}`;
  return unifiedDiff(file.display, current.text, text);
}

function told({ edit, change, written }: Done): string {
  const { file, current, text, note } = edit;
  const size = current === null || text === null ? "" : ` ${sizeOf(current.text, text)}`;
  if (written === null && change === null) return `${file.display}: nothing is proposed any more; it reads as it is on disk.`;
  if (written === null) {
    const what = text === null ? "Proposed to delete" : current?.text === null ? "Proposed to create" : "Proposed";
    return `${what} ${file.display}${note === "" ? "" : ` (${note})`}${size}. It waits for the owner's review; you already see the file as if it were accepted, so go on.`;
  }
  const what = text === null ? "Deleted" : written.before === null ? "Created" : "Wrote";
  return `${what} ${file.display}${note === "" ? "" : ` (${note})`}${size}.`;
}

function sizeOf(before: string | null, after: string): string {
  const hunks = computeHunks(before, after);
  const added = hunks.reduce((sum, hunk) => sum + hunk.newLines, 0);
  const removed = hunks.reduce((sum, hunk) => sum + hunk.oldLines, 0);
  return `[+${added} −${removed} lines]`;
}
