import { createInterface, type Interface } from "node:readline";
import { styleText } from "node:util";
import { visibleJson, visibleProse, visibleText } from "../contract/visible-text.ts";

export type Style = Parameters<typeof styleText>[0];

/** Text with a style that Lancelot adds itself. `prose`: text of an answer, where emoji and typographic spaces stay. */
export interface Styled {
  readonly text: string;
  readonly style?: Style;
  readonly prose?: boolean;
}
export type Piece = string | Styled;

export function paint(style: Style, text: string): Styled {
  return { style, text };
}

/** Most blanks in a row, and most empty lines in a row. More could push a part of a text out of sight. */
const maxBlanks = 80;
const maxEmptyLines = 4;

/**
 * The only way to write to the terminal (a check enforces it). Characters that control the terminal or hide text appear as escapes, as in
 * ⟨U+001B⟩, and long runs of blanks or empty lines as their number. Only styles of this module reach the terminal as control sequences.
 */
export interface Output {
  /** Writes pieces that can end in the middle of a line. */
  write(...pieces: readonly Piece[]): void;
  /** Writes a line of its own. */
  line(...pieces: readonly Piece[]): void;
  /** Writes a value as one line of JSON, or indented. */
  json(value: unknown, indent?: number): void;
  /** Replaces the current line of a terminal. */
  progress(text: string): void;
}

/**
 * @param sink receives safe text
 * @param colors whether styles are written
 */
export function createOutput(sink: (text: string) => void, colors: () => boolean): Output {
  let atLineStart = true;
  const padding = createPaddingLimit();
  const put = (text: string, style?: Style): void => {
    if (text === "") return;
    // Without a stream, the style is added whatever the environment says; `colors` decides.
    sink(style !== undefined && colors() ? styleText(style, text, { validateStream: false }) : text);
    atLineStart = text.endsWith("\n");
  };
  const write = (...pieces: readonly Piece[]): void => {
    for (const piece of pieces) {
      const { text, style, prose = false } = typeof piece === "string" ? { text: piece } : piece;
      put(padding(prose ? visibleProse(text.replaceAll("\r\n", "\n")) : visibleText(text)), style);
    }
  };
  return {
    write,
    line: (...pieces) => write(atLineStart ? "" : "\n", ...pieces, "\n"),
    json: (value, indent) => put(`${visibleJson(JSON.stringify(value, null, indent))}\n`),
    progress: (text) => put(`\r${visibleText(text).replaceAll("\n", " ")} `),
  };
}

/** Returns a function that replaces the part of a run of blanks or empty lines past the limit by its size, also across pieces of a text. */
function createPaddingLimit(): (text: string) => string {
  let hasText = false;
  let emptyLines = 0;
  let blanks = 0;
  const extra = (count: number, limit: number, what: string): string => (count > limit ? `⟨${String(count - limit)} more ${what}⟩` : "");
  return (text) => {
    let safe = "";
    for (const [token] of text.matchAll(/\n|[ \t]+|[^\n \t]+/g)) {
      if (token === "\n") {
        // Blanks before a line end cannot hide anything.
        if (hasText || ++emptyLines <= maxEmptyLines) safe += "\n";
        hasText = false;
        blanks = 0;
      } else if (/^[ \t]/.test(token)) {
        if (emptyLines <= maxEmptyLines) safe += token.slice(0, Math.max(0, maxBlanks - blanks));
        blanks += token.length;
      } else {
        const lines = hasText ? "" : extra(emptyLines, maxEmptyLines, "empty lines");
        const indent = lines === "" ? extra(blanks, maxBlanks, "blanks") : `\n${" ".repeat(Math.min(blanks, maxBlanks))}`;
        safe += lines + indent + token;
        emptyLines = 0;
        blanks = 0;
        hasText = true;
      }
    }
    return safe;
  };
}

/** A terminal that is gone, or a file on a full disk, must not end the process with its task open. */
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);

/** Standard output. */
export const out = createOutput(
  (text) => void process.stdout.write(text),
  () => hasColors(process.stdout),
);
/** Standard error. */
export const err = createOutput(
  (text) => void process.stderr.write(text),
  () => hasColors(process.stderr),
);

function hasColors(stream: NodeJS.WriteStream): boolean {
  return styleText("bold", "x", { stream }) !== "x";
}

/** The terminal itself, for prompts. */
export const terminal = {
  /** True when a user can be asked. */
  get isInteractive(): boolean {
    return this.isTyped && process.stdout.isTTY;
  },
  /** True when input is typed. */
  get isTyped(): boolean {
    return process.stdin.isTTY;
  },
  get showsProgress(): boolean {
    return process.stderr.isTTY;
  },
  /** Opens the reader of typed lines. Its prompts pass through `promptText`. */
  openReader: (): Interface => createInterface({ input: process.stdin, output: process.stdout }),
};

/** A prompt on one line. */
export function promptText(text: string): string {
  return visibleText(text).replaceAll(/\s+/g, (blanks) => (blanks.length > maxBlanks || /[\n\t]/.test(blanks) ? " " : blanks));
}
