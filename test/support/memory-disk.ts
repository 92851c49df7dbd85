import { mkdirSync, statfsSync } from "node:fs";
import { expect } from "vitest";

/** Files that write many small files and databases: a third of their time was waiting for a disk. Others judge where paths lie. */
const heavy = /\/unit\/(receipts|memory|storage)\/|\/(git|effects)[^/]*\.test\.ts$/;
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
const folder = heavy.test((expect.getState().testPath ?? "").replaceAll("\\", "/")) ? memoryFolder() : null;
if (folder !== null) process.env["TMPDIR"] = folder;
else if (usual === "") delete process.env["TMPDIR"];
else process.env["TMPDIR"] = usual;
