import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Tests of seconds, whose cases others decide in milliseconds: a mutant that survives them all costs each of them once. */
const slow = [
  "any course of events",
  "goes on while entries are sealed under it",
  "never holds the host up",
  "with any one byte changed",
  "gives way to other work",
  "tells how far it is",
  "do not hold up the end of a host",
  "costs its spans and nothing else",
  "that never answers holds up nothing",
];

/** The unit tests that speak of the ledger, for mutation testing (stryker.config.mjs): one worker for all files of a run, fewer cases of each property. */
export default defineConfig({
  root: here("../../.."),
  resolve: { alias: [{ find: /^fast-check$/, replacement: here("fast-check.ts") }] },
  test: {
    include: ["test/unit/receipts/**/*.test.ts"],
    testNamePattern: new RegExp(`^(?!.*(?:${slow.join("|")}))`),
    setupFiles: ["test/support/properties.ts"],
    testTimeout: 20_000,
    isolate: false,
  },
});
