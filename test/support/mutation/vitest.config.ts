import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** Rooms whose tests take part: with MUTATION_ROOM=receipts those of one, which is faster when one file of it is changed. */
const rooms = process.env["MUTATION_ROOM"] ?? "{governance,receipts}";

/** The unit tests that speak of the gate and the ledger, for mutation testing (stryker.config.mjs). */
export default defineConfig({
  root: fileURLToPath(new URL("../../..", import.meta.url)),
  test: {
    include: [`test/unit/${rooms}/**/*.test.ts`],
    setupFiles: ["test/support/properties.ts"],
    testTimeout: 20_000,
  },
});
