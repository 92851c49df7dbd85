import { LancelotError } from "../../contract/errors.ts";
import type { MemoryItem } from "../../contract/memory.ts";
import type { Memory } from "../../memory/memory.ts";
import type { Log } from "../../security/security.ts";
import type { MemoryByRoad, MemoryCaller } from "../../tools/tools.ts";
import { type MemoryOrder, memoryOrders } from "./memory-orders.ts";
import type { ExternalMessages } from "../external-messages.ts";
import { type Notice, notice, memoryNoticeForModel } from "../notices.ts";
import { userText } from "../quest-page.ts";
import type { Run } from "../quest-run.ts";
import type { QuestStore } from "../quest-store.ts";
import type { StoredMessage } from "../stored-quest.ts";

/** Items that are listed where several may be meant, or are asked for. */
const listed = 10;
/** Single messages and accounts of tasks are no answer to what is remembered of something. */
const shownTiers = ["core", "working", "archival"] as const;
/** Of one item in a list. UTF-16 units. */
const shownText = 300;

const switchedOff = "Memory is switched off (flag MEMORY_VNEXT), so nothing is remembered or forgotten. Switch it on in the settings.";

/** What came of one order, in a sentence or a list. */
interface Told {
  level: Notice["level"];
  text: string;
  /** Something changed that can be taken back. */
  changed: boolean;
}

type Remembered = Pick<Memory, "enabled" | "placeOf" | "meant" | "search">;

export interface OwnersMemory {
  /**
   * Does what the owner orders of memory in messages the model has not answered, and tells them what came of it. A run that began with a
   * message which says nothing else gets that as its answer, so that no model is asked.
   */
  carryOut(run: Run): Promise<void>;
}

/**
 * "Remember that …", "forget that …", `/memory`, `/remember` and `/forget`: done by code, in the owner's own words and in their name.
 * Each message is looked at once; after a crash in between it is looked at again, which memory takes as a confirmation.
 */
export function createOwnersMemory(deps: {
  memory: Remembered | undefined;
  /** The road; null where there is none. */
  byRoad: () => MemoryByRoad | null;
  store: QuestStore;
  /** Who sends without the owner token orders nothing. */
  others: Pick<ExternalMessages, "has">;
  log: Log;
}): OwnersMemory {
  const { memory, store } = deps;

  async function obey(order: MemoryOrder, messageId: string, caller: MemoryCaller): Promise<Told | null> {
    if (memory?.enabled() !== true) return order.vague ? null : said("warning", switchedOff);
    const road = deps.byRoad();
    if (road === null) return null;
    try {
      if (order.kind === "show") return show(memory, order.text, caller.questId);
      if (order.text === "")
        return said("warning", `Say behind it what is to be ${order.kind === "remember" ? "remembered" : "forgotten"}.`);
      return order.kind === "remember"
        ? await remember(memory, road, order.text, `message:${messageId}`, caller)
        : await forget(memory, road, order, caller);
    } catch (error) {
      if (caller.signal.aborted) throw error;
      if (!(error instanceof LancelotError)) deps.log("the owner's order on memory failed", error);
      const why = error instanceof LancelotError ? error.message : "Something went wrong inside Lancelot; the log has the details.";
      return said("warning", `Not ${order.kind === "forget" ? "forgotten" : "remembered"}: ${quoted(order.text)} ${why}`);
    }
  }

  return {
    async carryOut(run) {
      const { questId } = run;
      const messages = unanswered(store.messages(questId));
      const caller: MemoryCaller = { by: "owner", questId, parentId: run.receiptId, signal: run.controller.signal };
      for (const { message } of messages) {
        const isNew = !message.parts.some((part) => part.type === "notice" && part.action === "open_memory");
        const { orders, only } = memoryOrders(userText(message));
        const isCommand = userText(message).trim().startsWith("/");
        // Without memory the owner's words are as any others, but for a command that would do nothing.
        if (!isNew || orders.length === 0 || (memory?.enabled() !== true && !isCommand)) continue;
        const told: Told[] = [];
        for (const order of orders) {
          const one =
            order.kind !== "show" && deps.others.has(message.id)
              ? order.vague
                ? null
                : notTheOwners(order)
              : await obey(order, message.id, caller);
          run.controller.signal.throwIfAborted();
          if (one !== null) told.push(one);
        }
        if (told.length === 0) continue;
        const words = wordsOf(told);
        const alone = only && run.startMessageId === message.id && messages.at(-1)?.message.id === message.id;
        if (alone) {
          store.addMessage({
            questId,
            role: "assistant",
            parts: [words],
            turn: { kind: "assistant", content: [{ type: "text", text: memoryNoticeForModel(words) }], cut: null, altered: [] },
          });
        } else store.saveMessage({ ...message, parts: [...message.parts, words] });
      }
    },
  };
}

function notTheOwners({ kind, text }: MemoryOrder): Told {
  return said("warning", `Not ${kind === "forget" ? "forgotten" : "remembered"}: ${quoted(text)} It was sent without the owner token.`);
}

/** The owner's messages since the model last spoke. */
function unanswered(messages: readonly StoredMessage[]): StoredMessage[] {
  const answered = messages.findLastIndex(({ turn }) => turn?.kind === "assistant");
  return messages
    .slice(answered + 1)
    .filter(({ message, turn }) => message.role === "user" && turn?.kind === "user" && userText(message).trim() !== "");
}

async function remember(memory: Remembered, road: MemoryByRoad, text: string, ref: string, caller: MemoryCaller): Promise<Told> {
  const place = memory.placeOf(text);
  const edit = {
    op: "insert" as const,
    content: text,
    reason: "The owner asked for it to be remembered.",
    confidence: 1,
    provenance: { source: "user" as const, ref },
    ...(place.kind === undefined ? {} : { kind: place.kind }),
  };
  const namespace = place.namespace === undefined ? {} : { namespace: place.namespace };
  try {
    return rememberedWords(await road.edit({ ...edit, target: place.target, ...namespace }, caller));
  } catch (error) {
    const isFull = error instanceof LancelotError && error.code === "too_large" && place.target.startsWith("core:");
    if (!isFull || text.length > 4_000) throw error;
    const kept = rememberedWords(await road.edit({ ...edit, target: "archival", ...namespace }, caller));
    return {
      ...kept,
      text: `${kept.text} The block ${place.target.slice(5)} is full, so this is found when it matters instead of standing in every prompt.`,
    };
  }
}

function rememberedWords({ outcome, target, content, notes, diff, quarantineId }: Awaited<ReturnType<MemoryByRoad["edit"]>>): Told {
  const words = quoted(content ?? "");
  const more = notes.length === 0 ? "" : ` ${notes.join(" ")}`;
  if (quarantineId !== null) return { level: "warning", text: `In quarantine until you decide: ${words}${more}`, changed: false };
  if (outcome === "reinforced") return said("info", `Remembered already: ${words}${more}`);
  const where = whereWords(target, diff[0]?.namespace ?? null);
  return { level: "info", text: `Remembered ${where}: ${words}${more}`, changed: true };
}

async function forget(memory: Remembered, road: MemoryByRoad, { text, vague }: MemoryOrder, caller: MemoryCaller): Promise<Told | null> {
  const { item, candidates } = memory.meant(text, caller.questId);
  if (item !== null) {
    const { forgotten } = await road.forget({ id: item.id, ...(caller.questId === null ? {} : { questId: caller.questId }) }, caller);
    return { level: "info", text: `Forgotten: ${quoted((forgotten ?? item).content)}`, changed: true };
  }
  if (candidates.length > 0)
    return said(
      "warning",
      `Several memories may be meant by ${quoted(text)}. Say more of the one, or delete it in War Room → Memory:\n${list(candidates)}`,
    );
  return vague ? null : said("info", `Nothing that is remembered matches ${quoted(text)}.`);
}

function show(memory: Remembered, query: string, questId: string | null): Told {
  const { items } = memory.search({ query, tiers: [...shownTiers], limit: listed }, questId);
  const about = query === "" ? "" : ` of ${quoted(query)}`;
  if (items.length === 0) return said("info", `Nothing is remembered${about}.`);
  return said("info", `Remembered${about}:\n${list(items.map(({ item }) => item))}`);
}

function list(items: readonly MemoryItem[]): string {
  return items
    .slice(0, listed)
    .map(({ content, tier, block, namespace, provenance, updatedAt }) => {
      const target = block === null ? tier : `core:${block}`;
      return `- ${shortened(content)} (${whereWords(target, namespace)}; ${provenance.source === "user" ? "you said so" : `from ${provenance.source}`}, ${updatedAt.slice(0, 10)})`;
    })
    .join("\n");
}

const places: Readonly<Record<string, string>> = {
  "core:human": "of you",
  "core:operating_rules": "as a rule",
  "core:mission": "as a goal",
  "core:workspace_state": "of this project",
  archival: "as knowledge",
  working: "as a note of a task",
  episodic: "of an earlier task",
};

function whereWords(target: string, namespace: string | null): string {
  const reach = namespace === "global" ? ", everywhere" : namespace === "workspace" ? ", in this workspace" : "";
  return `${places[target] ?? target}${reach}`;
}

function wordsOf(told: readonly Told[]): Notice {
  const level = told.some((one) => one.level === "warning") ? "warning" : "info";
  const takeBack = told.some(({ changed }) => changed) ? "\n\nTo take it back: War Room → Memory → Commits → Roll back." : "";
  return notice(level, told.map(({ text }) => text).join("\n") + takeBack, "open_memory");
}

function said(level: Notice["level"], text: string): Told {
  return { level, text, changed: false };
}

function quoted(text: string): string {
  return `“${shortened(text)}”`;
}

function shortened(text: string): string {
  const line = text.trim().replaceAll(/\s*\n\s*/g, " ");
  return line.length <= shownText ? line : `${line.slice(0, shownText - 1).toWellFormed()}…`;
}
