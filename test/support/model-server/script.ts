import type { Script, Turn } from "./turn.ts";

/** The nth request gets the nth turn; past the end the last one again. */
export function inOrder(...turns: Turn[]): Script {
  let next = 0;
  return () => turns[Math.min(next++, turns.length - 1)] ?? { text: "" };
}

/**
 * Conversations by a word of the owner's: the turn is the one after as many as the conversation already holds since those
 * words, so that a retry, a reload or a resumed quest gets the right one. A turn's fault happens once.
 */
export function byWords(conversations: Record<string, Turn[]>): Script {
  const failed = new Set<Turn>();
  return (request) => {
    const asked = request.messages.findLastIndex(
      (message) => message.role === "user" && wordsIn(conversations, message.text) !== undefined,
    );
    const content = wordsIn(conversations, request.messages[asked]?.text ?? "");
    const turns = content === undefined ? [] : (conversations[content] ?? []);
    const step = request.messages.slice(asked + 1).filter((message) => message.role === "assistant").length;
    const turn = turns[Math.min(step, turns.length - 1)] ?? { text: "I have no words for this." };
    if (turn.fault === undefined || !failed.has(turn)) {
      failed.add(turn);
      return turn;
    }
    const { fault: _, ...rest } = turn;
    return rest;
  };
}

function wordsIn(conversations: Record<string, Turn[]>, text: string): string | undefined {
  return Object.keys(conversations).find((content) => text.includes(content));
}
