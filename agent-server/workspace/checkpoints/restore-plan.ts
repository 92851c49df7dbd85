import { lstatSync, readdirSync, realpathSync, type Stats } from "node:fs";
import { basename, dirname } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import type { Governance } from "../../governance/governance.ts";
import type { CheckpointFile } from "./checkpoints.ts";
import { type FileImage, isSpecial } from "./file-image.ts";
import { imageOf, notCreated, readOwn, sameImage } from "./checkpoint-entries.ts";
import type { ObjectStore } from "./object-store.ts";
import { diskPath, displayPath, fromBytes } from "../byte-path.ts";
import { decodeText, type Encoding, encodeText, sha256 } from "../text/encoding.ts";
import { mergeFiles } from "../text/three-way-merge.ts";
import type { TargetFile, WorkspaceFiles } from "../workspace-files.ts";

/** A file to restore; both states are in the object store, or on the disk as `current`. */
export interface Reversal {
  readonly file: TargetFile;
  readonly current: FileImage;
  readonly target: FileImage;
  /** Unsaved text of the editor; null when there is none. */
  readonly unsaved: string | null;
  readonly touches: readonly CheckpointFile[];
}

export interface Refusal {
  readonly path: string;
  readonly message: string;
  readonly touches: readonly CheckpointFile[];
}

export interface Plan {
  readonly reversals: Reversal[];
  readonly conflicts: Refusal[];
}

export interface PlanDeps {
  readonly objects: ObjectStore;
  readonly files: WorkspaceFiles;
  readonly governance: Pick<Governance, "resolvePath">;
}

/** Number of files examined concurrently. */
const batch = 16;

/** Plans, per file, how to revert these touches. Merges later edits; files that do not merge are kept and named. */
export async function planReversals(touched: readonly CheckpointFile[], deps: PlanDeps): Promise<Plan> {
  const byPath = [...Map.groupBy(touched, (file) => file.path.absolute)].toSorted(([a], [b]) => a.length - b.length);
  const plan: Plan = { reversals: [], conflicts: [] };
  const swapped = new Set<string>();
  const plans = async (some: typeof byPath): Promise<void> => {
    for (let at = 0; at < some.length; at += batch) {
      const done = await Promise.all(
        some.slice(at, at + batch).map(([absolute, touches]) => planOne(absolute, touches, swappedAbove(absolute, swapped), deps)),
      );
      for (const one of done) {
        if (one === null) continue;
        if ("message" in one) plan.conflicts.push(one);
        else plan.reversals.push(one);
      }
    }
  };
  // Processes folders top-down: when a folder was replaced by a link or file, its former content is not behind that entry.
  const wasFolder = ([, touches]: (typeof byPath)[number]): boolean =>
    touches.some(({ before, after }) => before?.kind === "folder" || after?.kind === "folder");
  for (const one of byPath.filter(wasFolder)) {
    const above = swappedAbove(one[0], swapped);
    if (above === null && isOtherThanFolder(one[0])) swapped.add(one[0]);
    await plans([one]);
  }
  await plans(byPath.filter((one) => !wasFolder(one)));
  return plan;
}

function swappedAbove(absolute: string, swapped: ReadonlySet<string>): string | null {
  if (swapped.size === 0) return null;
  for (let at = dirname(absolute); at !== dirname(at); at = dirname(at)) if (swapped.has(at)) return at;
  return null;
}

async function planOne(
  absolute: string,
  touches: readonly CheckpointFile[],
  below: string | null,
  deps: PlanDeps,
): Promise<Reversal | Refusal | null> {
  const display = touches[0]?.path.display ?? absolute;
  try {
    if (below !== null) {
      // The folder is restored first, so policy judges the one above it.
      const file = { absolute, display, asked: nearestNamed(dirname(below), deps.governance).absolute, inside: true };
      const target = await reverse(touches, null, null, file, deps.objects);
      return target === null ? null : { file, current: null, target, unsaved: null, touches };
    }
    const file = resolveTarget(absolute, display, deps.governance);
    const disk = existsWithExactName(absolute) ? await imageOf(file) : null;
    const plain = disk === null || disk.kind === undefined;
    const unsaved = plain && isNamedAsShown(file) ? await deps.files.unsavedText(file) : null;
    const bytes = unsaved === null || disk === null ? null : encodeLike(unsaved, await bytesOf(file));
    const current = bytes === null || disk === null ? disk : { hash: sha256(bytes), mode: disk.mode };
    const target = await reverse(touches, current, bytes, file, deps.objects);
    const isUnsaved = unsaved !== null && (disk === null || current?.hash !== disk.hash);
    return sameImage(current, target) ? null : { file, current: disk, target, unsaved: isUnsaved ? unsaved : null, touches };
  } catch (error) {
    if (!(error instanceof LancelotError)) throw error;
    return { path: display, message: error.message, touches };
  }
}

/**
 * Rules by which the path gate refuses a name, or a folder that hides its content, wherever it is. Tools may not use such a path, but a
 * command can, so undo judges the nearest folder above it that has a usable name.
 */
const refusedByName: ReadonlySet<string> = new Set([
  ...["path.nul", "path.control", "path.encoding", "path.invisible", "path.stream", "path.long"],
  ...["path.encoded", "path.foreign", "path.short-name", "path.unreadable"],
]);

/** True when undo can restore an entry although the path gate refuses it by this rule: by its name, or by the entry that is there now. */
export function isRestorable(resolved: ReturnType<Governance["resolvePath"]>): boolean {
  return resolved.ok || resolved.rule === "path.loop" || resolved.rule === "path.not-a-folder" || refusedByName.has(resolved.rule);
}

/**
 * Resolves the current location of a checkpoint's path, without following a link in its last part. For a path whose name the path gate
 * refuses, `asked` is the folder above that policy judges instead.
 * @throws LancelotError `denied`.
 */
export function resolveTarget(absolute: string, display: string, governance: Pick<Governance, "resolvePath">): TargetFile {
  const resolved = governance.resolvePath(absolute);
  if (resolved.ok && resolved.absolute === absolute) return { absolute, display, asked: absolute, inside: resolved.inside };
  if (!resolved.ok && refusedByName.has(resolved.rule)) {
    const above = nearestNamed(dirname(absolute), governance);
    return { absolute, display, asked: above.absolute, inside: above.inside };
  }
  // Only the link's own location matters; its target may not exist or may be a loop.
  if (!resolved.ok && !isLink(absolute)) throw new LancelotError("denied", resolved.message);
  const parent = dirname(absolute);
  const above = nearestNamed(parent, governance);
  return { absolute, display, asked: above.absolute === parent ? absolute : above.absolute, inside: above.inside };
}

/** The nearest folder that the path gate accepts, starting with `folder`. @throws LancelotError `denied` when it leads elsewhere. */
function nearestNamed(folder: string, governance: Pick<Governance, "resolvePath">): { absolute: string; inside: boolean } {
  const resolved = governance.resolvePath(folder);
  if (resolved.ok && resolved.absolute === folder) return resolved;
  if (resolved.ok || !refusedByName.has(resolved.rule) || leadsElsewhere(folder))
    throw new LancelotError("denied", "It now resolves to a different path.");
  return nearestNamed(dirname(folder), governance);
}

/** True for an existing path with a link in it. */
function leadsElsewhere(absolute: string): boolean {
  try {
    return fromBytes(realpathSync.native(diskPath(absolute), { encoding: "buffer" })) !== absolute;
  } catch {
    // Missing folders are created below the nearest existing one, which is checked then.
    return false;
  }
}

/** False for a file whose shown name is escaped, so that the editor would look for another one. */
export function isNamedAsShown({ display }: Pick<TargetFile, "display">): boolean {
  return displayPath(display) === display;
}

function isOtherThanFolder(absolute: string): boolean {
  return lstatOrNull(absolute)?.isDirectory() === false;
}

function isLink(absolute: string): boolean {
  return lstatOrNull(absolute)?.isSymbolicLink() === true;
}

function lstatOrNull(absolute: string): Stats | null {
  try {
    return lstatSync(diskPath(absolute));
  } catch {
    return null;
  }
}

/** Case-insensitive file systems find `name` under the path `Name`; this compares the exact spelling. */
function existsWithExactName(absolute: string): boolean {
  if (process.platform === "linux") return true;
  try {
    const name = basename(absolute).normalize("NFC");
    return readdirSync(dirname(absolute)).some((one) => one.normalize("NFC") === name);
  } catch {
    return false;
  }
}

async function bytesOf(file: TargetFile): Promise<Buffer> {
  return (await readOwn(file)) ?? Buffer.alloc(0);
}

/** Reverts the touches of one file from its current state. `unsaved`: its bytes in the editor, when they differ from the disk. */
async function reverse(
  touches: readonly CheckpointFile[],
  current: FileImage,
  unsaved: Buffer | null,
  file: TargetFile,
  objects: ObjectStore,
): Promise<FileImage> {
  let state = current;
  const load = async (image: FileImage): Promise<Buffer | null> => {
    if (image === null || image.hash === "") return null;
    if (image === current) return unsaved ?? (image.kind === undefined ? bytesOf(file) : objects.get(image.hash));
    return objects.get(image.hash);
  };
  for (const { before, after, planned, lost } of touches.toReversed()) {
    if (lost === null && sameImage(state, before)) continue;
    if (lost !== "shared" && isSpecial(before?.kind) && state?.kind !== before?.kind) throw notCreated(file);
    if (lost === "unkept")
      throw new LancelotError(
        "conflict",
        before === null && after?.kind === "folder"
          ? "Its earlier or present content is unknown, because it is too large, nested too deeply or cannot be read. It was not changed."
          : "Its earlier content was not kept, because it was too large or there was no space. It was not changed.",
      );
    if (lost === "shared")
      throw new LancelotError("conflict", "A command and another program changed it at the same time, so it was not changed.");
    // A host that died may or may not have written its planned content. Reverting a write that never happened changes nothing.
    const image = after === undefined ? planned : after;
    if (image === undefined)
      throw new LancelotError("conflict", "Lancelot was stopped while it wrote this file, so its content at that time is unknown.");
    if (matchesState(state, image)) {
      // Load the content before anything is written, to make sure that it exists.
      await load(before);
      state = before;
    } else state = await merge({ after: image, state, before }, load, objects);
  }
  return state;
}

/** Without content only existence counts: a later permission change must not block the restore. */
function matchesState(state: FileImage, image: FileImage): boolean {
  return sameImage(state, image) || (image !== null && image.hash === "" && state?.kind === image.kind);
}

/** Applies the reverse step from `after` to `before` to a file that was edited since. @throws LancelotError `conflict`. */
async function merge(
  { after, state, before }: { after: FileImage; state: FileImage; before: FileImage },
  load: (image: FileImage) => Promise<Buffer | null>,
  objects: ObjectStore,
): Promise<FileImage> {
  if ([after, state, before].some((image) => image !== null && image.kind !== undefined)) throw edited();
  if (after !== null && state !== null && before !== null && after.hash === state.hash) {
    await load(before);
    return before;
  }
  const [base, ours, theirs] = [textOf(await load(after)), textOf(await load(state)), textOf(await load(before))];
  if (base === null || ours === null || theirs === null) throw edited();
  const merged = mergeFiles(base.text, ours.text, theirs.text);
  if (merged === null) throw edited();
  if (merged.text === null) return null;
  const encoding = theirs.encoding ?? ours.encoding ?? base.encoding;
  if (encoding === null) throw edited();
  return { hash: await objects.put(encodeText(merged.text, encoding)), mode: before?.mode ?? state?.mode ?? 0o644 };
}

/** The text of a state; null when it is not text. */
function textOf(bytes: Buffer | null): { text: string | null; encoding: Encoding | null } | null {
  return bytes === null ? { text: null, encoding: null } : decodeText(bytes);
}

function edited(): LancelotError {
  return new LancelotError("conflict", "It was edited since, and the edits do not merge. It was not changed.");
}

function encodeLike(text: string, bytes: Buffer): Buffer {
  const decoded = decodeText(bytes);
  return encodeText(text, decoded?.encoding ?? { name: "utf8", bom: false });
}

type Step = { readonly file: TargetFile; readonly current: FileImage; readonly target: FileImage };

/**
 * Order in which entries are restored: removals first, folders after their content when removed and before it when created.
 */
export function inOrder<T extends Step>(all: readonly T[]): T[] {
  return wavesOf(all).flat();
}

/** The same as waves: entries of one wave may be restored concurrently when they are in different folders. */
export function wavesOf<T extends Step>(all: readonly T[]): T[][] {
  const rankOf = ({ file, current, target }: T): number => {
    const depth = file.absolute.split(/[/\\]/).length;
    if (target === null) return current?.kind === "folder" ? 1_000_000 - depth : 0;
    return target.kind === "folder" ? 1_000_000 + depth : 3_000_000;
  };
  const byRank = Map.groupBy(all, rankOf);
  return [...byRank].toSorted(([a], [b]) => a - b).map(([, wave]) => wave);
}

/** Processes the waves in sequence: `width` folders of a wave concurrently, and the entries of a folder in sequence. */
export async function inWaves<T extends Step>(all: readonly T[], width: number, work: (one: T) => Promise<void>): Promise<void> {
  for (const wave of wavesOf(all)) {
    const folders = [...Map.groupBy(wave, ({ file }) => dirname(file.absolute)).values()];
    const lane = async (): Promise<void> => {
      for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) for (const one of folder) await work(one);
    };
    await Promise.all(Array.from({ length: width }, lane));
  }
}
