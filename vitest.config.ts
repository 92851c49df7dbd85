import { globSync, readFileSync } from "node:fs";
import { defineConfig } from "vitest/config";
import { compileCache } from "./test/support/setup/project.mjs";
import { skippedWithout } from "./test/support/setup/machine.mjs";
import { whyNoOtherUser } from "./test/support/setup/other-users.mjs";

const soak = process.env["LANCELOT_SOAK"] === "1";
/** A test that waits this long has hung. No test measures itself by it: machines are slow and busy. */
const hung = { testTimeout: soak ? 3_600_000 : 600_000, hookTimeout: 600_000, expect: { poll: { timeout: 60_000 } } };
const inEditor = { ...hung, fileParallelism: false };
const workers = { maxWorkers: 2 };
/** Node itself loads these files and the sources, in 15 % less time than Vite. Files that mock modules or have JSX need Vite. */
const inNode = { experimental: { viteModuleRunner: false, nodeLoader: false } };
const setupFiles = ["test/support/properties.ts", "test/support/patience.ts"];
const diskSetup = [...setupFiles, "test/support/memory-disk.ts"];

const testFiles = (folder: string, holding: RegExp) =>
  globSync(`test/${folder}/**/*.test.{ts,tsx}`).filter((file) => holding.test(readFileSync(file, "utf8")));

/**
 * Processes that a test starts from the sources compile them once for all tests. Support programs that are killed write that cache
 * themselves (`flushCompileCache`). `npm test` gives it to the test processes too.
 */
const env = { NODE_COMPILE_CACHE: compileCache };

/**
 * Processes that start others keep their heap small: each start copies the page tables of all memory that a process has touched, which
 * took a third of the time of files that start git. The default lets young objects fill 48 MB and more before any are collected.
 */
const execArgv = ["--max-semi-space-size=4"];

/** Files that change what other files of the same process would see: mocked modules, a page of their own, the process's environment. */
const isolated = testFiles("unit", /\bvi\.(mock|stubEnv|resetModules)\(|@vitest-environment|process\.env\[[^\]]+\] =|process\.chdir/);

/**
 * Files that start many processes: each has a small process of its own, because starting another from a process with a gigabyte of
 * memory takes five times as long.
 */
const processes = testFiles("unit", /^\/\/ @module-tag processes$/m);
/** Files that run one after the other, by a tag: container engines and what measures memory, and local models. */
const serial = testFiles("integration", /^\/\/ @module-tag serial$/m);
const localModels = testFiles("integration", /^\/\/ @module-tag local-model$/m);
/** Files that look at the views in a browser without an editor. */
const views = testFiles("integration", /^\/\/ @module-tag views$/m);

export default defineConfig({
  test: {
    // A file says `// @module-tag sandbox` where all of it needs that; npm test prints the reason of what is skipped.
    tags: [
      { name: "processes", description: "starts many processes, so it runs in a small one" },
      { name: "serial", description: "runs with no other test of an engine or of much memory beside it" },
      { name: "local-model", description: "runs with no other test of a local model beside it" },
      { name: "views", description: "looks at the views in a browser without an editor" },
      { name: "sandbox", description: "needs the sandbox of the operating system", skip: skippedWithout("sandbox") !== null },
      { name: "ordinary-user", description: "runs as an ordinary user where root starts it", skip: whyNoOtherUser() !== null },
    ],
    projects: [
      {
        test: {
          name: "unit",
          ...inNode,
          include: ["test/unit/**/*.test.{ts,tsx}"],
          exclude: [...isolated, ...processes],
          setupFiles: diskSetup,
          pool: "threads",
          isolate: false,
          ...workers,
          ...hung,
        },
      },
      {
        test: { name: "unit-isolated", include: isolated, exclude: processes, setupFiles: diskSetup, pool: "threads", ...workers, ...hung },
      },
      {
        test: {
          name: "unit-processes",
          ...inNode,
          include: processes,
          setupFiles: diskSetup,
          env,
          execArgv,
          pool: "forks",
          ...workers,
          ...hung,
        },
      },
      {
        test: {
          name: "integration",
          ...inNode,
          include: ["test/integration/**/*.test.ts"],
          exclude: [...serial, ...localModels, ...views],
          setupFiles: diskSetup,
          env,
          execArgv,
          pool: "forks",
          ...workers,
          ...hung,
        },
      },
      { test: { name: "serial", ...inNode, include: serial, setupFiles, env, execArgv, pool: "forks", ...hung, fileParallelism: false } },
      { test: { name: "local-models", ...inNode, include: localModels, setupFiles, env, pool: "forks", ...hung, fileParallelism: false } },
      { test: { name: "views", ...inNode, include: views, setupFiles, env, pool: "forks", ...inEditor } },
      { test: { name: "editor", include: ["test/editor/**/*.test.ts"], pool: "forks", ...inEditor } },
      {
        test: {
          name: "browser",
          include: ["test/e2e/**/*.test.ts"],
          globalSetup: "test/support/workbench/workbench.ts",
          setupFiles: "test/support/workbench/report-failed.ts",
          pool: "forks",
          // One process, because its files use one window in turn.
          isolate: false,
          ...inEditor,
        },
      },
    ],
  },
});
