import type { MemoryKind } from "../contract/memory.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Storage } from "../storage/storage.ts";
import { experienceText, summaryByRules, type TaskEnd, transcript } from "./episode-texts.ts";
import { removalOf } from "./removal.ts";
import type { MemorySettings } from "./settings.ts";
import type { Commits } from "./commit-types.ts";
import type { Author, Gates, ItemImage, MemoryStore, ProposedEdit, StoredItem, Timeline } from "./item-types.ts";

/** Stands for a commit in references to messages, which no commit writes: they are an index of the conversation. */
export const referenceCommit = "conversation";

/** Messages from which on a task is summarized as soon as it ends, not by the next job. */
const longTask = 12;
/** Tokens of a model's summary. */
const summaryTokens = 220;
/** Rows that are read at a time. */
const page = 500;

export interface EpisodesDeps {
  readonly storage: Storage;
  readonly store: MemoryStore;
  readonly commits: Pick<Commits, "apply">;
  readonly gates: Pick<Gates, "judge">;
  readonly timeline: Timeline;
  readonly ledger: Pick<Ledger, "open" | "close">;
  readonly settings: () => MemorySettings;
  /** Absolute path; `-` where no folder is open. */
  readonly workspace: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** A summary in so many tokens; without it rules summarize. */
  readonly summarize?: ((text: string, maxTokens: number, signal: AbortSignal) => Promise<string>) | undefined;
  /** Told after something was changed. */
  readonly changed: () => void;
}

/**
 * Episodic memory. Messages are kept by reference: their rows and their place in the text index are derived from the conversation, made
 * in bulk with one receipt (`memory.messages`) a task, and are no part of a rollback. Events and summaries are commits of the system's.
 */
export interface Episodes {
  /** A task ended: its messages are referred to, and what came of it is an event; that of an earlier end of the same task is replaced. */
  questEnded(of: TaskEnd & { readonly questId: string }): void;
  /** A task was deleted: references to it, its working memory, events and summaries go; what was learned from it for good stays. */
  questDeleted(questId: string): void;
  /** Brings the references to a task's messages up to date. */
  keepMessages(questId: string): { added: number; removed: number };
  /** Writes or renews the summary of a task, by a model where one is given; false when it was up to date or may not be kept. */
  summarize(questId: string, signal: AbortSignal): Promise<boolean>;
}

/** What an item is found by and shown as: its content, or the words of the message it refers to; empty when that is gone. */
export function createTextOf(timeline: Pick<Timeline, "message">): (image: Pick<ItemImage, "content" | "ref">) => string {
  return ({ content, ref }) =>
    ref === null ? content : ref.startsWith("message:") ? (timeline.message(ref.slice("message:".length))?.text ?? "") : "";
}

export function createEpisodes(deps: EpisodesDeps): Episodes {
  const { storage, store, timeline, ledger, now } = deps;

  /** Every item of the task in a tier, also a long list of them. */
  const itemsOf = (questId: string, tier: "working" | "episodic", kind?: MemoryKind): StoredItem[] => {
    const found: StoredItem[] = [];
    for (let before: number | undefined; ; ) {
      const some = store.list({
        tiers: [tier],
        namespace: `quest:${questId}`,
        now: now(),
        limit: page,
        ...(kind === undefined ? {} : { kind }),
        ...(before === undefined ? {} : { before }),
      });
      found.push(...some);
      before = some.at(-1)?.seq;
      if (some.length < page || before === undefined) return found;
    }
  };

  const reference = (message: { id: string; role: "user" | "assistant"; createdAt: number }, questId: string): ItemImage => ({
    id: `message-${message.id}`,
    tier: "episodic",
    block: null,
    namespace: `quest:${questId}`,
    workspace: deps.workspace,
    kind: "message",
    content: "",
    ref: `message:${message.id}`,
    confidence: 1,
    tags: [],
    provenance: { source: message.role === "user" ? "user" : "agent", ref: `message:${message.id}` },
    questId,
    commitId: referenceCommit,
    version: 1,
    createdAt: message.createdAt,
    updatedAt: message.createdAt,
    expiresAt: null,
  });

  const keepMessages: Episodes["keepMessages"] = (questId) =>
    storage.transaction(() => {
      const messages = timeline.quest(questId).filter(({ text }) => text.trim() !== "");
      const known = new Set(itemsOf(questId, "episodic", "message").map(({ ref }) => ref));
      const missing = messages.filter(({ id }) => !known.has(`message:${id}`));
      const there = new Set(messages.map(({ id }) => `message:${id}`));
      const gone = [...known].filter((ref) => ref !== null && !there.has(ref));
      if (missing.length === 0 && gone.length === 0) return { added: 0, removed: 0 };
      for (const message of missing) {
        const image = reference(message, questId);
        store.put(image.id, image);
      }
      for (const ref of gone) store.put(`message-${String(ref).slice("message:".length)}`, null);
      const counts = { added: missing.length, removed: gone.length };
      receipt("memory.messages", questId, counts);
      return counts;
    });

  const receipt = (actionName: string, questId: string, outputs: Record<string, unknown>): void => {
    const id = ledger.open({ actionType: "system", actionName, inputs: {}, riskTier: "T1", questId });
    ledger.close(id, { status: "success", outputs });
  };

  /** Judges what the host wants to write and writes it, over `earlier` where there is one. False when it may not be kept, or is there. */
  const write = (edit: Omit<ProposedEdit, "op" | "target">, earlier: StoredItem | undefined, author: Author): boolean => {
    const verdict = deps.gates.judge({ ...edit, op: "insert", target: "episodic" }, author);
    if (verdict.kind !== "store") return false;
    const gated = verdict.edit;
    if (earlier !== undefined && earlier.content === gated.content) return false;
    const way = earlier === undefined ? gated : { ...gated, op: "replace" as const, selector: earlier.id };
    deps.commits.apply([way], author, { reason: edit.reason, parentId: null });
    return true;
  };

  const writeSummary = (questId: string, content: string, by: "rules" | "a model", earlier: StoredItem | undefined): boolean =>
    write(
      {
        content,
        kind: "summary",
        namespace: `quest:${questId}`,
        confidence: 0.8,
        provenance: { source: "agent", ref: `quest:${questId}` },
        reason: `Summary of the task, by ${by}.`,
      },
      earlier,
      { by: "system", questId },
    );

  const summaryOf = (questId: string): StoredItem | undefined => itemsOf(questId, "episodic", "summary")[0];
  const rulesLength = (): number => Math.min(1_600, deps.settings().item_characters);

  return {
    keepMessages,
    questEnded: ({ questId, ...end }) => {
      storage.transaction(() => {
        keepMessages(questId);
        const messages = timeline.quest(questId);
        const request = messages.find(({ role }) => role === "user")?.text ?? end.title;
        const [earlier] = itemsOf(questId, "episodic", "experience");
        const author: Author = { by: "system", questId };
        const experience = (content: string): boolean =>
          write(
            {
              content,
              kind: "experience",
              namespace: `quest:${questId}`,
              confidence: 0.9,
              provenance: { source: "system", ref: `quest:${questId}` },
              tags: [end.outcome],
              reason: "What came of the task.",
            },
            earlier,
            author,
          );
        // Words that may not be kept leave what the host knows by itself.
        if (!experience(experienceText(end, request))) experience(experienceText(end, null));
        if (messages.length >= longTask) writeSummary(questId, summaryByRules(messages, rulesLength()), "rules", summaryOf(questId));
      });
      deps.changed();
    },

    questDeleted: (questId) => {
      storage.transaction(() => {
        const episodic = itemsOf(questId, "episodic");
        const references = episodic.filter(({ ref }) => ref !== null);
        const items = [...itemsOf(questId, "working"), ...episodic.filter(({ ref }) => ref === null)];
        if (references.length + items.length === 0) return;
        const reason = "The task was deleted.";
        const { commitId } =
          items.length === 0
            ? { commitId: null }
            : deps.commits.apply(
                items.map((item) => removalOf(item, reason)),
                { by: "system", questId },
                { reason, parentId: null },
              );
        for (const { id } of references) store.put(id, null);
        receipt("memory.quest_deleted", questId, { messages: references.length, items: items.length, commitId });
      });
      deps.changed();
    },

    summarize: async (questId, signal) => {
      keepMessages(questId);
      const messages = timeline.quest(questId);
      const last = messages.reduce((latest, { createdAt }) => Math.max(latest, createdAt), 0);
      const earlier = summaryOf(questId);
      if (messages.length === 0 || (earlier !== undefined && earlier.updatedAt >= last)) return false;
      const byRules = summaryByRules(messages, rulesLength());
      let written: boolean | null = null;
      if (deps.summarize !== undefined && messages.length >= longTask) {
        const words = await modelSummary(deps.summarize, transcript(messages), signal);
        // Meanwhile the task may have gone on or been deleted: what is written is of what is there now.
        if (timeline.quest(questId).length !== messages.length) return false;
        if (words !== null)
          written = writeSummary(questId, words.slice(0, deps.settings().item_characters).toWellFormed(), "a model", summaryOf(questId));
      }
      if (written !== true) written = writeSummary(questId, byRules, "rules", summaryOf(questId));
      if (written) deps.changed();
      return written;
    },
  };
}

/** Null when no model answers with anything: rules do it then. */
async function modelSummary(summarize: NonNullable<EpisodesDeps["summarize"]>, text: string, signal: AbortSignal): Promise<string | null> {
  try {
    const words = (await summarize(text, summaryTokens, signal)).trim();
    return words === "" ? null : words;
  } catch (error) {
    if (signal.aborted) throw error;
    return null;
  }
}
