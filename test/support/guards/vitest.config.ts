import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { guards, withoutGuard } from "./guards.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const removed = guards.find(({ row }) => row === process.env["LANCELOT_WITHOUT_GUARD"]);

/** The tests of docs/security.md, with the guard of one row removed from its source as Vite loads it; the file itself stays as it is. */
export default defineConfig({
  root,
  plugins: [
    {
      name: "without-guard",
      enforce: "pre",
      load(id) {
        if (removed === undefined || id.split("?")[0] !== join(root, removed.file)) return null;
        return withoutGuard(removed, readFileSync(join(root, removed.file), "utf8"));
      },
    },
  ],
  test: {
    include: [...new Set(guards.map(({ test }) => test))],
    tags: [{ name: "processes" }],
    setupFiles: ["properties", "patience", "memory-disk"].map((name) => `test/support/${name}.ts`),
    // A module that is kept from one run to the next would have its guard again.
    fsModuleCache: false,
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
