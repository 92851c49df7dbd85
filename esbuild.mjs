// Builds dist/: the extension (CJS), the agent host (ESM, split so that SDKs load on first use), the webviews (IIFE),
// and copies what is native. `--production` minifies, `--watch` rebuilds, `--target=linux-x64` copies another platform's binaries.
import { createHash } from "node:crypto";
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, constants } from "node:zlib";
import * as esbuild from "esbuild";
import { parse } from "yaml";
import { toAscii } from "./esbuild-ascii.mjs";

const root = dirname(fileURLToPath(import.meta.url));
const require = createRequire(import.meta.url);
const flags = new Set(process.argv.slice(2));
const production = flags.has("--production");
const watch = flags.has("--watch");
const target =
  process.argv
    .slice(2)
    .find((flag) => flag.startsWith("--target="))
    ?.slice("--target=".length) ?? `${process.platform}-${process.arch}`;

const shared = {
  absWorkingDir: root,
  bundle: true,
  minify: production,
  sourcemap: production ? false : "linked",
  metafile: true,
  logLevel: "warning",
  legalComments: "none",
};

/**
 * What dockerode loads and the sandbox does not use: its own ssh (the sandbox forwards a socket by the system's) and BuildKit sessions.
 * And prettier, which the YAML language service formats with: the editor does that.
 */
const unused = {
  name: "unused",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(ssh2|@grpc\/grpc-js|@grpc\/proto-loader|protobufjs|prettier\/(standalone|plugins\/.+))$/ }, ({ path }) => ({
      path,
      namespace: "unused",
    }));
    onLoad({ filter: /.*/, namespace: "unused" }, () => ({ contents: "module.exports = {};" }));
  },
};

/** @type {Record<string, import("esbuild").BuildOptions>} */
const builds = {
  extension: {
    ...shared,
    entryPoints: { extension: "extension/activate.ts", deferred: "extension/deferred.ts" },
    outdir: "dist/extension",
    outExtension: { ".js": ".cjs" },
    platform: "node",
    format: "cjs",
    target: "node22",
    external: ["vscode"],
    // CJS is not split by esbuild: what activation does not need is an entry of its own, loaded when it is asked for.
    plugins: [
      {
        name: "deferred",
        setup: ({ onResolve }) =>
          onResolve({ filter: /\/deferred\.ts$/ }, ({ kind }) =>
            kind === "dynamic-import" ? { path: "./deferred.cjs", external: true } : undefined,
          ),
      },
    ],
  },
  host: {
    ...shared,
    entryPoints: {
      main: "agent-server/main.ts",
      cli: "agent-server/cli.ts",
      "local-model": "agent-server/models/local/model-worker.ts",
      "local-embedding": "agent-server/models/local/embedding-worker.ts",
      "page-worker": "agent-server/tools/providers/page-worker.ts",
    },
    outdir: "dist/host",
    platform: "node",
    format: "esm",
    target: "node22",
    splitting: true,
    chunkNames: "chunks/[name]-[hash]",
    external: ["*.node", "node-llama-cpp"],
    plugins: [unused],
    // Its `main` is UMD, whose inner requires a bundle cannot follow.
    alias: { "jsonc-parser": "jsonc-parser/lib/esm/main.js" },
    // CJS packages in an ESM bundle need a `require`.
    banner: { js: 'import { createRequire as lancelotRequire } from "node:module"; const require = lancelotRequire(import.meta.url);' },
  },
  webviews: {
    ...shared,
    entryPoints: {
      chat: "webviews/chat/main.tsx",
      "war-room": "webviews/war-room/main.tsx",
      // Grammars, fetched by a view when it first shows code.
      highlight: "webviews/shared/highlight/main.ts",
    },
    outdir: "dist/webviews",
    platform: "browser",
    format: "iife",
    target: "es2023",
    minify: true,
    jsx: "automatic",
    jsxImportSource: "preact",
    loader: { ".ttf": "file" },
    define: { "process.env.NODE_ENV": '"production"' },
  },
};

/** Copies what cannot be bundled: one SQLite binary, ripgrep, the icon font. */
function copyNative() {
  const native = join(root, "dist/native");
  mkdirSync(native, { recursive: true });
  const [platform, arch] = target.split("-");
  copyFileSync(
    join(dirname(require.resolve("better-sqlite3/package.json")), "prebuilds", `${target}.node`),
    join(native, "better_sqlite3.node"),
  );
  const binary = platform === "win32" ? "rg.exe" : "rg";
  const ripgrep = join(root, "node_modules/@vscode", `ripgrep-${platform?.replace("linuxmusl", "linux")}-${arch}`, "bin", binary);
  if (!existsSync(ripgrep)) throw new Error(`ripgrep for ${target} is not installed: run npm install on that platform.`);
  copyFileSync(ripgrep, join(native, binary));
  chmodSync(join(native, binary), 0o755);
  const codicons = join(dirname(require.resolve("@vscode/codicons/package.json")), "dist");
  mkdirSync(join(root, "dist/webviews"), { recursive: true });
  for (const file of ["codicon.css", "codicon.ttf"]) cpSync(join(codicons, file), join(root, "dist/webviews", file));
}

/** Grammars the host outlines with (tools/outline/languages.ts), compressed: 21 MB become 1.5. They are read on first use. */
async function copyGrammars() {
  const from = dirname(require.resolve("@vscode/tree-sitter-wasm"));
  const to = join(root, "dist/grammars");
  mkdirSync(to, { recursive: true });
  const languages = "bash c-sharp cpp css go java javascript php powershell python ruby rust tsx typescript".split(" ");
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_LGWIN]: 22 };
  await Promise.all(
    ["tree-sitter", ...languages.map((language) => `tree-sitter-${language}`)].map(async (name) =>
      writeFileSync(join(to, `${name}.wasm.br`), await promisify(brotliCompress)(readFileSync(join(from, `${name}.wasm`)), { params })),
    ),
  );
  // CJS, whatever the package around it says.
  const script = await esbuild.transform(readFileSync(join(from, "tree-sitter.js"), "utf8"), { minify: true, keepNames: true });
  writeFileSync(join(to, "tree-sitter.cjs"), script.code);
}

/** The tables of `config/` and the shipped soul as JSON, named by the SHA-256 of their text, so that a start parses no YAML (agent-server/shipped-yaml.ts). */
function parseTables() {
  const to = join(root, "dist/host/parsed");
  mkdirSync(to, { recursive: true });
  for (const folder of ["config", "soul"])
    for (const name of readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".yaml"))) {
      const text = readFileSync(join(root, folder, name), "utf8");
      writeFileSync(join(to, `${createHash("sha256").update(text).digest("hex")}.json`), JSON.stringify(parse(text)));
    }
}

/** After a production build: development builds keep their source maps, whose positions this would change. */
function writeAscii(folder) {
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".js"))) {
    const file = join(folder, name);
    const code = readFileSync(file, "utf8");
    const ascii = toAscii(code);
    if (ascii !== code) writeFileSync(file, ascii);
  }
}

/** Sizes of what was built, and of the packages in it, from the metafiles. */
function report(results) {
  const lines = [];
  const record = {};
  for (const [name, { metafile }] of Object.entries(results)) {
    const outputs = Object.entries(metafile.outputs).filter(([file]) => !file.endsWith(".map"));
    const bytes = outputs.reduce((sum, [, output]) => sum + output.bytes, 0);
    const packages = new Map();
    for (const [, output] of outputs)
      for (const [input, { bytesInOutput }] of Object.entries(output.inputs)) {
        const found = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input);
        const key = found?.[1] ?? "lancelot";
        packages.set(key, (packages.get(key) ?? 0) + bytesInOutput);
      }
    const largest = [...packages].sort((a, b) => b[1] - a[1]).slice(0, 6);
    record[name] = {
      bytes,
      files: Object.fromEntries(outputs.map(([file, output]) => [file, output.bytes])),
      packages: Object.fromEntries(packages),
    };
    lines.push(
      `${name.padEnd(10)} ${(bytes / 1024).toFixed(0).padStart(6)} KB  ${largest.map(([key, size]) => `${key} ${(size / 1024).toFixed(0)}`).join(", ")}`,
    );
  }
  writeFileSync(join(root, "dist/size-report.json"), `${JSON.stringify(record, null, 2)}\n`);
  console.log(lines.join("\n"));
}

if (watch) {
  // What is there now is a development build: the next `npm run build` or `npm test` must not take it for the shipped one.
  rmSync(join(root, "dist/size-report.json"), { force: true });
  copyNative();
  parseTables();
  await copyGrammars();
  // The editor waits for one beginning and one end of all builds (.vscode/tasks.json), not for the first that is done.
  const building = new Set(Object.keys(builds));
  let errors = 0;
  console.log("[watch] build started");
  const announce = (name) => ({
    name: "announce",
    setup({ onStart, onEnd }) {
      onStart(() => {
        if (building.size === 0) {
          errors = 0;
          console.log("[watch] build started");
        }
        building.add(name);
      });
      onEnd((result) => {
        errors += result.errors.length;
        if (building.delete(name) && building.size === 0) console.log(`[watch] build finished, ${errors} errors`);
      });
    },
  });
  const contexts = await Promise.all(
    Object.entries(builds).map(([name, options]) => esbuild.context({ ...options, plugins: [...(options.plugins ?? []), announce(name)] })),
  );
  await Promise.all(contexts.map((context) => context.watch()));
} else {
  // `node esbuild.mjs host` builds one part and leaves the others.
  const only = [...flags].filter((flag) => flag in builds);
  const names = only.length > 0 ? only : Object.keys(builds);
  for (const folder of only.length > 0 ? only.map((name) => builds[name].outdir) : ["dist"])
    rmSync(join(root, folder), { recursive: true, force: true });
  copyNative();
  parseTables();
  await copyGrammars();
  const results = await Promise.all(names.map(async (name) => [name, await esbuild.build(builds[name])]));
  if (production && names.includes("host")) writeAscii(join(root, builds.host.outdir));
  report(Object.fromEntries(results));
}
