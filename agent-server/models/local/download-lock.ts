import { randomUUID } from "node:crypto";
import { link, mkdir, open, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { LancelotError } from "../../contract/errors.ts";

const beatMs = 2_000;
/** A lock without an update for so long is stale, or its process id was reused. */
const staleMs = 20_000;
const lookMs = 250;

/**
 * Keeps two windows from writing the same files: waits for the lock and reports every 250 ms that it waits. A lock whose process has ended
 * is ignored.
 * @throws LancelotError `cancelled`
 */
export async function lockDownloads(folder: string, signal: AbortSignal, onWait: () => void): Promise<() => Promise<void>> {
  await mkdir(folder, { recursive: true });
  const file = join(folder, ".downloading");
  const mine = `${process.pid} ${randomUUID()}`;
  for (;;) {
    if (signal.aborted) throw new LancelotError("cancelled", "The download was stopped. It resumes where it stopped.");
    if (await make(file, mine)) break;
    if (await removeStale(file)) continue;
    onWait();
    await delay(lookMs, undefined, { signal }).catch(() => undefined);
  }
  const beat = setInterval(() => void utimes(file, new Date(), new Date()).catch(() => undefined), beatMs);
  beat.unref();
  return async () => {
    clearInterval(beat);
    if ((await contentOf(file)) === mine) await rm(file, { force: true });
  };
}

/** Whether another running process holds it. */
export async function isLocked(folder: string): Promise<boolean> {
  const file = join(folder, ".downloading");
  const holder = await contentOf(file);
  return holder !== null && !(await isStale(file, holder));
}

/** Created atomically, since an empty lock could be one of a process that ended while writing it. */
async function make(file: string, content: string): Promise<boolean> {
  const draft = `${file}.${randomUUID()}`;
  const handle = await open(draft, "wx");
  try {
    await handle.writeFile(content);
  } finally {
    await handle.close();
  }
  try {
    await link(draft, file);
    return true;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "EEXIST") return false;
    if (code !== "EPERM" && code !== "ENOTSUP" && code !== "ENOSYS" && code !== "EMLINK") throw error;
    // A file system without hard links needs two steps.
    return await writeFile(file, content, { flag: "wx" }).then(
      () => true,
      () => false,
    );
  } finally {
    await rm(draft, { force: true });
  }
}

async function removeStale(file: string): Promise<boolean> {
  const holder = await contentOf(file);
  if (holder === null) return true;
  if (!(await isStale(file, holder))) return false;
  // Renamed first, so that two windows that find the same stale lock do not delete the new one of the faster.
  const aside = `${file}.${randomUUID()}`;
  await rename(file, aside).catch(() => undefined);
  const moved = await contentOf(aside);
  if (moved !== null && moved !== holder) await link(aside, file).catch(() => undefined);
  await rm(aside, { force: true });
  return true;
}

async function isStale(file: string, holder: string): Promise<boolean> {
  if (!isAlive(Number(holder.split(" ")[0]))) return true;
  const found = await stat(file).catch(() => null);
  return found === null || Date.now() - found.mtimeMs > staleMs;
}

function contentOf(file: string): Promise<string | null> {
  return readFile(file, "utf8").catch(() => null);
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
