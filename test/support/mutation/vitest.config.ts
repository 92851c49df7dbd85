import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** Tests of seconds, whose cases others decide in milliseconds: a mutant that survives them all costs each of them once. */
const slow = [
  "any course of events",
  "goes on while entries are sealed under it",
  "never holds the host up",
  "with any one byte changed",
  "gives way to other work",
  "tells how far it is",
];

/** The unit tests that speak of the gate and the ledger, for mutation testing (stryker.config.mjs). */
export default defineConfig({
  root: fileURLToPath(new URL("../../..", import.meta.url)),
  test: {
    include: ["test/unit/{governance,receipts}/**/*.test.ts"],
    testNamePattern: new RegExp(`^(?!.*(?:${slow.join("|")}))`),
    setupFiles: ["test/support/properties.ts"],
    testTimeout: 20_000,
  },
});
