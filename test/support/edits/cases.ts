import { bareLine, mainEol, splitLines } from "../../../agent-server/workspace/text/lines.ts";
import { chooser, type Source } from "./sources.ts";

/** One edit of a real file, as it is meant: what the owner wants to be in the file afterwards is known. */
export interface Intent {
  readonly source: Source;
  readonly kind: "reword" | "insert" | "remove" | "wrap" | "replace";
  /** 0-based first line of the block. */
  readonly start: number;
  readonly old: readonly string[];
  readonly made: readonly string[];
  /** Which lines of the block are touched, first and last; inserted ones come after `touched[0]`. */
  readonly touched: readonly [number, number];
  /** The whole file when the edit is done right. */
  readonly expected: string;
}

const marks: readonly (readonly [RegExp, string])[] = [
  [/[\u2018-\u201b\u2032]/g, "'"],
  [/[\u201c-\u201f\u2033]/g, '"'],
  [/[\u2010-\u2015\u2212]/g, "-"],
  [/\u2026/g, "..."],
];

/** A text without what drift may change, by another way than the matcher's: no blanks at all, quotes and dashes plain. */
export function squashed(text: string): string {
  let result = text.normalize("NFC").replace(/\s+/g, "");
  for (const [pattern, plain] of marks) result = result.replace(pattern, plain);
  return result;
}

/** How often a text stands in another, overlapping ones counted. */
export function timesIn(part: string, whole: string): number {
  let count = 0;
  if (part === "") return 0;
  for (let at = whole.indexOf(part); at !== -1; at = whole.indexOf(part, at + 1)) count++;
  return count;
}

/** Blocks of a file that stand in it only once, even with all blanks left out, and an edit of each. The same on every run. */
export function intentsOf(source: Source, count: number, seed = ""): Intent[] {
  const raw = splitLines(source.text);
  const bare = raw.map(bareLine);
  const whole = squashed(source.text);
  const choose = chooser(`${source.path} ${seed}`);
  const intents: Intent[] = [];
  for (let attempt = 0; attempt < count * 40 && intents.length < count; attempt++) {
    const length = 2 + choose.below(9);
    const start = choose.below(Math.max(1, bare.length - length));
    const old = bare.slice(start, start + length);
    if ((old[0] ?? "").trim() === "" || (old.at(-1) ?? "").trim() === "") continue;
    if (old.some((line) => line.length > 400)) continue;
    const squash = squashed(old.join("\n"));
    if (squash.length < 25 || timesIn(squash, whole) !== 1) continue;
    const intent = edit(source, raw, old, start, choose);
    if (intent !== null) intents.push(intent);
  }
  return intents;
}

function edit(
  source: Source,
  raw: readonly string[],
  old: readonly string[],
  start: number,
  choose: ReturnType<typeof chooser>,
): Intent | null {
  const eol = mainEol(source.text);
  const mixed = source.kind === "mixed line ends";
  const kinds = mixed ? (["reword", "insert", "remove"] as const) : (["reword", "reword", "insert", "remove", "wrap", "replace"] as const);
  const kind = choose.of<Intent["kind"]>(kinds) ?? "reword";
  const solid = [...old.keys()].filter((index) => (old[index] ?? "").trim() !== "");
  const at = choose.of(solid) ?? 0;
  const line = old[at] ?? "";
  const indent = /^[ \t]*/.exec(line)?.[0] ?? "";
  const ends = raw.slice(start, start + old.length).map((one) => one.slice(bareLine(one).length));
  const last = start + old.length >= raw.length;
  let made: { text: string; end: string }[] = old.map((text, index) => ({ text, end: ends[index] ?? eol }));
  let touched: [number, number] = [at, at];
  const fresh = (text: string) => ({ text, end: eol });
  if (kind === "reword") {
    const word = /[A-Za-z]{4,}/.exec(line);
    if (word === null) return null;
    const text = line.slice(0, word.index + word[0].length) + "Next" + line.slice(word.index + word[0].length);
    made = made.with(at, { text, end: ends[at] ?? eol });
  } else if (kind === "insert") {
    if (at === old.length - 1 && last) return null;
    made.splice(at + 1, 0, fresh(`${indent}addedCall(${start});`));
  } else if (kind === "remove") {
    if (solid.length < 3 || at === 0 || at === old.length - 1) return null;
    made.splice(at, 1);
  } else if (kind === "wrap") {
    const unit = (source.text.match(/\n\t/g)?.length ?? 0) > bareCount(source.text) / 5 ? "\t" : " ".repeat(unitOf(source.text));
    const [from, to] = [solid[0] ?? 0, solid.at(-1) ?? 0];
    if (last || /^\t* +\t| \t/.test(old.join("\n"))) return null;
    const base = /^[ \t]*/.exec(old[from] ?? "")?.[0] ?? "";
    if (!old.every((one) => one.trim() === "" || one.startsWith(base))) return null;
    const deeper = made.map((one) => (one.text.trim() === "" ? one : { ...one, text: base + unit + one.text.slice(base.length) }));
    made = [fresh(`${base}if (ready${start}) {`), ...deeper, fresh(`${base}}`)];
    touched = [from, to];
  } else {
    if (at + 1 >= old.length || (old[at + 1] ?? "").trim() === "" || (at + 1 === old.length - 1 && last)) return null;
    made.splice(at, 2, ...["one", "two", "three"].map((word) => fresh(`${indent}${word}Made(${start});`)));
    touched = [at, at + 1];
  }
  const text = made.map(({ text: one, end }, index) => one + (end === "" && index < made.length - 1 ? eol : end)).join("");
  const expected = raw.slice(0, start).join("") + text + raw.slice(start + old.length).join("");
  return { source, kind, start, old, made: made.map((one) => one.text), touched, expected };
}

function bareCount(text: string): number {
  return text.split("\n").length;
}

/** By how many blanks a file indents from one step to the next. */
export function unitOf(text: string): 2 | 4 {
  const depths = text.split("\n").map((line) => /^ */.exec(line)?.[0].length ?? 0);
  const [two = 0, four = 0] = [2, 4].map((unit) => depths.filter((depth, index) => depth - (depths[index - 1] ?? 0) === unit).length);
  return four > two ? 4 : 2;
}
