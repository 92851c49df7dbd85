import type { CacheControlEphemeral, ContentBlockParam, MessageParam } from "@anthropic-ai/sdk/resources/messages";
import { minimumCachedTokens } from "./anthropic-models.ts";

/** A cache breakpoint: the server caches the prompt up to it for five minutes from its last use. A request has at most four. */
export function marked(caches: boolean): { cache_control?: CacheControlEphemeral } {
  return caches ? { cache_control: { type: "ephemeral" } } : {};
}

/** Characters of a token, a low estimate, so that a cacheable prompt is not considered too short. */
const lettersPerToken = 3;

/**
 * The conversation with breakpoints at the end of its last two user turns: the last is where the next request begins, the one before is what
 * the previous request wrote and this one reads. The server searches only twenty blocks back from a breakpoint, which a turn with many
 * calls exceeds. A thinking block cannot have one. Tools and system, `lettersAhead` characters long, have the other two.
 */
export function markConversation(messages: readonly MessageParam[], model: string, lettersAhead: number): MessageParam[] {
  const turns = messages.flatMap((message, index) => (message.role === "user" ? [index] : [])).slice(-2);
  return messages.map((message, index) =>
    turns.includes(index) && lettersAhead + lettersBefore(messages, index) >= minimumCachedTokens(model) * lettersPerToken
      ? markEnd(message)
      : message,
  );
}

function markEnd(message: MessageParam): MessageParam {
  if (typeof message.content === "string" || message.role !== "user") return message;
  const end = message.content.findLastIndex((block) => block.type === "text" || block.type === "tool_result" || block.type === "image");
  return { ...message, content: message.content.map((block, index) => (index === end ? withMark(block) : block)) };
}

function withMark(block: ContentBlockParam): ContentBlockParam {
  return block.type === "text" || block.type === "tool_result" || block.type === "image" ? { ...block, ...marked(true) } : block;
}

function lettersBefore(messages: readonly MessageParam[], end: number): number {
  let letters = 0;
  for (const { content } of messages.slice(0, end + 1)) {
    if (typeof content === "string") letters += content.length;
    else for (const block of content) letters += lettersOf(block);
  }
  return letters;
}

function lettersOf(block: ContentBlockParam): number {
  if (block.type === "text") return block.text.length;
  if (block.type === "thinking") return block.thinking.length;
  if (block.type === "tool_use") return JSON.stringify(block.input).length;
  // An image is worth several thousand characters.
  if (block.type === "image") return 3000;
  if (block.type !== "tool_result") return 0;
  return typeof block.content === "string" ? block.content.length : JSON.stringify(block.content ?? "").length;
}
