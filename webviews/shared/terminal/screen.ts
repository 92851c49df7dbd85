import { applyStyle, plainStyle, type Style } from "./style.ts";

/** Text of one style. */
export interface Run {
  readonly text: string;
  readonly style: Style;
}

/** A line as runs, left to right. A changed line is a new array. */
export type Line = readonly Run[];

/**
 * Output as a terminal shows it, with colors, carriage returns, cursor movement and erasing (as progress bars use them). Ignores all other
 * sequences. Columns are UTF-16 units, so wide characters may be misplaced. Nothing scrolls off, because the height is unknown.
 */
export interface Screen {
  write(text: string): void;
  readonly lines: readonly Line[];
  /** Number of lines dropped from the beginning. */
  readonly dropped: number;
  /** The kept text without styles. */
  text(): string;
}

/** Most lines and characters that are kept; the oldest are dropped first. */
export const screenLines = 5000;
const screenChars = 1_000_000;
/** A longer sequence is treated as broken, and its content as text. */
const maxSequenceLength = 4096;
/** Most columns of a line; the cursor stops there. */
const maxColumns = 10_000;

const emptyLine: Line = [];

export function lineText(line: Line): string {
  return line.map(({ text }) => text).join("");
}

function cut(line: Line, from: number, to: number): Run[] {
  const kept: Run[] = [];
  let at = 0;
  for (const run of line) {
    const start = Math.max(0, from - at);
    const end = Math.min(run.text.length, to - at);
    if (start < end) kept.push(start === 0 && end === run.text.length ? run : { text: run.text.slice(start, end), style: run.style });
    at += run.text.length;
  }
  return kept;
}

function lengthOf(line: Line): number {
  let length = 0;
  for (const { text } of line) length += text.length;
  return length;
}

/** Returns the line with text written at a column; spaces fill a gap before it. */
function put(line: Line, column: number, text: string, style: Style): Line {
  const length = lengthOf(line);
  const before = column >= length ? [...line] : cut(line, 0, column);
  if (column > length) before.push({ text: " ".repeat(column - length), style: plainStyle });
  const last = before.at(-1);
  if (last !== undefined && last.style === style) before[before.length - 1] = { text: last.text + text, style };
  else before.push({ text, style });
  return column + text.length >= length ? before : [...before, ...cut(line, column + text.length, length)];
}

/** Escape sequences: CSI with parameters and final letter, strings (OSC, DCS, …) up to their terminator, character sets, other escapes. */
const sequence =
  // oxlint-disable-next-line no-control-regex -- matches control characters
  /(?:\u001b\[|\u009b)([0-?]*)[ -/]*([@-~])|(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)|\u001b[ -/]+[0-~]|\u001b([0-OQ-WYZ\\`-~])/y;
/** The beginning of an incomplete sequence. */
const unfinished =
  // oxlint-disable-next-line no-control-regex -- as above
  /(?:(?:\u001b\[|\u009b)[0-?]*[ -/]*|(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u009c]*\u001b?|\u001b[ -/]*)$/y;
// oxlint-disable-next-line no-control-regex -- as above
const printable = /[^\u0000-\u001f\u007f-\u009f]+/y;

export function createScreen(): Screen {
  const lines: Line[] = [emptyLine];
  let dropped = 0;
  let chars = 0;
  let row = 0;
  let column = 0;
  /** First row of the screen after it was cleared. */
  let top = 0;
  let saved = { row: 0, column: 0 };
  let style = plainStyle;
  let pending = "";

  function replace(index: number, line: Line): void {
    chars += lengthOf(line) - lengthOf(lines[index] ?? emptyLine);
    lines[index] = line;
  }

  function bound(): void {
    let gone = 0;
    while (lines.length - gone > 1 && (lines.length - gone > screenLines || chars > screenChars)) {
      chars -= lengthOf(lines[gone] ?? emptyLine);
      gone += 1;
    }
    if (gone === 0) return;
    lines.splice(0, gone);
    dropped += gone;
    row = Math.max(0, row - gone);
    top = Math.max(0, top - gone);
    saved = { ...saved, row: Math.max(0, saved.row - gone) };
  }

  function goTo(nextRow: number, nextColumn: number): void {
    // Limits a cursor move below the last line to 200 empty lines.
    row = Math.max(top, Math.min(nextRow, lines.length + 200));
    while (lines.length <= row) lines.push(emptyLine);
    column = Math.max(0, Math.min(nextColumn, maxColumns));
  }

  function newLine(): void {
    goTo(row + 1, 0);
    if (lines.length > screenLines + 500) bound();
  }

  function eraseLine(kind: number): void {
    const line = lines[row] ?? emptyLine;
    if (kind === 0) replace(row, cut(line, 0, column));
    else if (kind === 2) replace(row, emptyLine);
    else if (kind === 1) replace(row, put(line, 0, " ".repeat(Math.min(column + 1, lengthOf(line))), plainStyle));
  }

  function clear(): void {
    // Keeps earlier output above a cleared screen, because this is a record and not a window.
    if (lengthOf(lines.at(-1) ?? emptyLine) > 0) lines.push(emptyLine);
    top = lines.length - 1;
    goTo(top, 0);
  }

  function eraseBelow(): void {
    eraseLine(0);
    for (let index = row + 1; index < lines.length; index += 1) replace(index, emptyLine);
  }

  function control(parameters: string, letter: string): void {
    if (letter === "m") {
      // Sequences such as `>4;1m` set modes, not styles.
      if (/^[\d;:]*$/.test(parameters)) style = applyStyle(style, parameters);
      return;
    }
    const numbers = parameters.split(";").map((part) => Number.parseInt(part, 10));
    const given = (index: number, otherwise: number): number => {
      const n = numbers[index];
      return n === undefined || Number.isNaN(n) ? otherwise : Math.min(n, maxColumns);
    };
    const steps = Math.max(1, given(0, 1));
    switch (letter) {
      case "A":
        return goTo(row - steps, column);
      case "B":
        return goTo(row + steps, column);
      case "C":
        return goTo(row, column + steps);
      case "D":
        return goTo(row, column - steps);
      case "E":
        return goTo(row + steps, 0);
      case "F":
        return goTo(row - steps, 0);
      case "G":
      case "`":
        return goTo(row, steps - 1);
      case "d":
        return goTo(top + steps - 1, column);
      case "H":
      case "f":
        return goTo(top + steps - 1, Math.max(1, given(1, 1)) - 1);
      case "J":
        return given(0, 0) === 0 ? eraseBelow() : given(0, 0) === 2 ? clear() : undefined;
      case "K":
        return eraseLine(given(0, 0));
      case "P": {
        const line = lines[row] ?? emptyLine;
        return replace(row, [...cut(line, 0, column), ...cut(line, column + steps, lengthOf(line))]);
      }
      case "s":
        saved = { row, column };
        return;
      case "u":
        return goTo(saved.row, saved.column);
    }
  }

  function escape(letter: string): void {
    if (letter === "7") saved = { row, column };
    else if (letter === "8") goTo(saved.row, saved.column);
    else if (letter === "c") {
      style = plainStyle;
      clear();
    } else if (letter === "M") goTo(row - 1, column);
    else if (letter === "D" || letter === "E") newLine();
  }

  function single(code: string): void {
    switch (code) {
      case "\n":
      case "\u000b":
      case "\u000c":
        return newLine();
      case "\r":
        column = 0;
        return;
      case "\b":
        column = Math.max(0, column - 1);
        return;
      case "\t":
        column = Math.min(maxColumns, (Math.floor(column / 8) + 1) * 8);
    }
  }

  function write(text: string): void {
    const all = pending + text;
    pending = "";
    let at = 0;
    while (at < all.length) {
      printable.lastIndex = at;
      const run = printable.exec(all)?.[0];
      if (run !== undefined) {
        const fitting = run.slice(0, Math.max(0, maxColumns - column));
        if (fitting !== "") replace(row, put(lines[row] ?? emptyLine, column, fitting, style));
        column += fitting.length;
        at += run.length;
        continue;
      }
      sequence.lastIndex = at;
      const found = sequence.exec(all);
      if (found !== null) {
        if (found[2] !== undefined) control(found[1] ?? "", found[2]);
        else if (found[3] !== undefined) escape(found[3]);
        at = sequence.lastIndex;
        continue;
      }
      unfinished.lastIndex = at;
      if (all.length - at < maxSequenceLength && unfinished.test(all)) {
        pending = all.slice(at);
        break;
      }
      single(all.charAt(at));
      at += 1;
    }
    bound();
  }

  return {
    write,
    lines,
    get dropped() {
      return dropped;
    },
    text: () => lines.map(lineText).join("\n").trimEnd(),
  };
}
