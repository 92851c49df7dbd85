// `npm run mutation`: changes the code of the gate and the ledger in small ways and counts how many changes the unit tests notice.
// `npm run mutation -- --mutate agent-server/storage/lease.ts --testFiles test/unit/storage/lease.test.ts` does one file with some
// tests, which is much faster; with MUTATION_MODULE=governance before it, properties try fewer cases for each mutant. The report is
// test-output/mutation/index.html.
export default {
  testRunner: "vitest",
  plugins: ["@stryker-mutator/vitest-runner"],
  vitest: { configFile: `test/support/mutation/${process.env.MUTATION_MODULE ?? "vitest"}.config.ts`, related: false },
  // Benches, and what holds types and texts alone, say nothing here.
  mutate: [
    "agent-server/governance/**/*.ts",
    "agent-server/receipts/**/*.ts",
    "!agent-server/{governance,receipts}/**/*{migrations,schema}.ts",
  ],
  ignorePatterns: [
    ".cache",
    "dist",
    "test-output",
    "media",
    "docs",
    "webviews",
    "extension",
    "test/{bench,e2e,editor,integration}",
    "*.vsix",
  ],
  // Not there: Stryker would rewrite it with an interface that TypeScript 7 does not have.
  tsconfigFile: "none",
  coverageAnalysis: "perTest",
  // A constant of a module is read once, so each change of one would need every test.
  ignoreStatic: true,
  concurrency: 2,
  timeoutMS: 20_000,
  incremental: true,
  incrementalFile: ".cache/mutation.json",
  tempDirName: ".cache/stryker",
  thresholds: { high: 95, low: 85, break: 85 },
  reporters: ["clear-text", "html", "json"],
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
  htmlReporter: { fileName: "test-output/mutation/index.html" },
  jsonReporter: { fileName: "test-output/mutation/mutation.json" },
};
