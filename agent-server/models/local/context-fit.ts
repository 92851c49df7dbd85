import { LancelotError } from "../../contract/errors.ts";
import type { LeftOut, Turn } from "./model-protocol.ts";

/** A chat message as the model's own template renders it. */
export interface ChatItem {
  role: "system" | "user" | "assistant";
  text: string;
}

/** Kept length of a truncated tool output (characters). */
const stub = 240;

/** Each cut invalidates the KV cache behind it, so a cut makes room for the next turns too. */
const roomAfterCut = 0.85;

/**
 * Fits a chat into `limit` tokens. Cut in this order: older tool outputs, oldest first (their beginning stays); whole turns, oldest first,
 * except the user's first and last messages and the newest tool call; the newest tool outputs. Each cut is marked where it was made.
 * @throws LancelotError `too_large` with the figures when even that does not fit
 */
export function fitChat(
  { system, example, turns }: { system: string; example: readonly Turn[]; turns: readonly Turn[] },
  limit: number,
  count: (chat: readonly ChatItem[]) => number,
): { chat: ChatItem[]; tokens: number; leftOut: LeftOut } {
  const kept: Turn[] = [...turns];
  const shortened = new Set<number>();
  const dropped = new Set<number>();
  let chat = toChat(system, example, kept, dropped);
  let tokens = count(chat);
  const measure = () => {
    chat = toChat(system, example, kept, dropped);
    tokens = count(chat);
  };
  const exceeds = (bound: number) => tokens > bound;
  const target = tokens > limit ? Math.floor(limit * roomAfterCut) : limit;

  const firstUser = kept.findIndex((turn) => turn.role === "user");
  const lastUser = kept.findLastIndex((turn) => turn.role === "user");
  const lastTool = kept.findLastIndex((turn) => turn.role === "tool");
  /** The tool results that the model continues from. */
  const fresh = lastTool > lastUser ? lastTool : -1;
  for (let index = 0; index < kept.length && exceeds(target); index++) {
    const turn = kept[index];
    if (turn?.role !== "tool" || index === fresh || !turn.results.some((result) => result.text.length > stub)) continue;
    kept[index] = shorten(turn, stub);
    shortened.add(index);
    measure();
  }

  // The newest call and its results, and the user's message after them.
  const newest = fresh >= 0 ? fresh - 1 : lastUser;
  for (let index = 0; index < newest && exceeds(target); index++) {
    if (index === firstUser || index === lastUser) continue;
    dropped.add(index);
    // Results are meaningless without their call.
    while (index + 1 < newest && kept[index + 1]?.role === "tool") dropped.add(++index);
    measure();
  }

  const results = kept[fresh];
  if (tokens > limit && results?.role === "tool") {
    let low = stub;
    let high = Math.max(stub, ...results.results.map((result) => result.text.length));
    shortened.add(fresh);
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      kept[fresh] = shorten(results, middle);
      measure();
      if (tokens > limit) high = middle - 1;
      else low = middle;
    }
    kept[fresh] = shorten(results, low);
    measure();
  }

  if (tokens > limit) {
    throw new LancelotError(
      "too_large",
      `This needs ${tokens} tokens, but the local model's context holds ${limit}. Ask for less at once, start a new task, or choose a larger model.`,
      { data: { tokens, limit } },
    );
  }
  const visible = [...shortened].filter((index) => !dropped.has(index));
  return { chat, tokens, leftOut: { toolOutputs: visible.length, turns: dropped.size } };
}

function shorten(turn: Extract<Turn, { role: "tool" }>, characters: number): Turn {
  const results = turn.results.map((result) => {
    if (result.text.length <= characters) return result;
    const head = result.text.slice(0, characters).replace(/[\ud800-\udbff]$/, "");
    return { ...result, text: `${head}\n[cut: ${result.text.length - head.length} characters left out]` };
  });
  return { role: "tool", results };
}

/** Chat templates expect alternating user and assistant messages: results become user messages, and neighbors are joined. */
function toChat(system: string, example: readonly Turn[], turns: readonly Turn[], dropped: ReadonlySet<number>): ChatItem[] {
  const chat: ChatItem[] = system === "" ? [] : [{ role: "system", text: system }];
  const add = (role: "user" | "assistant", text: string) => {
    const last = chat.at(-1);
    if (last?.role === role) chat[chat.length - 1] = { role, text: `${last.text}\n\n${text}` };
    else chat.push({ role, text });
  };
  const addTurn = (turn: Turn) =>
    turn.role === "tool" ? add("user", turn.results.map(resultText).join("\n\n")) : add(turn.role, turn.text);
  for (const turn of example) addTurn(turn);
  const firstDropped = Math.min(...dropped);
  for (const [index, turn] of turns.entries()) {
    if (index === firstDropped) add("user", `[cut: ${dropped.size} earlier messages left out]`);
    if (!dropped.has(index)) addTurn(turn);
  }
  return chat;
}

function resultText(result: { name: string; text: string; isError: boolean }): string {
  return `${result.isError ? "Error" : "Result"} of ${result.name}:\n${result.text}`;
}
