import type { ToolPart } from "../../contract/chat.ts";
import { LancelotError } from "../../contract/errors.ts";
import { type Memory, proposeFromQuest, type QuestProposals } from "../../memory/memory.ts";
import type { Log } from "../../security/security.ts";
import type { Storage } from "../../storage/storage.ts";
import type { MemoryService } from "../../tools/tools.ts";
import { notice } from "../notices.ts";
import type { QuestStore } from "../quest-store.ts";
import type { StoredMessage } from "../stored-quest.ts";
import { memoryActions } from "./memory-actions.ts";

export interface EndedQuest {
  readonly questId: string;
  readonly outcome: "done" | "failed" | "cancelled";
  /** The run's root receipt. */
  readonly receiptId: string | null;
}

interface Deps {
  memory: Pick<Memory, "enabled" | "proposes" | "questEnded" | "quarantine" | "commits" | "search"> | undefined;
  service: () => MemoryService | null;
  store: QuestStore;
  storage: Pick<Storage, "db">;
  log: Log;
}

/** Action titles that an event names. */
const maxActions = 20;

/** Updates memory after a quest ended (Y2, Y7): its event, and what it proposes. It runs in the background and delays no answer. */
export interface FinishedQuestMemory {
  /** Never throws. */
  ended(quest: EndedQuest): void;
  /** Resolves when no work is in progress. */
  idle(): Promise<void>;
  /** Stops running work. Commits that were not finished are dropped. */
  close(): Promise<void>;
}

export function createFinishedQuestMemory({ memory, service, store, storage, log }: Deps): FinishedQuestMemory {
  const closing = new AbortController();
  const running = new Set<Promise<void>>();
  const marks = createMarks(storage);

  async function update({ questId, outcome, receiptId }: EndedQuest): Promise<void> {
    // Whatever ends the quest finishes its own event-loop turn first.
    await new Promise<void>((resolve) => setImmediate(resolve));
    if (closing.signal.aborted || memory?.enabled() !== true || !store.exists(questId)) return;
    const quest = store.quest(questId);
    if (quest.status !== outcome) return;
    const after = marks.get(questId);
    const messages = store.messages(questId).filter(({ message }) => message.createdAt > after);
    const last = messages.at(-1);
    if (last === undefined) return;
    // Marked first: a host that dies from here on loses proposals, and never repeats them.
    marks.set(questId, last.message.createdAt);
    const calls = messages.flatMap(({ message }) => message.parts.filter((part): part is ToolPart => part.type === "tool"));
    memory.questEnded({
      questId,
      title: quest.title,
      outcome,
      actions: actionsOf(calls),
      durationMs: durationOf(messages),
      ...reasonedOf(messages),
    });
    const to = service();
    if (!memory.proposes() || to === null) return;
    const actions = memoryActions(to, { actor: "system", quest: questId, parent: receiptId, mode: "normal", signal: closing.signal });
    const proposals = await proposeFromQuest(memory, { questId, calls, after }, actions);
    if (proposals.saved.length + proposals.pending.length > 0 && store.exists(questId))
      store.addMessage({ questId, role: "assistant", parts: [notice("info", proposalSummary(proposals), "open_memory")] });
  }

  return {
    ended(quest) {
      if (memory === undefined || closing.signal.aborted) return;
      const work = update(quest).catch((error: unknown) => {
        if (!closing.signal.aborted) log("memory was not updated after a task", error);
      });
      running.add(work);
      void work.finally(() => running.delete(work));
    },
    async idle() {
      while (running.size > 0) await Promise.all(running);
    },
    async close() {
      closing.abort(new LancelotError("cancelled", "The agent host is shutting down."));
      await Promise.all(running);
    },
  };
}

/** One line with the numbers, then one line per item. */
export function proposalSummary({ saved, pending }: QuestProposals): string {
  const count = (items: readonly string[]): string => `${String(items.length)} ${items.length === 1 ? "item" : "items"}`;
  const parts = [
    ...(saved.length === 0 ? [] : [`Saved ${count(saved)} to memory.`]),
    ...(pending.length === 0 ? [] : [`${count(pending)} waiting for your approval in War Room → Memory → Quarantine.`]),
  ];
  const lines = [...saved.map((text) => `- Saved: ${text}`), ...pending.map((text) => `- Pending: ${text}`)];
  return [parts.join(" "), ...lines.map((line) => (line.length <= 300 ? line : `${line.slice(0, 299).toWellFormed()}…`))].join("\n");
}

/** Titles of actions that changed something. Those of memory tools are excluded: what they wrote may be in quarantine. */
function actionsOf(calls: readonly ToolPart[]): string[] {
  return calls
    .filter(({ tool, tier, status }) => tier !== null && tier !== "T0" && status === "success" && !tool.startsWith("memory_"))
    .map(({ title }) => title)
    .slice(0, maxActions);
}

/** What the reasoning pass of the task's last request said. */
function reasonedOf(messages: readonly StoredMessage[]): { strategy?: string; gaps?: readonly string[] } {
  const reasoned = messages.flatMap(({ message }) => message.parts.filter((part) => part.type === "reasoning")).at(-1);
  return reasoned === undefined ? {} : { strategy: reasoned.strategy, gaps: reasoned.gaps };
}

function durationOf(messages: readonly StoredMessage[]): number {
  const times = messages.map(({ message }) => Date.parse(message.createdAt));
  return Math.max(...times) - Math.min(...times);
}

/** The last message of each quest that was looked at. */
function createMarks({ db }: Pick<Storage, "db">) {
  const get = db.prepare<[string], { until: string }>("SELECT until FROM quest_memory WHERE quest_id = ?");
  const set = db.prepare(
    "INSERT INTO quest_memory (quest_id, until) VALUES (?, ?) ON CONFLICT (quest_id) DO UPDATE SET until = excluded.until",
  );
  return {
    get: (questId: string): string => get.get(questId)?.until ?? "",
    set: (questId: string, until: string): void => void set.run(questId, until),
  };
}
