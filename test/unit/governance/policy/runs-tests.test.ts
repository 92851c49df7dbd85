import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createCommandPolicy } from "../../../../agent-server/governance/policy/commands/commands.ts";
import { runsTests } from "../../../../agent-server/governance/policy/commands/runs-tests.ts";

describe("a command line", () => {
  const policy = createCommandPolicy({
    configDir: join(import.meta.dirname, "../../../../config"),
    workspace: "/w",
    resolvePath: (path) => ({
      ok: true,
      absolute: `/w/${path}`,
      display: path,
      inside: true,
      type: "missing",
      sensitive: null,
      rule: null,
    }),
  });
  const runs = (command: string): boolean => runsTests(command, policy.judge(command, undefined));

  it.each([
    "npm test",
    "npm t",
    "npm run test:unit -- --run",
    "npx vitest run src/a.test.ts",
    "./node_modules/.bin/jest",
    "node --test",
    "CI=1 npm test 2>&1",
    "cd packages/a && npm test",
    "pytest -q",
    "python -m pytest",
    "python -m unittest",
    "cargo test",
    "cargo nextest run",
    "go test ./...",
    "make test",
    "mvn -q test",
    "./gradlew test",
    "dotnet test",
    "pnpm -r test",
    "phpunit",
    "ctest",
  ])("%s runs tests", (command) => {
    expect(runs(command)).toBe(true);
  });

  it.each([
    "npm test | tail -5",
    "npm test || true",
    "npm test; echo done",
    "npm test &",
    "! npm test",
    "echo $(npm test)",
    "cargo build",
    "npm run build",
    "npm run lint",
    "test -f package.json",
    "cat test/a.ts",
    "ls tests",
    "rg test src",
    "git log test",
    "node scripts/testdata.js",
  ])("%s does not, or its exit code says nothing about them", (command) => {
    expect(runs(command)).toBe(false);
  });

  it("of many settings is read in linear time", () => {
    expect(runs(`${"a=b=c=d=e=f=g ".repeat(200)}x y z w v u`)).toBe(false);
  });
});
