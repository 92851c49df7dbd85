import type { ToolPart } from "../../contract/chat.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { Memory } from "../../memory/memory.ts";
import type { LocalTasks } from "../../models/models.ts";
import type { Log } from "../../security/security.ts";
import type { Storage } from "../../storage/storage.ts";
import type { MemoryByRoad, MemoryCaller } from "../../tools/tools.ts";
import { maxProposals, newProposals, type Proposal, proposalsByRules, proposalsOfModel } from "./memory-proposals.ts";
import { quotedFacts } from "./memory-quotes.ts";
import { notice } from "../notices.ts";
import { userText } from "../quest-page.ts";
import type { QuestStore } from "../quest-store.ts";
import type { StoredMessage } from "../stored-quest.ts";

export interface EndedQuest {
  readonly questId: string;
  readonly outcome: "done" | "failed" | "cancelled";
  /** Root of what the run caused. */
  readonly receiptId: string | null;
}

type Remembered = Pick<Memory, "enabled" | "proposes" | "questEnded" | "placeOf" | "quarantine" | "commits" | "search">;

interface Deps {
  memory: Remembered | undefined;
  byRoad: () => MemoryByRoad | null;
  store: QuestStore;
  storage: Pick<Storage, "db">;
  /** How a model on this machine takes data from a text; null while none is loaded: then rules alone propose. */
  extract: () => LocalTasks["extractJson"] | null;
  log: Log;
}

/** Titles of actions that an event names, at most. */
const namedActions = 20;

/** What memory keeps of tasks that ended (Y2, Y7). It runs after everything of a task was written and told, and delays nothing. */
export interface MemoryAtEnd {
  /** Never throws. */
  ended(of: EndedQuest): void;
  /** Resolves when nothing of it is under way. */
  idle(): Promise<void>;
  /** Stops what runs; what was not committed is not kept. */
  close(): Promise<void>;
}

export function createMemoryAtEnd(deps: Deps): MemoryAtEnd {
  const { memory, store } = deps;
  const closing = new AbortController();
  const underway = new Set<Promise<void>>();
  const marks = createMarks(deps.storage);

  async function keep({ questId, outcome, receiptId }: EndedQuest): Promise<void> {
    // After the turn of the event loop in which the task ended: whatever follows it there comes first.
    await new Promise<void>((resolve) => setImmediate(resolve));
    if (closing.signal.aborted || memory?.enabled() !== true || !store.exists(questId)) return;
    const quest = store.quest(questId);
    if (quest.status !== outcome) return;
    const after = marks.get(questId);
    const messages = store.messages(questId).filter(({ message }) => message.createdAt > after);
    const last = messages.at(-1);
    if (last === undefined) return;
    // Marked before anything is proposed: a host that dies in between loses the proposals, and none is made twice.
    marks.set(questId, last.message.createdAt);
    memory.questEnded({ questId, title: quest.title, outcome, actions: actionsOf(messages), durationMs: durationOf(messages) });
    if (!memory.proposes()) return;
    const caller: MemoryCaller = { by: "system", questId, parentId: receiptId, signal: closing.signal };
    const suspicious = suspiciousOf(messages);
    const byRules = newProposals(memory, proposalsByRules(messages, memory.placeOf, suspicious), questId).slice(0, maxProposals);
    const byModel = byRules.length < maxProposals ? await ofModel(memory, messages, suspicious, caller) : [];
    closing.signal.throwIfAborted();
    const known = new Set(byRules.map(({ content }) => content.toLowerCase()));
    const more = newProposals(
      memory,
      byModel.filter(({ content }) => !known.has(content.toLowerCase())),
      questId,
    );
    const proposals = [...byRules, ...more].slice(0, maxProposals);
    if (proposals.length > 0) await propose(proposals, caller, questId);
  }

  async function ofModel(
    known: Pick<Memory, "placeOf">,
    messages: readonly StoredMessage[],
    suspicious: ReadonlySet<string>,
    { parentId, signal, questId }: MemoryCaller,
  ): Promise<Proposal[]> {
    const extract = deps.extract();
    if (extract === null || questId === null) return [];
    const said = messages.flatMap(({ message, turn }) =>
      message.role === "user" && turn?.kind === "user" && !suspicious.has(message.id) ? [{ id: message.id, text: userText(message) }] : [],
    );
    try {
      return proposalsOfModel(await quotedFacts(extract, said, { questId, parentId, signal }), known.placeOf);
    } catch (error) {
      if (signal.aborted || !(error instanceof LancelotError)) throw error;
      // The receipt of the task says what went wrong; rules have proposed already.
      return [];
    }
  }

  /** One commit of all of them. What the gates refuse is left out. */
  async function propose(proposals: readonly Proposal[], caller: MemoryCaller, questId: string): Promise<void> {
    const road = deps.byRoad();
    if (road === null) return;
    const { commitId } = await road.begin({ questId, reason: "What a task left to remember." }, caller);
    let staged = 0;
    try {
      for (const proposal of proposals) {
        try {
          const { outcome } = await road.edit({ ...proposal, commitId, op: "insert" }, caller);
          if (outcome !== "reinforced") staged += 1;
        } catch (error) {
          // The gates' word, or no room: the receipt has it.
          if (!(error instanceof LancelotError) || error.code === "cancelled") throw error;
        }
      }
      if (staged === 0) {
        await road.abandon(commitId, caller);
        return;
      }
      const { diff, quarantined } = await road.finish(commitId, caller);
      const kept = diff.flatMap(({ after }) => (after === null ? [] : [after]));
      const waiting = quarantined.flatMap(({ content }) => (content === null ? [] : [content]));
      if (kept.length + waiting.length > 0 && store.exists(questId))
        store.addMessage({ questId, role: "assistant", parts: [notice("info", proposalWords(kept, waiting), "open_memory")] });
    } catch (error) {
      // What is left open is dropped by the next start.
      if (!closing.signal.aborted) await road.abandon(commitId, caller).catch(() => undefined);
      throw error;
    }
  }

  return {
    ended(of) {
      if (memory === undefined || closing.signal.aborted) return;
      const work = keep(of).catch((error: unknown) => {
        if (!closing.signal.aborted) deps.log("what a task left to remember was not kept", error);
      });
      underway.add(work);
      void work.finally(() => underway.delete(work));
    },
    async idle() {
      while (underway.size > 0) await Promise.all(underway);
    },
    async close() {
      closing.abort(new LancelotError("cancelled", "The agent host is shutting down."));
      await Promise.all(underway);
    },
  };
}

/** "1 thing was kept, 2 wait for you in War Room → Memory.", and which. */
export function proposalWords(kept: readonly string[], waiting: readonly string[]): string {
  const things = (count: number): string => `${String(count)} ${count === 1 ? "thing" : "things"}`;
  const first = kept.length === 0 ? "" : `${things(kept.length)} ${kept.length === 1 ? "was" : "were"} kept in memory`;
  const many = kept.length === 0 ? things(waiting.length) : String(waiting.length);
  const second = waiting.length === 0 ? "" : `${many} ${waiting.length === 1 ? "waits" : "wait"} for you in War Room → Memory`;
  const head = `${[first, second].filter((words) => words !== "").join(", ")}.`;
  const lines = [...kept.map((text) => `- Kept: ${text}`), ...waiting.map((text) => `- Waits: ${text}`)];
  return [head, ...lines.map((line) => (line.length <= 300 ? line : `${line.slice(0, 299).toWellFormed()}…`))].join("\n");
}

/** The owner was warned of words in it that read like orders past them. */
function suspiciousOf(messages: readonly StoredMessage[]): Set<string> {
  return new Set(
    messages.flatMap(({ message }) =>
      message.role === "user" &&
      message.parts.some((part) => part.type === "notice" && part.level === "warning" && part.action === undefined)
        ? [message.id]
        : [],
    ),
  );
}

/**
 * What a task did that changed something. What it wanted to be remembered is left out: it stands in memory itself, or waits in quarantine,
 * from where nothing of it may reach a prompt.
 */
function actionsOf(messages: readonly StoredMessage[]): string[] {
  const calls = messages.flatMap(({ message }) => message.parts.filter((part): part is ToolPart => part.type === "tool"));
  return calls
    .filter(({ tool, tier, status }) => tier !== null && tier !== "T0" && status === "success" && !tool.startsWith("memory_"))
    .map(({ title }) => title)
    .slice(0, namedActions);
}

function durationOf(messages: readonly StoredMessage[]): number {
  const times = messages.map(({ message }) => Date.parse(message.createdAt));
  return Math.max(...times) - Math.min(...times);
}

/** Up to which message a task was looked at for what to remember. */
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
