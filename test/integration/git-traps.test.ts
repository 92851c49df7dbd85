import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { soak } from "../support/soak.ts";
import { ownerEnv, put } from "../support/tools/git-fixture.ts";
import { buildTemplate, type Trap, traps, type TrapWorld } from "../support/tools/git-traps.ts";
import { createToolsFixture, snapshotTree } from "../support/tools-fixture.ts";

let base = "";
let home = "";

/** What a hostile parent process, or a task's environment file, may have set. */
const environment = (trap: string, folder: string): Record<string, string> => ({
  GIT_DIR: join(folder, "template/outside/victim/.git"),
  GIT_WORK_TREE: join(folder, "template/outside/victim"),
  GIT_INDEX_FILE: join(folder, "template/outside/index"),
  GIT_OBJECT_DIRECTORY: join(folder, "template/outside/objects"),
  GIT_EXTERNAL_DIFF: trap,
  GIT_SSH: trap,
  GIT_SSH_COMMAND: trap,
  GIT_PROXY_COMMAND: trap,
  GIT_ASKPASS: trap,
  SSH_ASKPASS: trap,
  GIT_EDITOR: trap,
  EDITOR: trap,
  VISUAL: trap,
  GIT_PAGER: trap,
  PAGER: trap,
  GIT_SEQUENCE_EDITOR: trap,
  GIT_CONFIG_COUNT: "1",
  GIT_CONFIG_KEY_0: "core.fsmonitor",
  GIT_CONFIG_VALUE_0: trap,
  GIT_CONFIG_PARAMETERS: `'core.fsmonitor=${trap}'`,
  GIT_CONFIG_GLOBAL: join(folder, "evil.config"),
  GIT_CONFIG_SYSTEM: join(folder, "evil.config"),
  GIT_TEMPLATE_DIR: join(folder, "evil-template"),
  GIT_EXEC_PATH: folder,
  GIT_TRACE: join(folder, "template/outside/trace"),
  GIT_TRACE2: join(folder, "template/outside/trace2"),
  GIT_ALLOW_PROTOCOL: "ext:file:ssh:https",
});

beforeAll(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-traps-")));
  home = join(base, "home");
  buildTemplate(join(base, "template"), home);
  const trap = join(base, "ambient.sh");
  put(trap, `#!/bin/sh\ntouch ${join(base, "ambient")}\n`, 0o755);
  put(join(base, "evil.config"), `[core]\n\tfsmonitor = ${trap}\n`);
  put(join(base, "evil-template/hooks/post-checkout"), `#!/bin/sh\ntouch ${join(base, "ambient")}\n`, 0o755);
  for (const [name, value] of Object.entries(environment(trap, base))) vi.stubEnv(name, value);
  vi.stubEnv("HOME", home);
  vi.stubEnv("XDG_CONFIG_HOME", undefined);
});
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(base, { recursive: true, force: true });
});

function build(set: readonly Trap[], number: number): TrapWorld {
  const folder = join(base, `world-${number}`);
  cpSync(join(base, "template"), folder, { recursive: true });
  const canary = join(folder, "canary");
  const world = { repo: join(folder, "repo"), outside: join(folder, "outside"), home, trap: join(folder, "trap.sh"), canary };
  put(world.trap, `#!/bin/sh\necho "$0 $*" >> ${canary}\n`, 0o755);
  for (const trap of set) trap.build(world);
  rmSync(canary, { force: true });
  put(join(world.repo, "a.txt"), "changed\n");
  return world;
}

type Call = [tool: string, args: Record<string, unknown>];

/** Every tool, with the owner saying yes to whatever is asked: each in one of its ways, in turn, and in all of them in soak. */
function calls(trap: Trap, number: number): Call[] {
  const all = everyCall(trap);
  if (soak) return all;
  const ways = Map.groupBy(all, ([tool]) => tool);
  return [...ways.values()].flatMap((of) => of.slice(number % of.length, (number % of.length) + 1));
}

function everyCall({ path, ref }: Trap): Call[] {
  const patch = "--- a/dir/b.txt\n+++ b/dir/b.txt\n@@ -1 +1 @@\n-b\n+patched\n";
  return [
    ["git_status", path === undefined ? {} : { path }],
    ["git_diff", {}],
    ["git_diff", { staged: true }],
    ["git_log", { limit: 5 }],
    ["git_show", { ref: ref ?? "side" }],
    ["apply_patch", { patch }],
    ["git_commit", { message: "--output=owned", paths: [path ?? "a.txt"] }],
    ["git_commit", { message: "Patched" }],
    ["git_branch", { name: "topic", ...(ref === undefined ? {} : { base: ref }) }],
    ["git_checkout", { ref: ref ?? "side" }],
    ["git_push", { remote: "origin", branch: ref ?? "main" }],
    ["git_clone", { url: "remote.git", path: "copy" }],
    ["git_clone", { url: ".", path: "mirror" }],
  ];
}

/**
 * Traps that share no setting and no file, and with each of which alone every tool gets to its end. Outside soak they are set in one
 * repository, where every tool must get to its end too: so none of them hides another.
 */
const setTogether: readonly (readonly string[])[] = [
  [
    "hooks of every kind",
    "hooks in settings",
    "hooks of the remote",
    "aliases of the commands themselves",
    "a file system monitor",
    "a text converter",
    "pagers",
    "editors",
    "a program that signs",
    "objects borrowed from the owner's other repository",
    "branches that name a remote of their own",
  ],
  [
    "hooks by core.hooksPath in the tree",
    "a file system monitor of the first version",
    "an external diff",
    "attributes of another file",
    "addresses that are rewritten to programs",
  ],
  ["a merge driver", "an included file"],
  ["a diff driver", "files included on conditions", "files that never end"],
];

interface Case {
  readonly name: string;
  readonly traps: readonly Trap[];
}

function cases(): Case[] {
  const groups = soak ? [] : setTogether;
  const grouped = groups.map((names) => ({
    name: names.join(", "),
    traps: names.map((name) => {
      const found = traps.find((trap) => trap.name === name);
      if (found === undefined) throw new Error(`There is no trap ${name}.`);
      return found;
    }),
  }));
  const alone = traps.filter(({ name }) => !groups.flat().includes(name));
  return [...grouped, ...alone.map((trap) => ({ name: trap.name, traps: [trap] }))];
}

const outsideOf = (world: TrapWorld, trap: Trap) =>
  snapshotTree(world.outside, (path) => trap.owns !== undefined && path.startsWith(join(world.outside, trap.owns)));

describe("a repository full of traps", () => {
  it("comes in at least sixty kinds", () => expect(new Set(traps.map(({ name }) => name)).size).toBeGreaterThanOrEqual(60));

  it.concurrent.each(cases().map((one, number) => [one.name, one.traps, number] as const))(
    "runs nothing and changes nothing outside: %s",
    async (name, set, number) => {
      const world = build(set, number);
      // Only a trap that is alone has a path or a ref of its own.
      const trap: Trap = set.length === 1 && set[0] !== undefined ? set[0] : { name, build: () => undefined };
      const before = outsideOf(world, trap);
      const fixture = createToolsFixture({
        base: join(base, `tools-${number}`),
        workspace: world.repo,
        home,
        posture: "autonomous",
      });
      const reported: string[] = [];
      try {
        fixture.answer("allow_once");
        for (const [tool, args] of calls(trap, number)) {
          const { text, isError, card } = await fixture.run(tool, args, { signal: AbortSignal.timeout(600_000) });
          reported.push(`${tool} ${JSON.stringify(args)}: ${text}`);
          expect({ tool, sprung: existsSync(world.canary) || existsSync(join(base, "ambient")) }).toEqual({ tool, sprung: false });
          expect(text).not.toContain("private words");
          expect(text).not.toContain("for a reason of its own");
          expect([tool, isError, card.status]).toEqual([tool, card.status !== "success", expect.any(String)]);
          if (set.length > 1) expect([tool, isError, text]).toEqual([tool, false, text]);
        }
        await fixture.tools.checkpoints.restore({ questId: "q1" });
        await fixture.tools.verifications.settle("q1", { timeoutMs: 600_000 });
      } finally {
        fixture.close();
      }
      expect([existsSync(world.canary), existsSync(join(base, "ambient"))]).toEqual([false, false]);
      expect(outsideOf(world, trap)).toEqual(before);
      for (const file of ["owned", "x", "mirror/owned", "copy/owned"]) expect(existsSync(join(world.repo, file))).toBe(false);
      if (process.env["TRAPS_TOLD"] !== undefined)
        put(join(process.env["TRAPS_TOLD"], `${number}.txt`), `${name}\n${reported.join("\n---\n")}\n`);
      // Each does spring when git is run as it comes, so its silence above says something.
      for (const [index, one] of set.entries()) {
        const { name: what, springs } = one;
        if (springs === undefined) continue;
        const again = build([one], number + 1000 * (index + 1));
        try {
          // Nothing is piped: what it starts may outlive it.
          execFileSync("git", springs, { cwd: again.repo, stdio: "ignore", timeout: 120_000, env: ownerEnv(again.home) });
        } catch {
          // What git makes of it is of no interest.
        }
        expect([what, existsSync(again.canary)]).toEqual([what, true]);
      }
    },
  );

  it("and git works as ever in a repository without any", async () => {
    const world = build([], 999);
    const fixture = createToolsFixture({ base: join(base, "tools-999"), workspace: world.repo, home, posture: "autonomous" });
    fixture.answer("allow_once");
    const failed: string[] = [];
    for (const [tool, args] of everyCall({ name: "none", build: () => undefined })) {
      const { text, isError } = await fixture.run(tool, args);
      if (isError) failed.push(`${tool}: ${text}`);
    }
    fixture.close();
    expect(failed).toEqual([]);
  });
});
