import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Published files of pinned packages: what edits are made from. Paths below `node_modules`. */
const chosen: Readonly<Record<string, readonly string[]>> = {
  TypeScript: [
    "@anthropic-ai/sdk/client.d.ts",
    "@types/node/fs.d.ts",
    "hono/dist/types/context.d.ts",
    "openai/core/streaming.d.ts",
    "zod/src/v4/core/checks.ts",
    "zod/src/v4/core/registries.ts",
    "zod/src/v4/core/regexes.ts",
    "zod/src/v4/core/util.ts",
    "zod/src/v4/classic/parse.ts",
    "zod/src/v4/locales/ru.ts",
    "zod/src/v4/locales/ja.ts",
  ],
  JavaScript: [
    "@anthropic-ai/sdk/core/credentials.js",
    "dompurify/dist/purify.cjs.js",
    "marked/bin/main.js",
    "pino/lib/tools.js",
    "pino/pino.js",
    "preact/src/render.js",
    "qs/lib/parse.js",
    "qs/lib/stringify.js",
    "undici/lib/core/request.js",
    "undici/lib/dispatcher/pool.js",
    "ws/lib/receiver.js",
    "ws/lib/sender.js",
    "yaml/dist/compose/composer.js",
    "yaml/dist/schema/Schema.js",
    "rxjs/dist/cjs/internal/Observable.js",
    "pump/index.js",
    "semver/classes/range.js",
  ],
  modules: [
    "@anthropic-ai/sdk/_vendor/partial-json-parser/parser.mjs",
    "linkedom/esm/shared/node.js",
    "node-diff3/dist/diff3.mjs",
    "zod/v4/core/util.js",
  ],
  tabs: [
    "@copilotkit/aimock/dist/a2a-handler.js",
    "@copilotkit/aimock/dist/agui-mock.cjs",
    "preact/src/diff/index.js",
    "better-sqlite3/lib/methods/aggregate.js",
    "better-sqlite3/lib/database.js",
  ],
  "C and C++": [
    "better-sqlite3/deps/test_extension.c",
    "better-sqlite3/src/addon.cpp",
    "better-sqlite3/src/objects/backup.cpp",
    "better-sqlite3/src/objects/statement.cpp",
    "better-sqlite3/src/util/binder.cpp",
    "better-sqlite3/src/objects/database.hpp",
  ],
  "CSS and HTML": [
    "@vscode/codicons/dist/codicon.css",
    "@vscode/codicons/dist/codicon.html",
    "mocha/mocha.css",
    "jsdom/lib/jsdom/browser/default-stylesheet.css",
  ],
  JSON: [
    "@anthropic-ai/sdk/package.json",
    "hono/package.json",
    "undici/package.json",
    "zod/package.json",
    "@vscode/codicons/_iconCloud/manifest.transforms.json",
  ],
  Markdown: [
    "@anthropic-ai/sdk/CHANGELOG.md",

    "qs/README.md",
    "undici/docs/docs/api/Dispatcher.md",
    "whatwg-url/README.md",
    "undici/README.md",
  ],
  "YAML and gyp": [
    "pino-abstract-transport/.github/workflows/ci.yml",
    "better-sqlite3/deps/sqlite3.gyp",
    "better-sqlite3/deps/download.sh",
    "extend/.travis.yml",
  ],
  CRLF: [
    "@azure/msal-browser/types/app/PublicClientApplication.d.ts",
    "@azure/msal-browser/types/config/Configuration.d.ts",
    "@azure/msal-browser/types/cache/BrowserCacheManager.d.ts",
    "@azure/msal-browser/types/app/IPublicClientApplication.d.ts",
  ],
  "mixed line ends": [
    "@azure/msal-browser/dist/app/PublicClientApplication.mjs",
    "@azure/msal-browser/dist/cache/LocalStorage.mjs",
    "@azure/msal-browser/dist/cache/CookieStorage.mjs",
    "@azure/msal-browser/dist/config/Configuration.mjs",
  ],
};

const minified: readonly string[] = [
  "@azure/msal-browser/lib/msal-browser.min.js",
  "dompurify/dist/purify.min.js",

  "marked/lib/marked.umd.js",
  "preact/dist/preact.mjs",
  "hono/dist/jsx/utils.js",
];

/** The same file in two versions, older and newer, as packages that need different ones bring them along. */
const versions: readonly (readonly [string, string, readonly string[]])[] = [
  [
    "yaml-language-server/node_modules/yaml",
    "yaml",
    [
      "dist/compose/composer.js",
      "dist/parse/cst-visit.js",
      "dist/parse/lexer.js",
      "dist/parse/parser.js",
      "dist/compose/resolve-props.js",
      "dist/nodes/Collection.js",
      "dist/stringify/stringifyString.js",
      "browser/dist/parse/lexer.js",
    ],
  ],
  ["@stryker-mutator/core/node_modules/qs", "qs", ["lib/parse.js", "lib/stringify.js", "lib/utils.js", "README.md", "CHANGELOG.md"]],
  ["@stryker-mutator/core/node_modules/typed-rest-client", "typed-rest-client", ["HttpClient.js", "RestClient.js", "Util.js"]],
  ["@stryker-mutator/api/node_modules/tslib", "tslib", ["tslib.js", "tslib.es6.js"]],
  ["@babel/traverse", "@babel/helper-module-transforms/node_modules/@babel/traverse", ["lib/index.js"]],
  ["@types/ssh2/node_modules/@types/node", "@types/node", ["fs.d.ts", "path.d.ts", "url.d.ts", "events.d.ts", "zlib.d.ts"]],
];

export interface Source {
  readonly path: string;
  readonly kind: string;
  readonly text: string;
}

const root = join(import.meta.dirname, "../../../node_modules");

function read(path: string, kind: string): Source[] {
  const file = join(root, path);
  return existsSync(file) ? [{ path, kind, text: readFileSync(file, "utf8").replace(/^\ufeff/, "") }] : [];
}

/** The files that are there; a package may have renamed one with a new version, so the count is for the test to look at. */
export function sources(): Source[] {
  const found = Object.entries(chosen).flatMap(([kind, paths]) => paths.flatMap((path) => read(path, kind)));
  return [
    ...found,
    ...read("ws/lib/receiver.js", "blanks at line ends").map(withBlanks),
    ...read("qs/README.md", "typographic").map(withQuotes),
  ];
}

/** Hardly a published file has blanks at line ends any more; many that are worked on have. */
function withBlanks(source: Source): Source {
  let row = 0;
  return { ...source, text: source.text.replace(/\n/g, () => (row++ % 3 === 0 ? "  \n" : "\n")) };
}

function withQuotes(source: Source): Source {
  return { ...source, text: source.text.replace(/(?<=\p{L})'/gu, "\u2019").replace(/ - /g, " \u2013 ") };
}

export function minifiedSources(): Source[] {
  return minified.flatMap((path) => read(path, "minified"));
}

export function versionPairs(): { path: string; older: string; newer: string }[] {
  return versions.flatMap(([older, newer, files]) =>
    files.flatMap((file) => {
      const [a] = read(`${older}/${file}`, "");
      const [b] = read(`${newer}/${file}`, "");
      return a === undefined || b === undefined || a.text === b.text ? [] : [{ path: `${newer}/${file}`, older: a.text, newer: b.text }];
    }),
  );
}

/** Names of what is missing, for a message. */
export function missingSources(): string[] {
  return [...Object.values(chosen).flat(), ...minified].filter((path) => !existsSync(join(root, path)));
}

/** A choice that is the same on every run: small numbers from words. */
export function chooser(seed: string): { below: (limit: number) => number; of: <T>(list: readonly T[]) => T | undefined } {
  let state = 2_166_136_261;
  for (const one of seed) state = Math.imul(state ^ (one.codePointAt(0) ?? 0), 16_777_619) >>> 0;
  const below = (limit: number): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % Math.max(1, limit);
  };
  return { below, of: (list) => list[below(list.length)] };
}
