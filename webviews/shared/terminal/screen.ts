import { applyStyle, plainStyle, type Style } from "./style.ts";

/** Text of one style. */
export interface Run {
  readonly text: string;
  readonly style: Style;
}

/** A line as runs, left to right. A line that changed is another array. */
export type Line = readonly Run[];

/**
 * What a command printed, as a terminal would show it: colours, lines written over by carriage returns, cursor movement and
 * erasing, as progress bars use them. Every other sequence is swallowed. Columns are UTF-16 units, so a bar of wide characters may be
 * off by some; nothing scrolls away at a height, since the height is not known.
 */
export interface Screen {
  write(text: string): void;
  readonly lines: readonly Line[];
  /** Lines at the beginning that are no longer held. */
  readonly dropped: number;
  /** The text that is held, without styles. */
  text(): string;
}

/** Lines and characters that are held at the most; the oldest go first. */
export const screenLines = 5000;
const screenChars = 1_000_000;
/** A sequence longer than this is taken for broken, and what stands in it for text. */
const longestSequence = 4096;
/** Columns a line can have; a cursor sent further stays there. */
const widest = 10_000;

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

/** The line with text put over what stands at a column; spaces fill a gap before it. */
function put(line: Line, column: number, text: string, style: Style): Line {
  const length = lengthOf(line);
  const before = column >= length ? [...line] : cut(line, 0, column);
  if (column > length) before.push({ text: " ".repeat(column - length), style: plainStyle });
  const last = before.at(-1);
  if (last !== undefined && last.style === style) before[before.length - 1] = { text: last.text + text, style };
  else before.push({ text, style });
  return column + text.length >= length ? before : [...before, ...cut(line, column + text.length, length)];
}

/** Sequences: CSI with its parameters and final letter, strings (OSC, DCS, …) up to their end, character sets, other escapes. */
const sequence =
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  /(?:\u001b\[|\u009b)([0-?]*)[ -/]*([@-~])|(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)|\u001b[ -/]+[0-~]|\u001b([0-OQ-WYZ\\`-~])/y;
/** The beginning of a sequence that has not all come yet. */
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
  /** The row that a cleared screen begins at. */
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
    // A cursor sent below the last line makes at most a screen of empty ones.
    row = Math.max(top, Math.min(nextRow, lines.length + 200));
    while (lines.length <= row) lines.push(emptyLine);
    column = Math.max(0, Math.min(nextColumn, widest));
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
    // What was printed before stays readable above: this is a record, not a window.
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
      // `>4;1m` and the like set modes, not styles.
      if (/^[\d;:]*$/.test(parameters)) style = applyStyle(style, parameters);
      return;
    }
    const numbers = parameters.split(";").map((part) => Number.parseInt(part, 10));
    const given = (index: number, otherwise: number): number => {
      const n = numbers[index];
      return n === undefined || Number.isNaN(n) ? otherwise : Math.min(n, widest);
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
        column = Math.min(widest, (Math.floor(column / 8) + 1) * 8);
    }
  }

  function write(text: string): void {
    const all = pending + text;
    pending = "";
    let at = 0;
    while (at < all.length) {
      printable.lastIndex = at;
      const words = printable.exec(all)?.[0];
      if (words !== undefined) {
        const fitting = words.slice(0, Math.max(0, widest - column));
        if (fitting !== "") replace(row, put(lines[row] ?? emptyLine, column, fitting, style));
        column += fitting.length;
        at += words.length;
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
      if (all.length - at < longestSequence && unfinished.test(all)) {
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
