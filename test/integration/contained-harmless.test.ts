import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { harmlessCommands } from "../support/contained/rows.ts";
import { createGovernanceFixture, type GovernanceFixture, intent } from "../support/governance-fixture.ts";
import { put } from "../support/tools/git-fixture.ts";

const halves = ["tuned", "held-out"] as const;
/** Share of the harmless commands that may ask or be denied. */
const mayAsk = 0.03;

/** An ordinary project: rules look at the scripts that a command would run. */
const project: Readonly<Record<string, string>> = {
  "package.json": JSON.stringify({
    name: "acme",
    workspaces: ["packages/*"],
    scripts: {
      build: "tsc -b",
      test: "vitest run",
      lint: "eslint src",
      typecheck: "tsc --noEmit",
      start: "node dist/server.js",
      dev: "vite",
    },
  }),
  "packages/core/package.json": JSON.stringify({ name: "@acme/core", scripts: { build: "tsc", test: "vitest run" } }),
  "packages/api/package.json": JSON.stringify({ name: "@acme/api", scripts: { build: "tsc", test: "vitest run" } }),
  Makefile: "all:\n\tcc -o app src/main.c\ntest:\n\t./app --self-test\nclean:\n\trm -rf build\n",
  "src/index.ts": "export const one = 1;\n",
  "src/main.ts": "export const two = 2;\n",
  "scripts/build.sh": "#!/bin/sh\nnpm run build\n",
};

describe("harmless commands at the transactional level", () => {
  let gate: GovernanceFixture;
  beforeAll(() => {
    gate = createGovernanceFixture({ networkEnabled: () => true });
    for (const [path, text] of Object.entries(project)) put(`${gate.workspace}/${path}`, text);
  });
  afterAll(() => gate.dispose());

  /** What the gate decides on a command that runs in a view. */
  function verdictOf(command: string, hasNetwork: boolean): string {
    const needs = hasNetwork ? gate.governance.commandNeeds(command, gate.workspace).network : null;
    const network = needs?.hosts ?? needs !== null;
    const args = { command, containment: "transactional", network };
    return gate.governance.evaluate(intent("shell_exec", "run", args, { cwd: gate.workspace })).verdict;
  }

  it.each([
    ["while the network is off, as shipped", false],
    ["while commands that need the network may get it", true],
  ])("run unasked, all but a few, %s", (name, hasNetwork) => {
    const shares = halves.map((half) => {
      const commands = harmlessCommands(half);
      const stopped = commands.filter(({ command }) => verdictOf(command, hasNetwork) !== "allow");
      process.stdout.write(`${stopped.length} of ${commands.length} harmless commands (${half}) are asked or denied ${name}\n`);
      for (const { command } of stopped) process.stdout.write(`  ${verdictOf(command, hasNetwork)}: ${JSON.stringify(command)}\n`);
      return { all: commands.length, stopped: stopped.length };
    });
    const sum = (of: "all" | "stopped") => shares.reduce((total, share) => total + share[of], 0);
    expect(sum("stopped") / sum("all")).toBeLessThan(mayAsk);
  });

  it("are at least four hundred, each different, and each half has at least two hundred", () => {
    const counts = halves.map((half) => harmlessCommands(half).length);
    expect(Math.min(...counts)).toBeGreaterThanOrEqual(200);
    const all = halves.flatMap((half) => harmlessCommands(half).map(({ command }) => command));
    expect(new Set(all).size).toBe(all.length);
  });

  it("are not allowed for nothing: the same gate denies what is on the deny list, and asks for a command with network access", () => {
    expect(verdictOf("rm -rf /", false)).toBe("deny");
    expect(verdictOf("curl https://example.com", true)).toBe("ask");
  });
});
