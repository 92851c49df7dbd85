import * as fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { commandCases } from "../support/command-cases.ts";
import { type CommandWorkspace, createCommandWorkspace } from "../support/command-workspace.ts";
import { createShellRecorder, type ShellRecorder } from "../support/shell-recorder.ts";
import { singleQuoted, wrappers } from "../support/shell-quoting.ts";
import { runs } from "../support/soak.ts";

// Real bash says what parses and what is really started; the policy must not have thought otherwise.

/** Ordinary programs that the policy lets run, as stubs. */
const harmless = ["ls", "cat", "head", "wc", "grep", "git", "sort", "tail", "cut", "tr", "uniq", "diff", "sleep", "date", "rg"];
/** A program nobody knows: it must not be started by anything that is allowed. */
const unknown = "tracer";

let tree: CommandWorkspace;
let shell: ShellRecorder;
beforeAll(async () => {
  tree = await createCommandWorkspace();
  shell = createShellRecorder([...harmless, unknown, "rm", "curl"]);
});
afterAll(() => {
  shell.dispose();
  tree.dispose();
});

/** Pieces of shell text; glued together they are mostly nonsense, and sometimes surprising sense. */
const pieces = [
  ...harmless,
  unknown,
  ...["echo", "printf", "a.txt", "src", "src/a.ts", "-l", "-n", "x", "1", "status", "log"],
  ...[
    ";",
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
    "[[",
    "]]",
    "[",
    "]",
    "((",
    "))",
    "$((",
    "$(",
    "`",
    "<(",
    "${",
    "}",
    "\n",
    "\\\n",
  ],
  ...[
    "'",
    '"',
    "$'",
    "\\",
    "\\'",
    '\\"',
    "#",
    " #",
    "<",
    ">",
    "2>&1",
    "<<E",
    "<<'E'",
    "<<-E",
    "E",
    "<<<",
    ">&",
    "&>",
    "$x",
    "${x}",
    "x=1",
    "$",
  ],
  ...["if", "then", "else", "fi", "for", "in", "do", "done", "while", "case", "esac", ";;", ";&", "f()", "time", "coproc", "function"],
  ...["*", "?", "{a,b}", "{ls,a}", "~", "=", "\t", "\r", "\u00a0", "é"],
];

const soup = fc
  .array(fc.tuple(fc.constantFrom(...pieces), fc.constantFrom(" ", " ", " ", "", "\n")), { minLength: 1, maxLength: 14 })
  .map((parts) => parts.map(([piece, after]) => piece + after).join(""));

const mutated = fc
  .tuple(
    fc.constantFrom(...commandCases),
    fc.array(fc.tuple(fc.nat(300), fc.nat(2), fc.constantFrom(...pieces)), { minLength: 1, maxLength: 3 }),
  )
  .map(([row, changes]) => {
    let text = row.command;
    for (const [where, kind, piece] of changes) {
      const at = where % (text.length + 1);
      text = text.slice(0, at) + (kind === 0 ? "" : piece) + text.slice(at + (kind === 1 ? 0 : 1));
    }
    return text;
  })
  // bash reads a file up to its NULs differently from a command line, which cannot hold one.
  .filter((text) => !text.includes("\0"));

it("what bash calls a syntax error is never allowed", async () => {
  const candidates = [
    ...fc.sample(soup, runs(450, 900)),
    ...fc.sample(mutated, runs(300, 600)),
    ...commandCases.filter((row) => row.expect === "allow").map((row) => row.command),
  ];
  const parses = await shell.parses(candidates);
  const wrong = candidates.filter((text, at) => parses[at] === false && tree.judge(text).verdict === "allow");
  const rejected = parses.filter((one) => !one).length;
  console.info(`bash -n rejects ${rejected} of ${candidates.length} candidates`);
  expect(rejected).toBeGreaterThan(100);
  expect(wrong).toEqual([]);
});

/** Lines that parse, of harmless commands, with the unknown program where it is text and where it is not. */
const word = fc.constantFrom(
  ...["a.txt", "src", "src/a.ts", "-n", "-l", "x", unknown, "#", "# x", `#${unknown}`],
  ...[
    `'${unknown}'`,
    `"${unknown}"`,
    `\\${unknown}`,
    `"; ${unknown}"`,
    `'; ${unknown}'`,
    `\\;${unknown}`,
    `"\n${unknown}"`,
    `'\n${unknown}'`,
  ],
  ...[
    `"$(${unknown})"`,
    `\`${unknown}\``,
    `$'\\n${unknown}'`,
    `$'\\'; ${unknown} '`,
    `"\\"; ${unknown} "`,
    `'\\'; ${unknown} '`,
    `"\\$(${unknown})"`,
  ],
  ...[
    `'$(${unknown})'`,
    `"\`${unknown}\`"`,
    `\\$(ls)`,
    `\${x:-${unknown}}`,
    `"\${x:-$(${unknown})}"`,
    `$((1+1))`,
    `{a,${unknown}}`,
    `a#${unknown}`,
  ],
  ...[
    `$(ls)`,
    `"$(ls | wc -l)"`,
    `<(ls)`,
    `<(${unknown})`,
    `> out.txt`,
    `2>/dev/null`,
    `< a.txt`,
    `>&2`,
    `<<<${unknown}`,
    `<<< "$(${unknown})"`,
  ],
  ...[
    `\\\n${unknown}`,
    `\r${unknown}`,
    `\u00a0${unknown}`,
    `--`,
    `;${unknown}`,
    `&${unknown}`,
    `|${unknown}`,
    `\n${unknown}`,
    `)`,
    `}`,
    `\\`,
    `$x`,
  ],
);

const simple = fc
  .tuple(
    fc.constantFrom(...harmless, "echo", "printf", "test", ":", "true", "[", "git status", "git log"),
    fc.array(word, { maxLength: 4 }),
  )
  .map(([program, args]) => [program, ...args, ...(program === "[" ? ["]"] : [])].join(" "));

const heredoc = fc
  .tuple(
    simple,
    fc.constantFrom("E", "'E'", "\\E", '"E"', "-E"),
    fc.constantFrom(unknown, `$(${unknown})`, `\`${unknown}\``, `\\$(${unknown})`, "x", "E ", "\tE", `E\n${unknown}`),
  )
  .map(([line, mark, body]) => `${line} <<${mark}\n${body}\nE\n`);

const line: fc.Arbitrary<string> = fc.letrec<{ line: string; leaf: string }>((tie) => ({
  leaf: fc.oneof({ weight: 5, arbitrary: simple }, { weight: 1, arbitrary: heredoc }),
  line: fc.oneof(
    { maxDepth: 3, depthIdentifier: "line" },
    tie("leaf"),
    fc
      .tuple(tie("line"), fc.constantFrom(" ; ", " && ", " || ", " | ", " & ", "\n", " |& ", ";\n", " \\\n&& "), tie("line"))
      .map((three) => three.join("")),
    tie("line").map((inner) => `(${inner}\n)`),
    tie("line").map((inner) => `{ ${inner}\n}`),
    tie("line").map((inner) => `if ${inner}\nthen ${inner}\nelse ls\nfi`),
    tie("line").map((inner) => `for i in a 'b c'; do ${inner}\ndone`),
    tie("line").map((inner) => `case a in (b|a) ${inner}\n;; *) ${unknown};; esac`),
    tie("line").map((inner) => `case x in a) ${unknown};; b) ${inner}\nesac`),
    tie("line").map((inner) => `f() {\n${inner}\n}; f`),
    tie("line").map((inner) => `bash -c ${singleQuoted(inner)}`),
    tie("line").map((inner) => `echo ${singleQuoted(inner)}`),
    tie("line").map((inner) => `echo ${singleQuoted(inner)} | cat`),
    tie("line").map((inner) => `x=$(${inner}\n)`),
    tie("line").map((inner) => `eval ${singleQuoted(inner)}`),
    tie("line").map((inner) => `# ${inner.replaceAll("\n", " ")}\nls`),
    tie("line").map((inner) => `: <<'Q'\n${inner}\nQ`),
    tie("line").map((inner) => `cat <<Q\n${inner}\nQ`),
    tie("line").map((inner) => `false && { ${inner}\n}`),
    fc.tuple(fc.constantFrom(...Object.values(wrappers)), tie("line")).map(([wrap, inner]) => wrap(inner)),
  ),
})).line;

it("bash starts nothing that was not judged, and never what would have been asked for", async () => {
  const candidates = [...new Set([...fc.sample(line, runs(1_200, 3_500)), ...fc.sample(soup, runs(200, 500))])];
  // Loops without an end are no question of what was judged.
  const allowed = candidates
    .filter((text) => !/\b(?:while|until)\b/.test(text) && tree.judge(text).verdict === "allow")
    .slice(0, runs(150, 350));
  const recorded = await shell.run(allowed);
  const wrong: string[] = [];
  let started = 0;
  allowed.forEach((text, at) => {
    const names = tree.judge(text).parts.map((part) => programOf(part.text));
    for (const [program] of recorded[at]?.started ?? []) {
      started += 1;
      if (program === undefined || program === unknown || !names.includes(program))
        wrong.push(`${program} of [${names.join(", ")}] in:\n${text}`);
    }
  });
  console.info(`${allowed.length} of ${candidates.length} candidates were allowed; bash started ${started} programs in them`);
  expect(allowed.length).toBeGreaterThan(runs(50, 100));
  expect(started).toBeGreaterThan(runs(80, 200));
  expect(wrong.slice(0, 10)).toEqual([]);
});

/** The program of a part's text: its first word that is no assignment, without its folder. */
function programOf(text: string): string {
  const first = text.split(/\s+/).find((one) => !/^\w+=/.test(one)) ?? "";
  return (
    first
      .replaceAll(/['"\\]/g, "")
      .split("/")
      .pop() ?? ""
  );
}
