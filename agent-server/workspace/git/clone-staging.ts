import { createHash, randomBytes } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { lstat, readdir, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";

/** Folder in which a clone runs before it is moved into place, or git works for one call. The name contains its process and the time in seconds. */
const stagingName = /^\.lancelot-clone-([0-9a-f]{8})-(\d{1,10})-([0-9a-z]{1,8})-[0-9a-f]{16}$/;
/** Older folders (ms) were left by hosts that this one cannot see, because no clone takes this long. */
const oldest = 24 * 60 * 60 * 1000;

/** A unique name for the staging folder of a clone by this process. */
export function stagingFolder(folder: string): string {
  const seconds = Math.floor(Date.now() / 1000).toString(36);
  return join(folder, `.lancelot-clone-${place()}-${process.pid}-${seconds}-${randomBytes(8).toString("hex")}`);
}

/**
 * Removes staging folders of hosts that died. Keeps those of live processes and, for a day, those of other machines and containers that
 * share the folder.
 * @returns the names that were removed.
 */
export async function sweepStaging(folder: string): Promise<string[]> {
  const removed: string[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    const parts = stagingName.exec(entry.name);
    if (parts === null || !entry.isDirectory()) continue;
    const [, madeIn, pid, seconds = ""] = parts;
    const age = Date.now() - Number.parseInt(seconds, 36) * 1000;
    if (age < oldest && (madeIn !== place() || isAlive(Number(pid)))) continue;
    // The folder may be shared with other users.
    if ((await lstat(join(folder, entry.name)).catch(() => null))?.uid !== (process.getuid?.() ?? 0)) continue;
    await rm(join(folder, entry.name), { recursive: true, force: true });
    removed.push(entry.name);
  }
  return removed;
}

/** Scope in which a process id is unique: this machine since its last boot, and the current container. */
function place(): string {
  let words = `${process.platform} ${hostname()}`;
  try {
    words = `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    // Only Linux has these files.
  }
  return createHash("sha256").update(words).digest("hex").slice(0, 8);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
