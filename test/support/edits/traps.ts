import { bareLine, splitLines } from "../../../agent-server/workspace/text/lines.ts";
import { type Intent, intentsOf, squashed, timesIn } from "./cases.ts";
import { honest } from "./drifts.ts";
import { chooser, type Source, versionPairs } from "./sources.ts";

/** An edit that must not be made, or at one place alone: what looks most alike is the wrong one. */
export interface EditTrap {
  readonly name: string;
  readonly path: string;
  readonly text: string;
  readonly oldText: string;
  readonly newText: string;
  /** The file afterwards; null where the edit has to be refused. */
  readonly expected: string | null;
  /** 1-based lines the refusal has to name; none where nothing is near. */
  readonly lines: readonly number[];
}

type Part = Pick<EditTrap, "text" | "oldText" | "newText"> & Partial<Pick<EditTrap, "expected" | "lines">>;

/** Each makes of an edit of a real file one that leads astray; null where a file gives no occasion. */
const makers: Readonly<Record<string, (intent: Intent, more: Source) => Part | null>> = {
  "the same text at two places": (intent) => {
    const { text, second } = withCopy(intent, (line) => line);
    return { text, oldText: intent.old.join("\n"), newText: intent.made.join("\n"), lines: [intent.start + 1, second] };
  },
  "the same text at two places, blanks astray": (intent) => {
    const { text, second } = withCopy(intent, (line) => line);
    return {
      text,
      oldText: intent.old.map((line) => `${line} `).join("\n"),
      newText: intent.made.join("\n"),
      lines: [intent.start + 1, second],
    };
  },
  "the same text at two depths, another depth wanted": (intent) => {
    const { text, second } = withCopy(intent, (line) => (line.trim() === "" ? line : `      ${line}`));
    const oldText = intent.old.map((line) => (line.trim() === "" ? line : `   ${line}`)).join("\n");
    return text.includes(oldText) ? null : { text, oldText, newText: "changed();", lines: [intent.start + 1, second] };
  },
  "the same text at two places, with the line number of one": (intent) => {
    const { text, second } = withCopy(intent, (line) => line);
    const number = (lines: readonly string[], from: number) => lines.map((line, index) => `${from + index}\t${line}`).join("\n");
    return { text, oldText: number(intent.old, second), newText: number(intent.made, second), lines: [intent.start + 1, second] };
  },
  "a near copy is left, the text itself is gone": (intent) => {
    const changed = likeIt(intent);
    if (changed === null) return null;
    const lines = splitLines(intent.source.text);
    const text = lines.toSpliced(intent.start, intent.old.length, ...changed.map((line) => `${line}\n`)).join("");
    if (timesIn(squashed(intent.old.join("\n")), squashed(text)) > 0) return null;
    return { text, oldText: intent.old.join("\n"), newText: intent.made.join("\n"), lines: [intent.start + 1] };
  },
  "a near copy with better blanks": (intent) => {
    const changed = likeIt(intent);
    const drifted = honest["too much indentation"]?.({ old: intent.old, made: intent.made }, intent, chooser(intent.source.path));
    if (changed === null || drifted === null || drifted === undefined || intent.kind === "wrap") return null;
    // The near copy is indented just as the drifted text is.
    const tail = `\n${changed.map((line) => (line.trim() === "" ? line : `    ${line}`)).join("\n")}\n`;
    if (!intent.source.text.endsWith("\n") || timesIn(squashed(intent.old.join("\n")), squashed(intent.source.text + tail)) !== 1)
      return null;
    return {
      text: intent.source.text + tail,
      oldText: drifted.old.join("\n"),
      newText: drifted.made.join("\n"),
      expected: intent.expected + tail,
    };
  },
  "text of another file": (intent, more) => {
    const [foreign] = intentsOf(more, 1, "foreign");
    if (foreign === undefined || timesIn(squashed(foreign.old.join("\n")), squashed(intent.source.text)) > 0) return null;
    return { text: intent.source.text, oldText: foreign.old.join("\n"), newText: foreign.made.join("\n"), lines: [] };
  },
  "lines in another order": (intent) => {
    const solid = intent.old.filter((line) => line.trim() !== "");
    const turned = solid.toReversed();
    if (solid.length < 3 || timesIn(squashed(turned.join("\n")), squashed(intent.source.text)) > 0) return null;
    return { text: intent.source.text, oldText: turned.join("\n"), newText: "changed();", lines: [] };
  },
  "a copy in a comment": (intent) => {
    const { text, second } = withCopy(intent, (line) => (line.trim() === "" ? line : `// ${line}`));
    const line = intent.old.find((one) => one.trim().length > 20)?.trim();
    const times = timesIn(line ?? "", text);
    if (line === undefined || times < 2 || times > 15) return null;
    return { text, oldText: line, newText: "changed();", lines: [second + intent.old.findIndex((one) => one.trim() === line)] };
  },
};

/** The file with the block once more at its end, its lines changed; and the line it begins at there. */
function withCopy({ source, old }: Intent, change: (line: string) => string): { text: string; second: number } {
  const text = source.text.endsWith("\n") ? source.text : `${source.text}\n`;
  return { text: `${text}\n${old.map(change).join("\n")}\n`, second: splitLines(text).length + 2 };
}

/** The block with another word in a line that the edit does not touch. */
function likeIt({ old, touched }: Intent): string[] | null {
  const at = old.findIndex((line, index) => (index < touched[0] || index > touched[1]) && /[A-Za-z]{5,}/.test(line));
  return at < 0
    ? null
    : old.with(
        at,
        (old[at] ?? "").replace(/[A-Za-z]{5,}/, (word) => `${word}Other`),
      );
}

/** All of them, from real files; `each` is how many edits of a file are tried. */
export function editTraps(files: readonly Source[], each: number): EditTrap[] {
  const smaller = files.filter(({ text, kind }) => text.length < 120_000 && kind !== "mixed line ends" && kind !== "CRLF");
  return smaller.flatMap((source, number) =>
    intentsOf(source, each, "trap").flatMap((intent) =>
      Object.entries(makers).flatMap(([name, make]) => {
        const part = make(intent, smaller[(number + 7) % smaller.length] ?? source);
        return part === null ? [] : [{ name, path: source.path, expected: null, lines: [], ...part }];
      }),
    ),
  );
}

/** Edits worked out from an older version of a package, made in the newer one: what changed in between with two lines around it. */
export function oldVersionTraps(): EditTrap[] {
  return versionPairs().flatMap(({ path, older, newer }) => {
    const [before, after] = [splitLines(older).map(bareLine), new Set(splitLines(newer).map(bareLine))];
    const changed = [...before.keys()].filter((row) => !after.has(before[row] ?? "") && (before[row] ?? "").trim().length > 8);
    return changed.slice(0, 12).flatMap((row) => {
      const oldText = before.slice(Math.max(0, row - 2), row + 3).join("\n");
      if (timesIn(squashed(oldText), squashed(newer)) > 0) return [];
      return [{ name: "text of an older version", path, text: newer, oldText, newText: `${oldText}\nadded();`, expected: null, lines: [] }];
    });
  });
}
