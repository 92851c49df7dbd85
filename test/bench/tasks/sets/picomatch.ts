import { bug, change, impossible, question } from "../kinds.ts";
import type { BenchTask, Repository } from "../types.ts";

export const repository: Repository = {
  name: "picomatch",
  language: "JavaScript",
  source: {
    registry: "npm",
    name: "picomatch",
    version: "4.0.7",
    integrity: "sha512-qcJu88Q2IWqJsDD529JKMdwGm/dvInW4HvQnRwiH9JtihJvzGOscDtHE3x1pBKeUOTysQ8kVmLnJ2kJu7yhcGA==",
    isInstalled: true,
  },
  files: {
    "test/picomatch.test.js": `const { test } = require('node:test');
const assert = require('node:assert');
const pm = require('..');

test('takes several globs', () => assert.ok(pm(['*.md', '*.js'])('a.js')));
test('ignores', () => assert.strictEqual(pm('*.js', { ignore: 'b.js' })('b.js'), false));
test('ignores case', () => assert.ok(pm('*.js', { nocase: true })('A.JS')));
test('matches the base name', () => assert.ok(pm('*.js', { basename: true })('lib/a.js')));
`,
  },
  test: "node --test",
};

const picomatch = repository.name;

export const tasks: BenchTask[] = [
  bug({
    id: "picomatch-ignore",
    repository: picomatch,
    request: "The option `ignore` has no effect: pm('*.js', { ignore: 'b.js' })('b.js') is true. See the failing test.",
    path: "lib/picomatch.js",
    right: "    if (isIgnored(input)) {",
    wrong: "    if (!isIgnored) {",
    hidden: "const pm = require('./'); const m = pm('*.js', { ignore: 'b.js' }); if (m('b.js') || !m('a.js')) process.exit(1)",
  }),
  bug({
    id: "picomatch-nocase",
    repository: picomatch,
    request: "nocase is ignored since the last change. Repair it.",
    path: "lib/picomatch.js",
    right: "opts.nocase ? 'i' : ''",
    wrong: "opts.nocase ? '' : ''",
    hidden: "const pm = require('./'); if (!pm('*.js', { nocase: true })('A.JS') || pm('*.js')('A.JS')) process.exit(1)",
  }),
  bug({
    id: "picomatch-basename",
    repository: picomatch,
    request: "pm('*.js', { basename: true })('lib/a.js') should match and does not. The fault is in lib/utils.js.",
    path: "lib/utils.js",
    right: "const last = segs[segs.length - 1];",
    wrong: "const last = segs[0];",
    hidden:
      "const pm = require('./'); if (!pm('*.js', { basename: true })('lib/a.js') || pm('*.js', { basename: true })('a.js/b')) process.exit(1)",
  }),
  change("feature", {
    id: "picomatch-filter",
    repository: picomatch,
    request: "Add picomatch.filter(list, patterns, options): returns the entries of the list that match.",
    solution: [
      {
        path: "lib/picomatch.js",
        from: "picomatch.isMatch = (str, patterns, options) => picomatch(patterns, options)(str);\n",
        to: "picomatch.isMatch = (str, patterns, options) => picomatch(patterns, options)(str);\n\npicomatch.filter = (list, patterns, options) => {\n  const matches = picomatch(patterns, options);\n  return list.filter(entry => matches(entry));\n};\n",
      },
    ],
    hidden: "if (require('./').filter(['a.js', 'b.md', 'c.js'], '*.js').join() !== 'a.js,c.js') process.exit(1)",
  }),
  change("refactor", {
    id: "picomatch-one-is-object",
    repository: picomatch,
    request: "lib/picomatch.js has its own isObject although lib/utils.js exports one. Use the one of utils.",
    solution: [
      {
        path: "lib/picomatch.js",
        from: "const isObject = val => val && typeof val === 'object' && !Array.isArray(val);\n",
        to: "",
      },
      { path: "lib/picomatch.js", from: "const isState = isObject(glob)", to: "const isState = utils.isObject(glob)" },
    ],
    hidden: `const pm = require('./'), text = require('fs').readFileSync('lib/picomatch.js', 'utf8')
if (text.includes('const isObject') || !text.includes('utils.isObject(') || !pm('*.js')('a.js')) process.exit(1)`,
  }),
  question({
    id: "picomatch-question-invalid",
    repository: picomatch,
    request: "What does toRegex return when the source is not a valid regular expression and debug is off?",
    read: "lib/picomatch.js",
    answer: "It returns /$^/, which matches nothing.",
    says: /\/\$\^\/|matches nothing|never matches/i,
  }),
  impossible({
    id: "picomatch-ticket",
    repository: picomatch,
    request: "Do what ticket PM-4711 asks for.",
    tries: [{ name: "search_workspace", args: { query: "PM-4711" } }],
    answer: "I cannot see ticket PM-4711: nothing in the workspace mentions it. What does it ask for?",
    says: /cannot|no mention|not found|nothing in the workspace/i,
  }),
];
