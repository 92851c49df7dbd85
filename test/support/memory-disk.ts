import { chmodSync, mkdirSync, statfsSync } from "node:fs";
import { release } from "node:os";
import { expect } from "vitest";
import { soak } from "./soak.ts";

/**
 * Files that write many small files and databases: a third of their time was waiting for a disk, and making a file on one takes several
 * times the processor time. Others judge where paths lie, or limits of a disk. A process that is killed leaves on such a disk what it
 * would leave on another.
 */
const heavy = [
  /\/unit\/(receipts|memory|storage)\//,
  /\/unit\/(.*\/)?(git|effects)[^/]*\.test\.ts$/,
  /\/integration\/(approvals|context-compaction|effects|git-traps|host-|hostile|injections|memory|models)[^/]*\.test\.ts$/,
  /\/integration\/(quests|receipts|secrets-everywhere|soul-crash|start|storage|terminal|usage|ways|web-ops)[^/]*\.test\.ts$/,
  /\/integration\/tools-(crash|patch-kill|real-sources|verification)\.test\.ts$/,
];
/** Files that mount views of tasks, where the kernel lets ordinary users do so in memory: since 6.6. The soak has them on the disk. */
const views = /\/integration\/(commit-import|overlay-scan|task-|tasks)[^/]*\.test\.ts$/;
const [major = 0, minor = 0] = release().split(".").map(Number);
if (!soak && (major > 6 || (major === 6 && minor >= 6))) heavy.push(views);

const usual = process.env["LANCELOT_TEST_TMPDIR"] ?? process.env["TMPDIR"] ?? "";
process.env["LANCELOT_TEST_TMPDIR"] = usual;

/** A folder in memory, where the machine has a gigabyte for it; null elsewhere. */
function memoryFolder(): string | null {
  try {
    const { bavail, bsize } = statfsSync("/dev/shm");
    if (bavail * bsize < 2 ** 30) return null;
    mkdirSync("/dev/shm/lancelot-tests", { recursive: true });
    // For files that go on as another user.
    if (process.getuid?.() === 0) chmodSync("/dev/shm/lancelot-tests", 0o1777);
    return "/dev/shm/lancelot-tests";
  } catch {
    return null;
  }
}

// Files share a process, so each sets what it needs.
const path = (expect.getState().testPath ?? "").replaceAll("\\", "/");
const folder = heavy.some((files) => files.test(path)) ? memoryFolder() : null;
if (folder !== null) process.env["TMPDIR"] = folder;
else if (usual === "") delete process.env["TMPDIR"];
else process.env["TMPDIR"] = usual;

/** The temporary folder that this machine has without all this, mostly on a disk. */
export const usualTmpdir = (): string => (usual === "" ? "/tmp" : usual);
