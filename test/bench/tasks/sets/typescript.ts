// Two small TypeScript packages, which Node runs from their sources.
import { bug, change, impossible, question } from "../kinds.ts";
import type { BenchTask, Repository } from "../types.ts";

const dedentTest = `import { test } from 'node:test';
import assert from 'node:assert';
import { dedent } from '../src/index.ts';

test('removes the common indentation', () => assert.strictEqual(dedent('\\n  a\\n    b\\n'), 'a\\n  b'));
test('indents values of several lines', () => assert.strictEqual(dedent\`
  list:
    \${'a\\nb'}\`, 'list:\\n  a\\n  b'));
`;

const invariantTest = `import { test } from 'node:test';
import assert from 'node:assert';
import invariant from '../src/tiny-invariant.ts';

test('passes', () => invariant(true));
test('throws with the message', () => assert.throws(() => invariant(false, 'no'), /^Error: Invariant failed: no$/));
test('calls for the message', () => assert.throws(() => invariant(0, () => 'late'), /Invariant failed: late$/));
`;

export const repositories: Repository[] = [
  {
    name: "ts-dedent",
    language: "TypeScript",
    source: {
      registry: "npm",
      name: "ts-dedent",
      version: "2.2.0",
      integrity: "sha512-q5W7tVM71e2xjHZTlgfTDoPF/SmqKG5hddq9SzR49CH2hayqRKJtQ4mtRlSxKaJlR/+9rEM+mnBHf7I2/BQcpQ==",
    },
    keep: ["LICENSE", "README.md", "HISTORY.md", "src/index.ts"],
    files: { "package.json": '{ "name": "ts-dedent", "type": "module", "private": true }\n', "test/dedent.test.ts": dedentTest },
    // A type assertion that is not erased in place.
    patches: [{ path: "src/index.ts", from: "<number[]>[]", to: "[] as number[]" }],
    test: "node --test test/*.test.ts",
  },
  {
    name: "tiny-invariant",
    language: "TypeScript",
    source: {
      registry: "npm",
      name: "tiny-invariant",
      version: "1.3.3",
      integrity: "sha512-+FbBPE1o9QAYvviau/qC5SE3caw21q3xkvWKBtja5vgqOWIHHJ3ioaq1VPfn/Szqctz2bU/oYeKd9/z5BL+PVg==",
    },
    keep: ["LICENSE", "README.md", "src/tiny-invariant.ts"],
    files: { "package.json": '{ "name": "tiny-invariant", "type": "module", "private": true }\n', "test/invariant.test.ts": invariantTest },
    test: "node --test test/*.test.ts",
  },
];

export const tasks: BenchTask[] = [
  bug({
    id: "dedent-common",
    repository: "ts-dedent",
    request: "dedent removes too much: it takes the largest indentation in place of the smallest. Fix it.",
    path: "src/index.ts",
    right: "Math.min(...indentLengths)",
    wrong: "Math.max(...indentLengths)",
    hidden:
      "const { dedent } = await import(process.cwd() + '/src/index.ts'); if (dedent('\\n  a\\n    b\\n') !== 'a\\n  b') process.exit(1)",
  }),
  bug({
    id: "dedent-values",
    repository: "ts-dedent",
    request: "Values of several lines lose their indentation from the second line on. The test shows it.",
    path: "src/index.ts",
    right: "return i === 0 ? str : `${endentation}${str}`",
    wrong: "return i === 0 ? str : `${str}`",
    hidden:
      "const { dedent } = await import(process.cwd() + '/src/index.ts'); const v = 'a\\nb'; if (dedent`\n  l:\n    ${v}` !== 'l:\\n  a\\n  b') process.exit(1)",
  }),
  change("feature", {
    id: "dedent-lines",
    repository: "ts-dedent",
    request: "Export a function dedentLines(text: string): string[] from src/index.ts that returns the lines of the dedented text.",
    solution: [
      {
        path: "src/index.ts",
        from: "export default dedent;\n",
        to: "/** The lines of a dedented text. */\nexport function dedentLines(text: string): string[] {\n  return dedent(text).split('\\n');\n}\n\nexport default dedent;\n",
      },
    ],
    hidden:
      "const { dedentLines } = await import(process.cwd() + '/src/index.ts'); if (dedentLines('\\n  a\\n    b\\n').join('|') !== 'a|  b') process.exit(1)",
  }),
  impossible({
    id: "dedent-missing-test",
    repository: "ts-dedent",
    request: "The test 'handles tabs mixed with emoji' fails in CI. Fix what it tests.",
    tries: [{ name: "search_workspace", args: { query: "handles tabs mixed with emoji" } }],
    answer: "There is no such test in this repository, so I changed nothing. Where is it?",
    says: /no such test|not exist|not found|cannot find/i,
  }),
  bug({
    id: "invariant-message",
    repository: "tiny-invariant",
    request: "invariant(false, 'no') does not show the message. Please repair it.",
    path: "src/tiny-invariant.ts",
    right: "provided ? `${prefix}: ${provided}` : prefix",
    wrong: "provided ? prefix : `${prefix}: ${provided}`",
    hidden: `const { default: invariant } = await import(process.cwd() + '/src/tiny-invariant.ts')
const said = (...args) => { try { invariant(...args); return '' } catch (error) { return error.message } }
if (said(false, 'no') !== 'Invariant failed: no' || said(false) !== 'Invariant failed') process.exit(1)`,
  }),
  change("rename", {
    id: "invariant-rename-prefix",
    repository: "tiny-invariant",
    request: "Rename the constant `prefix` to `messagePrefix` in src/tiny-invariant.ts.",
    solution: [
      { path: "src/tiny-invariant.ts", from: "const prefix: string", to: "const messagePrefix: string" },
      { path: "src/tiny-invariant.ts", from: "throw new Error(prefix)", to: "throw new Error(messagePrefix)" },
      {
        path: "src/tiny-invariant.ts",
        from: "const value: string = provided ? `${prefix}: ${provided}` : prefix;",
        to: "const value: string = provided ? `${messagePrefix}: ${provided}` : messagePrefix;",
      },
    ],
    hidden: `const { default: invariant } = await import(process.cwd() + '/src/tiny-invariant.ts')
const { readFileSync } = await import('node:fs')
if (/const prefix\\b/.test(readFileSync('src/tiny-invariant.ts', 'utf8'))) process.exit(1)
try { invariant(false, 'no'); process.exit(1) } catch (error) { if (error.message !== 'Invariant failed: no') process.exit(1) }`,
  }),
  question({
    id: "invariant-question-production",
    repository: "tiny-invariant",
    request: "Are messages shown in production builds?",
    read: "src/tiny-invariant.ts",
    answer: "No: in production only 'Invariant failed' is thrown, without the message.",
    says: /\bno\b|without the message|stripped/i,
  }),
];
