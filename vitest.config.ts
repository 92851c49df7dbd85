import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: ["test/unit/**/*.test.{ts,tsx}"],
          setupFiles: ["test/support/properties.ts"],
          pool: "threads",
          testTimeout: 20_000,
        },
      },
      {
        test: {
          name: "integration",
          include: ["test/integration/**/*.test.ts"],
          setupFiles: ["test/support/properties.ts"],
          pool: "forks",
          testTimeout: 120_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
      ...["editor", "browser"].map((name) => ({
        test: {
          name,
          include: [name === "editor" ? "test/editor/**/*.test.ts" : "test/e2e/**/*.test.ts"],
          pool: "forks" as const,
          testTimeout: 180_000,
          hookTimeout: 180_000,
          fileParallelism: false,
        },
      })),
    ],
  },
});
