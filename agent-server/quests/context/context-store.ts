import type { ContextUserContent, Eviction, EvictionState } from "../../context/context.ts";
import type { PlanStep } from "../../contract/chat.ts";
import type { Migration, Storage } from "../../storage/storage.ts";

/** A file or fact that the user added to the context of a quest. */
export interface KeptItem {
  /** The path of a file relative to the workspace, or the name of a fact. */
  path: string;
  kind: "file" | "fact";
  pinned: boolean;
  state: EvictionState;
  reason: string | null;
  /** The text for the model. */
  text: string;
  findings: string[];
  /** Identifies the version of the file that was read; empty for a fact. */
  stamp: string;
  /** Grows with each use. */
  usedSeq: number;
  usedAt: string;
}

/** A file in the conversation, in the version that the model last saw. */
export interface LoadedFile {
  path: string;
  stamp: string;
  /** The position of the last message that contains it. */
  seq: number;
}

/** The summary that replaces the older messages of a quest in its prompts. */
export interface Compaction {
  /** The position of the last message that `head` replaces. */
  upTo: number;
  lastMessageId: string;
  head: ContextUserContent[];
  /** The plan in `head`, to detect that the plan changed since. */
  plan: PlanStep[];
  summary: string;
  method: string;
  createdAt: string;
}

export const contextMigrations: readonly Migration[] = [
  {
    name: "orchestrator-context-1",
    sql: `
      CREATE TABLE context_items (
        quest_id TEXT NOT NULL REFERENCES quests (id) ON DELETE CASCADE,
        path TEXT NOT NULL,
        kind TEXT NOT NULL,
        pinned INTEGER NOT NULL,
        state TEXT NOT NULL,
        reason TEXT,
        text TEXT NOT NULL,
        findings TEXT NOT NULL,
        stamp TEXT NOT NULL,
        used_seq INTEGER NOT NULL,
        used_at TEXT NOT NULL,
        PRIMARY KEY (quest_id, path)
      ) STRICT;
      CREATE TABLE context_states (  -- shortened and excluded pieces of messages
        message_id TEXT NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
        quest_id TEXT NOT NULL,
        key TEXT NOT NULL,
        state TEXT NOT NULL,
        reason TEXT NOT NULL,
        PRIMARY KEY (message_id, key)
      ) STRICT;
      CREATE INDEX context_states_by_quest ON context_states (quest_id);
      CREATE TABLE context_loaded (
        quest_id TEXT NOT NULL REFERENCES quests (id) ON DELETE CASCADE,
        path TEXT NOT NULL,
        stamp TEXT NOT NULL,
        seq INTEGER NOT NULL,
        PRIMARY KEY (quest_id, path)
      ) STRICT;
      CREATE TABLE context_compactions (
        quest_id TEXT NOT NULL,
        up_to INTEGER NOT NULL,
        last_message_id TEXT NOT NULL REFERENCES messages (id) ON DELETE CASCADE,  -- editing a message removes the later ones
        head TEXT NOT NULL,
        plan TEXT NOT NULL,
        summary TEXT NOT NULL,
        method TEXT NOT NULL,
        created_at TEXT NOT NULL,
        PRIMARY KEY (quest_id, up_to)
      ) STRICT;
    `,
  },
];

interface ItemRow {
  path: string;
  kind: KeptItem["kind"];
  pinned: number;
  state: EvictionState;
  reason: string | null;
  text: string;
  findings: string;
  stamp: string;
  used_seq: number;
  used_at: string;
}

interface CompactionRow {
  up_to: number;
  last_message_id: string;
  head: string;
  plan: string;
  summary: string;
  method: string;
  created_at: string;
}

export type ContextStore = ReturnType<typeof createContextStore>;

/** Stores the context of a quest that is not part of its messages, so that a restart does not change its prompts. */
export function createContextStore({ db }: Pick<Storage, "db">) {
  const statements = {
    items: db.prepare<[string], ItemRow>("SELECT * FROM context_items WHERE quest_id = ? ORDER BY path"),
    putItem: db.prepare(
      `INSERT INTO context_items (quest_id, path, kind, pinned, state, reason, text, findings, stamp, used_seq, used_at)
       VALUES (@questId, @path, @kind, @pinned, @state, @reason, @text, @findings, @stamp, @usedSeq, @usedAt)
       ON CONFLICT (quest_id, path) DO UPDATE SET kind = @kind, pinned = @pinned, state = @state, reason = @reason, text = @text,
         findings = @findings, stamp = @stamp, used_seq = @usedSeq, used_at = @usedAt`,
    ),
    removeItem: db.prepare("DELETE FROM context_items WHERE quest_id = ? AND path = ?"),
    states: db.prepare<[string], { key: string; state: EvictionState; reason: string }>(
      "SELECT key, state, reason FROM context_states WHERE quest_id = ?",
    ),
    putState: db.prepare(
      `INSERT INTO context_states (message_id, quest_id, key, state, reason) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (message_id, key) DO UPDATE SET state = excluded.state, reason = excluded.reason`,
    ),
    loaded: db.prepare<[string], LoadedFile>("SELECT path, stamp, seq FROM context_loaded WHERE quest_id = ? ORDER BY path"),
    putLoaded: db.prepare(
      `INSERT INTO context_loaded (quest_id, path, stamp, seq) VALUES (?, ?, ?, ?)
       ON CONFLICT (quest_id, path) DO UPDATE SET stamp = excluded.stamp, seq = excluded.seq`,
    ),
    compaction: db.prepare<[string], CompactionRow>("SELECT * FROM context_compactions WHERE quest_id = ? ORDER BY up_to DESC LIMIT 1"),
    addCompaction: db.prepare(
      `INSERT INTO context_compactions (quest_id, up_to, last_message_id, head, plan, summary, method, created_at)
       VALUES (@questId, @upTo, @lastMessageId, @head, @plan, @summary, @method, @createdAt)`,
    ),
  };

  return {
    items: (questId: string): KeptItem[] =>
      statements.items.all(questId).map(({ used_seq, used_at, pinned, findings, ...row }) => ({
        ...row,
        pinned: pinned === 1,
        findings: JSON.parse(findings) as string[],
        usedSeq: used_seq,
        usedAt: used_at,
      })),

    putItem(questId: string, item: KeptItem): void {
      statements.putItem.run({ questId, ...item, pinned: item.pinned ? 1 : 0, findings: JSON.stringify(item.findings) });
    },

    removeItem: (questId: string, path: string): boolean => statements.removeItem.run(questId, path).changes > 0,

    /** The states of shortened and excluded pieces, by key. */
    states: (questId: string): Map<string, { state: EvictionState; reason: string }> =>
      new Map(statements.states.all(questId).map(({ key, state, reason }) => [key, { state, reason }])),

    putState(questId: string, messageId: string, { key, state }: Eviction, reason: string): void {
      statements.putState.run(messageId, questId, key, state, reason);
    },

    loaded: (questId: string): LoadedFile[] => statements.loaded.all(questId),

    putLoaded(questId: string, { path, stamp, seq }: LoadedFile): void {
      statements.putLoaded.run(questId, path, stamp, seq);
    },

    /** The latest summary; null when there is none. */
    compaction(questId: string): Compaction | null {
      const row = statements.compaction.get(questId);
      if (row === undefined) return null;
      return {
        upTo: row.up_to,
        lastMessageId: row.last_message_id,
        head: JSON.parse(row.head) as ContextUserContent[],
        plan: JSON.parse(row.plan) as PlanStep[],
        summary: row.summary,
        method: row.method,
        createdAt: row.created_at,
      };
    },

    addCompaction(questId: string, compaction: Compaction): void {
      statements.addCompaction.run({
        questId,
        ...compaction,
        head: JSON.stringify(compaction.head),
        plan: JSON.stringify(compaction.plan),
      });
    },
  };
}
