import { Lexer, type MarkedOptions, type Token, Tokenizer, type Tokens } from "marked";

/** Deepest nesting of quotes and lists, and of emphasis and links. Deeper ones are text. */
const maxDepth = 24;
/** Most cells of a table; a larger one is text. */
const maxCells = 5_000;
/**
 * Most work on the inline syntax of one text. Some rules look from each special character to the end of the text, so the work is
 * the product of both. A text above the limit has no inline syntax.
 */
const maxInlineWork = 4_000_000;

const special = /[*_~`[\]<>()!&@]|:\/\/|www\./g;

/** True when the inline syntax of a text takes too long to parse. */
export function isTooComplex(text: string): boolean {
  if (text.length * text.length <= maxInlineWork) return false;
  let count = 0;
  for (const _ of text.matchAll(special)) if (++count * text.length > maxInlineWork) return true;
  return false;
}

class BoundedTokenizer extends Tokenizer {
  #depth = 0;

  /** Applies a rule that parses its content again. Past the depth no rule matches, and the content is a paragraph. */
  #nested<T>(rule: () => T | undefined): T | undefined {
    if (this.#depth >= maxDepth) return undefined;
    this.#depth += 1;
    try {
      return rule();
    } finally {
      this.#depth -= 1;
    }
  }

  override blockquote(src: string): Tokens.Blockquote | undefined {
    return this.#nested(() => super.blockquote(src));
  }

  override list(src: string): Tokens.List | undefined {
    return this.#nested(() => super.list(src));
  }

  override table(src: string): Tokens.Table | undefined {
    const table = super.table(src);
    return table !== undefined && table.header.length * (table.rows.length + 1) > maxCells ? undefined : table;
  }
}

class BoundedLexer extends Lexer {
  #depth = 0;

  override inlineTokens(src: string, tokens: Token[] = []): Token[] {
    if (this.#depth >= maxDepth || isTooComplex(src)) {
      tokens.push({ type: "text", raw: src, text: src, escaped: false });
      return tokens;
    }
    this.#depth += 1;
    try {
      return super.inlineTokens(src, tokens);
    } finally {
      this.#depth -= 1;
    }
  }
}

function lexer(options: MarkedOptions): BoundedLexer {
  return new BoundedLexer({ ...options, tokenizer: new BoundedTokenizer(options) });
}

/** Parses Markdown of any kind in bounded depth and time. */
export function parseBounded(text: string, options: MarkedOptions): Token[] {
  return lexer(options).lex(text);
}

/** Only the blocks at the top level, without their inline syntax. */
export function parseBlocks(text: string): Token[] {
  return lexer({ gfm: true }).blockTokens(text, []);
}
