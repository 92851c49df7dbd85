import type { AskEditor } from "../contract/editor.ts";
import { LancelotError } from "../contract/errors.ts";
import { changeMode, type FilePath, hashFile, readWhole, removeFile, statPath, writeAtomic } from "./file-operations.ts";
import { formatBytes } from "./text/output-bounds.ts";
import { decodeText, type Encoding, encodeText, sha256, utf8 } from "./text/encoding.ts";
import { describeBytes } from "./text/line-window.ts";

/** State of a file after an effect, when it differs from the plan. */
export type FileOutcome =
  /** The file was not written. */
  | { readonly absolute: string; readonly as: "untouched" }
  /** The editor contains the new text unsaved; the disk is unchanged. */
  | { readonly absolute: string; readonly as: "unsaved" }
  /** The editor saved the file, possibly reformatted; SHA-256 of the saved content, null for no file. */
  | { readonly absolute: string; readonly as: "saved"; readonly hash: string | null };

/** Larger files (in bytes) are neither edited by text nor proposed. */
export const maxEditBytes = 5 * 1024 * 1024;

/** A file of the workspace (or an approved one outside it). */
export interface TargetFile extends FilePath {
  /** The path as requested. */
  readonly asked: string;
  readonly inside: boolean;
}

/** A file's text as the user sees it, including unsaved edits in the editor. */
export interface CurrentText {
  /** Null when the file does not exist. */
  readonly text: string | null;
  readonly encoding: Encoding;
  /** SHA-256 of the bytes on disk; null when the file does not exist. */
  readonly diskHash: string | null;
  readonly unsaved: boolean;
}

export interface Written {
  readonly path: string;
  readonly before: string | null;
  readonly after: string | null;
  readonly via: "editor" | "disk";
  /** False while the editor contains the new text unsaved. */
  readonly saved: boolean;
  /** Number of hard links elsewhere that keep the old content. */
  readonly otherNames?: number;
}

/** Outcome of a write when the result is not simply the text on disk; null when nothing was written. */
export function fileOutcomesOf(file: FilePath, written: Written | null): FileOutcome[] {
  const { absolute } = file;
  if (written === null) return [{ absolute, as: "untouched" }];
  if (written.via === "disk") return [];
  return [written.saved ? { absolute, as: "saved", hash: written.after } : { absolute, as: "unsaved" }];
}

/** Reads and writes files as the user sees them: through the editor when connected, otherwise on disk. */
export interface WorkspaceFiles {
  /** @throws LancelotError `too_large`, `invalid_params` for a file that is not text. */
  current(file: TargetFile): Promise<CurrentText>;
  unsavedText(file: TargetFile): Promise<string | null>;
  /**
   * Replaces the text of a file (null: deletes it) if it still equals `from`, and verifies the result.
   * @throws LancelotError `conflict` when it does not, and the errors of `writeAtomic`.
   */
  write(file: TargetFile, from: CurrentText, text: string | null): Promise<Written>;
  /** The same for bytes, always on disk. */
  writeBytes(file: TargetFile, expected: string | null, bytes: Buffer | null, mode?: number): Promise<Written>;
}

export function createWorkspaceFiles(askEditor: AskEditor | null): WorkspaceFiles {
  async function unsavedText(file: TargetFile): Promise<string | null> {
    if (askEditor === null || !file.inside) return null;
    try {
      return (await askEditor("unsavedText", { path: file.display })).text;
    } catch (error) {
      if (error instanceof LancelotError && error.code === "unavailable") return null;
      throw error;
    }
  }

  /** Null when the editor did not accept the edit, so that the disk is written instead. */
  async function writeInEditor(file: TargetFile, from: CurrentText, text: string | null): Promise<Written | null> {
    // The editor would save other encodings by its own guess, so those are written to disk directly.
    if (askEditor === null || !file.inside || from.encoding.name !== "utf8") return null;
    // The editor would write through to every hard link of the file, at unknown locations.
    if (((await statPath(file))?.nlink ?? 1) > 1) return null;
    let answer: { applied: boolean; saved: boolean };
    try {
      answer = await askEditor("applyText", { path: file.display, expected: from.text, text });
    } catch (error) {
      if (error instanceof LancelotError && error.code === "unavailable") return null;
      throw error;
    }
    if (!answer.applied) throw changedMeanwhile(file);
    const after = await hashFile(file);
    if (answer.saved && (after === null) !== (text === null)) throw notAsWritten(file);
    return { path: file.display, before: from.diskHash, after, via: "editor", saved: answer.saved };
  }

  async function writeBytes(file: TargetFile, expected: string | null, bytes: Buffer | null, mode?: number): Promise<Written> {
    const after = bytes === null ? null : sha256(bytes);
    let otherNames = 0;
    if (bytes === null) {
      if (expected !== null) await removeFile(file, expected);
    } else if (after === expected) {
      if (mode !== undefined) await changeMode(file, mode);
    } else otherNames = await writeAtomic(file, bytes, mode === undefined ? { expected } : { expected, mode });
    if ((await hashFile(file)) !== after) throw notAsWritten(file);
    const written: Written = { path: file.display, before: expected, after, via: "disk", saved: true };
    return otherNames > 0 ? { ...written, otherNames } : written;
  }

  return {
    unsavedText,

    async current(file) {
      const disk = await readWhole(file, maxEditBytes);
      const unsaved = await unsavedText(file);
      if (disk === null) return { text: unsaved, encoding: utf8, diskHash: null, unsaved: unsaved !== null };
      const decoded = decodeText(disk.bytes);
      if (decoded === null) {
        const kind = describeBytes(disk.bytes.subarray(0, 8192)) ?? "in an unknown encoding";
        throw new LancelotError(
          "invalid_params",
          `${file.display} is ${kind} (${formatBytes(disk.bytes.length)}), not a text file; it cannot be edited by text.`,
        );
      }
      // The editor may call a document unsaved whose text is on the disk, as after a save that it did not manage.
      const isUnsaved = unsaved !== null && unsaved !== decoded.text;
      return { text: unsaved ?? decoded.text, encoding: decoded.encoding, diskHash: sha256(disk.bytes), unsaved: isUnsaved };
    },

    async write(file, from, text) {
      const edited = await writeInEditor(file, from, text);
      if (edited !== null && (edited.saved || from.unsaved)) return edited;
      if (edited === null && from.unsaved) {
        throw new LancelotError("conflict", `${file.display} has unsaved edits in the editor. Save it there, then try again.`);
      }
      // A file without unsaved edits ends on the disk, also when the editor did not save it, or saves it by itself a moment later.
      const bytes = text === null ? null : encodeText(text, from.encoding);
      if (edited !== null && bytes !== null && edited.after === sha256(bytes)) return { ...edited, saved: true };
      return writeBytes(file, from.diskHash, bytes);
    },

    writeBytes,
  };
}

function changedMeanwhile(file: FilePath): LancelotError {
  return new LancelotError("conflict", `${file.display} was changed in the editor in the meantime. It was not overwritten.`);
}

function notAsWritten(file: FilePath): LancelotError {
  return new LancelotError(
    "conflict",
    `${file.display} does not contain the written text, because another program changed it at the same time.`,
  );
}
