import type { ContextItem } from "../contract/context.ts";
import { type ContextMessage, shorten } from "./budget.ts";
import { estimateTokens } from "./tokens.ts";

export type EvictionState = ContextItem["state"];

/** Text of a file or a tool in a conversation. It may be shortened or omitted; messages never are. */
export interface Piece {
  /** Identifies it in the conversation (`key` of its content). */
  readonly key: string;
  /** Its full text. */
  readonly text: string;
  readonly state: EvictionState;
  /** Position of the message that last used it: read, edited or mentioned it. */
  readonly lastUsed: number;
  /** True when the model is about to read it, or when it is pinned. */
  readonly kept: boolean;
}

export interface Eviction {
  readonly key: string;
  readonly state: Exclude<EvictionState, "whole">;
}

/** Texts up to this many characters are not shortened, because that would save nothing. */
const keptCharacters = 400;
const omitted = "[left out to make room; read again if needed]";

/** Renders a piece in a given state. Depends on text and state alone. */
export function renderPiece(text: string, state: EvictionState): string {
  if (state === "whole") return text;
  return state === "left_out" ? omitted : shorten(text, keptCharacters);
}

/**
 * Chooses pieces to shorten or omit so that `excess` tokens are freed. The least recently used are shortened first; when that is
 * not enough, they are omitted in the same order. The result does not depend on the order of `pieces`.
 */
export function chooseEvictions(pieces: readonly Piece[], excess: number): Eviction[] {
  const ordered = pieces
    .filter((piece) => !piece.kept && piece.state !== "left_out" && piece.text.length > keptCharacters)
    .toSorted((a, b) => a.lastUsed - b.lastUsed || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  const chosen = new Map<string, Eviction["state"]>();
  let left = excess;
  for (const to of ["summarized", "left_out"] as const) {
    for (const piece of ordered) {
      if (left <= 0) break;
      const now = chosen.get(piece.key) ?? piece.state;
      const gain = estimateTokens(renderPiece(piece.text, now)) - estimateTokens(renderPiece(piece.text, to));
      if (now === to || gain <= 0) continue;
      chosen.set(piece.key, to);
      left -= gain;
    }
  }
  return [...chosen].map(([key, state]) => ({ key, state }));
}

/** Renders the pieces of a conversation in their states. Pieces without a state stay whole. */
export function applyStates(messages: readonly ContextMessage[], states: ReadonlyMap<string, EvictionState>): ContextMessage[] {
  if (states.size === 0) return [...messages];
  return messages.map((message): ContextMessage => {
    if (message.role === "assistant") return message;
    if (message.role === "tool") {
      return {
        role: "tool",
        results: message.results.map((result) => ({ ...result, text: renderPiece(result.text, stateOf(result.key, states)) })),
      };
    }
    return {
      role: "user",
      content: message.content.map((item) =>
        item.type === "text" ? { ...item, text: renderPiece(item.text, stateOf(item.key, states)) } : item,
      ),
    };
  });
}

function stateOf(key: string | undefined, states: ReadonlyMap<string, EvictionState>): EvictionState {
  return key === undefined ? "whole" : (states.get(key) ?? "whole");
}
