import { listViewFiles, readViewFile, type ViewFile, type ViewFiles } from "../../workspace/workspace.ts";
import type { CopiedPaths } from "./copied-paths.ts";
import { type Listing, parentOf } from "./copy-listing.ts";
import { tarEnd, tarHeader, tarPadding } from "./tar-writer.ts";

/** What this process knows about the copy of a task. */
export interface KnownCopy {
  /** Stamps of the files that were sent or taken out, here and in the copy. */
  readonly same: Map<string, { readonly here: string; readonly there: string }>;
  /** Files of the copy that were not taken out, because they are too large. */
  readonly heldBack: Set<string>;
}

/** Ids of owners inside of the copy. */
export interface CopyOwners {
  /** Of files. */
  readonly user: { readonly uid: number; readonly gid: number };
  /** Of the stand-ins of secret files, which the user then can neither read nor open up. */
  readonly masks: { readonly uid: number; readonly gid: number };
}

/** Larger stand-ins are empty, bytes: git takes their files for modified then. */
const maxStandIn = 1024 * 1024;

/** The entries of the view that belong to the copy. Of secret files, it has stand-ins with their size and time, as in other views. */
export async function wantedFiles(merged: string, paths: CopiedPaths): Promise<ViewFiles> {
  const found = await listViewFiles(merged, { leftOut: paths.ignored, isClosed: paths.isMasked });
  for (const [path, file] of found) if (paths.isMasked(path) && file.kind !== "link") found.set(path, standIn(file));
  return found;
}

function standIn({ kind, size, mtime, target }: ViewFile): ViewFile {
  const shown = size > maxStandIn ? 0 : size;
  return { kind, mode: 0, size: shown, mtime, target, isRacy: false, stamp: `mask:${kind}:${shown}:${mtime}` };
}

/** The steps that make a copy equal to the view. */
export interface CopySteps {
  /** To be removed first. No path is in another one. */
  readonly remove: readonly string[];
  /** To be sent. Folders before their content. */
  readonly send: readonly string[];
}

export async function planCopy(wanted: ViewFiles, inside: Listing, { same, heldBack }: KnownCopy, paths: CopiedPaths): Promise<CopySteps> {
  const remove: string[] = [];
  const unknown: string[] = [];
  let done: string | null = null;
  for (const [path, { kind }] of inside) {
    if (path === "" || (done !== null && path.startsWith(done))) continue;
    const file = wanted.get(path);
    if (file?.kind === kind) continue;
    done = `${path}/`;
    if (file !== undefined) remove.push(path);
    else if (kind !== "other" && !heldBack.has(path)) unknown.push(path);
  }
  const kept = await paths.ignored(unknown.map((path) => ({ path, isFolder: inside.get(path)?.kind === "folder" })));
  remove.push(...unknown.filter((path) => !kept.has(path)));
  const send: string[] = [];
  for (const [path, file] of wanted) {
    const there = inside.get(path);
    const known = same.get(path);
    const isKnown = known !== undefined && known.here === file.stamp && known.there === there?.stamp;
    const isSame = file.kind === "folder" ? there?.kind === "folder" && there.mode === file.mode : isKnown;
    if (!isSame && !heldBack.has(path)) send.push(path);
  }
  return { remove, send };
}

/** Packs entries of the view. @param onSkipped receives files that cannot be read, which the copy does not get */
export async function* packFiles(
  merged: string,
  wanted: ViewFiles,
  {
    send,
    owners,
    paths,
    onSkipped,
  }: { send: readonly string[]; owners: CopyOwners; paths: CopiedPaths; onSkipped: (path: string) => void },
): AsyncGenerator<Buffer> {
  for (const path of send) {
    const file = wanted.get(path);
    if (file === undefined) continue;
    const { kind, mode, size, mtime, target } = file;
    const isMask = paths.isMasked(path) && kind !== "link";
    const content = kind === "file" && !isMask ? await readViewFile(merged, path, size) : null;
    if (kind === "file" && !isMask && content === null) {
      onSkipped(path);
      continue;
    }
    yield tarHeader({ path, kind, mode: kind === "link" ? 0o777 : mode, size, mtime, target, ...(isMask ? owners.masks : owners.user) });
    if (content !== null) yield* content;
    else if (size > 0) yield Buffer.alloc(size);
    if (size > 0) yield tarPadding(size);
  }
  yield tarEnd;
}

/** True when the copy has all files that were sent. */
export function hasArrived(wanted: ViewFiles, send: readonly string[], inside: Listing): boolean {
  return send.every((path) => {
    const [file, there] = [wanted.get(path), inside.get(path)];
    return (
      file === undefined ||
      (there?.kind === file.kind && inside.get(parentOf(path))?.kind === "folder" && (file.kind !== "file" || there.size === file.size))
    );
  });
}
