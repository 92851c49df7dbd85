import type { QuestPatch, StoredMessage, StoredQuest, StoredTurn } from "./stored-quest.ts";
import { randomUUID } from "node:crypto";
import { type Attachment, type Message, noUsage, type Part, type Quest } from "../contract/chat.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Emit } from "../contract/events.ts";
import type { EditMode, Mode } from "../contract/governance.ts";
import type { SoulScope } from "../contract/soul.ts";
import { newMarker } from "../context/context.ts";
import type { Storage } from "../storage/storage.ts";
import { type MessageRow, patchColumns, type QuestRow, searchText, toColumn, toStoredMessage, toStoredQuest } from "./quest-rows.ts";

export type QuestStore = ReturnType<typeof createQuestStore>;

/** Stores quests and messages. Every write is committed, and emits its event, before the function returns. */
export function createQuestStore({
  storage,
  emit: emitNow,
  now,
  costOf = () => null,
}: {
  storage: Storage;
  emit: Emit;
  now: () => Date;
  /** US dollars of a quest; null before its first call. */
  costOf?: (questId: string) => number | null;
}) {
  const { db } = storage;
  // A transaction that is rolled back must emit no events.
  const emit: Emit = (topic, payload) => {
    storage.afterTransaction((committed) => {
      if (committed) emitNow(topic, payload);
    });
  };
  /** Each decision asks for them. */
  const knownEdits = new Map<string, EditMode | null>();
  const statements = {
    insertQuest: db.prepare(
      `INSERT INTO quests (id, workspace, title, status, mode, created_at, updated_at, usage, plan, token_limit, reviewed, host_id, parent_id,
         soul_scope)
       VALUES (@id, @workspace, @title, 'active', @mode, @at, @at, @usage, '[]', @tokenLimit, '{"accepted":0,"rejected":0}', @hostId, @parentId,
         @soulScope)`,
    ),
    quest: db.prepare<[string], QuestRow>("SELECT * FROM quests WHERE id = ?"),
    edits: db.prepare<[string], EditMode | null>("SELECT edits FROM quests WHERE id = ?").pluck(),
    setMarker: db.prepare("UPDATE quests SET marker = ? WHERE id = ? AND marker IS NULL"),
    deleteQuest: db.prepare("DELETE FROM quests WHERE id = ?"),
    parentOf: db.prepare<[string], { parent_id: string | null }>("SELECT parent_id FROM quests WHERE id = ?"),
    subtasks: db.prepare<[string], { id: string }>("SELECT id FROM quests WHERE parent_id = ? ORDER BY created_at, id"),
    running: db.prepare<[], QuestRow>("SELECT * FROM quests WHERE status IN ('active', 'waiting')"),
    messages: db.prepare<[string], MessageRow>("SELECT * FROM messages WHERE quest_id = ? ORDER BY seq"),
    message: db.prepare<[string], MessageRow>("SELECT * FROM messages WHERE id = ?"),
    nextSeq: db.prepare<[string], { seq: number }>("SELECT coalesce(max(seq) + 1, 0) AS seq FROM messages WHERE quest_id = ?"),
    insertMessage: db.prepare(
      `INSERT INTO messages (id, quest_id, seq, role, parts, text, created_at, open, turn, attachments)
       VALUES (@id, @questId, @seq, @role, @parts, @text, @createdAt, @open, @turn, @attachments)`,
    ),
    updateMessage: db.prepare("UPDATE messages SET parts = @parts, text = @text, open = @open, answered_by = @answeredBy WHERE id = @id"),
    setTurn: db.prepare("UPDATE messages SET turn = @turn, attachments = NULL WHERE id = @id"),
    patchTurn: db.prepare("UPDATE messages SET turn = @turn WHERE id = @id"),
    removeFrom: db.prepare("DELETE FROM messages WHERE quest_id = ? AND seq >= ?"),
    list: db.prepare<[Record<string, unknown>], QuestRow>(
      `SELECT * FROM quests WHERE workspace = @workspace AND parent_id IS NULL
         AND (@before IS NULL OR (updated_at, id) < (@before, @beforeId))
         AND (@pattern IS NULL OR title LIKE @pattern ESCAPE '\\'
           OR EXISTS (SELECT 1 FROM messages WHERE quest_id = quests.id AND text LIKE @pattern ESCAPE '\\'))
       ORDER BY updated_at DESC, id DESC LIMIT @limit`,
    ),
  };
  const patchStatements = new Map<string, ReturnType<typeof db.prepare>>();

  function stored(id: string): StoredQuest {
    const row = statements.quest.get(id);
    if (row === undefined) throw new LancelotError("not_found", "This task does not exist. It may have been deleted.");
    return withCost(row);
  }

  function withCost(row: QuestRow): StoredQuest {
    const stored = toStoredQuest(row);
    const costUsd = costOf(row.id);
    return costUsd === null ? stored : { ...stored, quest: { ...stored.quest, costUsd } };
  }

  function saveRow({ id, parts, open, answeredBy }: Message): void {
    statements.updateMessage.run({
      id,
      parts: JSON.stringify(parts),
      text: searchText(parts),
      open: open ? 1 : 0,
      answeredBy: answeredBy === undefined ? null : JSON.stringify(answeredBy),
    });
  }

  return {
    /** Waits until the database can be written, without blocking the event loop. Call it before writes that follow without an `await`. */
    ready: (signal?: AbortSignal): Promise<void> => storage.whenWritable(signal),
    transaction: <T>(work: () => T): T => storage.transaction(work),
    stored,
    quest: (id: string): Quest => stored(id).quest,
    exists: (id: string): boolean => statements.quest.get(id) !== undefined,

    /** The task of a sub-task; null for a task of the user, and for one that does not exist. */
    parentOf: (id: string): string | null => statements.parentOf.get(id)?.parent_id ?? null,
    /** The sub-tasks of a task, oldest first. */
    subtasks: (id: string): string[] => statements.subtasks.all(id).map((row) => row.id),

    create(values: {
      workspace: string;
      title: string;
      mode: Mode;
      tokenLimit: number;
      /** For a sub-task. */
      of?: { readonly parentId: string; readonly soulScope: SoulScope };
    }): string {
      const { of, ...columns } = values;
      const id = randomUUID();
      statements.insertQuest.run({
        ...{ ...columns, id, at: now().toISOString(), usage: JSON.stringify(noUsage()), hostId: storage.hostId },
        ...{ parentId: of?.parentId ?? null, soulScope: of === undefined ? null : JSON.stringify(of.soulScope) },
      });
      return id;
    },

    /** Updates the given columns, emits the quest, and returns it. */
    patch(id: string, patch: QuestPatch): Quest {
      const keys = (Object.keys(patch) as (keyof QuestPatch)[]).filter((key) => patch[key] !== undefined);
      const name = keys.join();
      let statement = patchStatements.get(name);
      if (statement === undefined) {
        const columns = keys.map((key) => `${patchColumns[key]} = @${key}`);
        statement = db.prepare(`UPDATE quests SET ${[...columns, "updated_at = @at"].join(", ")} WHERE id = @id`);
        patchStatements.set(name, statement);
      }
      knownEdits.delete(id);
      const values: Record<string, unknown> = { id, at: now().toISOString() };
      for (const key of keys) values[key] = toColumn(key, patch[key]);
      const update = statement;
      // Within a transaction, errors that the user can fix have their words.
      storage.transaction(() => update.run(values));
      const { quest } = stored(id);
      emit("quest", quest);
      return quest;
    },

    /** What the owner chose for the edits of a quest; null when the posture decides, and for a quest that does not exist. */
    editsOf(id: string): EditMode | null {
      const known = knownEdits.get(id);
      if (known !== undefined) return known;
      const edits = statements.edits.get(id) ?? null;
      // A transaction may be rolled back.
      if (!db.inTransaction) knownEdits.set(id, edits);
      return edits;
    },

    /** The secret marker that delimits data in the prompts of a quest. No event and no message contains it. */
    marker(id: string): string {
      const { marker } = statements.quest.get(id) ?? {};
      if (typeof marker === "string") return marker;
      statements.setMarker.run(newMarker(), id);
      return statements.quest.get(id)?.marker ?? newMarker();
    },

    deleteQuest(id: string): void {
      statements.deleteQuest.run(id);
      knownEdits.delete(id);
      emit("questDeleted", { id });
    },

    /** Quests with a run in some host, or in a host that crashed. */
    running: (): StoredQuest[] => statements.running.all().map(withCost),

    list(filter: { workspace: string; query: string | undefined; limit: number; before: { at: string; id: string } | null }): Quest[] {
      const { query } = filter;
      return statements.list
        .all({
          workspace: filter.workspace,
          limit: filter.limit,
          before: filter.before?.at ?? null,
          beforeId: filter.before?.id ?? null,
          pattern: query === undefined || query === "" ? null : `%${query.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`,
        })
        .map((row) => withCost(row).quest);
    },

    messages: (questId: string): StoredMessage[] => statements.messages.all(questId).map(toStoredMessage),

    message(id: string): StoredMessage | null {
      const row = statements.message.get(id);
      return row === undefined ? null : toStoredMessage(row);
    },

    addMessage(values: {
      questId: string;
      role: Message["role"];
      parts: Part[];
      open?: boolean;
      turn?: StoredTurn | null;
      attachments?: Attachment[];
    }): Message {
      const { questId, role, parts } = values;
      const message = storage.transaction((): Message => {
        const seq = statements.nextSeq.get(questId)?.seq ?? 0;
        const made: Message = { id: randomUUID(), questId, seq, role, parts, createdAt: now().toISOString(), open: values.open ?? false };
        statements.insertMessage.run({
          ...made,
          parts: JSON.stringify(parts),
          text: searchText(parts),
          open: made.open ? 1 : 0,
          turn: values.turn === undefined || values.turn === null ? null : JSON.stringify(values.turn),
          attachments: values.attachments === undefined ? null : JSON.stringify(values.attachments),
        });
        return made;
      });
      emit("message", message);
      return message;
    },

    /** Stores the parts of a message, and with `turn` also its content for the model, in the same transaction. */
    saveMessage(message: Message, turn?: StoredTurn | null): void {
      storage.transaction(() => {
        saveRow(message);
        if (turn !== undefined) statements.setTurn.run({ id: message.id, turn: turn === null ? null : JSON.stringify(turn) });
      });
      emit("message", structuredClone(message));
    },

    /** Stores what only the host knows of a message; what is shown stays. */
    keepTurn(id: string, turn: StoredTurn): void {
      storage.transaction(() => statements.patchTurn.run({ id, turn: JSON.stringify(turn) }));
    },

    /**
     * Stores the text that was streamed so far. It emits no event, because the deltas already did. Skipped while the database is locked: the
     * next text, or the end of the answer, saves it.
     */
    keepStreamed(message: Message): void {
      if (storage.isWritable()) storage.transaction(() => saveRow(message));
    },

    removeFrom(questId: string, fromSeq: number): void {
      statements.removeFrom.run(questId, fromSeq);
      emit("messagesRemoved", { questId, fromSeq });
    },
  };
}
