import { experienceNamespace, type MemoryKind } from "../contract/memory.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Storage } from "../storage/storage.ts";
import { experienceText, summaryByRules, type TaskEnd, transcript } from "./episode-texts.ts";
import { removalOf } from "./removal-edit.ts";
import type { MemorySettings } from "./memory-settings.ts";
import type { Commits } from "./commit-types.ts";
import type { Author, Gates, ItemImage, MemoryStore, ProposedEdit, StoredItem, Timeline } from "./item-types.ts";

/** The commit id of message references. No commit writes them: they index the conversation. */
export const referenceCommit = "conversation";

/** Tasks with at least so many messages are summarized when they end, not by the next job. */
const longTask = 12;
/** Tokens of a model's summary. */
const summaryTokens = 220;
/** Rows per read. */
const page = 500;

export interface EpisodesDeps {
  readonly storage: Storage;
  readonly store: MemoryStore;
  readonly commits: Pick<Commits, "apply">;
  readonly gates: Pick<Gates, "judge">;
  readonly timeline: Timeline;
  readonly ledger: Pick<Ledger, "open" | "close">;
  readonly settings: () => MemorySettings;
  /** Absolute path; `-` when no folder is open. */
  readonly workspace: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Summarizes within so many tokens; without it, rules summarize. */
  readonly summarize?: ((text: string, maxTokens: number, signal: AbortSignal) => Promise<string>) | undefined;
  /** Called after a change. */
  readonly changed: () => void;
}

/**
 * Episodic memory. Messages are stored by reference: their rows and their index entries are derived from the conversation, written
 * in bulk with one receipt (`memory.messages`) per task, and excluded from rollbacks. Events and summaries are commits by the system.
 */
export interface Episodes {
  /** After a task ended: references its messages and writes an event, replacing the event of an earlier end. */
  questEnded(of: TaskEnd & { readonly questId: string }): void;
  /** After a task was deleted: deletes its references, working memory, events and summaries. Archival memory learned from it stays. */
  questDeleted(questId: string): void;
  /** Updates the references to a task's messages. */
  keepMessages(questId: string): { added: number; removed: number };
  /** Writes or updates a task's summary, with the model if there is one; false when it was current or the gates refused it. */
  summarize(questId: string, signal: AbortSignal): Promise<boolean>;
}

/** The searchable and displayed text of an item: its content, or the text of the message it refers to (empty when deleted). */
export function createTextOf(timeline: Pick<Timeline, "message">): (image: Pick<ItemImage, "content" | "ref">) => string {
  return ({ content, ref }) =>
    ref === null ? content : ref.startsWith("message:") ? (timeline.message(ref.slice("message:".length))?.text ?? "") : "";
}

export function createEpisodes(deps: EpisodesDeps): Episodes {
  const { storage, store, timeline, ledger, now } = deps;

  /** All items of the task in a tier, page by page. */
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

  /** Judges and writes an item of the host, replacing `earlier`. False when a gate refused it or it exists. */
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
        const earlier = store.experience(questId) ?? undefined;
        const author: Author = { by: "system", questId };
        const experience = (content: string): boolean =>
          write(
            {
              content,
              kind: "experience",
              namespace: earlier?.namespace ?? experienceNamespace,
              confidence: 0.9,
              provenance: { source: "system", ref: `quest:${questId}` },
              tags: [end.outcome],
              reason: "Outcome of the task.",
            },
            earlier,
            author,
          );
        // When a gate refuses the owner's words, the event holds only facts from the host.
        if (!experience(experienceText(end, request))) experience(experienceText(end, null));
        if (messages.length >= longTask) writeSummary(questId, summaryByRules(messages, rulesLength()), "rules", summaryOf(questId));
      });
      deps.changed();
    },

    questDeleted: (questId) => {
      storage.transaction(() => {
        const episodic = itemsOf(questId, "episodic");
        const references = episodic.filter(({ ref }) => ref !== null);
        const experience = store.experience(questId);
        const items = [
          ...itemsOf(questId, "working"),
          ...episodic.filter(({ ref, id }) => ref === null && id !== experience?.id),
          ...(experience === null ? [] : [experience]),
        ];
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
        // The task may have continued or been deleted while the model worked, so the summary may be out of date.
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

/** Null when the model returned nothing; then rules summarize. */
async function modelSummary(summarize: NonNullable<EpisodesDeps["summarize"]>, text: string, signal: AbortSignal): Promise<string | null> {
  try {
    const words = (await summarize(text, summaryTokens, signal)).trim();
    return words === "" ? null : words;
  } catch (error) {
    if (signal.aborted) throw error;
    return null;
  }
}
