import { type Dirent } from "node:fs";
import { lstat, opendir, statfs } from "node:fs/promises";
import { join } from "node:path";

/** Ends what takes the whole disk even where the workspace does not show it: files that are deleted and still open. */
const certainly = 3;
/** Milliseconds: a fast disk takes some 100 MB in this time, and a look costs microseconds. */
const checkEvery = 40;

/**
 * Calls `exceeded` once a command has added more than `limit` bytes to the workspace. Free space is looked at often, because it costs
 * nothing; only when that much has gone, by whomever, is it looked whether it lies in files of the workspace that changed since.
 * @returns how to stop looking
 */
export function watchGrowth(workspace: string, limit: number, exceeded: () => void): () => void {
  const state = { over: false, checked: 0 };
  const since = Date.now() - 1_000;
  const free = async () => {
    const { bavail, bsize } = await statfs(workspace);
    return bavail * bsize;
  };
  const watch = async () => {
    const before = await free();
    while (!state.over) {
      await new Promise((resolve) => setTimeout(resolve, checkEvery).unref());
      const gone = before - (await free());
      // Looked at again only when half as much more is gone, so that somebody else's download costs few walks.
      if (state.over || gone < limit || gone < state.checked * 1.5) continue;
      state.checked = gone;
      if (gone > limit * certainly || (await changedBytes(workspace, since, limit, () => state.over)) > limit) {
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

/** Bytes on the disk of files below `root` whose content or name changed after `since` (ms); stops counting above `enough`. */
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
      // It went away, or may not be looked at: what is in it cannot be counted.
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
