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
  /** 1 for a message that came without the owner token. */
  others: 1 | null;
}

/** Length of one receipt as evidence, in UTF-16 units. */
const maxReceiptText = 20_000;

const columns =
  "m.id, m.quest_id, q.workspace, m.role, m.parts, m.created_at, (SELECT 1 FROM messages_of_others o WHERE o.message_id = m.id) AS others FROM messages m JOIN quests q ON q.id = m.quest_id";

/**
 * The conversation that memory refers to. It reads only the tables of quests, so that it can exist before the quests module does.
 * @param workspace absolute path of the workspace; null without one
 */
export function createTimeline({ storage, workspace }: { storage: Pick<Storage, "db">; workspace: string | null }): Timeline {
  const { db } = storage;
  const statements = {
    message: db.prepare<[string], Row>(`SELECT ${columns} WHERE m.id = ?`),
    since: db.prepare<[string, string], Row>(
      `SELECT ${columns} WHERE q.workspace = ? AND q.parent_id IS NULL AND q.status IN ('done', 'failed', 'cancelled') AND m.created_at > ? ORDER BY m.created_at, m.quest_id, m.seq`,
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
 * Resolves a reference to evidence. `message:<id>` is the text of a message without pasted or attached parts; it counts as the user's
 * only when it came with the owner token. `receipt:<id>` is the result of a successful action. Null for an unknown reference.
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
    return { source: "tool", text: text.slice(0, maxReceiptText) };
  };
}

function toMessage({ id, quest_id: questId, workspace, role, parts, created_at: createdAt, others }: Row): TimelineMessage {
  const texts = (JSON.parse(parts) as Part[]).flatMap((part) => (part.type === "text" ? [part.text] : []));
  return {
    id,
    questId,
    workspace: workspace === "" ? "-" : workspace,
    role,
    text: texts.join("\n").trim(),
    ...(others === null ? {} : { fromOthers: true }),
    createdAt: Date.parse(createdAt),
  };
}
