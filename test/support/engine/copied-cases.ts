import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Dockerode from "dockerode";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ContainerShell } from "../../../agent-server/sandbox/container.ts";
import { readCopyRecord } from "../../../agent-server/workspace/tasks/copy-record.ts";
import { type OverlayView, scanLayer } from "../../../agent-server/workspace/workspace.ts";
import { createSandboxFixture, type SandboxFixture } from "../sandbox/fixture.ts";
import { isolationLimits } from "../sandbox/limits.ts";
import { put } from "../sandbox/mask-cases.ts";
import { type RunOptions, runIn, until } from "../sandbox/run.ts";
import { projectNode, root } from "../setup/project.mjs";
import { runs } from "../soak.ts";
import { openContainer } from "./container-fixture.ts";
import { ourContainers } from "./engine.ts";
import type { RemoteEngine } from "./remote-engine.ts";

/** Registers the cases that only copies have, on an engine that is reached as one of another machine. */
export function copiedCases(title: string, engine: () => { readonly socket: string; readonly remote: RemoteEngine }): void {
  describe(title, () => {
    let fixture: SandboxFixture;
    let shell: ContainerShell;
    let views: OverlayView[] = [];
    beforeEach(() => {
      fixture = createSandboxFixture();
      shell = openContainer(fixture, engine().remote.address, isolationLimits);
    });
    afterEach(async () => {
      engine().remote.connect();
      for (const view of views) await view.close();
      views = [];
      await shell.close();
      fixture.close();
    });

    const docker = () => new Dockerode({ socketPath: engine().socket });
    const volumes = async () => {
      const data = createHash("sha256").update(fixture.dataDir).digest("hex").slice(0, 16);
      return ((await docker().listVolumes()).Volumes ?? []).filter(({ Labels }) => Labels?.["lancelot.data"] === data);
    };
    const layer = () => ({ name: "workspace", lower: fixture.workspace });
    const inside = (path: string) => join(fixture.workspace, path);
    const folderOf = (task: string) => join(fixture.dataDir, "tasks", task);
    async function open(task: string): Promise<OverlayView> {
      const view = await shell.openView?.({ folder: folderOf(task), layers: [layer()] });
      if (view === undefined) throw new Error("The sandbox has no views.");
      views.push(view);
      return view;
    }
    const run = (view: OverlayView, command: string, more: RunOptions = {}) => runIn(shell, fixture.workspace, command, { view, ...more });
    const scan = (view: OverlayView) => scanLayer({ lower: fixture.workspace, upper: view.upper(layer()), merged: view.merged(layer()) });
    const pathsOf = async (view: OverlayView) => (await scan(view)).map(({ path }) => path).toSorted();

    it("is found by the check, named, and leaves nothing in the engine", async () => {
      expect(shell.containment()).toBe("watched");
      expect(await shell.probe()).toMatchObject({ status: "ok", nextStep: null });
      expect(shell.containment()).toBe("copied");
      await shell.restart();
      expect(await ourContainers(docker())).toEqual([]);
      expect(await volumes()).toEqual([]);
    });

    it("takes out every kind of change, names of any form, and links as links", async () => {
      put(fixture, "old/a.txt", "a\n");
      put(fixture, "old/b.txt", "b\n");
      put(fixture, "renamed/deep/c.txt", "c\n");
      put(fixture, "mode.sh", "x\n");
      put(fixture, "becomes-folder", "x\n");
      put(fixture, "becomes-file/inner", "x\n");
      put(fixture, "stays.txt", "same\n");
      const view = await open("one");
      const ran = await run(
        view,
        `rm -r old && mkdir old && echo new > old/a.txt; mv renamed moved; chmod 755 mode.sh; ln -s /etc/passwd link; touch stays.txt
         rm becomes-folder && mkdir becomes-folder && echo 1 > becomes-folder/x; rm -r becomes-file && echo 2 > becomes-file
         echo 3 > "$(printf 'line\\nend')"; echo 4 > "$(printf 'bytes\\377')"; echo 5 > ' -rf'; echo 6 > first && ln first second`,
      );
      expect(ran).toMatchObject({ stderr: "", result: { ended: "exit", exitCode: 0 } });
      const kinds = (await scan(view)).map(({ path, before, after }) => `${path}: ${before?.kind} > ${after?.kind}`);
      expect(kinds.toSorted()).toEqual(
        [
          ...[" -rf: undefined > file", "becomes-file/inner: file > undefined", "becomes-file: folder > file"],
          ...["becomes-folder/x: undefined > file", "becomes-folder: file > folder", "bytes\0ff: undefined > file"],
          ...["first: undefined > file", "line\nend: undefined > file", "link: undefined > link", "mode.sh: file > file"],
          ...["moved/deep/c.txt: undefined > file", "moved/deep: undefined > folder", "moved: undefined > folder"],
          ...["old/a.txt: file > file", "old/b.txt: file > undefined", "renamed/deep/c.txt: file > undefined"],
          ...["renamed/deep: folder > undefined", "renamed: folder > undefined", "second: undefined > file"],
        ].toSorted(),
      );
      expect(await run(view, "cat becomes-folder/x becomes-file first second; readlink link; cat ./bytes*")).toMatchObject({
        stdout: "1\n2\n6\n6\n/etc/passwd\n4\n",
      });
    });

    it("notices a change whose size and time are as before", async () => {
      const view = await open("one");
      await run(view, "true");
      await new Promise((resolve) => setTimeout(resolve, 50));
      await run(view, "cp -p README.md /tmp/before; printf 'HELLO\\n' > README.md; touch -r /tmp/before README.md");
      expect(await pathsOf(view)).toEqual(["README.md"]);
      expect(readFileSync(join(view.merged(layer()), "README.md"), "utf8")).toBe("HELLO\n");
    });

    it("leaves pipes, sockets, deep folders and what is too large in the copy, and says so", async () => {
      const view = await open("one");
      const name = "0123456789".repeat(10);
      const deep = Array.from({ length: 400 }, () => name).join("/");
      const ran = await run(
        view,
        `mkfifo pipe; d=${name}; i=0; while [ $i -lt 400 ]; do mkdir $d; cd $d; i=$((i+1)); done; echo x > x; cd ${fixture.workspace}; echo y > y; chmod 000 ${name}`,
      );
      expect(ran.result).toMatchObject({ ended: "exit", exitCode: 0 });
      expect(view.leftInCopy?.()).toMatchObject({ special: ["pipe", expect.stringContaining(`${name}/${name}`)] });
      const found = await pathsOf(view);
      expect(found).toContain("y");
      expect(found.every((path) => deep.startsWith(path) || path === "y")).toBe(true);
      expect(await run(view, "rm pipe y; echo on")).toMatchObject({ stdout: "on\n" });
      expect(await pathsOf(view)).toEqual(found.filter((path) => path !== "y"));
    });

    it("does not follow what a command put in the place of a folder", async () => {
      put(fixture, "src/a.txt", "a\n");
      const view = await open("one");
      await run(view, `rm -r src && ln -s ${fixture.outside} src && ln -s / root`);
      expect(await pathsOf(view)).toEqual(["root", "src", "src/a.txt"]);
      const before = readdirSync(fixture.outside);
      writeFileSync(inside("src/new.txt"), "user's\n");
      await run(view, "rm src; mkdir src; echo 1 > src/b.txt");
      expect(readdirSync(fixture.outside)).toEqual(before);
      expect(await pathsOf(view)).toContain("src/b.txt");
    });

    it("never sends a secret file: commands see stand-ins, which they cannot read, and what they do to them is named", async () => {
      const secret = `KEY=${fixture.canary}\n`;
      for (const path of [".env", "config/.env.local", "gone/.env", 'com,ma"quote.env', ".ssh/config"]) put(fixture, path, secret);
      linkSync(inside(".env"), inside("alias.txt"));
      symlinkSync(".env", inside("link.txt"));
      const view = await open("one");
      const ran = await run(
        view,
        `for f in .env config/.env.local alias.txt link.txt .ssh/config; do cat "$f"; echo x >> "$f"; chmod 777 "$f"; done; stat -c %s .env; rm -f gone/.env; grep -r canary- . /tmp`,
      );
      expect(ran.stdout).toBe(`${secret.length}\n`);
      expect(view.leftInCopy?.()).toMatchObject({ secret: ["gone/.env"] });
      expect(await pathsOf(view)).toEqual([]);
      expect(await run(view, "mv config moved; cat moved/.env.local gone/.env; ls -A gone")).toMatchObject({ stdout: ".env\n" });
      const mountpoints = (await volumes()).map(({ Mountpoint }) => Mountpoint);
      expect(mountpoints).toHaveLength(2);
      for (const path of mountpoints) {
        expect(readdirSync(path).length).toBeGreaterThan(0);
        expect(() => execFileSync("grep", ["-rq", fixture.canary, path])).toThrow();
      }
    });

    it("ends as lost when the engine disappears, keeps nothing of that command and everything of those before", async () => {
      const view = await open("one");
      await run(view, "echo kept > kept");
      const { remote } = engine();
      const lost = await run(view, "echo half > half; echo begun; sleep 600", { onOutput: () => remote.cut(), timeoutMs: 600_000 });
      expect(lost.result).toMatchObject({ ended: "lost", exitCode: null });
      expect(await pathsOf(view)).toEqual(["kept"]);
      remote.connect();
      await lost.result.stillRunning;
      await view.close();
      const next = await open("one");
      expect(await run(next, "cat kept; ls half")).toMatchObject({ stdout: "kept\n", result: { exitCode: 1 } });
      expect(existsSync(inside("kept"))).toBe(false);
    });

    it("keeps all or nothing of a command, whenever the connection breaks", async () => {
      const { remote } = engine();
      for (let round = 0; round < runs(3, 40); round += 1) {
        const view = await open("one");
        const before = await pathsOf(view);
        const cut = setTimeout(() => remote.cut(), 300 + Math.random() * 2_000);
        const ran = await run(view, `for i in 1 2 3 4 5 6 7 8; do echo ${round} > ${round}-$i; done`).catch(() => null);
        clearTimeout(cut);
        const created = (await pathsOf(view)).filter((path) => !before.includes(path));
        expect([0, 8]).toContain(created.length);
        if (ran?.result.ended !== "exit") expect(created).toEqual([]);
        remote.connect();
        await ran?.result.stillRunning;
        await view.close();
        const next = await open("one");
        expect((await run(next, "ls")).stdout.split("\n").filter((name) => /^\d+-/.test(name))).toEqual([...before, ...created].toSorted());
        await next.close();
      }
    });

    it("goes on after a host was killed under a command, whose containers end with it", async () => {
      const { remote, socket } = engine();
      const first = await open("one");
      await run(first, "echo kept > kept");
      await first.close();
      const script = join(root, "test/support/engine/container-host/main.ts");
      const command = "echo half > half; echo begun; sleep 600";
      const args = [script, fixture.workspace, fixture.dataDir, remote.address, "host_other", command, folderOf("one")];
      const host = spawn(projectNode(), args, { stdio: ["ignore", "pipe", "inherit"] });
      const ended = new Promise((resolve) => host.once("exit", resolve));
      let said = "";
      host.stdout.on("data", (bytes: Buffer) => (said += bytes.toString("utf8")));
      await until("the command runs", () => said.includes("begun"));
      host.kill("SIGKILL");
      await ended;
      const ofOther = async () =>
        (await new Dockerode({ socketPath: socket }).listContainers({ all: true, filters: { label: ["lancelot.host=host_other"] } }))
          .length === 0;
      await until("its containers are gone", ofOther);
      const next = await open("one");
      expect(await pathsOf(next)).toEqual(["kept"]);
      expect(await run(next, "cat kept; ls")).toMatchObject({ stdout: "kept\nREADME.md\nkept\nsrc\n" });
    });

    it("holds its limits: time, memory, what it writes, and the stop of its user", async () => {
      const view = await open("one");
      expect((await run(view, "echo 1 > one; sleep 600", { timeoutMs: 500 })).result.ended).toBe("timeout");
      const stop = new AbortController();
      const stopped = await run(view, "echo 2 > two; echo begun; sleep 600", { signal: stop.signal, onOutput: () => stop.abort() });
      expect(stopped.result.ended).toBe("stopped");
      expect(await pathsOf(view)).toEqual(["one", "two"]);
      expect((await run(view, "x=x; while :; do x=$x$x; done")).result.ended).toBe("memory");
      const large = await run(view, "for i in 1 2 3 4 5 6 7 8; do dd if=/dev/zero of=large$i bs=1M count=40 2>/dev/null; done; sleep 600");
      expect(large.result).toMatchObject({ ended: "stopped", exitCode: null });
      // Together they are larger than what is taken out.
      expect(view.leftInCopy?.().tooLarge).not.toEqual([]);
    });

    it("keeps its volumes while the task has a folder, and counts their size", async () => {
      const view = await open("one");
      await run(view, "dd if=/dev/zero of=file bs=1000 count=20 2>/dev/null");
      expect(readCopyRecord(folderOf("one")).bytes).toBeGreaterThan(20_000);
      await view.close();
      await open("two");
      expect(await volumes()).toHaveLength(2);
      views.pop();
      rmSync(folderOf("one"), { recursive: true });
      mkdirSync(folderOf("three"), { recursive: true });
      await open("four");
      expect(await volumes()).toEqual([]);
    });

    it("runs nothing in a folder that the copy does not have, and nothing with network access", async () => {
      const view = await open("one");
      await run(view, "rm -r src; mkdir own; chmod 2750 own");
      await expect(run(view, "true", { cwd: inside("src") })).rejects.toMatchObject({ code: "invalid_params" });
      expect(await run(view, "pwd; stat -c %a .", { cwd: inside("own") })).toMatchObject({ stdout: `${inside("own")}\n2750\n` });
      expect(statSync(join(view.merged(layer()), "own")).mode & 0o7777).toBe(0o2750);
      await expect(run(view, "true", { network: true })).rejects.toMatchObject({ code: "unavailable" });
      await expect(run({ ...view }, "true")).rejects.toMatchObject({ code: "unavailable" });
    });
  });
}
