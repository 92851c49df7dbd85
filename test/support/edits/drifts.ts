import { type Intent, unitOf } from "./cases.ts";
import type { chooser } from "./sources.ts";

/** Old and new text as a model may give them, line by line. */
export interface Given {
  readonly old: readonly string[];
  readonly made: readonly string[];
}

/** How texts drift on their way through a model; null where a block gives no occasion for it. */
export type Drift = (given: Given, intent: Intent, choose: ReturnType<typeof chooser>) => Given | null;

/** A drift that treats every line by itself. Lines of the new text that are new are left alone where `kept` says so. */
function lineByLine(change: (line: string, index: number) => string, kept = false): Drift {
  return ({ old, made }) => {
    const to = new Map(old.map((line, index) => [line, change(line, index)]));
    const next = {
      old: old.map((line) => to.get(line) ?? line),
      made: made.map((line) => to.get(line) ?? (kept ? line : change(line, -1))),
    };
    return same(next.old, old) ? null : next;
  };
}

function same(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((line, index) => line === b[index]);
}

const indentOf = (line: string): string => /^[ \t]*/.exec(line)?.[0] ?? "";
const reindented = (change: (indent: string) => string) => (line: string) =>
  line.trim() === "" ? line : change(indentOf(line)) + line.slice(indentOf(line).length);

const smart: Drift = lineByLine((line) => {
  let open = false;
  return line.replace(/["']/g, (quote) => {
    open = !open;
    return quote === '"' ? (open ? "\u201c" : "\u201d") : open ? "\u2018" : "\u2019";
  });
});

/** Blank lines are told apart from the touched ones, so that nobody can mean them to change. */
function blanks(add: boolean): Drift {
  return (given, intent) => {
    if (intent.kind !== "reword") return null;
    const at = given.old.findIndex((line, index) => (add ? index > 0 && line.trim() !== "" : line.trim() === ""));
    if (at < 0) return null;
    const change = (lines: readonly string[]) => (add ? lines.toSpliced(at, 0, "") : lines.toSpliced(at, 1));
    return { old: change(given.old), made: change(given.made) };
  };
}

function numbered(gap: string, both: boolean): Drift {
  return ({ old, made }, { start }) => {
    const known = old.map((line, index) => [line, `${start + index + 1}${gap}${line}`] as const);
    const numbers = [...known];
    return {
      old: known.map(([, line]) => line),
      // As they are copied: lines that stay carry their number, those that are new carry none.
      made: both
        ? made.map((line) => {
            const at = numbers.findIndex(([text]) => text === line);
            if (at < 0) return line;
            return numbers.splice(0, at + 1)[at]?.[1] ?? line;
          })
        : made,
    };
  };
}

const comment = /^\s*(?:\/\/|\/?\*|#|<!--)/;

/** What an honest edit may suffer without saying anything else. */
export const honest: Readonly<Record<string, Drift>> = {
  none: (given) => given,
  "blanks added at line ends": lineByLine((line, index) => (index % 2 === 0 ? `${line}  ` : line), true),
  "blanks lost at line ends": lineByLine((line) => line.trimEnd()),
  "tab at a line end": lineByLine((line, index) => (index === 0 ? `${line}\t` : line), true),
  "too little indentation": (given) => {
    const depths = given.old.filter((line) => line.trim() !== "").map((line) => indentOf(line).length);
    const least = Math.min(...depths);
    return least === 0 ? null : lineByLine((line) => line.slice(Math.min(least, indentOf(line).length)))(given, {} as Intent, {} as never);
  },
  "too much indentation": lineByLine(reindented((indent) => `    ${indent}`)),
  "blanks for tabs": lineByLine(reindented((indent) => indent.replaceAll("\t", "    "))),
  "two blanks for tabs": lineByLine(reindented((indent) => indent.replaceAll("\t", "  "))),
  "blanks for every tab": lineByLine((line) => line.replaceAll("\t", "    ")),
  "tabs for blanks": (given, intent, choose) => {
    const unit = unitOf(intent.source.text);
    return lineByLine(reindented((indent) => indent.replaceAll(" ".repeat(unit), "\t")))(given, intent, choose);
  },
  "deeper steps": (given, intent, choose) =>
    unitOf(intent.source.text) === 2 ? lineByLine(reindented((indent) => indent.replaceAll("  ", "    ")))(given, intent, choose) : null,
  "flatter steps": (given, intent, choose) =>
    unitOf(intent.source.text) === 4 ? lineByLine(reindented((indent) => indent.replaceAll("    ", "  ")))(given, intent, choose) : null,
  "first line without its indentation": ({ old, made }, intent) => {
    if (indentOf(old[0] ?? "") === "" || intent.kind === "wrap") return null;
    const cut = (lines: readonly string[]) => lines.with(0, (lines[0] ?? "").trimStart());
    return { old: cut(old), made: cut(made) };
  },
  "other line ends": ({ old, made }) => {
    const ends = (lines: readonly string[]) => lines.map((line, index) => (index === lines.length - 1 ? line : `${line}\r`));
    return { old: ends(old), made: ends(made) };
  },
  "blank lines lost": blanks(false),
  "a blank line added": blanks(true),
  "typographic quotes": smart,
  "plain quotes and dashes": lineByLine((line) =>
    line
      .replace(/[\u2018\u2019]/g, "'")
      .replace(/[\u201c\u201d]/g, '"')
      .replace(/[\u2013\u2014]/g, "-")
      .replaceAll("\u2026", "...")
      .replaceAll("\u00a0", " "),
  ),
  "letters taken apart": lineByLine((line) => line.normalize("NFD")),
  "single blanks for many": lineByLine((line) => indentOf(line) + line.slice(indentOf(line).length).replace(/[ \t]{2,}/g, " ")),
  "line numbers": numbered("\t", true),
  "line numbers in old text alone": numbered("\t", false),
  "line numbers with a bar": numbered(" | ", true),
  "lines left out": ({ old, made }, { touched, kind }) => {
    const shift = made.length - old.length;
    if (kind === "wrap" || touched[1] + 4 > old.length - 1) return null;
    const mark = (lines: readonly string[], by: number) => lines.toSpliced(touched[1] + 2 + by, 2, "// ... existing code ...");
    return { old: mark(old, 0), made: mark(made, shift) };
  },
};

/** What changes words: nobody can be sure that the place is meant. */
export const dishonest: Readonly<Record<string, Drift>> = {
  "a word of a comment": (given, intent) => changedWord(given, intent, (line) => comment.test(line)),
  "a word of the code": (given, intent) => changedWord(given, intent, (line) => !comment.test(line)),
  "a line left out": (given, intent) => {
    const at = given.old.findIndex(
      (line, index) =>
        index > 0 && index < given.old.length - 1 && (index < intent.touched[0] - 1 || index > intent.touched[1] + 1) && line.trim() !== "",
    );
    const made = given.made.indexOf(given.old[at] ?? "");
    if (at < 0 || made < 0 || intent.kind === "wrap") return null;
    return { old: given.old.toSpliced(at, 1), made: given.made.toSpliced(made, 1) };
  },
};

function changedWord({ old, made }: Given, { touched }: Intent, fits: (line: string) => boolean): Given | null {
  const at = old.findIndex((line, index) => (index < touched[0] || index > touched[1]) && fits(line) && /[A-Za-z]{5,}/.test(line));
  const there = made.indexOf(old[at] ?? "");
  if (at < 0 || there < 0) return null;
  const change = (line: string) => line.replace(/[A-Za-z]{5,}/, (word) => `${word.slice(0, -2)}xq`);
  return { old: old.with(at, change(old[at] ?? "")), made: made.with(there, change(made[there] ?? "")) };
}
