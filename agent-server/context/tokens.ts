import { estimateTokenCount } from "tokenx";
import type { ModelMessage, ToolSchema } from "../models/models.ts";

/** Corrects estimates, which are up to 17 % too low for some tokenizers. */
const margin = 1.2;
/** Longer texts are estimated by length alone, because counting them is slow. */
const countedCharacters = 200_000;
const imageTokens = 1_600;
const messageOverhead = 8;

/** Cache of recent estimates: most parts of a prompt are the same from turn to turn. */
const cache = new Map<string, number>();
const maxCachedCharacters = 4_000_000;
const minCachedLength = 200;
let cachedLength = 0;

/** Estimates the tokens of a text, rather too high than too low. */
export function estimateTokens(text: string): number {
  if (text.length > countedCharacters) return Math.ceil((text.length / 3) * margin);
  if (text.length < minCachedLength) return Math.ceil(estimateTokenCount(text) * margin);
  const known = cache.get(text);
  if (known !== undefined) {
    // Moved to the end of the map, so that the least recently used entry is evicted first.
    cache.delete(text);
    cache.set(text, known);
    return known;
  }
  const tokens = Math.ceil(estimateTokenCount(text) * margin);
  cache.set(text, tokens);
  cachedLength += text.length;
  for (const old of cache.keys()) {
    if (cachedLength <= maxCachedCharacters) break;
    cache.delete(old);
    cachedLength -= old.length;
  }
  return tokens;
}

/** Estimates the tokens of one message, rather too high than too low. */
export function estimateMessage(message: ModelMessage): number {
  let sum = messageOverhead;
  switch (message.role) {
    case "user":
      for (const item of message.content) sum += item.type === "text" ? estimateTokens(item.text) : imageTokens;
      return sum;
    case "assistant":
      for (const item of message.content) {
        sum +=
          item.type === "tool_call" ? estimateTokens(item.name + JSON.stringify(item.args)) + messageOverhead : estimateTokens(item.text);
      }
      return sum;
    case "tool":
      for (const result of message.results) sum += estimateTokens(result.text) + messageOverhead;
      return sum;
  }
}

export function estimateTools(tools: readonly ToolSchema[]): number {
  return tools.reduce((sum, tool) => sum + estimateTokens(JSON.stringify(tool)) + messageOverhead, 0);
}
