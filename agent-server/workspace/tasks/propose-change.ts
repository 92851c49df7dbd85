import { readlinkSync } from "node:fs";
import { join } from "node:path";
import type { Change } from "../../contract/changes.ts";
import { LancelotError } from "../../contract/errors.ts";
import { diskPath } from "../byte-path.ts";
import type { Changes } from "../changes/types.ts";
import type { WholeContent } from "../changes/whole-changes.ts";
import { storeEntry } from "../checkpoints/checkpoint-entries.ts";
import type { ObjectStore } from "../checkpoints/object-store.ts";
import { type FilePath, readWhole } from "../file-operations.ts";
import { decodeText, encodeText } from "../text/encoding.ts";
import { type CurrentText, maxEditBytes, type TargetFile, type WorkspaceFiles } from "../workspace-files.ts";
import type { LayerChange, LayerEntry } from "./layer-scan.ts";

export interface ProposeDeps {
  /** Absolute and resolved. */
  readonly workspace: string;
  readonly files: Pick<WorkspaceFiles, "current">;
  readonly objects: ObjectStore;
  readonly changes: Pick<Changes, "overlay" | "propose" | "proposeWhole">;
}

/** Where a change of a task comes from. */
export interface ProposeFrom {
  readonly questId: string | null;
  readonly receiptId: string | null;
  /** The upper folder of the task's layer. Its files are read, never the view's: a command that still runs could swap a folder for a link there. */
  readonly upper: string;
  /** The command, for the review. */
  readonly origin: string;
  /** Why the change is decided on its own; null for an ordinary one. */
  readonly caution: string | null;
  /** True once the path needs no proposal, because its change was decided meanwhile. */
  readonly isSettled?: (path: string) => boolean;
}

/**
 * Turns a changed source path of a task into a proposed change: a text is reviewed hunk by hunk, anything else as a whole.
 * @returns null where the quest has proposed exactly this already, and for a pipe, socket or device, which is never created
 * @throws LancelotError when a file cannot be read.
 */
export async function proposeChange(deps: ProposeDeps, change: LayerChange, from: ProposeFrom): Promise<Change | null> {
  const { path, before, after } = change;
  const { questId, receiptId, origin, caution } = from;
  const record = { questId, receiptId, origin, ...(caution === null ? {} : { caution }) };
  if (after?.kind === "other") return null;
  const file: TargetFile = { absolute: join(deps.workspace, path), display: path, asked: path, inside: true };
  const now: FilePath = { absolute: join(from.upper, path), display: path };
  const text = isText(before) && isText(after) ? await textChange(deps, file, now, { isNew: before === null, after }) : null;
  if (from.isSettled?.(path) === true) return null;
  if (text !== null) {
    const mode = newMode(before, after);
    const open = deps.changes.overlay(questId, file, text.current);
    if (open.changeId !== null && !open.conflict && open.text === text.text && mode === null) return null;
    return deps.changes.propose({ ...record, file, ...text, ...(mode === null ? {} : { mode }) });
  }
  const content = await contentOf(now, after, deps.objects);
  const images = { before: await contentOf(file, before, deps.objects), after: withoutSetuid(content) };
  // The user may have decided while the contents were read.
  if (from.isSettled?.(path) === true) return null;
  return deps.changes.proposeWhole({ ...record, file, ...images });
}

function isText(entry: LayerEntry | null): boolean {
  return entry === null || (entry.kind === "file" && entry.size <= maxEditBytes);
}

/** Both texts of a file; null when one is not text, or when the texts do not describe the change. */
async function textChange(
  { files }: ProposeDeps,
  file: TargetFile,
  now: FilePath,
  { isNew, after }: { readonly isNew: boolean; readonly after: LayerEntry | null },
): Promise<{ current: CurrentText; text: string | null } | null> {
  let current: CurrentText;
  try {
    current = await files.current(file);
  } catch (error) {
    // It is denied where the workspace has a link in place of a folder that the task created.
    const codes: readonly string[] = ["invalid_params", "too_large", ...(isNew ? ["denied"] : [])];
    if (error instanceof LancelotError && codes.includes(error.code)) return null;
    throw error;
  }
  if (after === null) return { current, text: null };
  const bytes = (await readWhole(now, maxEditBytes))?.bytes ?? null;
  const decoded = bytes === null ? null : decodeText(bytes);
  if (bytes === null || decoded === null) return null;
  if (current.text === null) return { current: { ...current, encoding: decoded.encoding }, text: decoded.text };
  // A change of the encoding or of permissions alone has no hunk.
  const isSame = decoded.text === current.text;
  return isSame || !encodeText(decoded.text, current.encoding).equals(bytes) ? null : { current, text: decoded.text };
}

/** Permission bits that a command may give a file. Those that lend the owner's rights to a program (setuid, setgid) are never proposed. */
const proposedBits = 0o777;

/** The permissions that a file gets with its new text; null where it keeps those it has, or the usual ones. */
function newMode(before: LayerEntry | null, after: LayerEntry | null): number | null {
  if (after === null) return null;
  const usual = before === null ? 0o666 & ~process.umask() : before.mode & proposedBits;
  const mode = after.mode & proposedBits;
  return mode === usual ? null : mode;
}

function withoutSetuid(content: WholeContent): WholeContent {
  const { image } = content;
  return image === null ? content : { ...content, image: { ...image, mode: image.mode & proposedBits } };
}

async function contentOf(path: FilePath, entry: LayerEntry | null, objects: ObjectStore): Promise<WholeContent> {
  if (entry === null) return { image: null, size: 0 };
  const { image, size } = await storeEntry(path, objects, true);
  return entry.kind === "link" ? { image, size, linkTarget: readlinkSync(diskPath(path.absolute)) } : { image, size };
}
