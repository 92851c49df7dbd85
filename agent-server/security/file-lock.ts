import { open, rm, stat } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { LancelotError } from "../contract/errors.ts";

/** Age (ms) at which a lock counts as abandoned by a dead process; locked work takes far less. */
export const staleLock = 15_000;

/**
 * Runs `work` under an exclusive lock across processes.
 * @param messages error messages for a lock that stays busy and one that cannot be created
 * @throws LancelotError `unavailable`
 */
export async function withFileLock<T>(lockFile: string, messages: { busy: string; failed: string }, work: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + 2 * staleLock;
  while (!(await acquireLock(lockFile, messages.failed))) {
    const age = Date.now() - ((await stat(lockFile).catch(() => null))?.mtimeMs ?? Date.now());
    if (age > staleLock) await rm(lockFile, { force: true });
    else if (Date.now() > deadline) throw new LancelotError("unavailable", messages.busy);
    else await delay(25);
  }
  try {
    return await work();
  } finally {
    await rm(lockFile, { force: true });
  }
}

async function acquireLock(lockFile: string, failed: string): Promise<boolean> {
  try {
    await (await open(lockFile, "wx", 0o600)).close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw new LancelotError("unavailable", failed, { cause: error });
  }
}
