import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ContainerShell } from "../../../agent-server/sandbox/container.ts";
import type { ContainerDeps } from "../../../agent-server/sandbox/container/container-deps.ts";
import { type OverlayView, scanLayer } from "../../../agent-server/workspace/workspace.ts";
import { createSandboxFixture, type SandboxFixture } from "../sandbox/fixture.ts";
import { isolationLimits } from "../sandbox/limits.ts";
import { put } from "../sandbox/mask-cases.ts";
import { overlayCases } from "../sandbox/overlay-cases.ts";
import { type RunOptions, runIn } from "../sandbox/run.ts";
import { soak } from "../soak.ts";
import { taskCases } from "../tasks/task-cases.ts";
import { openContainer } from "./container-fixture.ts";

/**
 * Registers the cases of views of tasks, on a container engine: all in `npm run soak`. Before a change lands, the cases that only containers
 * have run on one engine, and those that every overlay has on each.
 */
export function describeViewsIn(name: string, socket: () => string, isFirst: boolean): void {
  const open = (of: { workspace: string; dataDir: string }) =>
    openContainer({ ...of, protectedPaths: [] }, `unix://${socket()}`, isolationLimits);
  if (soak || isFirst) containerViewCases(`a view in ${name}`, socket);
  overlayCases(`in ${name}`, open);
  if (soak) taskCases(`commands of a task in ${name}`, open);
}

/** Registers the cases that only containers have. */
function containerViewCases(title: string, socket: () => string): void {
  describe(title, () => {
    let fixture: SandboxFixture;
    let shell: ContainerShell;
    let views: OverlayView[] = [];
    beforeEach(() => {
      fixture = createSandboxFixture();
      shell = start();
    });
    afterEach(async () => {
      for (const view of views) await view.close();
      views = [];
      await shell.close();
      fixture.close();
    });

    const start = (more: Partial<ContainerDeps> = {}) => openContainer(fixture, `unix://${socket()}`, isolationLimits, more);
    const layer = () => ({ name: "workspace", lower: fixture.workspace });
    const inside = (path: string) => join(fixture.workspace, path);
    async function open(task: string, on = shell): Promise<OverlayView> {
      const view = await on.openView?.({ folder: join(fixture.dataDir, "tasks", task), layers: [layer()] });
      if (view === undefined) throw new Error("The sandbox has no views.");
      views.push(view);
      return view;
    }
    const run = (view: OverlayView, command: string, more: RunOptions = {}) => runIn(shell, fixture.workspace, command, { view, ...more });
    const scan = (view: OverlayView) => scanLayer({ lower: fixture.workspace, upper: view.upper(layer()), merged: view.merged(layer()) });

    it("is found by the check, and named", async () => {
      expect(shell.containment()).toBe("watched");
      expect(await shell.probe()).toMatchObject({ status: "ok", nextStep: null });
      expect(shell.containment()).toBe("transactional");
      expect(readdirSync(join(fixture.dataDir, "sandbox")).filter((name) => name.startsWith("try-"))).toEqual([]);
    });

    it("shows folders that were deleted and made again without what they had, and every kind of change", async () => {
      put(fixture, "old/a.txt", "a\n");
      put(fixture, "old/b.txt", "b\n");
      put(fixture, "renamed/deep/c.txt", "c\n");
      put(fixture, "mode.sh", "x\n");
      const view = await open("one");
      const ran = await run(
        view,
        "rm -r old && mkdir old && echo new > old/a.txt; mv renamed moved; chmod 755 mode.sh; ln -s mode.sh link; mkfifo pipe; touch README.md",
      );
      expect(ran).toMatchObject({ stderr: "", result: { ended: "exit", exitCode: 0 } });
      const kinds = (await scan(view)).map(({ path, before, after }) => `${path}: ${before?.kind} > ${after?.kind}`);
      expect(kinds.toSorted()).toEqual([
        "link: undefined > link",
        "mode.sh: file > file",
        "moved/deep/c.txt: undefined > file",
        "moved/deep: undefined > folder",
        "moved: undefined > folder",
        "old/a.txt: file > file",
        "old/b.txt: file > undefined",
        "pipe: undefined > other",
        "renamed/deep/c.txt: file > undefined",
        "renamed/deep: folder > undefined",
        "renamed: folder > undefined",
      ]);
      expect(readdirSync(inside("old")).toSorted()).toEqual(["a.txt", "b.txt"]);
    });

    it("shows a second folder in the same way, such as the repository of a linked work tree", async () => {
      const lower = join(fixture.outside, "repository");
      mkdirSync(join(lower, "sub"), { recursive: true });
      for (const [path, text] of [
        ["HEAD", "main\n"],
        ["sub/gone", "gone\n"],
        [".env", `KEY=${fixture.canary}\n`],
      ] as const)
        writeFileSync(join(lower, path), text);
      // Commands run as the workspace's owner.
      const { uid, gid } = statSync(fixture.workspace);
      for (const path of ["", "HEAD", "sub", "sub/gone", ".env"]) chownSync(join(lower, path), uid, gid);
      const second = { name: "repository", lower };
      const view = await shell.openView?.({ folder: join(fixture.dataDir, "tasks/two"), layers: [layer(), second] });
      if (view === undefined) throw new Error("The sandbox has no views.");
      views.push(view);
      const ran = await run(view, `cd ${lower} && cat HEAD .env; echo side > HEAD; rm -r sub; cat HEAD; ls`);
      expect(ran.stdout).toBe("main\nside\nHEAD\n");
      expect([readFileSync(join(lower, "HEAD"), "utf8"), readdirSync(lower).toSorted()]).toEqual(["main\n", [".env", "HEAD", "sub"]]);
      expect(readFileSync(join(view.upper(second), "HEAD"), "utf8")).toBe("side\n");
      expect(await run(view, `cat ${lower}/HEAD`)).toMatchObject({ stdout: "side\n" });
    });

    it("shows at once what the user changed between two commands, also files that the first one read", async () => {
      const view = await open("one");
      await run(view, "cat README.md missing.txt; ls");
      writeFileSync(inside("new.txt"), "theirs\n");
      put(fixture, "missing.txt", "here\n");
      put(fixture, "README.md.new", "changed\n");
      renameSync(inside("README.md.new"), inside("README.md"));
      expect(await run(view, "cat README.md missing.txt")).toMatchObject({ stdout: "changed\nhere\n" });
    });

    it("masks secret files and folders, and refuses visibly to write them; what the task deleted is not masked", async () => {
      const secret = `KEY=${fixture.canary}\n`;
      put(fixture, ".env", secret);
      put(fixture, "config/.env.local", secret);
      put(fixture, "closed/.env", secret);
      put(fixture, "gone/.env", secret);
      put(fixture, 'com,ma"quote.env', secret);
      linkSync(inside(".env"), inside("alias.txt"));
      symlinkSync(".env", inside("link.txt"));
      put(fixture, ".ssh/config", secret);
      const view = await open("one");
      const first = await run(
        view,
        `cat README.md; for f in .env config/.env.local alias.txt link.txt .ssh/config com*; do cat "$f"; cp "$f" /tmp/x && cat /tmp/x; done
         for f in .env config/.env.local alias.txt .ssh/config com*; do echo x > "$f" && echo "wrote $f"; rm -f "$f" && echo "removed $f"; mv -f README.md "$f" && echo "replaced $f"; chmod 777 "$f" && echo "opened $f"; done
         chmod 000 closed; echo over`,
      );
      expect(first).toMatchObject({ stdout: "hello\nover\n" });
      expect(first.stderr).not.toContain(fixture.canary);
      const second = await run(
        view,
        "chmod 755 closed; cat closed/.env; ls closed; grep -r canary . /tmp 2>&1; mv config moved; cat moved/.env.local; echo over",
      );
      expect(second.stdout).not.toContain(fixture.canary);
      expect(second.stdout).toMatch(/over\n$/);
      for (const path of [".env", "config/.env.local", "alias.txt", "closed/.env"]) expect(readFileSync(inside(path), "utf8")).toBe(secret);
    });

    it("keeps what a command writes into .git and into protected files in the layer, and names of any form", async () => {
      const view = await open("one");
      const ran = await run(
        view,
        "echo x > .git/hooks/pre-commit; echo '[core]' > .git/config; rm -r .vscode; printf 1 > \"$(printf 'a\\nb')\"; printf 2 > 'c,d:e\"f'",
      );
      expect(ran).toMatchObject({ stderr: "", result: { exitCode: 0 } });
      expect((await scan(view)).map(({ path }) => path).toSorted()).toEqual(
        [".git/config", ".git/hooks/pre-commit", ".vscode", ".vscode/settings.json", "a\nb", 'c,d:e"f'].toSorted(),
      );
      expect(existsSync(inside(".git/hooks/pre-commit"))).toBe(false);
    });

    it("runs two tasks at once, each in its own container and files", async () => {
      const [one, two] = [await open("one"), await open("two")];
      const command = (name: string) =>
        `echo ${name} > ${name}; echo ${name} > /tmp/${name}; sleep 1; ls /tmp | grep -v -e home -e lancelot; ls; readlink /proc/self/ns/pid`;
      const [first, second] = await Promise.all([run(one, command("first")), run(two, command("second"))]);
      const [, firstSpace] = /^first\nREADME.md\nfirst\nsrc\n(.+)\n$/.exec(first.stdout) ?? [];
      const [, secondSpace] = /^second\nREADME.md\nsecond\nsrc\n(.+)\n$/.exec(second.stdout) ?? [];
      expect(firstSpace).toMatch(/^pid:/);
      expect(secondSpace).toMatch(/^pid:/);
      expect(firstSpace).not.toBe(secondSpace);
      expect(await Promise.all([scan(one), scan(two)].map(async (found) => (await found).map(({ path }) => path)))).toEqual([
        ["first"],
        ["second"],
      ]);
    });

    it("holds its limits: time, memory, processes, what it writes, and the stop of its user", async () => {
      const view = await open("one");
      expect((await run(view, "sleep 600", { timeoutMs: 500 })).result.ended).toBe("timeout");
      const stop = new AbortController();
      const stopped = await run(view, "echo begun; sleep 600", { signal: stop.signal, onOutput: () => stop.abort() });
      expect(stopped.result.ended).toBe("stopped");
      expect((await run(view, "x=x; while :; do x=$x$x; done")).result.ended).toBe("memory");
      const large = await run(view, "for i in 1 2 3 4 5 6 7 8; do dd if=/dev/zero of=large$i bs=1M count=40 2>/dev/null; done; sleep 600");
      expect(large.result).toMatchObject({ ended: "stopped", exitCode: null });
      const inTmp = await run(
        view,
        "for i in 1 2 3 4 5 6 7 8; do dd if=/dev/zero of=/tmp/large$i bs=1M count=40 2>/dev/null; done; sleep 600",
      );
      expect(inTmp.result).toMatchObject({ ended: "stopped", exitCode: null });
      expect(await run(view, "rm -f large* /tmp/large*; echo on")).toMatchObject({ stdout: "on\n" });
      expect((await scan(view)).map(({ path }) => path)).toEqual([]);
    });

    it("runs nothing in a folder that the view does not have, and nothing in a view of another sandbox", async () => {
      const view = await open("one");
      await run(view, "rm -r src; mkdir own");
      await expect(run(view, "true", { cwd: inside("src") })).rejects.toMatchObject({ code: "invalid_params" });
      expect(await run(view, "pwd", { cwd: inside("own") })).toMatchObject({ stdout: `${inside("own")}\n` });
      await expect(run({ ...view }, "true")).rejects.toMatchObject({ code: "unavailable" });
      expect(() => view.merged(layer())).not.toThrow();
    });

    it.each(["back\\slash", "co:lon"])("works in a copy where a path contains a separator of mounts: %s", async (name) => {
      const workspace = join(fixture.workspace, name);
      mkdirSync(workspace);
      writeFileSync(join(workspace, "file"), "here\n");
      const other = start({ workspace });
      expect(await other.probe()).toMatchObject({ status: "ok" });
      expect(other.containment()).toBe("copied");
      const own = { name: "workspace", lower: workspace };
      const view = await other.openView?.({ folder: join(fixture.dataDir, "tasks", "named"), layers: [own] });
      if (view === undefined) throw new Error("The sandbox has no views.");
      views.push(view);
      expect(await runIn(other, workspace, "pwd; cat file; echo x > new", { view })).toMatchObject({ stdout: `${workspace}\nhere\n` });
      expect([existsSync(join(workspace, "new")), existsSync(join(view.merged(own), "new"))]).toEqual([false, true]);
      await other.close();
    });

    it("belongs to this process alone while no command runs: what it writes there is what the next command sees", async () => {
      const view = await open("one");
      await run(view, "mkdir sub; echo theirs > sub/a");
      chmodSync(join(view.merged(layer()), "sub/a"), 0o600);
      writeFileSync(join(view.merged(layer()), "sub/b"), "ours\n");
      expect(readFileSync("/proc/mounts", "utf8")).not.toContain(view.folder);
      expect(await run(view, "cat sub/a sub/b 2>/dev/null; stat -c %a sub/a")).toMatchObject({ stdout: "theirs\nours\n600\n" });
    });
  });
}
