import {
  type Attachment,
  type Message,
  noUsage,
  type Part,
  type PlanStep,
  type Quest,
  type QuestStatus,
  type Usage,
  type WaitingFor,
} from "../contract/chat.ts";
import type { EditMode, Mode } from "../contract/governance.ts";
import type { SoulScope } from "../contract/soul.ts";
import type { ModelOverride } from "../contract/router.ts";
import type { QuestPatch, StoredMessage, StoredQuest, StoredTurn } from "./stored-quest.ts";

export interface QuestRow {
  id: string;
  workspace: string;
  title: string;
  status: QuestStatus;
  mode: Mode;
  created_at: string;
  updated_at: string;
  model: string | null;
  usage: string;
  plan: string;
  waiting_for: string | null;
  problem: string | null;
  receipt_id: string | null;
  host_id: string | null;
  token_limit: number;
  answer: string | null;
  reviewed: string;
  small_told: number;
  marker: string | null;
  override: string | null;
  context: string | null;
  parent_id: string | null;
  soul_scope: string | null;
  queued: number;
  edits: EditMode | null;
}

export interface MessageRow {
  id: string;
  quest_id: string;
  seq: number;
  role: Message["role"];
  parts: string;
  created_at: string;
  open: number;
  turn: string | null;
  attachments: string | null;
  answered_by: string | null;
}

export const patchColumns: Record<keyof QuestPatch, string> = {
  title: "title",
  status: "status",
  mode: "mode",
  model: "model",
  usage: "usage",
  plan: "plan",
  waitingFor: "waiting_for",
  problem: "problem",
  receiptId: "receipt_id",
  hostId: "host_id",
  tokenLimit: "token_limit",
  answer: "answer",
  reviewed: "reviewed",
  smallModelNoticeShown: "small_told",
  override: "override",
  context: "context",
  queued: "queued",
  edits: "edits",
};
const jsonColumns: ReadonlySet<string> = new Set(["usage", "plan", "waitingFor", "answer", "reviewed", "override", "context"]);

export function toColumn(key: keyof QuestPatch, value: unknown): unknown {
  if (value === null) return null;
  if (typeof value === "boolean") return value ? 1 : 0;
  return jsonColumns.has(key) ? JSON.stringify(value) : value;
}

export function toStoredQuest(row: QuestRow): StoredQuest {
  return {
    workspace: row.workspace,
    hostId: row.host_id,
    tokenLimit: row.token_limit,
    answer: row.answer === null ? null : (JSON.parse(row.answer) as StoredQuest["answer"]),
    reviewed: JSON.parse(row.reviewed) as StoredQuest["reviewed"],
    smallModelNoticeShown: row.small_told === 1,
    soulScope: row.soul_scope === null ? null : (JSON.parse(row.soul_scope) as SoulScope),
    quest: {
      id: row.id,
      title: row.title,
      status: row.status,
      mode: row.mode,
      createdAt: row.created_at,
      updatedAt: row.updated_at,
      model: row.model,
      usage: { ...noUsage(), ...(JSON.parse(row.usage) as Partial<Usage>) },
      plan: JSON.parse(row.plan) as PlanStep[],
      waitingFor: row.waiting_for === null ? null : (JSON.parse(row.waiting_for) as WaitingFor),
      problem: row.problem,
      receiptId: row.receipt_id,
      ...(row.parent_id === null ? {} : { parentId: row.parent_id }),
      ...(row.queued === 1 && row.status === "active" ? { queued: true } : {}),
      ...(row.override === null ? {} : { override: JSON.parse(row.override) as ModelOverride }),
      ...(row.edits === null ? {} : { edits: row.edits }),
      ...(row.context === null ? {} : { context: JSON.parse(row.context) as NonNullable<Quest["context"]> }),
    },
  };
}

export function toStoredMessage(row: MessageRow): StoredMessage {
  return {
    message: {
      id: row.id,
      questId: row.quest_id,
      seq: row.seq,
      role: row.role,
      parts: JSON.parse(row.parts) as Part[],
      createdAt: row.created_at,
      open: row.open === 1,
      ...(row.answered_by === null ? {} : { answeredBy: JSON.parse(row.answered_by) as NonNullable<Message["answeredBy"]> }),
    },
    turn: row.turn === null ? null : (JSON.parse(row.turn) as StoredTurn),
    attachments: row.attachments === null ? null : (JSON.parse(row.attachments) as Attachment[]),
  };
}

/** The text that a search of quests looks in. */
export function searchText(parts: readonly Part[]): string {
  return parts
    .map((part) => {
      if (part.type === "text") return part.text;
      if (part.type === "file") return part.path;
      return part.type === "tool" ? part.title : "";
    })
    .filter((text) => text !== "")
    .join("\n");
}
