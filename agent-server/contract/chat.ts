import * as z from "zod";
import { Cursor, Id, Ok, page, Tier, Timestamp } from "./common.ts";
import { EditMode, Mode, Rule, Verdict } from "./governance.ts";
import { method } from "./method.ts";
import { GeneratedGroup } from "./changes.ts";
import { CommandPlace, Containment } from "./providers.ts";
import { AnsweredBy, ModelOverride } from "./router.ts";

export const QuestStatus = z.enum([
  "active", // the loop is running
  "waiting", // for an approval, a review or an answer of the owner
  "done",
  "failed",
  "cancelled",
  "interrupted", // its host ended while it was active; can be resumed
]);
export type QuestStatus = z.infer<typeof QuestStatus>;

export const PlanStep = z.object({
  title: z.string().max(500),
  status: z.enum(["pending", "active", "done", "skipped"]),
  doneWhen: z.string().max(500).optional(),
});
export type PlanStep = z.infer<typeof PlanStep>;

/** Tokens as the provider reported them: `inputTokens` is the whole input, `outputTokens` the whole output. */
export const Usage = z.object({
  inputTokens: z.int().min(0),
  outputTokens: z.int().min(0),
  /** Part of the input, read from the provider's prompt cache. */
  cachedInputTokens: z.int().min(0),
  /** Part of the output, used for reasoning. */
  reasoningTokens: z.int().min(0),
  /** Part of the input, written to the provider's prompt cache by this call. */
  cacheWriteTokens: z.int().min(0).default(0),
  /** Part of the cache writes with the long retention (an hour rather than five minutes), which has a different price. */
  longCacheWriteTokens: z.int().min(0).optional(),
  /** Part of the input, added by tools that run at the provider. */
  toolTokens: z.int().min(0).default(0),
});
export type Usage = z.infer<typeof Usage>;

/** Zero usage. */
export function noUsage(): Usage {
  return { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, reasoningTokens: 0, cacheWriteTokens: 0, toolTokens: 0 };
}

/** Adds two usages. */
export function addUsage(one: Usage, other: Usage): Usage {
  const longCacheWriteTokens = (one.longCacheWriteTokens ?? 0) + (other.longCacheWriteTokens ?? 0);
  return {
    ...(longCacheWriteTokens === 0 ? {} : { longCacheWriteTokens }),
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    cachedInputTokens: one.cachedInputTokens + other.cachedInputTokens,
    reasoningTokens: one.reasoningTokens + other.reasoningTokens,
    cacheWriteTokens: one.cacheWriteTokens + other.cacheWriteTokens,
    toolTokens: one.toolTokens + other.toolTokens,
  };
}

export const WaitingFor = z.object({
  kind: z.enum(["approval", "review", "answer"]),
  /** The approval's id; for a review, the quest's id or that of the tool call that continues after it; for an answer, the tool call's id. */
  id: Id,
  /** The question, for an answer. */
  question: z.string().optional(),
  options: z.array(z.string()).optional(),
});
export type WaitingFor = z.infer<typeof WaitingFor>;

export const Quest = z.object({
  id: Id,
  title: z.string(),
  status: QuestStatus,
  mode: Mode,
  createdAt: Timestamp,
  updatedAt: Timestamp,
  /** `provider/model` of the answering model, once known. */
  model: z.string().nullable(),
  usage: Usage,
  plan: z.array(PlanStep),
  waitingFor: WaitingFor.nullable(),
  /** True while an active quest waits for its turn, because as many tasks run as the owner allows; absent otherwise. */
  queued: z.literal(true).optional(),
  /** User-facing reason when failed or interrupted. */
  problem: z.string().nullable(),
  /** Root receipt of the quest's trace. */
  receiptId: Id.nullable(),
  /** The task that a sub-task belongs to; absent for a task of the user. */
  parentId: Id.optional(),
  /** The owner's choice for this task; when absent, the router decides. */
  override: ModelOverride.optional(),
  /** The owner's choice for the edits of this task; when absent, the posture decides. */
  edits: EditMode.optional(),
  /** Cost in US dollars of the calls with a known price; absent before the first call. */
  costUsd: z.number().min(0).optional(),
  /** Tokens of the last prompt and of the window it had to fit. */
  context: z.object({ tokens: z.int().min(0), window: z.int().min(0) }).optional(),
});
export type Quest = z.infer<typeof Quest>;

export const ToolCallStatus = z.enum(["queued", "waiting", "running", "success", "failure", "denied", "cancelled"]);
export type ToolCallStatus = z.infer<typeof ToolCallStatus>;

/** A command as shown on its card. */
export const CommandRun = z.object({
  /** The executed command line, redacted. */
  text: z.string(),
  /** Relative to the workspace; `.` for its root. */
  cwd: z.string(),
  /** Null until it is known. */
  place: CommandPlace.nullable(),
  /** The level of containment there; absent while it is unknown. */
  containment: Containment.optional(),
  network: z.boolean(),
  /** Null while the command runs, and after it was terminated. */
  exitCode: z.int().nullable(),
  /** How it ended; null while it runs. `lost`: its container or process disappeared. */
  ended: z.enum(["exit", "timeout", "stopped", "memory", "lost"]).nullable(),
  /** Set when the command continued in the background after the call: the id of `background.list`. */
  background: z.object({ id: Id }).optional(),
});
export type CommandRun = z.infer<typeof CommandRun>;

/** A file that changed while a tool ran. */
export const TouchedFile = z.object({
  /** Relative to the workspace, with forward slashes. */
  path: z.string(),
  kind: z.enum(["created", "modified", "deleted"]),
  /** False when its previous content could not be saved. */
  undoable: z.boolean(),
  /** True when the change was reverted immediately, because no command may change the file (editor settings, hooks). */
  putBack: z.boolean().optional(),
});
export type TouchedFile = z.infer<typeof TouchedFile>;

/** A tool call as shown on its card. */
export const ToolPart = z.object({
  type: z.literal("tool"),
  callId: Id,
  tool: z.string(),
  args: z.record(z.string(), z.unknown()),
  /** One-line description of the action and its target. */
  title: z.string(),
  status: ToolCallStatus,
  tier: Tier.nullable(),
  verdict: Verdict.nullable(),
  rules: z.array(Rule),
  /** For a denied call: alternatives offered to the model. */
  alternatives: z.array(z.string()).optional(),
  /** The result for the model, bounded and redacted. */
  output: z.string().nullable(),
  command: CommandRun.optional(),
  /** Terminal output with escape sequences, redacted and bounded: `skipped` UTF-16 units before the text were dropped. */
  live: z.object({ text: z.string(), skipped: z.int() }).optional(),
  /** Changed files (at most 200 of `total`), and the checkpoint that restores them. */
  touched: z.object({ files: z.array(TouchedFile), total: z.int(), checkpointId: Id.nullable() }).optional(),
  /**
   * Changes that a command proposed (at most 200 of `total`), and the generated files that its task has. `tooMany`: the number of changed
   * files when they are too many to review, so that none was proposed.
   */
  proposed: z
    .object({ changeIds: z.array(Id), total: z.int(), generated: z.array(GeneratedGroup), tooMany: z.int().optional() })
    .optional(),
  /** Sanitizer rules that found injected instructions in the output; absent when none did. */
  findings: z.array(z.string()).optional(),
  /** The sub-task that the call started, with its latest steps (at most 50 of `total`). */
  subtask: z
    .object({
      questId: Id,
      status: QuestStatus,
      steps: z.array(z.object({ id: Id, title: z.string(), status: ToolCallStatus, output: z.string(), receiptId: Id.nullable() })),
      total: z.int(),
    })
    .optional(),
  durationMs: z.number().nullable(),
  receiptId: Id.nullable(),
  approvalId: Id.nullable(),
  changeId: Id.nullable(),
});
export type ToolPart = z.infer<typeof ToolPart>;

export const ReasoningPart = z.object({
  type: z.literal("reasoning"),
  strategy: z.string(),
  risks: z.array(z.string()),
  /** What the task needs and Lancelot cannot do, from `CAPABILITY GAP:` lines too. */
  gaps: z.array(z.string()),
  /** The model's own thinking, bounded; empty where the provider shows none. */
  thinking: z.string(),
  /** Experiences of earlier tasks that the model was given. */
  experiences: z.int().min(0),
  receiptId: Id.nullable(),
});
export type ReasoningPart = z.infer<typeof ReasoningPart>;

/** A statement of an answer about work done that no receipt, change or command of the task backs. */
export const UnbackedClaim = z.object({
  kind: z.enum(["edit", "delete", "run", "tests", "commit", "push", "deploy", "read", "announcement"]),
  /** The sentence, bounded. */
  text: z.string(),
  /** Why: nothing of the kind is recorded; it was rejected, undone or denied; it failed; the recorded numbers differ. */
  reason: z.enum(["not_recorded", "rejected", "undone", "denied", "failed", "numbers_differ", "outdated"]),
});
export type UnbackedClaim = z.infer<typeof UnbackedClaim>;

/** The actions that the model reported, each with the receipt that proves it. */
export const Outcome = z.object({
  type: z.literal("outcome"),
  actions: z.array(z.object({ text: z.string(), recorded: z.boolean(), receiptId: Id.nullable() })),
  /** What the user could ask for next. */
  nextAction: z.string().optional(),
});
export type Outcome = z.infer<typeof Outcome>;

export const Part = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text"), text: z.string() }),
  z.object({ type: z.literal("thinking"), text: z.string() }),
  /** Base64 without a data: prefix. */
  z.object({ type: z.literal("image"), mediaType: z.string(), data: z.string() }),
  z.object({ type: z.literal("file"), path: z.string() }),
  ToolPart,
  /** The deep reasoning before a complex or risky request (requirement A5). The model reads it before it begins. */
  ReasoningPart,
  /** A plan, by its id for `plans.get`. */
  z.object({ type: z.literal("plan"), planId: Id }),
  /** A message of the product rather than the model: a fallback, a stop, or an error with the next step. */
  z.object({
    type: z.literal("notice"),
    level: z.enum(["info", "warning", "error"]),
    text: z.string(),
    action: z.enum(["resume", "choose_model", "set_key", "show_log", "download_model", "raise_cap", "open_memory"]).optional(),
    /** Set on the correction of an answer: what it says and nothing recorded backs. */
    claims: z.array(UnbackedClaim).optional(),
  }),
  Outcome,
]);
export type Part = z.infer<typeof Part>;

export const Message = z.object({
  id: Id,
  questId: Id,
  /** Position in the quest, from 0. */
  seq: z.int().min(0),
  role: z.enum(["user", "assistant"]),
  parts: z.array(Part),
  createdAt: Timestamp,
  /** An assistant message is open while it streams or its tools run. */
  open: z.boolean(),
  /** The model that wrote it, its lane and the reason; absent for user messages and before the first token. */
  answeredBy: AnsweredBy.optional(),
});
export type Message = z.infer<typeof Message>;

/** What a message can attach by its name, beside files: the problems that the editor shows, and the uncommitted changes. */
export const ContextName = z.enum(["problems", "diff"]);
export type ContextName = z.infer<typeof ContextName>;

export const Attachment = z.discriminatedUnion("type", [
  z.object({ type: z.literal("file"), path: z.string().max(4096) }),
  z.object({
    type: z.literal("selection"),
    path: z.string().max(4096),
    startLine: z.int().min(1),
    endLine: z.int().min(1),
    text: z.string().max(200_000),
  }),
  z.object({
    type: z.literal("image"),
    mediaType: z.enum(["image/png", "image/jpeg", "image/gif", "image/webp"]),
    data: z.base64().max(14_000_000),
  }),
  /** Read when the message is. In a text it is `@problems` or `@diff`. */
  z.object({ type: z.literal("context"), name: ContextName }),
]);
export type Attachment = z.infer<typeof Attachment>;

export const chatMethods = {
  "chat.send": method({
    summary: "Starts or continues a quest with the user's message. Returns when the message is stored; progress is sent as events.",
    access: "any",
    params: z.object({
      text: z.string().min(1).max(1_000_000),
      questId: Id.optional(),
      /** `review` and `auto` also decide about the edits of the messages that follow. */
      mode: z.enum([...Mode.options, ...EditMode.options]).optional(),
      attachments: z.array(Attachment).max(20).optional(),
      /** Edit and resend: this user message and all after it are replaced. */
      replaceMessageId: Id.optional(),
    }),
    result: z.object({ questId: Id, messageId: Id }),
  }),
  "chat.cancel": method({
    summary: "Stops a quest immediately, including the running tool and the model request.",
    access: "any",
    params: z.object({ questId: Id }),
    result: Quest,
  }),
  "chat.steer": method({
    summary: "Adds a user message to a running quest, for its next step.",
    access: "any",
    params: z.object({ questId: Id, text: z.string().min(1).max(100_000) }),
    result: z.object({ messageId: Id }),
  }),
  "chat.answer": method({
    summary: "Answers a question that a quest asked with ask_owner.",
    access: "owner",
    params: z.object({ questId: Id, callId: Id, answer: z.string().min(1).max(100_000) }),
    result: Ok,
  }),
  "chat.run": method({
    summary: "Sends a message and waits until the quest ends or needs the user.",
    access: "any",
    params: z.object({ message: z.string().min(1).max(1_000_000), crusader_mode: z.boolean().default(false), quest_id: Id.optional() }),
    result: z.object({
      response: z.string(),
      confidence: z.number().min(0).max(1),
      quest_id: Id,
      receipt_id: Id.nullable(),
      actions: z.array(z.object({ tool: z.string(), title: z.string(), status: ToolCallStatus, receipt_id: Id.nullable() })),
      /** What the model suggests to ask for next. */
      next_action: z.string().optional(),
    }),
    route: { method: "POST", path: "/chat" },
  }),
  "quests.list": method({
    summary: "Lists the quests of this workspace, most recently used first.",
    access: "any",
    params: z.object({ query: z.string().max(500).optional(), limit: z.int().min(1).max(200).default(50), cursor: Cursor.optional() }),
    result: page(Quest),
  }),
  "quests.get": method({
    summary: "Returns a quest with its messages.",
    access: "any",
    params: z.object({ id: Id }),
    result: z.object({ quest: Quest, messages: z.array(Message) }),
  }),
  "quests.resume": method({
    summary:
      "Resumes an interrupted, failed or cancelled quest. A tool that was running is reported to the model as interrupted and not run again.",
    access: "any",
    params: z.object({ id: Id }),
    result: Quest,
  }),
  "quests.rename": method({
    summary: "Renames a quest.",
    access: "any",
    params: z.object({ id: Id, title: z.string().min(1).max(200) }),
    result: Quest,
  }),
  "quests.override": method({
    summary: "Sets lane, provider or model for one task from its next step on; null lets the router decide again.",
    access: "any",
    params: z.object({ id: Id, override: ModelOverride.nullable() }),
    result: Quest,
  }),
  "quests.edits": method({
    summary: "Sets what happens to the edits of one task, from its next action on; null lets the posture decide again.",
    access: "owner",
    params: z.object({ id: Id, edits: EditMode.nullable() }),
    result: Quest,
  }),
  "quests.export": method({
    summary: "Exports a quest as Markdown.",
    access: "any",
    params: z.object({ id: Id }),
    result: z.object({ markdown: z.string() }),
  }),
  "quests.delete": method({
    summary: "Deletes a quest and its messages. Its receipts are kept.",
    access: "any",
    params: z.object({ id: Id }),
    result: Ok,
  }),
};
