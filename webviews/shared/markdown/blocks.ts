import { marked, type Token } from "marked";
import remend from "remend";

/** Top-level Markdown blocks of a text that may still grow. */
export interface Blocks {
  readonly text: string;
  /** Source of each block; their concatenation is `text`. */
  readonly sources: readonly string[];
  /** Link reference definitions, which any block may use. */
  readonly definitions: string;
}

export const noBlocks: Blocks = { text: "", sources: [], definitions: "" };

function lex(text: string): { sources: string[]; definitions: string } {
  // The lexer normalizes line ends; do the same first, so that sources add up to the text.
  const tokens: Token[] = marked.lexer(text);
  return {
    sources: tokens.map((token) => token.raw),
    definitions: tokens.flatMap((token) => (token.type === "def" ? [token.raw] : [])).join("\n"),
  };
}

/**
 * Splits a text into blocks. When it only grew since `before`, just its end is read again: later text can join the
 * last block, or the one before it across blank lines (a list that goes on), but none before those.
 */
export function splitBlocks(input: string, before: Blocks = noBlocks): Blocks {
  const text = input.replaceAll(/\r\n?/g, "\n");
  if (text === before.text) return before;
  let keep = text.startsWith(before.text) ? before.sources.length : 0;
  for (let open = 2; open > 0 && keep > 0; ) {
    keep -= 1;
    if ((before.sources[keep] ?? "").trim() !== "") open -= 1;
  }
  const kept = before.sources.slice(0, keep);
  const start = kept.reduce((length, source) => length + source.length, 0);
  const tail = lex(text.slice(start));
  if (tail.sources.join("") !== text.slice(start)) return { text, sources: [text], definitions: "" };
  const definitions = [keep > 0 ? before.definitions : "", tail.definitions].filter((part) => part !== "").join("\n");
  return { text, sources: [...kept, ...tail.sources], definitions };
}

/** A block's Markdown ready for rendering: partial syntax closed while it streams, definitions at hand. */
export function blockSource(source: string, definitions: string, streaming: boolean): string {
  const whole = streaming ? remend(source, { images: false, linkMode: "text-only" }) : source;
  return definitions !== "" && whole.includes("[") ? `${whole}\n\n${definitions}` : whole;
}
