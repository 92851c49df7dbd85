import type { Part } from "../contract/chat.ts";
import { type Evidence, type Timeline, type TimelineMessage, withoutQuotations } from "../memory/memory.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Storage } from "../storage/storage.ts";

interface Row {
  id: string;
  quest_id: string;
  workspace: string;
  role: "user" | "assistant";
  parts: string;
  created_at: string;
  /** 1: it came without the owner token. */
  others: 1 | null;
}

/** Of one receipt as evidence. UTF-16 units. */
const receiptText = 20_000;

const columns =
  "m.id, m.quest_id, q.workspace, m.role, m.parts, m.created_at, (SELECT 1 FROM messages_of_others o WHERE o.message_id = m.id) AS others FROM messages m JOIN quests q ON q.id = m.quest_id";

/**
 * The conversation as memory refers to it. It reads the tables of tasks alone, so that it is there before they are.
 * @param workspace absolute path of the workspace; null without one
 */
export function createTimeline({ storage, workspace }: { storage: Pick<Storage, "db">; workspace: string | null }): Timeline {
  const { db } = storage;
  const statements = {
    message: db.prepare<[string], Row>(`SELECT ${columns} WHERE m.id = ?`),
    since: db.prepare<[string, string], Row>(
      `SELECT ${columns} WHERE q.workspace = ? AND q.status IN ('done', 'failed', 'cancelled') AND m.created_at > ? ORDER BY m.created_at, m.quest_id, m.seq`,
    ),
    quest: db.prepare<[string], Row>(`SELECT ${columns} WHERE m.quest_id = ? ORDER BY m.seq`),
  };
  return {
    message(id) {
      const row = statements.message.get(id);
      return row === undefined ? null : toMessage(row);
    },
    since(after, limit) {
      const found: TimelineMessage[] = [];
      if (limit <= 0) return found;
      for (const row of statements.since.iterate(workspace ?? "", new Date(after).toISOString())) {
        const message = toMessage(row);
        if (message.text !== "") found.push(message);
        if (found.length >= limit) break;
      }
      return found;
    },
    quest: (questId) =>
      statements.quest
        .all(questId)
        .map(toMessage)
        .filter(({ text }) => text !== ""),
  };
}

/**
 * What a reference says: `message:<id>`, whose words they are (the owner's only where they came with the owner token), without what the
 * owner pasted or attached; `receipt:<id>`, what an
 * action that succeeded gave. Null when there is no such thing.
 */
export function createEvidence({ timeline, ledger }: { timeline: Pick<Timeline, "message">; ledger: Pick<Ledger, "get"> }) {
  return (ref: string): Evidence | null => {
    const [, kind, id = ""] = /^(message|receipt):([\w.:-]{1,200})$/.exec(ref) ?? [];
    if (kind === "message") {
      const message = timeline.message(id);
      if (message === null) return null;
      return message.role === "user" && message.fromOthers !== true
        ? { source: "user", text: withoutQuotations(message.text) }
        : { source: "agent", text: message.text };
    }
    if (kind !== "receipt") return null;
    const receipt = ledger.get(id);
    if (receipt?.status !== "success") return null;
    const text = [receipt.actionName, JSON.stringify(receipt.inputs), JSON.stringify(receipt.outputs)].join("\n");
    return { source: "tool", text: text.slice(0, receiptText) };
  };
}

function toMessage({ id, quest_id: questId, workspace, role, parts, created_at: createdAt, others }: Row): TimelineMessage {
  const said = (JSON.parse(parts) as Part[]).flatMap((part) => (part.type === "text" ? [part.text] : []));
  return {
    id,
    questId,
    workspace: workspace === "" ? "-" : workspace,
    role,
    text: said.join("\n").trim(),
    ...(others === null ? {} : { fromOthers: true }),
    createdAt: Date.parse(createdAt),
  };
}
