import type { ContextItem } from "../contract/context.ts";
import { type ContextMessage, shorten } from "./budget.ts";
import { estimateTokens } from "./tokens.ts";

export type PieceState = ContextItem["state"];

/** A part of a conversation that may be shortened or left out: text of a file or of a tool, never anybody's words. */
export interface Piece {
  /** Names it in the conversation (`key` of its content). */
  readonly key: string;
  /** As it stands in the conversation when whole. */
  readonly text: string;
  readonly state: PieceState;
  /** Position of the message that last used it: read, edited or mentioned it. */
  readonly lastUsed: number;
  /** The model is about to read it, or it is pinned. */
  readonly kept: boolean;
}

export interface Eviction {
  readonly key: string;
  readonly state: Exclude<PieceState, "whole">;
}

/** A text up to this long (characters) is left as it is: shortening it gains nothing. */
const keptCharacters = 400;
const leftOut = "[left out to make room; read again if needed]";

/** What stands in the conversation for a piece in this state. From text and state alone. */
export function renderPiece(text: string, state: PieceState): string {
  if (state === "whole") return text;
  return state === "left_out" ? leftOut : shorten(text, keptCharacters);
}

/**
 * Which pieces make room for `excess` tokens: those used longest ago are shortened first; when that is not enough, the shortened
 * ones leave in the same order. From the pieces alone: the same pieces give the same answer, in whatever order they come.
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

/** A conversation with its pieces in their states. What has no state, or stands whole, is the same object. */
export function applyStates(messages: readonly ContextMessage[], states: ReadonlyMap<string, PieceState>): ContextMessage[] {
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

function stateOf(key: string | undefined, states: ReadonlyMap<string, PieceState>): PieceState {
  return key === undefined ? "whole" : (states.get(key) ?? "whole");
}
