import { estimateTokenCount } from "tokenx";
import type { ModelMessage, ToolSchema } from "../models/models.ts";

/** Estimates run low for some tokenizers (up to ~17 %); a budget must not. */
const margin = 1.2;
/** Longer texts are priced by length alone: counting them costs more than the answer is worth. */
const countedCharacters = 200_000;
const imageTokens = 1_600;
const messageOverhead = 8;

/** The parts of a prompt stay the same from turn to turn: what was counted lately is remembered, up to so many characters. */
const remembered = new Map<string, number>();
const rememberedCharacters = 4_000_000;
const shortest = 200;
let held = 0;

/** Tokens a text is likely to cost, on the high side. */
export function estimateTokens(text: string): number {
  if (text.length > countedCharacters) return Math.ceil((text.length / 3) * margin);
  if (text.length < shortest) return Math.ceil(estimateTokenCount(text) * margin);
  const known = remembered.get(text);
  if (known !== undefined) {
    // Moved to the end: what was not asked for longest is forgotten first.
    remembered.delete(text);
    remembered.set(text, known);
    return known;
  }
  const tokens = Math.ceil(estimateTokenCount(text) * margin);
  remembered.set(text, tokens);
  held += text.length;
  for (const old of remembered.keys()) {
    if (held <= rememberedCharacters) break;
    remembered.delete(old);
    held -= old.length;
  }
  return tokens;
}

/** Tokens one message of a conversation is likely to cost, on the high side. */
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
