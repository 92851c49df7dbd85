import { type Attachment, type Message, type PlanStep, type Quest, type QuestStatus, type Usage, type WaitingFor } from "../contract/chat.ts";
import type { Mode } from "../contract/governance.ts";
import type { ModelOverride } from "../contract/router.ts";
import { type ContextUserContent } from "../context/context.ts";
import type { AssistantContent } from "../models/models.ts";

/** Why an assistant message ends before its end. */
export type Cut = "interrupted" | "cancelled" | "failed";

/** A message as the model is told it. */
export type StoredTurn =
  | { kind: "user"; content: ContextUserContent[] }
  /** `altered`: calls whose stored arguments differ from the real ones, because a secret was taken out. */
  | { kind: "assistant"; content: AssistantContent[]; cut: Cut | null; altered: string[] }
  /** What the host read for a small model, with the request it was read for. */
  | { kind: "retrieval"; text: string; request: string; findings?: string[] };

/** A message with what only the host knows of it. */
export interface StoredMessage {
  message: Message;
  turn: StoredTurn | null;
  /** The owner's attachments that were not read yet. */
  attachments: Attachment[] | null;
}

/** A quest with what only the host knows of it. */
export interface StoredQuest {
  quest: Quest;
  workspace: string;
  hostId: string | null;
  tokenLimit: number;
  answer: { callId: string; answer: string } | null;
  reviewed: { accepted: number; rejected: number };
  smallModelNoticeShown: boolean;
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
}
