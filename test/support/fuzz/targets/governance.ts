import * as fc from "fast-check";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createNetworkPolicy } from "../../../../agent-server/governance/policy/network-policy.ts";
import { createPathPolicy } from "../../../../agent-server/governance/policy/path-policy.ts";
import { readSoul } from "../../../../agent-server/governance/soul/soul-document.ts";
import { lintSoul } from "../../../../agent-server/governance/soul/soul-lint.ts";
import { loadSoulTerms } from "../../../../agent-server/governance/soul/soul-terms.ts";
import { compileMemoryEthics } from "../../../../agent-server/governance/soul/memory-ethics.ts";
import { createRedactor } from "../../../../agent-server/security/redactor.ts";
import { commandCases } from "../../command-cases.ts";
import { createCommandWorkspace } from "../../command-workspace.ts";
import { createPathWorkspace } from "../../path-workspace.ts";
import { pathCases } from "../../path-cases.ts";
import type { Target } from "../target.ts";

const root = join(import.meta.dirname, "../../../..");
const configDir = join(root, "config");

const shellPieces = [
  ...["ls", "cat", "git", "npm", "make", "find", "xargs", "sed", "awk", "bash", "-c", "sudo", "env", "test", "eval", "export", "python3"],
  ...[
    ";",
    "&",
    "&&",
    "|",
    "||",
    "!",
    "(",
    ")",
    "{",
    "}",
    "[[",
    "]]",
    "((",
    "))",
    "$((",
    "$(",
    "`",
    "<(",
    "${",
    "\\\n",
    "'",
    '"',
    "$'",
    "\\",
  ],
  ...["#", "<", ">", "2>&1", "<<E", "<<-E", "\nE\n", "<<<", "$x", "${x:-", "${x@P}", "x=1", "if", "then", "fi", "for", "in", "do", "done"],
  ...["case", "esac", ";;", "f()", "*", "?", "{a,b}", "{1..9999999}", "~", "src/a.ts", "../", "-rf", "--", "=", "$*", "$#", "$!"],
];
const shellSoup = fc
  .array(fc.tuple(fc.constantFrom(...shellPieces), fc.constantFrom(" ", "", "\n", "\t")), { minLength: 1, maxLength: 40 })
  .map((parts) => parts.map(([piece, after]) => piece + after).join(""));

const pathPieces = [
  ...[
    "a",
    "src",
    "main.ts",
    ".env",
    ".git",
    "config",
    "node_modules",
    "..",
    ".",
    "",
    "~",
    "~root",
    "C:",
    "\\\\?\\C:",
    "file:",
    "CON",
    "NUL ",
  ],
  ...[
    "a".repeat(255),
    "a".repeat(300),
    "\0",
    "\n",
    " ",
    "é",
    "\u202e",
    "%2e%2e",
    "::$DATA",
    "PROGRA~1",
    "id_rsa",
    "*",
    "loop",
    "deep-link",
  ],
];
const paths = fc
  .tuple(
    fc.constantFrom("", "/", "//", "\\", "./", "~/", "\\\\host\\"),
    fc.array(fc.constantFrom(...pathPieces), { maxLength: 60 }),
    fc.constantFrom("/", "\\"),
  )
  .map(([start, parts, separator]) => start + parts.join(separator));

const soul = readFileSync(join(root, "soul/soul_versions/soul_v1.yaml"), "utf8");

export const governanceTargets: readonly Target[] = [
  {
    name: "commands, parser and judge",
    samples: commandCases.map(({ command }) => command),
    grammar: shellSoup,
    words: shellPieces,
    longest: 30_000,
    open: async () => {
      const workspace = await createCommandWorkspace();
      return (input) => workspace.judge(input);
    },
  },
  {
    name: "paths, resolution and rules",
    samples: pathCases.map(({ input }) => input),
    grammar: paths,
    words: pathPieces,
    longest: 20_000,
    open: async () => {
      const tree = await createPathWorkspace();
      const policy = createPathPolicy({ ...tree, platform: "linux" });
      return (input) => {
        const path = tree.expand(input);
        return [policy.resolve(path), policy.judgeName(path), policy.obeyed(path)];
      };
    },
  },
  {
    name: "addresses of the network",
    samples: [
      ...[
        "https://api.github.com/repos",
        "http://[::1]:80/",
        "https://xn--nxasmq6b.example/",
        "//registry.npmjs.org",
        "https://user:pw@pypi.org/",
      ],
      ...["git@github.com:a/b.git", "ssh://git@github.com/a", "http://2130706433/", "http://0x7f.1/", "http://169.254.169.254/latest"],
    ],
    words: ["://", "@", ":", "[", "]", ".", "%", "xn--", "#", "?", "127.0.0.1", "::ffff:"],
    open: (folder) => {
      const policy = createNetworkPolicy({ configDir, dataDir: folder, enabled: () => true, redactor: createRedactor() });
      return (input) => [policy.judge(input, "read"), policy.judge(input, "write", ["*.example"])];
    },
  },
  {
    name: "soul, text",
    samples: [soul],
    words: ["mission: ", "allegiance: ", "version: ", "- ", "&a ", "*a", "!!binary ", "risk_rules:", "memory_ethics:"],
    longest: 210_000,
    open: () => {
      const terms = loadSoulTerms(configDir);
      return (input) => [readSoul(input), lintSoul(input, terms)];
    },
  },
  {
    name: "soul, ethics of memory",
    samples: soul.split("\n").filter((line) => line.trim().startsWith("- ")),
    grammar: fc.string({ maxLength: 300, unit: "grapheme" }),
    longest: 10_000,
    open: () => {
      const redactor = createRedactor();
      const check = compileMemoryEthics(["Never store passwords or card numbers.", "Do not keep health data about people."], redactor);
      return (input) => [check(input), compileMemoryEthics([input], redactor)];
    },
  },
];
