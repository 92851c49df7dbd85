import * as z from "zod";
import { protocolVersion } from "./common.ts";
import { OutlineEntry } from "./context.ts";
import { Posture } from "./governance.ts";
import { Features } from "./host.ts";

/** What the extension tells the host at start, in LSP's `initializationOptions`. */
export const Handshake = z.object({
  protocolVersion: z.literal(protocolVersion),
  /** Proves that the caller is the owner's editor; held in SecretStorage. */
  ownerToken: z.string().min(32),
  /** Absolute path of the workspace folder; null without one. */
  workspace: z.string().nullable(),
  /** Absolute path of the data folder. */
  dataDir: z.string(),
  /** False in a restricted workspace: then nothing is written. */
  trusted: z.boolean(),
  posture: Posture,
  approvalTimeoutSeconds: z.int().min(10).max(86_400),
  /** Flags the owner set in the editor's settings (application scope, so that no workspace has a say). */
  features: Features.optional(),
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

/** A conversation as the editor's models take it: they know no system prompt, which goes into the first message. */
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

const Places = z.object({
  items: z.array(Position),
  /** There are more. */
  truncated: z.boolean(),
  /** The language service did not answer in time, or there is none for this file. */
  answered: z.boolean(),
});

/** What the host may ask of the editor (JSON-RPC requests `lancelot/editor/<name>`). Paths are relative to the workspace. */
export const editorRequests = {
  /** Problems the editor shows, for one file or all. */
  diagnostics: {
    params: z.object({ path: z.string().optional() }),
    result: z.object({
      items: z.array(
        Position.extend({ severity: z.enum(["error", "warning", "information", "hint"]), message: z.string(), source: z.string() }),
      ),
    }),
  },
  /** What the editor's language service says a file defines; empty when it says nothing in time. */
  symbols: {
    params: z.object({ path: z.string() }),
    result: z.object({ language: z.string(), entries: z.array(OutlineEntry) }),
  },
  /** Where what stands at a place is used. Lines and columns from 1; places outside the workspace are left out. */
  references: {
    params: Position,
    result: Places,
  },
  /** Where what stands at a place is defined. */
  definition: {
    params: Position,
    result: Places,
  },
  /** Text of an open document with unsaved edits; null when the file has none. */
  unsavedText: {
    params: z.object({ path: z.string() }),
    result: z.object({ text: z.string().nullable() }),
  },
  /**
   * Replaces a file's text through a WorkspaceEdit and saves it if it was saved before, so that the editor's undo works.
   * Refused (`applied: false`) when the document is no longer `expected`. `text: null` deletes the file.
   */
  applyText: {
    params: z.object({ path: z.string(), expected: z.string().nullable(), text: z.string().nullable() }),
    result: z.object({ applied: z.boolean(), saved: z.boolean() }),
  },
  /** A secret from SecretStorage; null when there is none. */
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
  /** Language models that other extensions offer through the editor. Asks nobody; `available` is false where the editor has no such thing. */
  languageModels: {
    params: z.object({}),
    result: z.object({ available: z.boolean(), items: z.array(EditorModel) }),
  },
  /** Begins an answer of one of them. The editor asks the owner for consent by itself the first time. */
  languageModelStart: {
    params: z.object({
      requestId: z.string(),
      /** `vendor/id` of the list. */
      model: z.string(),
      messages: z.array(EditorModelMessage),
      tools: z.array(z.object({ name: z.string(), description: z.string(), parameters: z.record(z.string(), z.unknown()) })),
      maxTokens: z.int(),
    }),
    result: z.object({}),
  },
  /** What came of an answer since the last call; waits until there is something. `end` is set once, with the last of it. */
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
          /** Tokens as the editor's model counts them. */
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
/** The host's side; rejects with `unavailable` when there is no editor (headless). */
export type AskEditor = <N extends EditorRequest>(name: N, params: EditorParams<N>) => Promise<EditorResult<N>>;

/** Method names on the wire. */
export const wire = {
  method: (name: string) => `lancelot/${name}`,
  event: "lancelot/event",
  editor: (name: string) => `lancelot/editor/${name}`,
} as const;
