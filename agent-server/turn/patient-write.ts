import { setTimeout as wait } from "node:timers/promises";
import type { Message } from "../contract/chat.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Emit } from "../contract/events.ts";
import { notice } from "../quests/quests.ts";

/** Between two attempts at a write (ms). */
const retryMs = 1_000;

/**
 * Writes what cannot be had again, such as an answer or the result of a call. While the disk is full or another process holds the
 * database, it shows so in the chat and tries again until it can, or the task is stopped. Everything else fails at once, because it can be
 * repeated after *Resume*.
 * @param write is run again, so it must give the same result each time
 */
export async function writePatiently<T>(emit: Emit, message: Message, signal: AbortSignal, write: () => T): Promise<T> {
  for (let isTold = false; ; isTold = true) {
    try {
      return write();
    } catch (error) {
      if (!mayPass(error)) throw error;
      // It cannot be stored either; the message as it is stored later replaces it.
      if (!isTold) {
        const text = `${error.message} Nothing is lost: the task continues as soon as it can store its messages.`;
        emit("message", structuredClone({ ...message, parts: [...message.parts, notice("warning", text)] }));
      }
      await wait(retryMs, undefined, { signal });
    }
  }
}

function mayPass(error: unknown): error is LancelotError {
  const reason = error instanceof LancelotError ? error.data?.["reason"] : undefined;
  return typeof reason === "string" && /^SQLITE_(?:FULL|IOERR|BUSY)/.test(reason);
}
