import {
  type Attachment,
  type Message,
  type PlanStep,
  type Quest,
  type QuestStatus,
  type Usage,
  type WaitingFor,
} from "../contract/chat.ts";
import type { EditMode, Mode } from "../contract/governance.ts";
import type { SoulScope } from "../contract/soul.ts";
import type { ModelOverride } from "../contract/router.ts";
import { type ContextUserContent } from "../context/context.ts";
import type { AssistantContent } from "../models/models.ts";

/** Why an assistant message is incomplete. */
export type Cut = "interrupted" | "cancelled" | "failed";

/**
 * How a request is worked on (requirements A1, A2): `answer` only looks, `direct` and `loop` are the agentic loop, `plan` makes a plan
 * and executes nothing, `plan-run` makes a plan and executes it.
 */
export type RouteName = "answer" | "direct" | "plan" | "plan-run" | "loop";

/** The content of a message for the model. */
export type StoredTurn =
  /** `route`: how the message is worked on, also after a resume. */
  | { kind: "user"; content: ContextUserContent[]; route?: RouteName }
  /** `altered`: calls whose stored arguments differ from the real ones, because a secret was redacted. */
  | { kind: "assistant"; content: AssistantContent[]; cut: Cut | null; altered: string[] }
  /** Text that the host retrieved for a small model, with the request it belongs to. */
  | { kind: "retrieval"; text: string; request: string; findings?: string[] };

/** A message with its host-only data. */
export interface StoredMessage {
  message: Message;
  turn: StoredTurn | null;
  /** Attachments that were not read yet; null when none are pending. */
  attachments: Attachment[] | null;
}

/** A quest with its host-only data. */
export interface StoredQuest {
  quest: Quest;
  workspace: string;
  hostId: string | null;
  tokenLimit: number;
  answer: { callId: string; answer: string } | null;
  reviewed: { accepted: number; rejected: number };
  smallModelNoticeShown: boolean;
  /** The stricter soul of a sub-task; null for a task of the user. */
  soulScope: SoulScope | null;
}

export interface QuestPatch {
  title?: string;
  status?: QuestStatus;
  mode?: Mode;
  model?: string | null;
  usage?: Usage;
  plan?: readonly PlanStep[];
  waitingFor?: WaitingFor | null;
  problem?: string | null;
  receiptId?: string;
  hostId?: string;
  tokenLimit?: number;
  answer?: StoredQuest["answer"];
  reviewed?: StoredQuest["reviewed"];
  smallModelNoticeShown?: boolean;
  override?: ModelOverride | null;
  context?: NonNullable<Quest["context"]>;
  queued?: boolean;
  edits?: EditMode | null;
}
