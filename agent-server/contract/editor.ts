import * as z from "zod";
import { maxOpenEditors, maxSelectedText } from "./open-editor-limits.ts";
import { protocolVersion } from "./common.ts";
import { OutlineEntry } from "./context.ts";
import { Posture } from "./governance.ts";
import { Features, MaxRunningTasks } from "./host.ts";

/** Sent by the extension at start, in LSP's `initializationOptions`. */
export const Handshake = z.object({
  protocolVersion: z.literal(protocolVersion),
  /** Proves that the caller is the owner's editor; stored in SecretStorage. */
  ownerToken: z.string().min(32),
  /** Absolute path of the workspace folder; null without one. */
  workspace: z.string().nullable(),
  /** Absolute path of the data folder. */
  dataDir: z.string(),
  /** False in a restricted workspace, where nothing is written. */
  trusted: z.boolean(),
  posture: Posture,
  approvalTimeoutSeconds: z.int().min(10).max(86_400),
  /** Flags from the editor's settings (application scope, so that no workspace can override them). */
  features: Features.optional(),
  /** How many tasks may run at a time. */
  maxRunningTasks: MaxRunningTasks.optional(),
});
export type Handshake = z.infer<typeof Handshake>;

const Position = z.object({ path: z.string(), line: z.int(), column: z.int() });

const EditorModel = z.object({
  /** `vendor/id` */
  model: z.string(),
  name: z.string(),
  vendor: z.string(),
  family: z.string(),
  /** Tokens. */
  maxInputTokens: z.int(),
  images: z.boolean(),
});
export type EditorModel = z.infer<typeof EditorModel>;

/** A conversation for the editor's models. They have no system prompt, so it is part of the first message. */
const EditorModelMessage = z.object({
  role: z.enum(["user", "assistant"]),
  content: z.array(
    z.discriminatedUnion("type", [
      z.object({ type: z.literal("text"), text: z.string() }),
      z.object({ type: z.literal("image"), mediaType: z.string(), data: z.string() }),
      z.object({ type: z.literal("tool_call"), id: z.string(), name: z.string(), args: z.record(z.string(), z.unknown()) }),
      z.object({ type: z.literal("tool_result"), callId: z.string(), text: z.string() }),
    ]),
  ),
});
export type EditorModelMessage = z.infer<typeof EditorModelMessage>;

const Locations = z.object({
  items: z.array(Position),
  /** True when there are more. */
  truncated: z.boolean(),
  /** False when the language service did not respond in time, or there is none for this file. */
  answered: z.boolean(),
});

/** Requests of the host to the editor (JSON-RPC `lancelot/editor/<name>`). Paths are relative to the workspace. */
export const editorRequests = {
  /** Diagnostics of one file or all files. */
  diagnostics: {
    params: z.object({ path: z.string().optional() }),
    result: z.object({
      items: z.array(
        Position.extend({ severity: z.enum(["error", "warning", "information", "hint"]), message: z.string(), source: z.string() }),
      ),
    }),
  },
  /** The files in the window's tabs and editors, the active one first, then the visible ones. Files outside the workspace are omitted. */
  openEditors: {
    params: z.object({}),
    result: z.object({
      editors: z.array(z.object({ path: z.string(), active: z.boolean(), visible: z.boolean() })).max(maxOpenEditors),
      /** How many more files are open. */
      more: z.int().min(0),
      /** The main selection of the active editor; one line without text is the position of the cursor. Null without an active editor. */
      selection: z
        .object({
          path: z.string(),
          startLine: z.int(),
          endLine: z.int(),
          /** With unsaved edits. Null when nothing is selected, or more than fits. */
          text: z.string().max(maxSelectedText).nullable(),
        })
        .nullable(),
    }),
  },
  /** Symbols of a file from the editor's language service; empty when it does not respond in time. */
  symbols: {
    params: z.object({ path: z.string() }),
    result: z.object({ language: z.string(), entries: z.array(OutlineEntry) }),
  },
  /** References to the symbol at a position (1-based). Locations outside the workspace are omitted. */
  references: {
    params: Position,
    result: Locations,
  },
  /** Definitions of the symbol at a position. */
  definition: {
    params: Position,
    result: Locations,
  },
  /** Text of a document with unsaved edits; null when there are none. */
  unsavedText: {
    params: z.object({ path: z.string() }),
    result: z.object({ text: z.string().nullable() }),
  },
  /**
   * Replaces a file's text with a WorkspaceEdit, so that the editor's undo works, and saves it if it was saved before. Not applied
   * (`applied: false`) when the document differs from `expected`. `text: null` deletes the file.
   */
  applyText: {
    params: z.object({ path: z.string(), expected: z.string().nullable(), text: z.string().nullable() }),
    result: z.object({ applied: z.boolean(), saved: z.boolean() }),
  },
  /** Reads a secret from SecretStorage; null when there is none. */
  secretGet: {
    params: z.object({ name: z.string() }),
    result: z.object({ value: z.string().nullable() }),
  },
  secretSet: {
    params: z.object({ name: z.string(), value: z.string().nullable() }),
    result: z.object({}),
  },
  secretList: {
    params: z.object({}),
    result: z.object({ names: z.array(z.string()) }),
  },
  /** Language models provided by other extensions. Does not prompt the user; `available` is false when the editor has no such API. */
  languageModels: {
    params: z.object({}),
    result: z.object({ available: z.boolean(), items: z.array(EditorModel) }),
  },
  /** Starts a request to one of them. The editor asks the user for consent the first time. */
  languageModelStart: {
    params: z.object({
      requestId: z.string(),
      /** `vendor/id` from the list. */
      model: z.string(),
      messages: z.array(EditorModelMessage),
      tools: z.array(z.object({ name: z.string(), description: z.string(), parameters: z.record(z.string(), z.unknown()) })),
      maxTokens: z.int(),
    }),
    result: z.object({}),
  },
  /** Returns the response parts since the last call; waits for at least one. `end` is set once, with the last parts. */
  languageModelNext: {
    params: z.object({ requestId: z.string() }),
    result: z.object({
      parts: z.array(
        z.discriminatedUnion("type", [
          z.object({ type: z.literal("text"), text: z.string() }),
          z.object({ type: z.literal("tool_call"), id: z.string(), name: z.string(), args: z.record(z.string(), z.unknown()) }),
        ]),
      ),
      end: z
        .discriminatedUnion("kind", [
          /** Tokens as counted by the editor's model. */
          z.object({ kind: z.literal("end"), inputTokens: z.int(), outputTokens: z.int() }),
          z.object({ kind: z.literal("failed"), reason: z.enum(["permission", "blocked", "missing", "failed"]), message: z.string() }),
        ])
        .nullable(),
    }),
  },
  languageModelStop: {
    params: z.object({ requestId: z.string() }),
    result: z.object({}),
  },
} as const;

export type EditorRequest = keyof typeof editorRequests;
export type EditorParams<N extends EditorRequest> = z.output<(typeof editorRequests)[N]["params"]>;
export type EditorResult<N extends EditorRequest> = z.output<(typeof editorRequests)[N]["result"]>;
/** Sends a request to the editor; rejects with `unavailable` when headless. */
export type AskEditor = <N extends EditorRequest>(name: N, params: EditorParams<N>) => Promise<EditorResult<N>>;

/** Method names on the wire. */
export const wire = {
  method: (name: string) => `lancelot/${name}`,
  event: "lancelot/event",
  editor: (name: string) => `lancelot/editor/${name}`,
} as const;
