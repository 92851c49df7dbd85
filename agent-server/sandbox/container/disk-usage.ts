import { type Dirent } from "node:fs";
import { lstat, opendir, statfs } from "node:fs/promises";
import { join } from "node:path";

/**
 * At this multiple of the limit, the command is stopped even when the workspace shows no growth, because deleted files may still be open.
 */
const certainly = 3;
/** Interval in milliseconds: a fast disk writes some 100 MB in this time, and a check takes microseconds. */
const checkEvery = 40;
/** For commands that run for hours, only the space that was gone while they wrote as much within this time (ms) is certain to be theirs. */
export const lastingWindow = 60_000;

/** Types of file systems (statfs) whose writes the kernel counts apart from pipes and sockets: ext2 to ext4, XFS, Btrfs, F2FS. */
const countedFileSystems: ReadonlySet<number> = new Set([0xef53, 0x58465342, 0x9123683e, 0xf2f52010]);

/** Where a command writes. */
export interface MeasuredDisk {
  /** How often free space is asked for. */
  readonly everyMs: number;
  /** Free bytes of the disk, and the type of its file system as statfs reports it. */
  free(): Promise<{ readonly bytes: number; readonly type: number }>;
  /** Bytes that were added to what the command may write; stops counting above `enough`. */
  added(enough: number, stopped: () => boolean): Promise<number>;
}

/** What the kernel counted for processes, ended ones included: bytes that went to files, and bytes of all output. */
export interface WrittenBytes {
  readonly files: number;
  readonly all: number;
}

/** Counts what a command wrote. */
export interface WriteCount {
  /** Since the command's start. Null where it is not known: everything that is gone may then be the command's. */
  now(): WrittenBytes | null | Promise<WrittenBytes | null>;
  /** Only what was written, and was gone, within the last such time (ms) counts. */
  readonly windowMs: number;
}

/** As `watchDisk`, for a folder of this machine, whose files that changed since the start count. */
export function watchGrowth(folder: string, limit: number, exceeded: () => void, written?: WriteCount): () => void {
  const since = Date.now() - 1_000;
  const disk: MeasuredDisk = {
    everyMs: checkEvery,
    async free() {
      const { bavail, bsize, type } = await statfs(folder);
      return { bytes: bavail * bsize, type };
    },
    added: (enough, stopped) => changedBytes(folder, since, enough, stopped),
  };
  return watchDisk(disk, limit, exceeded, written);
}

/**
 * Calls `exceeded` once a command has added more than `limit` bytes. Checks the free disk space often, because that is cheap. Only when that
 * much space is gone, it adds up the written files.
 * @param written counts what the command's processes wrote. What other programs take on the disk is not theirs
 * @returns a function that stops the checks
 */
export function watchDisk({ everyMs, free, added }: MeasuredDisk, limit: number, exceeded: () => void, written?: WriteCount): () => void {
  const state = { over: false, checked: 0 };
  const watch = async () => {
    const { bytes: before, type } = await free();
    // Elsewhere, output to pipes counts too.
    const kind = countedFileSystems.has(type) ? "files" : "all";
    const count = async (): Promise<number | null> => (written === undefined ? null : ((await written.now())?.[kind] ?? null));
    let recent = { free: before, written: 0, at: Date.now() };
    const wroteEnough = async (): Promise<boolean> => {
      const bytes = await count();
      return bytes === null || bytes - recent.written > limit;
    };
    while (!state.over) {
      await new Promise((resolve) => setTimeout(resolve, everyMs).unref());
      const { bytes: now } = await free();
      const gone = before - now;
      if (written !== undefined && Date.now() - recent.at > written.windowMs)
        recent = { free: now, written: (await count()) ?? recent.written, at: Date.now() };
      // Walks again only after another 50 % of growth, so that an unrelated download causes few walks.
      if (state.over || gone < limit || gone < state.checked * 1.5) continue;
      state.checked = gone;
      const isCertain = recent.free - now > limit * certainly && (await wroteEnough());
      if (isCertain || (await added(limit, () => state.over)) > limit) {
        if (!state.over) exceeded();
        return;
      }
    }
  };
  watch().catch(() => {});
  return () => {
    state.over = true;
  };
}

/** Bytes of files below `root` whose content or name changed after `since` (ms); stops counting above `enough`. */
async function changedBytes(root: string, since: number, enough: number, stopped: () => boolean): Promise<number> {
  let bytes = 0;
  const folders = [root];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    try {
      for await (const entry of await opendir(folder)) {
        if (stopped() || bytes > enough) return bytes;
        bytes += await size(join(folder, entry.name), entry, since, folders);
      }
    } catch {
      // A file that was deleted or cannot be read is not counted.
    }
  }
  return bytes;
}

async function size(path: string, entry: Dirent, since: number, folders: string[]): Promise<number> {
  if (entry.isDirectory()) {
    folders.push(path);
    return 0;
  }
  if (!entry.isFile()) return 0;
  const stats = await lstat(path);
  return stats.ctimeMs >= since ? stats.blocks * 512 : 0;
}
