import * as z from "zod";
import { ErrorBody } from "./errors.ts";

/** State of the agent host as the views show it. */
export const HostState = z.object({
  state: z.enum(["starting", "ready", "restarting", "stopped", "failed"]),
  /** Words for the owner; empty when ready. */
  detail: z.string(),
});
export type HostState = z.infer<typeof HostState>;

/** What only the extension can do for a view; everything else is a method of the table. */
export const UiAction = z.discriminatedUnion("action", [
  z.object({ action: z.literal("openFile"), path: z.string(), line: z.int().optional() }),
  z.object({ action: z.literal("openChange"), changeId: z.string() }),
  z.object({ action: z.literal("reviewAll"), questId: z.string().optional() }),
  z.object({ action: z.literal("openReceipt"), receiptId: z.string() }),
  z.object({ action: z.literal("openExternal"), url: z.url({ protocol: /^https$/ }) }),
  z.object({ action: z.literal("insertAtCursor"), text: z.string() }),
  z.object({ action: z.literal("copy"), text: z.string() }),
  z.object({ action: z.literal("saveMarkdown"), name: z.string(), text: z.string() }),
  z.object({
    action: z.literal("command"),
    command: z.string().regex(/^lancelot\./),
    args: z.array(z.record(z.string(), z.string())).max(4).optional(),
  }),
]);
export type UiAction = z.infer<typeof UiAction>;

/** Messages from a webview. `ready` comes first; nothing is sent to a view before it. `owner` calls are made with the owner token by the extension. */
export const FromView = z.discriminatedUnion("type", [
  z.object({ type: z.literal("ready") }),
  z.object({ type: z.literal("call"), id: z.int(), method: z.string(), params: z.unknown().optional() }),
  z.object({ type: z.literal("cancel"), id: z.int() }),
  z.object({ type: z.literal("ui"), ui: UiAction }),
]);
export type FromView = z.infer<typeof FromView>;

/** A place in the War Room's panel Memory: one of its parts, or one thing in it. */
export const MemoryPlace = z.object({
  section: z.enum(["core", "search", "commits", "quarantine", "contexts", "upkeep"]).optional(),
  itemId: z.string().optional(),
  commitId: z.string().optional(),
  quarantineId: z.string().optional(),
  contextId: z.string().optional(),
});
export type MemoryPlace = z.infer<typeof MemoryPlace>;

/** Messages to a webview. */
export const ToView = z.discriminatedUnion("type", [
  z.object({ type: z.literal("result"), id: z.int(), result: z.unknown().optional() }),
  z.object({ type: z.literal("error"), id: z.int(), error: ErrorBody }),
  z.object({ type: z.literal("event"), event: z.unknown() }),
  z.object({ type: z.literal("host"), host: HostState }),
  /** Asks a view to show something: a quest, a receipt, a tab; or to put text in the composer. */
  z.object({
    type: z.literal("show"),
    questId: z.string().optional(),
    receiptId: z.string().optional(),
    tab: z.string().optional(),
    memory: MemoryPlace.optional(),
    compose: z.string().optional(),
    focus: z.boolean().optional(),
    newQuest: z.boolean().optional(),
    /** The next message of the composer is sent in crusader mode. */
    crusader: z.boolean().optional(),
  }),
]);
export type ToView = z.infer<typeof ToView>;

/**
 * Methods a webview may never call, though the extension holds the owner token: secrets stay out of views, and what changes
 * the safeguards is asked again by the editor's own dialog, which no page can draw or press.
 */
export const notForViews: ReadonlySet<string> = new Set([
  ...["vault.set", "vault.delete", "vault.list", "tools.invoke", "host.configure"],
  ...["soul.approve", "soul.reject", "soul.activate", "soul.rollback", "trust.decide", "learning.decide", "tools.safeMode"],
  ...["flags.set", "flags.reload", "repl.run"],
  ...["usage.reset", "models.local.delete"],
  ...["memory.promote", "memory.rollback", "memory.import"],
]);
