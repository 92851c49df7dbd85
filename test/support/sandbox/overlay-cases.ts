import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ShellProvider } from "../../../agent-server/sandbox/shell-provider.ts";
import { type OverlayView, scanLayer } from "../../../agent-server/workspace/workspace.ts";
import { createSandboxFixture, type SandboxFixture } from "./fixture.ts";
import { openOsShell } from "./os-shell.ts";
import { runIn } from "./run.ts";

/**
 * Commands in the view of a task: they see and change the workspace, and nothing outside of the view notices.
 * @param hasLinks false where hard links that commands create become files of their own
 */
export function overlayCases(
  who: string,
  openShell: (fixture: SandboxFixture) => ShellProvider = openOsShell,
  { hasLinks = true }: { readonly hasLinks?: boolean } = {},
): void {
  describe(`commands in a task's view, ${who}`, () => {
    let fixture: SandboxFixture;
    let shell: ShellProvider;
    const views: OverlayView[] = [];
    beforeAll(() => {
      fixture = createSandboxFixture();
      shell = openShell(fixture);
    });
    afterAll(async () => {
      for (const view of views) await view.close();
      await shell.close();
      fixture.close();
    });

    const layer = () => ({ name: "workspace", lower: fixture.workspace });
    async function open(task: string): Promise<OverlayView> {
      const view = await shell.openView?.({ folder: join(fixture.dataDir, "tasks", task), layers: [layer()] });
      if (view === undefined) throw new Error("The sandbox has no views.");
      views.push(view);
      return view;
    }
    const run = (view: OverlayView, command: string) => runIn(shell, fixture.workspace, command, { view });
    const changesOf = async (view: OverlayView) =>
      (await scanLayer({ lower: fixture.workspace, upper: view.upper(layer()), merged: view.merged(layer()) })).map(({ path }) => path);
    const workspaceNow = () =>
      readdirSync(fixture.workspace, { recursive: true, encoding: "utf8" })
        .sort()
        .map((name) => [name, statSync(join(fixture.workspace, name)).mtimeMs]);

    it("change the view alone, also where git and the editor would obey; the next command of the task goes on from there", async () => {
      const before = workspaceNow();
      const view = await open("one");
      const first = await run(
        view,
        "echo new > src/new.txt; rm README.md; printf '[core]\\n\\tfsmonitor = touch /tmp/x\\n' >> .git/config; echo x > .git/hooks/post-checkout; echo '{\"a\":1}' > .vscode/settings.json; echo kept > /tmp/note; echo kept > ~/note",
      );
      expect(first).toMatchObject({ stderr: "", result: { ended: "exit", exitCode: 0 } });
      expect(workspaceNow()).toEqual(before);
      expect((await changesOf(view)).sort()).toEqual(
        [".git/config", ".git/hooks/post-checkout", ".vscode/settings.json", "README.md", "src/new.txt"].sort(),
      );
      expect(await run(view, "cat src/new.txt /tmp/note ~/note; ls")).toMatchObject({ stdout: "new\nkept\nkept\nsrc\n" });
      await view.close();
      expect(view.alive()).toBe(false);
      expect(await run(await open("one"), "cat src/new.txt /tmp/note; ls README.md 2>&1 >/dev/null | wc -l")).toMatchObject({
        stdout: "new\nkept\n1\n",
      });
    });

    it("of another task see none of it", async () => {
      expect(await run(await open("two"), "ls; ls /tmp | grep -v lancelot; cat .vscode/settings.json")).toMatchObject({
        stdout: "README.md\nsrc\nhome\n{}\n",
      });
    });

    it("see what the user changes meanwhile, and this process sees what they wrote", async () => {
      const view = await open("three");
      await run(view, "echo theirs > theirs.txt");
      writeFileSync(join(fixture.workspace, "users.txt"), "mine\n");
      expect(await run(view, "cat users.txt theirs.txt")).toMatchObject({ stdout: "mine\ntheirs\n" });
      expect(readFileSync(join(view.merged(layer()), "theirs.txt"), "utf8")).toBe("theirs\n");
      writeFileSync(join(view.merged(layer()), "from-host.txt"), "host\n");
      expect(await run(view, "cat from-host.txt")).toMatchObject({ stdout: "host\n" });
      expect(existsSync(join(fixture.workspace, "from-host.txt"))).toBe(false);
    });

    it("reach nothing else: not the data folder, not the layer itself, no program outside", async () => {
      const view = await open("four");
      const ran = await run(
        view,
        `cat ${fixture.dataDir}/lancelot.sqlite ${fixture.outside}/secret.txt; ls ${fixture.dataDir} /sys/kernel /proc/1/root/root; nsenter -t 1 -m true; unshare -Ur true; mount -t tmpfs x /tmp; env`,
      );
      expect(ran.stdout + ran.stderr).not.toContain(fixture.canary);
      expect(ran.stdout).not.toContain("lancelot.sqlite");
      expect((await run(view, "id -u; touch made; stat -c %u made")).stdout).toMatch(/^(\d+)\n\1\n$/);
      const upper = join(view.upper(layer()), "made");
      expect(statSync(upper).uid).toBe(statSync(fixture.workspace).uid);
    });

    it("are ended with what they started when they are stopped", async () => {
      const view = await open("five");
      const ran = await runIn(shell, fixture.workspace, "sleep 300 & sleep 300", { view, timeoutMs: 1_000 });
      expect(ran.result.ended).toBe("timeout");
      expect((await run(view, "echo on")).stdout).toBe("on\n");
    });

    it("begin anew after the system stopped, and say so; after a host that was killed they go on", async () => {
      const folder = join(fixture.dataDir, "tasks", "seven");
      const view = await open("seven");
      await run(view, "echo kept > kept");
      await view.close();
      const next = await open("seven");
      expect([next.wasReset, (await run(next, "cat kept")).stdout]).toEqual([false, "kept\n"]);
      await next.close();
      writeFileSync(join(folder, "boot"), "another start of the system");
      const last = await open("seven");
      expect([last.wasReset, (await run(last, "ls kept 2>/dev/null; ls")).stdout]).toEqual([true, expect.not.stringContaining("kept")]);
    });

    it("cannot read the secret files that an earlier command of the task wrote, under none of their names", async () => {
      const view = await open("secrets");
      const secrets = [".env", "sub/.env.local", ...(hasLinks ? ["ordinary-name"] : []), "key.pem", ".ssh/id"];
      const value = "zq1Vt8nLw3xKp5rYd7h";
      const wrote = await run(
        view,
        `mkdir sub .ssh && for f in .env sub/.env.local .ssh/id; do echo A=${value} > $f; done && ln .env ordinary-name && cp .env copied && printf -- '-----BEGIN PRIVATE KEY-----\n${value}\n' > key.pem && echo public > cert.pem && mkdir closed && echo A=${value} > closed/.env && cat ${secrets.join(" ")} closed/.env && chmod 0 closed`,
      );
      expect(wrote).toMatchObject({ stderr: "", result: { exitCode: 0 } });
      expect(wrote.stdout.split(value)).toHaveLength(secrets.length + 2);
      const read = await run(
        view,
        `cat cert.pem; cat ${secrets.join(" ")}; echo x > .env; mv .env moved; rm -f key.pem; cat moved; chmod 755 closed; wc -c < copied`,
      );
      expect(read.stdout).toBe(`public\n${value.length + 3}\n`);
      const reopened = await run(view, "cat closed/.env; cat cert.pem");
      expect(reopened).toMatchObject({ stdout: "public\n" });
      expect(reopened.stderr).not.toBe("");
      // They are kept for the review, with what they contain.
      const merged = view.merged(layer());
      for (const path of [...secrets, "closed/.env"]) expect(readFileSync(join(merged, path), "utf8")).toContain(value);
      expect(existsSync(join(fixture.workspace, ".env"))).toBe(false);
      // What the user creates at such a path in the meantime is not theirs.
      await runIn(shell, fixture.workspace, "sleep 0.3", { view, onStarted: () => writeFileSync(join(fixture.workspace, ".env"), "") });
      expect(existsSync(join(fixture.workspace, ".env"))).toBe(true);
    });

    it("have no view where the data folder lies in the workspace", async () => {
      const inside = shell.openView?.({ folder: join(fixture.workspace, "data/tasks/one"), layers: [layer()] });
      await expect(inside).rejects.toMatchObject({ code: "unavailable" });
      expect(existsSync(join(fixture.workspace, "data"))).toBe(false);
    });

    it("cannot run once the view is closed", async () => {
      const view = await open("six");
      await view.close();
      await expect(run(view, "echo on")).rejects.toMatchObject({ code: "unavailable" });
    });
  });
}
