import { mkdirSync, statfsSync } from "node:fs";
import { expect } from "vitest";

/**
 * Files that write many small files and databases: a third of their time was waiting for a disk. Others judge where paths lie. A process
 * that is killed leaves on such a disk what it would leave on another.
 */
const heavy = [
  /\/unit\/(receipts|memory|storage)\//,
  /\/unit\/(.*\/)?(git|effects)[^/]*\.test\.ts$/,
  /\/integration\/(approvals|context-compaction|effects|host-|memory|models|quests|receipts|terminal|tools-crash|usage)[^/]*\.test\.ts$/,
];
const usual = process.env["LANCELOT_TEST_TMPDIR"] ?? process.env["TMPDIR"] ?? "";
process.env["LANCELOT_TEST_TMPDIR"] = usual;

/** A folder in memory, where the machine has a gigabyte for it; null elsewhere. */
function memoryFolder(): string | null {
  try {
    const { bavail, bsize } = statfsSync("/dev/shm");
    if (bavail * bsize < 2 ** 30) return null;
    mkdirSync("/dev/shm/lancelot-tests", { recursive: true });
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
