import * as z from "zod";
import { ErrorBody } from "./errors.ts";

/** State of the agent host for the views. */
export const HostState = z.object({
  state: z.enum(["starting", "ready", "restarting", "stopped", "failed"]),
  /** User-facing message; empty when ready. */
  detail: z.string(),
});
export type HostState = z.infer<typeof HostState>;

/** Actions that only the extension can perform for a view; everything else is a contract method. */
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

/** Messages from a webview. `ready` must come first; nothing is sent to a view before. The extension adds the owner token to `owner` calls. */
export const FromView = z.discriminatedUnion("type", [
  z.object({ type: z.literal("ready") }),
  z.object({ type: z.literal("call"), id: z.int(), method: z.string(), params: z.unknown().optional() }),
  z.object({ type: z.literal("cancel"), id: z.int() }),
  z.object({ type: z.literal("ui"), ui: UiAction }),
]);
export type FromView = z.infer<typeof FromView>;

/** A target in the War Room's Memory panel: a section or one item. */
export const MemoryPlace = z.object({
  section: z.enum(["core", "search", "commits", "quarantine", "contexts", "upkeep"]).optional(),
  itemId: z.string().optional(),
  commitId: z.string().optional(),
  quarantineId: z.string().optional(),
  contextId: z.string().optional(),
});
export type MemoryPlace = z.infer<typeof MemoryPlace>;

/** An artifact in the War Room's Artifacts panel, listed with the others of its task. */
export const ArtifactPlace = z.object({ questId: z.string(), id: z.string() });
export type ArtifactPlace = z.infer<typeof ArtifactPlace>;

/** Messages to a webview. */
export const ToView = z.discriminatedUnion("type", [
  z.object({ type: z.literal("result"), id: z.int(), result: z.unknown().optional() }),
  z.object({ type: z.literal("error"), id: z.int(), error: ErrorBody }),
  z.object({ type: z.literal("event"), event: z.unknown() }),
  z.object({ type: z.literal("host"), host: HostState }),
  /** Asks a view to show a quest, a receipt or a tab, or to insert text in the composer. */
  z.object({
    type: z.literal("show"),
    questId: z.string().optional(),
    receiptId: z.string().optional(),
    tab: z.string().optional(),
    memory: MemoryPlace.optional(),
    artifact: ArtifactPlace.optional(),
    compose: z.string().optional(),
    focus: z.boolean().optional(),
    newQuest: z.boolean().optional(),
    /** Sends the composer's next message in crusader mode. */
    crusader: z.boolean().optional(),
  }),
]);
export type ToView = z.infer<typeof ToView>;

/**
 * Methods that a webview may never call, although the extension has the owner token: views must not access secrets, and changes to
 * safeguards need confirmation in an editor dialog, which no page can imitate or press.
 */
export const notForViews: ReadonlySet<string> = new Set([
  // Opens a port on this machine: the extension asks for it when the user presses the button.
  "background.preview",
  ...["vault.set", "vault.delete", "vault.list", "tools.invoke", "host.configure"],
  ...["soul.approve", "soul.reject", "soul.activate", "soul.rollback", "trust.decide", "learning.decide", "tools.safeMode"],
  ...["host.sleep", "host.wake"],
  ...["flags.set", "flags.reload", "repl.run"],
  ...["usage.reset", "models.local.delete"],
  ...["memory.promote", "memory.rollback", "memory.import"],
]);
