import { open, rm, stat } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { LancelotError } from "../contract/errors.ts";

/** A lock older than this (ms) belongs to a process that died: what is done under one takes well under it. */
export const staleLock = 15_000;

/**
 * One at a time, also between processes.
 * @param words what is said when the lock cannot be had or made
 * @throws LancelotError `unavailable`
 */
export async function withFileLock<T>(lockFile: string, words: { busy: string; failed: string }, work: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + 2 * staleLock;
  while (!(await madeLock(lockFile, words.failed))) {
    const age = Date.now() - ((await stat(lockFile).catch(() => null))?.mtimeMs ?? Date.now());
    if (age > staleLock) await rm(lockFile, { force: true });
    else if (Date.now() > deadline) throw new LancelotError("unavailable", words.busy);
    else await delay(25);
  }
  try {
    return await work();
  } finally {
    await rm(lockFile, { force: true });
  }
}

async function madeLock(lockFile: string, failed: string): Promise<boolean> {
  try {
    await (await open(lockFile, "wx", 0o600)).close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw new LancelotError("unavailable", failed, { cause: error });
  }
}
