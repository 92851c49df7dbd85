import type { AssistantContent, ModelMessage, ToolResult, UserContent } from "../models/models.ts";
import { type DataFence, fenceTokens } from "./fence.ts";
import { estimateMessage, estimateTokens } from "./tokens.ts";

/**
 * `attached`: text of a file rather than of the owner, so it may be shortened. `path`: that file. `pinned`: never shortened.
 * `key`: identifies it among the pieces of the conversation. `source`: the origin named in its data fence.
 */
export type ContextUserContent = UserContent & {
  readonly attached?: boolean;
  readonly findings?: readonly string[];
  readonly path?: string;
  readonly pinned?: boolean;
  readonly key?: string;
  readonly source?: string;
};
/** A tool's result. `own`: text of the product or the owner, which is not untrusted data. */
export type ContextToolResult = ToolResult & { readonly own?: boolean; readonly findings?: readonly string[]; readonly key?: string };
export type ContextMessage =
  | Extract<ModelMessage, { role: "assistant" }>
  | { role: "tool"; results: ContextToolResult[] }
  | { role: "user"; content: ContextUserContent[] };

export interface Fitted {
  messages: ModelMessage[];
  /** Estimated tokens of the messages before and after. */
  before: number;
  after: number;
  /** How many outputs, arguments or exchanges were shortened or dropped; 0 when everything fit. */
  cut: number;
  /** False when even the owner's messages alone exceed the limit. */
  fits: boolean;
}

const marker = "[shortened; read again if needed]";
/** Outputs up to this many characters are not shortened, because that would save nothing. */
const keptCharacters = 400;

/**
 * Makes a conversation fit `limit` tokens. Oldest first, and only as far as needed: tool outputs and attached files are
 * shortened, then long arguments of finished calls, and then whole finished exchanges are dropped. The owner's messages stay.
 * Text from files and tools is fenced with `data` after the shortening, so that no fence is cut off.
 */
export function fitConversation(messages: readonly ContextMessage[], limit: number, data: DataFence): Fitted {
  const work: (ContextMessage | null)[] = [...messages];
  const costs = work.map((message) => (message === null ? 0 : costOf(message)));
  const before = costs.reduce((sum, cost) => sum + cost, 0);
  let total = before;
  let cut = 0;

  const over = (): boolean => total > limit;
  const replace = (index: number, next: ContextMessage | null): void => {
    const cost = next === null ? 0 : costOf(next);
    total += cost - (costs[index] ?? 0);
    costs[index] = cost;
    work[index] = next;
    cut += 1;
  };

  // The model is about to read the results of the last exchange, so they are shortened only when nothing else is left.
  const lastExchange = work.findLastIndex((message) => message?.role === "assistant");
  for (const keepLast of [true, false]) {
    for (let index = 0; index < work.length && over(); index += 1) {
      if (keepLast && index > lastExchange) break;
      const message = work[index];
      if (message === null || message === undefined) continue;
      const shorter = shortenOutputs(message, keepLast ? keptCharacters : shareOf(limit, total, message));
      if (shorter !== null) replace(index, shorter);
    }
    if (!keepLast) break;
    for (let index = 0; index < lastExchange && over(); index += 1) {
      const message = work[index];
      if (message?.role !== "assistant") continue;
      const shorter = shortenArguments(message.content);
      if (shorter !== null) replace(index, { role: "assistant", content: shorter });
    }
    for (let index = 0; index < lastExchange && over(); index += 1) {
      const message = work[index];
      if (message?.role !== "assistant") continue;
      replace(index, null);
      if (work[index + 1]?.role === "tool") replace(index + 1, null);
    }
  }
  return { messages: toModelMessages(work, data), before, after: total, cut, fits: total <= limit };
}

/** Estimated tokens of a message, data fences included. */
export function costOf(message: ContextMessage): number {
  const marked =
    message.role === "tool"
      ? message.results.filter(({ own }) => own !== true).length
      : message.role === "user"
        ? message.content.filter((item) => item.type === "text" && item.attached === true).length
        : 0;
  return estimateMessage(message) + marked * fenceTokens;
}

/** Characters a text may keep so that the whole conversation can fit. */
function shareOf(limit: number, total: number, message: ContextMessage): number {
  const own = costOf(message);
  const available = Math.max(limit - (total - own), 0);
  return Math.max(keptCharacters, Math.floor(available * 2));
}

/** Replaces the middle of a long text with a note. */
export function shorten(text: string, characters: number): string {
  if (text.length <= characters + marker.length) return text;
  const head = Math.ceil(characters * 0.7);
  return `${text.slice(0, head)}\n${marker}\n${text.slice(text.length - (characters - head))}`;
}

function shortenOutputs(message: ContextMessage, characters: number): ContextMessage | null {
  if (message.role === "tool") {
    if (!message.results.some((result) => result.text.length > characters + marker.length)) return null;
    return { role: "tool", results: message.results.map((result) => ({ ...result, text: shorten(result.text, characters) })) };
  }
  if (message.role === "user") {
    const tooLong = (item: ContextUserContent): boolean =>
      item.attached === true && item.pinned !== true && item.type === "text" && item.text.length > characters + marker.length;
    if (!message.content.some(tooLong)) return null;
    return {
      role: "user",
      content: message.content.map((item) =>
        item.type === "text" && tooLong(item) ? { ...item, text: shorten(item.text, characters) } : item,
      ),
    };
  }
  return null;
}

function shortenArguments(content: AssistantContent[]): AssistantContent[] | null {
  let changed = false;
  const next = content.map((item): AssistantContent => {
    if (item.type !== "tool_call" || item.name === "update_plan") return item;
    const entries = Object.entries(item.args).map(([key, value]) => {
      if (typeof value !== "string" || value.length <= keptCharacters + marker.length) return [key, value];
      changed = true;
      return [key, shorten(value, keptCharacters)];
    });
    const { replay: _, ...call } = item;
    return { ...call, args: Object.fromEntries(entries) as Record<string, unknown> };
  });
  return changed ? next : null;
}

/**
 * Fences all text from files, tools, pages and the repository; nothing else adds such text to a conversation.
 * Providers require alternating turns, so adjacent user messages are merged.
 */
function toModelMessages(messages: readonly (ContextMessage | null)[], data: DataFence): ModelMessage[] {
  const joined: ModelMessage[] = [];
  for (const message of messages) {
    if (message === null) continue;
    const last = joined.at(-1);
    if (message.role === "assistant") {
      joined.push(message);
    } else if (message.role === "tool") {
      joined.push({
        role: "tool",
        results: message.results.map(({ callId, name, text, isError, own, findings }) => ({
          callId,
          name,
          isError,
          text: own === true ? text : data.wrap(isError ? `${name} (failed)` : name, text, findings),
        })),
      });
    } else {
      const content = message.content.map((item): UserContent => {
        if (item.type !== "text") return { type: "image", mediaType: item.mediaType, data: item.data };
        return {
          type: "text",
          text: item.attached === true ? data.wrap(item.source ?? "the project", item.text, item.findings) : item.text,
        };
      });
      if (last?.role === "user") last.content.push(...content);
      else joined.push({ role: "user", content });
    }
  }
  return joined;
}

/** The longest start of a text that costs at most `tokens`. */
export function headByTokens(text: string, tokens: number): string {
  if (estimateTokens(text) <= tokens) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (estimateTokens(text.slice(0, middle)) <= tokens) low = middle;
    else high = middle - 1;
  }
  return text.slice(0, low);
}
