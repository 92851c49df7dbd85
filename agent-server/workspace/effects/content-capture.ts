import { closeSync, constants, fstatSync, readlinkSync, readSync, type Stats } from "node:fs";
import { join } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import { diskPath } from "../byte-path.ts";
import type { ObjectStore } from "../checkpoints/object-store.ts";
import type { PackWriter } from "../checkpoints/object-packs.ts";
import { hashFile, openForReading } from "../file-operations.ts";
import { openOwnSync } from "../folder-access.ts";
import { sha256 } from "../text/encoding.ts";
import { retentionClasses } from "./retention-class.ts";
import type { CheckpointSettings } from "../checkpoints/checkpoint-settings.ts";
import { type Entry, entriesOf, factsOf, flag, flagsOf, type Folder, pathOf, setFacts, setFlags, setHash } from "./file-tree.ts";
import { createPace, isRacy, type Walked } from "./tree-walk.ts";

/** Files above this many bytes are read in chunks, asynchronously. */
const largeBytes = 4 * 1024 * 1024;
/** Number of files between two progress messages. */
const progressEvery = 5_000;

export interface CaptureOptions {
  readonly signal?: AbortSignal | undefined;
  /** When false, files whose content is not stored are not read. */
  readonly hashAll: boolean;
  /** When false, only hashes are computed. */
  readonly store: boolean;
  readonly onProgress?: ((words: string) => void) | undefined;
}

/**
 * Reads and stores the contents of a tree that are not known yet, the user's files first, within the limits of the settings. Durable when
 * it returns. @throws LancelotError `cancelled`; the system's error on a full disk.
 */
export async function captureContents(
  { root, fresh }: Pick<Walked, "root" | "fresh">,
  { workspace, objects, settings }: { workspace: string; objects: ObjectStore; settings: CheckpointSettings },
  { signal, hashAll, store, onProgress }: CaptureOptions,
): Promise<void> {
  if (fresh.length === 0) return;
  const fits = await budget(root, workspace, settings, signal ?? new AbortController().signal);
  const { packs } = objects;
  if (packs === undefined) throw new LancelotError("internal", "Effects are kept in packs.");
  const writer = packs.writer();
  const pace = createPace();
  let done = 0;
  try {
    for (const entry of fresh) {
      done += 1;
      if (done % 16 === 0) {
        if (signal?.aborted === true) throw new LancelotError("cancelled", "Stopped before anything was done.");
        await pace();
      }
      if (done % progressEvery === 0) onProgress?.(`Saving file contents: ${done} of ${fresh.length}`);
      const keeps = store && fits(entry);
      if (keeps || hashAll) await readEntry(entry, { workspace, objects, writer: store ? writer : null, keeps });
    }
    await writer.end();
  } catch (error) {
    await writer.abort();
    throw error;
  }
}

/** Decides for each entry whether its content is stored. */
async function budget(
  root: Folder,
  workspace: string,
  settings: CheckpointSettings,
  signal: AbortSignal,
): Promise<(entry: Entry) => boolean> {
  const { max_file_bytes: perFile, max_workspace_bytes: inAll } = settings;
  const isLarge = (entry: Entry): boolean => factsOf(entry).size > perFile;
  let total = 0;
  for (const entry of entriesOf(root)) if (!isLarge(entry)) total += factsOf(entry).size;
  if (total <= inAll) return (entry) => !isLarge(entry);
  const classOf = await retentionClasses(workspace, new Set(settings.generated_folders), signal);
  const classes: Entry[][] = [[], [], []];
  for (const entry of entriesOf(root)) if (!isLarge(entry)) classes[classOf(pathOf(entry))]?.push(entry);
  const fitting = new Map<Folder, Set<number>>();
  let left = inAll;
  for (const entry of classes.flat()) {
    left -= factsOf(entry).size;
    if (left < 0) break;
    const some = fitting.get(entry.folder) ?? new Set();
    some.add(entry.at);
    fitting.set(entry.folder, some);
  }
  return ({ folder, at }) => fitting.get(folder)?.has(at) === true;
}

const noFollow = constants.O_NOFOLLOW ?? 0;
const nonBlock = constants.O_NONBLOCK ?? 0;

/** Hashes the current content, and stores it when a writer is given. Entries that cannot be read stay unknown. */
async function readEntry(
  entry: Entry,
  { workspace, objects, writer, keeps }: { workspace: string; objects: ObjectStore; writer: PackWriter | null; keeps: boolean },
): Promise<void> {
  const path = join(workspace, pathOf(entry));
  const bits = flagsOf(entry) & flag.link;
  const kept = keeps ? flag.kept : 0;
  try {
    if ((bits & flag.link) !== 0) {
      const target = readlinkSync(diskPath(path), { encoding: "buffer" });
      const hash = sha256(target);
      // A link target has few bytes, so it is stored regardless of the limits.
      await writer?.add(hash, target);
      setHash(entry, hash);
      setFlags(entry, bits | flag.known | (writer === null ? 0 : flag.kept) | (flagsOf(entry) & flag.racy));
      return;
    }
    const read = factsOf(entry).size > largeBytes ? await readLarge(path, objects, keeps) : readSmall(path);
    if (read === null) return;
    if (read.bytes !== null && keeps) await writer?.add(read.hash, read.bytes);
    setFacts(entry, read.stats);
    setHash(entry, read.hash);
    setFlags(entry, bits | flag.known | kept | (read.steady && !isRacy(read.stats, read.at) ? 0 : flag.racy));
  } catch (error) {
    if (isFull(error)) throw error;
    // A file that was deleted or cannot be read stays unknown.
    if (error instanceof LancelotError || (error instanceof Error && "code" in error)) return;
    throw error;
  }
}

interface Read {
  readonly stats: Stats;
  readonly hash: string;
  /** Null when the bytes were stored while reading, or are not needed. */
  readonly bytes: Buffer | null;
  /** False when the file changed while it was read. */
  readonly steady: boolean;
  /** Time when reading began (ms since 1970). */
  readonly at: number;
}

function readSmall(path: string): Read | null {
  const at = Date.now();
  const file = openOwnSync(path, constants.O_RDONLY | noFollow | nonBlock);
  try {
    const before = fstatSync(file);
    if (!before.isFile() || before.size > largeBytes * 4) return null;
    // One extra byte detects a file that grew.
    const buffer = Buffer.allocUnsafe(before.size + 1);
    let length = 0;
    for (let got = -1; got !== 0 && length < buffer.byteLength; length += got)
      got = readSync(file, buffer, length, buffer.byteLength - length, null);
    const stats = fstatSync(file);
    const bytes = buffer.subarray(0, Math.min(length, before.size));
    const steady = length === stats.size && stats.mtimeMs === before.mtimeMs && stats.ctimeMs === before.ctimeMs;
    return { stats, bytes, hash: sha256(bytes), steady, at };
  } finally {
    closeSync(file);
  }
}

async function readLarge(path: string, objects: ObjectStore, store: boolean): Promise<Read | null> {
  const at = Date.now();
  const file = { absolute: path, display: path };
  const { handle, stats: before } = await openForReading(file, { isOwn: true });
  try {
    const hash = store ? await objects.putFile(handle, before.size) : await hashFile(file, { isOwn: true });
    if (hash === null) return null;
    const stats = await handle.stat();
    const steady = stats.mtimeMs === before.mtimeMs && stats.ctimeMs === before.ctimeMs && stats.size === before.size;
    return { stats, hash, bytes: null, steady, at };
  } finally {
    await handle.close();
  }
}

/** True when the disk or a quota is full. */
export function isFull(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ("code" in cause && ["ENOSPC", "EDQUOT", "EFBIG", "SQLITE_FULL"].includes(String(cause.code))) return true;
    if (cause instanceof LancelotError && cause.data?.["reason"] === "ENOSPC") return true;
  }
  return false;
}
