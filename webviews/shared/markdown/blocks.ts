import remend from "remend";
import { isTooComplex, parseBlocks } from "./bounded.ts";

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
  // The lexer normalizes line endings, so the input must be normalized too for the sources to add up to the text.
  const tokens = parseBlocks(text);
  return {
    sources: tokens.map((token) => token.raw),
    definitions: tokens.flatMap((token) => (token.type === "def" ? [token.raw] : [])).join("\n"),
  };
}

/** A text that the parser fails on is one block. */
function lexOrWhole(text: string): { sources: string[]; definitions: string } {
  try {
    return lex(text);
  } catch {
    return { sources: [text], definitions: "" };
  }
}

/** Most characters of the definitions that each block parses again. */
const maxDefinitions = 20_000;

/**
 * Splits a text into blocks. When the text only grew since `before`, it parses just the end: new text can extend the last block or, across
 * blank lines, the one before it (such as a list), but no earlier block.
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
  const tail = lexOrWhole(text.slice(start));
  if (tail.sources.join("") !== text.slice(start)) return { text, sources: [text], definitions: "" };
  const definitions = [keep > 0 ? before.definitions : "", tail.definitions].filter((part) => part !== "").join("\n");
  return { text, sources: [...kept, ...tail.sources], definitions };
}

/** Prepares a block for rendering: closes partial syntax while it streams and appends the definitions. */
export function blockSource(source: string, definitions: string, streaming: boolean): string {
  const whole = streaming && !isTooComplex(source) ? remend(source, { images: false, linkMode: "text-only" }) : source;
  return definitions !== "" && definitions.length <= maxDefinitions && whole.includes("[") ? `${whole}\n\n${definitions}` : whole;
}
