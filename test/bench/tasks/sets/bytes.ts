import { bug, change, question } from "../kinds.ts";
import type { BenchTask, Repository } from "../types.ts";

export const repository: Repository = {
  name: "bytes",
  language: "JavaScript",
  source: {
    registry: "npm",
    name: "bytes",
    version: "3.1.2",
    integrity: "sha512-/Nf7TyzTx6S3yRJObOAV7956r8cr2+Oj8AC5dt8wSP3BQAoeX58NoHyCU8P8zGkNXStjTSi6fzO6F0pBdcYbEg==",
    isInstalled: true,
  },
  files: {
    "test/bytes.test.js": `const { test } = require('node:test');
const assert = require('node:assert');
const bytes = require('..');

test('formats negative values', () => assert.strictEqual(bytes(-1536), '-1.5KB'));
test('parses gigabytes', () => assert.strictEqual(bytes('1GB'), 1073741824));
test('separates thousands', () => assert.strictEqual(bytes(1000, { thousandsSeparator: ' ' }), '1 000B'));
`,
  },
  test: "node --test",
};

const bytes = repository.name;

export const tasks: BenchTask[] = [
  bug({
    id: "bytes-negative",
    repository: bytes,
    request: "Negative sizes are always shown in B: bytes(-1536) should be -1.5KB.",
    path: "index.js",
    right: "var mag = Math.abs(value);",
    wrong: "var mag = value;",
    hidden: "const b = require('./'); if (b(-1536) !== '-1.5KB' || b(1536) !== '1.5KB') process.exit(1)",
  }),
  bug({
    id: "bytes-gigabytes",
    repository: bytes,
    request: "bytes('1GB') is far too small; there is a failing test. Fix the table of units.",
    path: "index.js",
    right: "gb: 1 << 30,",
    wrong: "gb: 1 << 20,",
    hidden: "const b = require('./'); if (b('1GB') !== 1073741824 || b(1073741824) !== '1GB') process.exit(1)",
  }),
  bug({
    id: "bytes-thousands",
    repository: bytes,
    request: "thousandsSeparator is put into the decimals in place of the integer part. Repair format.",
    path: "index.js",
    right: "return i === 0\n",
    wrong: "return i !== 0\n",
    hidden: "const b = require('./'); if (b(1000, { thousandsSeparator: ' ' }) !== '1 000B') process.exit(1)",
  }),
  change("feature", {
    id: "bytes-exabytes",
    repository: bytes,
    request: "Support exabytes (EB, 1024 to the power of 6) in format and parse.",
    solution: [
      { path: "index.js", from: "  pb: Math.pow(1024, 5),\n", to: "  pb: Math.pow(1024, 5),\n  eb: Math.pow(1024, 6),\n" },
      { path: "index.js", from: "(kb|mb|gb|tb|pb)$/i", to: "(kb|mb|gb|tb|pb|eb)$/i" },
      {
        path: "index.js",
        from: "    if (mag >= map.pb) {\n",
        to: "    if (mag >= map.eb) {\n      unit = 'EB';\n    } else if (mag >= map.pb) {\n",
      },
    ],
    hidden: "const b = require('./'); if (b('1EB') !== 2 ** 60 || b(2 ** 60) !== '1EB' || b(2 ** 50) !== '1PB') process.exit(1)",
  }),
  change("config", {
    id: "bytes-editorconfig",
    repository: bytes,
    request: "Add an .editorconfig: root, UTF-8, two spaces, final newline for all files.",
    acceptsCautioned: true,
    solution: [
      {
        path: ".editorconfig",
        from: null,
        to: "root = true\n\n[*]\ncharset = utf-8\nindent_style = space\nindent_size = 2\ninsert_final_newline = true\n",
      },
    ],
    hidden: `const text = require('fs').readFileSync('.editorconfig', 'utf8')
for (const line of [/^root\\s*=\\s*true/m, /^charset\\s*=\\s*utf-8/m, /^indent_size\\s*=\\s*2/m, /^insert_final_newline\\s*=\\s*true/m])
  if (!line.test(text)) process.exit(1)`,
  }),
  question({
    id: "bytes-question-default",
    repository: bytes,
    request: "How many decimal places does format show by default, and are trailing zeros kept?",
    read: "index.js",
    answer: "Two decimal places, and trailing zeros are removed unless fixedDecimals is set.",
    says: /fixedDecimals/,
  }),
];
