import { readdir } from "node:fs/promises";
import { basename } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import { wildcard } from "../../security/security.ts";
import { fileProvider, maxOutputLines, resolveFile } from "../../workspace/workspace.ts";
import { defineTool, fileStep } from "../tool.ts";
import { Argv, hint, titleOf } from "./repl-command.ts";
import { type Entry, typeLetter, walk } from "./entries.ts";

type Test = (entry: Entry) => boolean | Promise<boolean>;

interface Wanted {
  readonly paths: readonly string[];
  readonly tests: readonly Test[];
  readonly maxDepth: number;
  readonly minDepth: number;
}

/** Expressions with effects, and why they are refused. */
const refused: Readonly<Record<string, string>> = {
  "-exec": "runs commands",
  "-execdir": "runs commands",
  "-ok": "runs commands",
  "-okdir": "runs commands",
  "-delete": "deletes; use delete_file, or mv",
  "-fprint": "writes files",
  "-fprint0": "writes files",
  "-fprintf": "writes files",
  "-fls": "writes files",
  "-files0-from": "reads a list from a file",
};

export const find = defineTool({
  name: "repl.find",
  description: "Finds files by name, kind and size.",
  args: Argv,
  capability: "file_ops",
  action: "list",
  baseTier: "T0",
  actionType: "tool_call",
  provider: fileProvider,
  title: titleOf("find"),
  reads: ({ argv }, scope) => wantedOf(argv).paths.map((path) => fileStep("list", resolveFile(scope, path))),
  async plan({ argv }, scope) {
    const { paths, tests, maxDepth, minDepth } = wantedOf(argv);
    const found: string[] = [];
    let cut = false;
    for (const path of paths) {
      const start = resolveFile(scope, path);
      if (start.type === "missing") throw new LancelotError("not_found", `find: ${path} does not exist.`);
      const walked = await walk(scope, start, maxDepth, async (entry) => {
        if (entry.depth < minDepth || found.length > maxOutputLines) return;
        for (const test of tests) if (!(await test(entry))) return;
        found.push(entry.shown.replace(/\p{Cc}/gu, "?"));
      });
      cut ||= walked.cut;
    }
    cut ||= found.length > maxOutputLines;
    const text = found.length === 0 ? "Nothing matches." : found.slice(0, maxOutputLines).join("\n");
    return {
      kind: "answer",
      text: cut ? `${text}\n[more results were left out]` : text,
      hint,
      outputs: { count: found.length, truncated: cut },
    };
  },
});

function wantedOf(argv: readonly string[]): Wanted {
  const first = argv.findIndex((word) => word.startsWith("-") || word === "!" || word === "(");
  const paths = first === -1 ? argv : argv.slice(0, first);
  const expressions = first === -1 ? [] : argv.slice(first);
  const tests: Test[] = [];
  let maxDepth = 100;
  let minDepth = 0;
  let negate = false;
  const add = (test: Test): void => {
    const not = negate;
    negate = false;
    tests.push(not ? async (entry) => !(await test(entry)) : test);
  };
  for (let index = 0; index < expressions.length; index += 1) {
    const word = expressions[index] ?? "";
    const value = (): string => {
      index += 1;
      const next = expressions[index];
      if (next === undefined) throw wrong(`${word} needs a value.`);
      return next;
    };
    const why = refused[word];
    if (why !== undefined) throw wrong(`${word} is not supported, because it ${why}.`);
    switch (word) {
      case "-name":
      case "-iname": {
        const matches = wildcard(value(), { ignoreCase: word === "-iname" });
        add(({ shown, absolute }) => matches(basename(shown === "." ? absolute : shown)));
        break;
      }
      case "-path":
      case "-ipath":
      case "-wholename": {
        const matches = wildcard(value(), { ignoreCase: word === "-ipath" });
        add(({ shown }) => matches(shown));
        break;
      }
      case "-type": {
        const letters = value();
        if (!/^[fdl](?:,[fdl])*$/.test(letters)) throw wrong("-type takes f, d or l.");
        add(({ stats }) => letters.includes(typeLetter(stats)));
        break;
      }
      case "-maxdepth":
        maxDepth = depth(word, value());
        break;
      case "-mindepth":
        minDepth = depth(word, value());
        break;
      case "-size":
        add(sizeTest(value()));
        break;
      case "-mtime":
      case "-mmin":
        add(ageTest(word, value()));
        break;
      case "-empty":
        add(async ({ stats, absolute }) =>
          stats.isDirectory() ? (await readdir(absolute).catch(() => [""])).length === 0 : stats.isFile() && stats.size === 0,
        );
        break;
      case "!":
      case "-not":
        negate = !negate;
        break;
      case "-print":
      case "-a":
      case "-and":
        break;
      default:
        throw wrong(
          `Unknown expression ${word}. Supported: -name -iname -path -ipath -type -size -mtime -mmin -empty -maxdepth -mindepth -not.`,
        );
    }
  }
  return { paths: paths.length === 0 ? ["."] : paths, tests, maxDepth, minDepth };
}

function depth(option: string, text: string): number {
  if (!/^\d{1,3}$/.test(text)) throw wrong(`${option} takes a number.`);
  return Number(text);
}

const units: Readonly<Record<string, number>> = { c: 1, k: 1024, M: 1024 ** 2, G: 1024 ** 3, "": 512 };

function sizeTest(text: string): Test {
  const [, sign = "", number = "", unit = ""] = /^([+-]?)(\d{1,12})([ckMG]?)$/.exec(text) ?? [];
  if (number === "") throw wrong("-size takes a number such as +10k.");
  const wanted = Number(number);
  const each = units[unit] ?? 512;
  return ({ stats }) => compare(sign, Math.ceil(stats.size / each), wanted);
}

function ageTest(option: string, text: string): Test {
  const [, sign = "", number = ""] = /^([+-]?)(\d{1,6})$/.exec(text) ?? [];
  if (number === "") throw wrong(`${option} takes a number such as -7.`);
  const each = option === "-mtime" ? 86_400_000 : 60_000;
  return ({ stats }) => compare(sign, Math.floor((Date.now() - stats.mtimeMs) / each), Number(number));
}

function compare(sign: string, value: number, wanted: number): boolean {
  return sign === "+" ? value > wanted : sign === "-" ? value < wanted : value === wanted;
}

function wrong(why: string): LancelotError {
  return new LancelotError("invalid_params", `find: ${why}`);
}
