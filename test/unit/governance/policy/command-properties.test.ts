import * as fc from "fast-check";
import { forEachChild, parse, type SyntaxNode } from "unbash";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Verdict } from "../../../../agent-server/contract/governance.ts";
import type { CommandJudgment } from "../../../../agent-server/governance/decision-facts.ts";
import { type CommandCase, commandCases, dangerousCases } from "../../../support/command-cases.ts";
import { type CommandWorkspace, createCommandWorkspace } from "../../../support/command-workspace.ts";
import { prefixes, spelled, wrappers } from "../../../support/shell-quoting.ts";
import { runs } from "../../../support/soak.ts";

let tree: CommandWorkspace;
beforeAll(async () => {
  tree = await createCommandWorkspace();
});
afterAll(() => tree.dispose());

const rank = { allow: 0, ask: 1, deny: 2 } as const;

/** Of each row as it stands. */
const verdicts = new Map<CommandCase, Verdict>();

/** Every nth row, from another one for each start. */
const everyNth = <T>(rows: readonly T[], n: number, start = 0): T[] => rows.filter((_row, at) => at % n === start % n);

/** What is wrong with a changed command line: its verdict is less strict than that of the row it was made from. Null: nothing. */
function lowered(changed: string, row: CommandCase): string | null {
  const before = verdicts.get(row) ?? tree.judge(row.command, row.cwd).verdict;
  verdicts.set(row, before);
  const after = tree.judge(changed, row.cwd);
  if (rank[after.verdict] >= rank[before]) return null;
  return `${before} became ${after.verdict}:\n${row.command}\n->\n${changed}`;
}

/** Command lines of plain words: what they mean does not change when each word is quoted. */
const plainRows = dangerousCases.filter((row) => /^[\w./@%+,:-]+(?: [\w./@%+,:=-]+)*$/.test(row.command));

/** Shell words that are no programs: another program cannot run them. */
const shellOnly =
  /^(?:alias|bind|builtin|cd|command|compgen|complete|coproc|declare|disown|dirs|do|done|enable|esac|eval|exec|exit|export|fc|fi|for|function|getopts|hash|history|if|in|jobs|let|local|logout|mapfile|popd|pushd|read|readarray|readonly|return|select|set|shopt|source|suspend|then|time|times|trap|typeset|ulimit|umask|unalias|unset|until|wait|while|\.|!|-)$/;

const programRows = plainRows.filter((row) => !shellOnly.test(row.command.split(" ")[0] ?? ""));
const plainWords = plainRows.filter(
  (row) => !/^(?:do|done|esac|fi|for|function|if|in|select|then|time|until|while|case|coproc|!)$/.test(row.command.split(" ")[0] ?? ""),
);

/**
 * Rows that parse: around half a command line, a wrapper would close what is open. A ripgrep without a folder reads its standard
 * input where it has one, which is another thing than reading the workspace.
 */
let wholeRows: CommandCase[] = [];
beforeAll(() => {
  wholeRows = dangerousCases
    .filter((row) => !/^rg -\S*(?: --\S+)* KEY$/.test(row.command))
    .filter((row) => {
      const { rules, verdict } = tree.judge(row.command, row.cwd);
      verdicts.set(row, verdict);
      return !rules.some((rule) => rule.id === "command.syntax");
    });
  expect(wholeRows.length).toBeGreaterThan(3000);
});

describe("a verdict is not lowered", () => {
  it("by another spelling of any word", () => {
    expect(plainWords.length).toBeGreaterThan(300);
    fc.assert(
      fc.property(
        fc.constantFrom(...plainWords).chain((row) => fc.tuple(fc.constant(row), fc.tuple(...row.command.split(" ").map(spelled)))),
        ([row, message]) => {
          expect(lowered(message.join(" "), row)).toBeNull();
        },
      ),
      { numRuns: runs(150, 2000) },
    );
  });

  it.each(prefixes)("by %s before a program", (prefix) => {
    expect(programRows.length).toBeGreaterThan(300);
    const end = prefix.startsWith("find") ? " \\;" : "";
    // xargs puts words at the end, where these take their target or join them to a text for a shell.
    const rows = prefix.startsWith("xargs")
      ? programRows.filter((row) => !/^(?:cp|mv|ln|install|ssh|watch|entr|chronic|yarn workspace) /.test(row.command))
      : programRows;
    const part = everyNth(rows, runs(4, 1), prefixes.indexOf(prefix));
    expect(part.map((row) => lowered(`${prefix} ${row.command}${end}`, row)).filter((one) => one !== null)).toEqual([]);
  });

  it.each(Object.keys(wrappers))("by %s around a command line", (name) => {
    const wrap = wrappers[name] ?? String;
    // find puts names in place of {}, which changes what a row with {} means.
    const rows = name.startsWith("find") ? wholeRows.filter((row) => !row.command.includes("{}")) : wholeRows;
    // A part of the rows each, another part for the next wrapper; all of them, at random, one to four deep below.
    const part = everyNth(rows, runs(12, 1), Object.keys(wrappers).indexOf(name));
    expect(part.map((row) => lowered(wrap(row.command), row)).filter((one) => one !== null)).toEqual([]);
  });

  it("by wrapping one to four deep", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...wholeRows.filter((row) => !row.command.includes("{}"))),
        fc.array(fc.constantFrom(...Object.values(wrappers)), { minLength: 1, maxLength: 4 }),
        (row, layers) => {
          const wrapped = layers.reduce((line, wrap) => wrap(line), row.command);
          expect(lowered(wrapped, row)).toBeNull();
        },
      ),
      { numRuns: runs(125, 1000) },
    );
  });

  it("by any number of harmless commands before and after", () => {
    const harmless = ["ls -la", "git status", "true", "echo hello", "cat README.md | head", "rg foo src", "pwd", "(ls)", "test -f x || ls"];
    const some = fc.array(fc.constantFrom(...harmless), { maxLength: 120 });
    fc.assert(
      fc.property(fc.constantFrom(...wholeRows), some, some, fc.constantFrom("\n", " ; ", " && "), (row, before, after, between) => {
        const start = before.length === 0 ? "" : `${before.join(between)}\n`;
        expect(lowered(`${start}${row.command}\n${after.join("\n")}`, row)).toBeNull();
      }),
      { numRuns: runs(100, 300) },
    );
  });

  it("by a thousand harmless commands before a harmful one", () => {
    for (const row of everyNth(dangerousCases, runs(390, 97))) {
      expect(lowered(`${"true; ".repeat(1000)}\n${row.command}`, row)).toBeNull();
    }
  });

  it("by joining two command lines: the stricter of them counts", () => {
    // What moves to another folder, or may hold the next lines as its text, changes what follows it.
    const still = commandCases.filter(
      (row) => row.cwd === undefined && !row.command.includes("<<") && !/\b(?:cd|pushd|popd)\b|\{data\}/.test(row.command),
    );
    fc.assert(
      fc.property(fc.constantFrom(...still), fc.constantFrom(...dangerousCases), (first, second) => {
        if (parse(first.command).errors?.length) return;
        expect(lowered(`{ ${first.command}\n}\n${second.command}`, second)).toBeNull();
      }),
      { numRuns: runs(150, 600) },
    );
  });
});

describe("every command that stands anywhere in the tree", () => {
  /** The programs of all simple commands, wherever the parser found one. */
  function programsIn(command: string): string[] {
    const found: string[] = [];
    const visit = (node: SyntaxNode): void => {
      if (node.type === "Command" && node.name !== undefined) found.push(node.name.text);
      forEachChild(node, visit);
    };
    visit(parse(command));
    return found;
  }

  /** The program a part is about: not those that stand inside its words. */
  function programOf(part: string): string | null {
    const [statement] = parse(part).commands;
    return statement?.command.type === "Command" ? (statement.command.name?.text ?? null) : null;
  }

  /** Programs that no part is about: they were passed by. */
  function passedBy(command: string, cwd?: string): string[] {
    const judged = new Set(tree.judge(command, cwd).parts.map((part) => programOf(part.text)));
    return programsIn(command).filter((program) => !judged.has(program));
  }

  it("of the table is among the parts", () => {
    const wrong = everyNth(commandCases, runs(3, 1))
      .filter((row) => !parse(row.command).errors?.length && row.command.length < 2000)
      // What holds a character no shell reads alike is refused before it is parsed.
      .filter((row) => /^[\n\t -~]*$/.test(row.command))
      .map((row) => ({ command: row.command, passed: passedBy(row.command, row.cwd) }))
      .filter(({ passed }) => passed.length > 0);
    expect(wrong).toEqual([]);
  });

  it("of a wrapped or mixed row is among the parts", () => {
    const rows = commandCases.filter((row) => !parse(row.command).errors?.length && /^[\n\t -~]{1,200}$/.test(row.command));
    const contexts: ((line: string) => string)[] = [
      (line) => `echo \${x:-$(${line}\n)}`,
      (line) => `echo "\${x/a/$(${line}\n)}"`,
      (line) => `ls [$(${line}\n)]`,
      (line) => `ls {a,$(${line}\n)}`,
      (line) => `ls @(a|$(${line}\n))`,
      (line) => `case $(${line}\n) in *) ls;; esac`,
      (line) => `case a in $(${line}\n)) ls;; esac`,
      (line) => `[[ a == $(${line}\n) ]]`,
      (line) => `(( 1 + $(${line}\n) ))`,
      (line) => `echo $(( $(${line}\n) ))`,
      (line) => `a[$(${line}\n)]=1`,
      (line) => `a=(1 $(${line}\n))`,
      (line) => `ls > "$(${line}\n)"`,
      (line) => `ls <<< "$(${line}\n)"`,
      (line) => `cat <<END_OF_IT\n$(${line}\n)\nEND_OF_IT`,
      (line) => `for i in $(${line}\n); do ls; done`,
      (line) => `for ((i = $(${line}\n); i < 1; i++)); do ls; done`,
      (line) => `ls <(${line}\n) >(${line}\n)`,
      (line) => `export X="$(${line}\n)"`,
      (line) => `X=$(${line}\n) ls`,
      (line) => `coproc { ${line}\n}`,
      (line) => `if ls; then ls; elif ${line}\nthen ls; fi`,
      (line) => `f() {\n${line}\n} > out.txt; f`,
      (line) => `time ! { ${line}\n}`,
    ];
    fc.assert(
      fc.property(fc.constantFrom(...rows), fc.array(fc.constantFrom(...contexts), { minLength: 1, maxLength: 2 }), (row, layers) => {
        const line = layers.reduce((inner, wrap) => wrap(inner), row.command);
        if (parse(line).errors?.length) return;
        expect(passedBy(line, row.cwd)).toEqual([]);
      }),
      { numRuns: runs(100, 1500) },
    );
  });
});

describe("anything at all", () => {
  /** Answers, explains, is the same twice, and never allows what does not parse. */
  function expectSane(command: string, cwd?: string): CommandJudgment {
    const judged = tree.judge(command, cwd);
    expect(judged).toEqual(tree.judge(command, cwd));
    expect(judged.rules.length).toBeGreaterThan(0);
    expect(["T2", "T3"]).toContain(judged.tier);
    if (judged.verdict === "allow") {
      expect(parse(command).errors ?? []).toEqual([]);
      expect(judged.tier).toBe("T2");
      for (const part of judged.parts) expect(part.verdict).toBe("allow");
    }
    for (const part of judged.parts) expect(rank[part.verdict]).toBeLessThanOrEqual(rank[judged.verdict]);
    return judged;
  }

  it("every row is judged sanely", () => {
    for (const row of everyNth(commandCases, runs(5, 1))) expectSane(row.command, row.cwd);
  });

  it("random characters", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => void expectSane(text)),
      { numRuns: runs(125, 1000) },
    );
  });

  it("random bytes as text", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expectSane(Buffer.from(bytes).toString("latin1"));
        expectSane(Buffer.from(bytes).toString("utf8"));
      }),
      { numRuns: runs(125, 500) },
    );
  });

  it("soups of shell tokens", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...tokens), { maxLength: 30 }), fc.constantFrom("", " "), (soup, between) => {
        expectSane(soup.join(between));
      }),
      { numRuns: runs(150, 3000) },
    );
  });

  it("rows with characters put in, taken out and exchanged", () => {
    const change = fc.tuple(fc.nat(400), fc.nat(2), fc.constantFrom(...tokens));
    fc.assert(
      fc.property(fc.constantFrom(...commandCases), fc.array(change, { minLength: 1, maxLength: 4 }), (row, changes) => {
        let text = row.command;
        for (const [where, kind, token] of changes) {
          const at = where % (text.length + 1);
          text = text.slice(0, at) + (kind === 0 ? "" : token) + text.slice(at + (kind === 1 ? 0 : 1));
        }
        expectSane(text, row.cwd);
      }),
      { numRuns: runs(150, 3000) },
    );
  });

  it("every prefix of some rows", () => {
    for (const row of everyNth(commandCases, runs(100, 25))) {
      for (let end = 0; end < Math.min(row.command.length, 120); end += 1) expectSane(row.command.slice(0, end), row.cwd);
    }
  });

  it("a working folder that is none", () => {
    for (const cwd of [
      "",
      " ",
      "nowhere",
      "/nowhere",
      "..",
      "\0",
      "~",
      "~root",
      "$HOME",
      "src\n",
      "-",
      "//",
      "https://evil.example",
      "a".repeat(10_000),
    ]) {
      expectSane("cat src/main.ts", cwd);
      expect(tree.judge("rm -rf /", cwd).verdict).toBe("deny");
      expect(tree.judge("curl evil.example", cwd).verdict).not.toBe("allow");
    }
  });
});

describe("large and tangled input is answered", () => {
  const size = 100_000;
  const fill = (text: string): string => text.repeat(Math.ceil(size / text.length));
  const doubling = (depth: number): string =>
    `f0() { ls; }; ${Array.from({ length: depth }, (_unused, at) => `f${at + 1}() { f${at}; f${at}; };`).join(" ")} f${depth}`;
  const inputs: Record<string, string> = {
    "open parentheses": fill("("),
    "open braces": fill("{ "),
    "open substitutions": fill("$("),
    "open quoted substitutions": fill('"$('),
    "open expansions": fill("${a:-"),
    backticks: fill("`"),
    "nested backticks": fill("`\\"),
    "open arithmetic": fill("(("),
    "open process substitutions": fill("cat <("),
    quotes: fill("\"'"),
    backslashes: fill("\\"),
    "heredocs without end": fill("cat <<A\n"),
    "many heredocs": fill("cat <<A\nx\nA\n"),
    "open cases": fill("case x in x) "),
    "open ifs": fill("if "),
    "open loops": fill("while "),
    "tests in tests": fill("[[ ( "),
    "nested closed substitutions": `${"$(".repeat(20_000)}ls${")".repeat(20_000)}`,
    "nested closed subshells": `${"( ".repeat(20_000)}ls${" )".repeat(20_000)}`,
    "nested closed expansions": `echo ${"${a:-".repeat(15_000)}x${"}".repeat(15_000)}`,
    "one long word": fill("a"),
    "one long word of globs": fill("*"),
    "deep globs": `ls ${fill("/*")}`,
    "brace expansions": `echo ${"{a,b}".repeat(1000)}`,
    "nested brace expansions": `echo ${"{a,".repeat(5000)}b${"}".repeat(5000)}`,
    "a brace range": "echo {1..1000000000}",
    "brace ranges": `echo ${"{a..z}".repeat(200)}`,
    "many words": `echo ${fill("a ")}`,
    "many commands": fill("ls;"),
    "many pipes": `ls ${fill("|cat")}`,
    "many ands": `ls ${fill("&&ls")}`,
    "many assignments": fill("a=b "),
    "doubling variables": `x=a; ${"x=$x$x; ".repeat(5000)} echo $x`,
    "doubling arrays": `x=(a); ${'x=("${x[@]}" "${x[@]}"); '.repeat(2000)} "\${x[@]}"`,
    "doubling functions": doubling(60),
    "functions in a circle": "a() { b; }; b() { a; }; a",
    "many functions": fill("f() { ls; };"),
    "many evals": `${fill("eval ")}ls`,
    "many envs": `${fill("env ")}ls`,
    "many times": `${fill("time ")}ls`,
    "many negations": `${fill("! ")}ls`,
    "many xargs": `${fill("xargs ")}ls`,
    "many redirects": `ls ${fill(">a ")}`,
    "many comments": fill("#\n"),
    "many continuations": fill("\\\n"),
    "many carriage returns": fill("\r"),
    "shells in shells": Array.from({ length: 14 }).reduce<string>((line) => `sh -c ${JSON.stringify(line)}`.slice(0, size), "ls"),
    "find with many tests": `find . ${fill("-name a -o ")}-print`,
    "one long sed expression": `sed '${fill("s/a/b/;")}' src/main.ts`,
    "one long awk program": `awk '${fill("{print}")}' src/main.ts`,
    "one long path": `cat ${fill("a/")}`,
    "one long path up": `cat ${fill("../")}etc/passwd`,
    "folders changed often": fill("cd src; cd ..; "),
    "a long flag": `git status --${fill("a")}`,
    "short flags": `ls -${fill("l")}`,
    "extended globs": `ls ${"@(".repeat(5000)}a${")".repeat(5000)}`,
    "array subscripts": `echo ${"${a[".repeat(5000)}0${"]}".repeat(5000)}`,
    "case with many branches": `case x in ${fill("a) ls;; ")} esac`,
  };

  it.each(Object.keys(inputs))("%s", (name) => {
    const text = inputs[name] ?? "";
    tree.judge(text);
    expect(tree.judge(`${text}\ncurl evil.example`).verdict).not.toBe("allow");
    expect(tree.judge(`curl evil.example\n${text}`).verdict).not.toBe("allow");
  });
});

const tokens = [
  "ls",
  "cat",
  "echo",
  "git",
  "status",
  "rm",
  "curl",
  "src",
  ".env",
  "/",
  "~",
  "x",
  "-rf",
  "-c",
  "--",
  "=",
  "x=",
  "$x",
  "${x}",
  "${x@P}",
  "$(",
  "${",
  "$((",
  "((",
  "))",
  "`",
  "'",
  '"',
  "$'",
  '$"',
  "\\",
  "\n",
  "\r",
  "\t",
  " ",
  ";",
  ";;",
  ";&",
  "&",
  "&&",
  "|",
  "||",
  "|&",
  "!",
  "(",
  ")",
  "{",
  "}",
  "[",
  "]",
  "[[",
  "]]",
  "<",
  ">",
  ">>",
  "<<",
  "<<-",
  "<<<",
  "<(",
  ">(",
  ">&",
  "&>",
  "<>",
  ">|",
  "2>",
  "#",
  "*",
  "?",
  "[a]",
  "{a,b}",
  "if",
  "then",
  "else",
  "elif",
  "fi",
  "for",
  "in",
  "do",
  "done",
  "while",
  "until",
  "case",
  "esac",
  "select",
  "function",
  "f()",
  "coproc",
  "time",
  "eval",
  "exec",
  "sh",
  "bash",
  "env",
  "xargs",
  "sudo",
  "export",
  "trap",
  "alias",
  "EOF",
  "\u00a0",
  "\u200b",
  "\u2028",
  "é",
  "\0",
  "\x1b",
  "\x7f",
];
