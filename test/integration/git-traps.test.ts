import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
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

function build(trap: Trap, number: number): TrapWorld {
  const folder = join(base, `world-${number}`);
  cpSync(join(base, "template"), folder, { recursive: true });
  const canary = join(folder, "canary");
  const world = { repo: join(folder, "repo"), outside: join(folder, "outside"), home, trap: join(folder, "trap.sh"), canary };
  put(world.trap, `#!/bin/sh\necho "$0 $*" >> ${canary}\n`, 0o755);
  trap.build(world);
  rmSync(canary, { force: true });
  put(join(world.repo, "a.txt"), "changed\n");
  return world;
}

/** Every tool, with the owner saying yes to whatever is asked. */
function calls({ path, ref }: Trap): [string, Record<string, unknown>][] {
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

const outsideOf = (world: TrapWorld, trap: Trap) =>
  snapshotTree(world.outside, (path) => trap.owns !== undefined && path.startsWith(join(world.outside, trap.owns)));

describe("a repository full of traps", () => {
  it("comes in at least sixty kinds", () => expect(new Set(traps.map(({ name }) => name)).size).toBeGreaterThanOrEqual(60));

  it.concurrent.each(traps.map((trap, number) => [trap.name, trap, number] as const))(
    "runs nothing and changes nothing outside: %s",
    async (_name, trap, number) => {
      const world = build(trap, number);
      const before = outsideOf(world, trap);
      const fixture = createToolsFixture({
        base: join(base, `room-${number}`),
        workspace: world.repo,
        home,
        posture: "autonomous",
      });
      const reported: string[] = [];
      try {
        fixture.answer("allow_once");
        for (const [tool, args] of calls(trap)) {
          const { text, isError, card } = await fixture.run(tool, args, { signal: AbortSignal.timeout(600_000) });
          reported.push(`${tool} ${JSON.stringify(args)}: ${text}`);
          expect({ tool, sprung: existsSync(world.canary) || existsSync(join(base, "ambient")) }).toEqual({ tool, sprung: false });
          expect(text).not.toContain("private words");
          expect(text).not.toContain("for a reason of its own");
          expect([tool, isError, card.status]).toEqual([tool, card.status !== "success", expect.any(String)]);
        }
        await fixture.tools.checkpoints.restore({ questId: "q1" });
        await fixture.tools.verifications.settle("q1", { timeoutMs: 600_000 });
      } finally {
        fixture.close();
      }
      expect([existsSync(world.canary), existsSync(join(base, "ambient"))]).toEqual([false, false]);
      expect(outsideOf(world, trap)).toEqual(before);
      for (const name of ["owned", "x", "mirror/owned", "copy/owned"]) expect(existsSync(join(world.repo, name))).toBe(false);
      if (process.env["TRAPS_TOLD"] !== undefined)
        put(join(process.env["TRAPS_TOLD"], `${number}.txt`), `${trap.name}\n${reported.join("\n---\n")}\n`);
      if (trap.springs === undefined) return;
      // It does spring when git is run as it comes, so its silence above says something.
      const again = build(trap, number + 1000);
      try {
        // Nothing is piped: what it starts may outlive it.
        execFileSync("git", trap.springs, { cwd: again.repo, stdio: "ignore", timeout: 120_000, env: ownerEnv(again.home) });
      } catch {
        // What git makes of it is of no interest.
      }
      expect([trap.name, existsSync(again.canary)]).toEqual([trap.name, true]);
    },
  );

  it("and git works as ever in a repository without any", async () => {
    const world = build({ name: "none", build: () => undefined }, 999);
    const fixture = createToolsFixture({ base: join(base, "room-999"), workspace: world.repo, home, posture: "autonomous" });
    fixture.answer("allow_once");
    const failed: string[] = [];
    for (const [tool, args] of calls({ name: "none", build: () => undefined })) {
      const { text, isError } = await fixture.run(tool, args);
      if (isError) failed.push(`${tool}: ${text}`);
    }
    fixture.close();
    expect(failed).toEqual([]);
  });
});
