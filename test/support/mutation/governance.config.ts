import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** The unit tests that speak of the gate, for mutation testing (stryker.config.mjs): one worker for all files of a run, fewer cases of each property. */
export default defineConfig({
  root: here("../../.."),
  resolve: { alias: [{ find: /^fast-check$/, replacement: here("fast-check.ts") }] },
  test: {
    include: ["test/unit/governance/**/*.test.ts"],
    setupFiles: ["test/support/properties.ts"],
    testTimeout: 20_000,
    isolate: false,
  },
});
