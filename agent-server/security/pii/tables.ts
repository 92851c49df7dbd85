import { type Report, weights } from "./candidate.ts";
import { type Cue, cuePhrases } from "./cues.ts";
import { readName, countWords } from "./name-tokens.ts";
import { eachPhrase } from "./phrases.ts";

interface Cell {
  readonly start: number;
  readonly end: number;
}

/** Handles a value in a recognized column. */
type OnValue = (cue: Cue, cell: Cell) => void;

const maxColumns = 60;
const maxHeaderLine = 2_000;
const delimiters = [",", ";", "\t", "|"] as const;
const personal = new Set(["phone", "national_id", "birth_date", "account", "plate", "card"]);

/** Finds personal data in CSV, TSV and Markdown tables: a header with at least one recognized column, and the rows with as many cells below it. */
export function findInTables(text: string, onValue: OnValue, report: Report): void {
  let columns: { readonly delimiter: string; readonly cues: readonly (readonly Cue[])[]; readonly people: boolean } | null = null;
  let start = 0;
  while (start < text.length) {
    const newline = text.indexOf("\n", start);
    const end = newline === -1 ? text.length : newline;
    if (end - start <= maxHeaderLine) {
      const cells = columns === null ? null : cellsOf(text, start, end, columns.delimiter);
      if (columns !== null && cells !== null && cells.length === columns.cues.length) {
        for (const [index, cell] of cells.entries()) {
          for (const cue of columns.cues[index] ?? []) {
            if (cue.kind === "given_name" || cue.kind === "full_name" || cue.kind === "weak_name")
              nameInCell(text, cell, cue, columns.people, report);
            else onValue(cue, cell);
          }
        }
      } else columns = headerOf(text, start, end);
    } else columns = null;
    start = end + 1;
  }
}

function headerOf(text: string, start: number, end: number): { delimiter: string; cues: Cue[][]; people: boolean } | null {
  const line = text.slice(start, end);
  const delimiter = delimiters.find((sign) => line.includes(sign));
  if (delimiter === undefined || line.length < 5 || /^[^(){};=]*[(){};=].*[(){}=]|[.:?!]\s/.test(line)) return null;
  const cells = cellsOf(text, start, end, delimiter);
  if (cells.length < 2 || cells.length > maxColumns) return null;
  const cues: Cue[][] = [];
  let known = 0;
  let people = /e-?mail|mail/i.test(line);
  for (const cell of cells) {
    const name = text.slice(cell.start, cell.end);
    if (name.length > 40 || /^[A-F\d]+$/.test(name) || !/^[\p{L}][\p{L}\d _./'’°º-]*$/u.test(name)) return null;
    const found: Cue[] = [];
    // Cues anywhere in the name identify the column: `customer_phone`, `Telefon`, `phone no`.
    eachPhrase(name, cuePhrases(), (all) => {
      for (const cue of all) if (isColumn(cue.kind)) found.push(cue);
    });
    if (found.length > 0) known += 1;
    if (found.some(({ kind }) => personal.has(kind) || kind === "given_name")) people = true;
    cues.push(found);
  }
  return known === 0 ? null : { delimiter, cues, people };
}

function isColumn(kind: Cue["kind"]): boolean {
  return kind !== "title" && kind !== "greeting" && kind !== "closing" && kind !== "mention" && kind !== "introduction";
}

/** Splits a line into cells without quotes and spaces; delimiters inside quotes do not split. */
function cellsOf(text: string, start: number, end: number, delimiter: string): Cell[] {
  const cells: Cell[] = [];
  let from = start;
  let quoted = false;
  for (let at = start; at <= end; at += 1) {
    const sign = at === end ? delimiter : text.charAt(at);
    if (sign === '"') quoted = !quoted;
    if (at !== end && (quoted || sign !== delimiter)) continue;
    cells.push(trimmed(text, from, at));
    from = at + 1;
    if (cells.length > maxColumns) return cells;
  }
  // Markdown rows start and end with the delimiter.
  if (delimiter === "|" && cells[0]?.start === cells[0]?.end) cells.shift();
  const last = cells.at(-1);
  if (delimiter === "|" && last !== undefined && last.start === last.end) cells.pop();
  return cells;
}

function trimmed(text: string, start: number, end: number): Cell {
  let from = start;
  let to = end;
  while (from < to && /[\s"']/.test(text.charAt(from))) from += 1;
  while (to > from && /[\s"']/.test(text.charAt(to - 1))) to -= 1;
  return { start: from, end: to };
}

function nameInCell(text: string, cell: Cell, cue: Cue, people: boolean, report: Report): void {
  if (!people && cue.kind !== "given_name") return;
  const tokens = readName(text, cell.start);
  const last = tokens.at(-1);
  if (last === undefined || countWords(tokens) > 4) return;
  // A quoted `Müller, Anna` is one cell.
  const whole = last.end === cell.end || /^, \p{Lu}\p{Ll}+$/u.test(text.slice(last.end, cell.end));
  if (whole && (countWords(tokens) >= 2 || cue.kind === "given_name" || last.end !== cell.end || /name|nom/i.test(cue.kind)))
    report(cell.start, cell.end, "person", weights.tight);
}
