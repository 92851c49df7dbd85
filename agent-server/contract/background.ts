import * as z from "zod";
import { Id, Timestamp } from "./common.ts";
import { method } from "./method.ts";

/** A command of a task that runs in the background, or ran there. */
export const BackgroundCommand = z.object({
  id: Id,
  questId: Id.nullable(),
  /** The tool call that started it; null when no conversation did. */
  callId: Id.nullable(),
  /** The receipt of its start. */
  receiptId: Id,
  /** The command line, redacted. */
  text: z.string(),
  startedAt: Timestamp,
  /** TCP ports on which it listens inside the sandbox. */
  ports: z.array(z.int().min(1).max(65_535)),
  /** Null while it runs. */
  end: z
    .object({
      /** `exit`: by itself; `model`, `user`: stopped by them; `limit`, `memory`, `timeout`: at a limit; `task`, `host`: with them; `lost`: unknown. */
      reason: z.enum(["exit", "model", "user", "limit", "memory", "timeout", "task", "host", "lost"]),
      exitCode: z.int().nullable(),
      at: Timestamp,
    })
    .nullable(),
  /** Its output with escape sequences, redacted and bounded: `skipped` UTF-16 units before the text were dropped. Only in lists. */
  live: z.object({ text: z.string(), skipped: z.int() }).optional(),
});
export type BackgroundCommand = z.infer<typeof BackgroundCommand>;

export const backgroundMethods = {
  "background.list": method({
    summary: "Lists commands that run in the background and those that ended last, with their output.",
    access: "any",
    params: z.object({ questId: Id.optional() }),
    result: z.object({ items: z.array(BackgroundCommand) }),
  }),
  "background.stop": method({
    summary: "Stops a command that runs in the background.",
    access: "owner",
    params: z.object({ id: Id }),
    result: BackgroundCommand,
  }),
  "background.preview": method({
    summary: "Opens a port of a background command on this machine's loopback interface, until the command ends.",
    access: "owner",
    params: z.object({ id: Id, port: z.int().min(1).max(65_535) }),
    result: z.object({ url: z.string() }),
  }),
};
