// @module-tag serial
import { spawn } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Dockerode from "dockerode";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { ContainerShell } from "../../agent-server/sandbox/container.ts";
import type { ContainerDeps } from "../../agent-server/sandbox/container/container-deps.ts";
import { openContainer, sandboxSettings } from "../support/engine/container-fixture.ts";
import { ourContainers, smallImage, startEngine, type TestEngine, toolsImage } from "../support/engine/engine.ts";
import { isolationLimits } from "../support/sandbox/limits.ts";
import { createSandboxFixture, type SandboxFixture } from "../support/sandbox/fixture.ts";
import { runIn, until } from "../support/sandbox/run.ts";
import { projectNode, root } from "../support/setup/project.mjs";
import { skippedWithout } from "../support/setup/machine.mjs";

const skipped = skippedWithout("engine");

describe.skipIf(skipped !== null)(`the container sandbox${skipped === null ? "" : ` (skipped: ${skipped})`}`, () => {
  let engine: TestEngine;
  let docker: Dockerode;
  let fixture: SandboxFixture;
  let open: ContainerShell[] = [];
  const host = () => `unix://${engine.socket}`;
  const start = (more: Partial<ContainerDeps> = {}, of: Pick<SandboxFixture, "workspace" | "dataDir" | "protectedPaths"> = fixture) => {
    const shell = openContainer(of, host(), isolationLimits, more);
    open.push(shell);
    return shell;
  };
  const ours = () => ourContainers(docker);

  beforeAll(async () => {
    engine = await startEngine({ images: [smallImage, toolsImage] });
    docker = new Dockerode({ socketPath: engine.socket });
    fixture = createSandboxFixture();
  });
  afterEach(async () => {
    await Promise.all(open.map((shell) => shell.close()));
    open = [];
  });
  afterAll(async () => {
    fixture.close();
    await engine.stop();
  });

  describe("the container", () => {
    it("is one for a workspace, stays warm, and is held as tightly as is said", async () => {
      const shell = start();
      for (let again = 0; again < 3; again += 1) await runIn(shell, fixture.workspace, "true");
      const found = await ours();
      expect(found).toHaveLength(1);
      const { HostConfig, Config, Mounts } = await docker.getContainer(found[0]?.Id ?? "").inspect();
      expect(HostConfig).toMatchObject({
        AutoRemove: true,
        NetworkMode: "none",
        Memory: isolationLimits.memoryBytes,
        MemorySwap: isolationLimits.memoryBytes,
        NanoCpus: isolationLimits.cpus * 1e9,
        PidsLimit: isolationLimits.processes,
        ReadonlyRootfs: true,
        CapDrop: ["ALL"],
        SecurityOpt: ["no-new-privileges"],
        IpcMode: "private",
        Privileged: false,
      });
      expect(HostConfig.CapAdd ?? []).toEqual([]);
      expect(HostConfig.Devices ?? []).toEqual([]);
      expect(Config.User).not.toMatch(/^(0|root|1000|)(:|$)/);
      const writable = Mounts.filter(({ RW, Type }) => RW && Type === "bind").map(({ Destination }) => Destination);
      expect(writable.toSorted()).toEqual(
        [fixture.workspace, join(fixture.workspace, ".git"), join(fixture.workspace, ".vscode")].toSorted(),
      );
      expect(shell.state()).toMatchObject({
        container: { state: "running" },
        image: { state: "ready" },
        engine: { name: "docker", remote: false },
      });
    });

    it("goes when it is closed, and leaves nothing on the machine", async () => {
      const shell = start();
      await runIn(shell, fixture.workspace, "true");
      await shell.close();
      await until("the container is gone", async () => (await ours()).length === 0);
      await expect(runIn(shell, fixture.workspace, "true")).rejects.toMatchObject({ code: "unavailable" });
    });

    it("ends running commands when it is restarted", async () => {
      const shell = start();
      const begun = Promise.withResolvers<void>();
      const running = runIn(shell, fixture.workspace, "sleep 600", { onStarted: begun.resolve });
      await begun.promise;
      const before = shell.state().container.id;
      await shell.restart();
      expect((await running).result).toMatchObject({ ended: "lost", exitCode: null });
      expect(shell.state().container).toMatchObject({ state: "running" });
      expect(shell.state().container.id).not.toBe(before);
    });

    it("reports its changes", async () => {
      const shell = start();
      const seen: string[] = [];
      shell.onChange(() => seen.push(shell.state().container.state));
      await runIn(shell, fixture.workspace, "true");
      await shell.close();
      await until("it was told", () => seen.includes("starting") && seen.at(-1) === "none");
    });
  });

  describe("the owner of the workspace", () => {
    it("is whom commands run as even where that is root: without any capability, and nothing else is root's", async () => {
      const workspace = mkdtempSync(join(tmpdir(), "lancelot-roots-"));
      writeFileSync(join(workspace, "mine.txt"), "", { mode: 0o600 });
      const other = join(workspace, "others");
      writeFileSync(other, "x", { mode: 0o600 });
      chownSync(other, 1000, 1000);
      const shell = start({}, { workspace, dataDir: fixture.dataDir, protectedPaths: [] });
      const ran = await runIn(
        shell,
        workspace,
        `id -u; grep -E '^Cap(Eff|Prm|Bnd|Inh|Amb)' /proc/self/status | sort -u; echo a > mine.txt && echo mine
         cat others; chown 1000 mine.txt; kill -9 1; echo x > /proc/sys/kernel/hostname; mount -t tmpfs x /tmp; touch /etc/x; ls /tmp/home && echo over`,
      );
      expect(ran.stdout).toMatch(/^0\n(Cap\w+:\s0+\n)+mine\nover\n$/);
      expect(statSync(join(workspace, "mine.txt")).uid).toBe(0);
      rmSync(workspace, { recursive: true });
    });
  });

  describe("what is mounted", () => {
    it("is looked at again at every command: a protected file that was replaced, or is new, is protected still", async () => {
      const shell = start();
      await runIn(shell, fixture.workspace, "true");
      const settings = join(fixture.workspace, ".vscode/settings.json");
      const before = shell.state().container.id;
      // As editors save: a new file in the old one's place. The engine's mount goes with the old one.
      writeFileSync(`${settings}.new`, '{"a":1}\n');
      renameSync(`${settings}.new`, settings);
      chownSync(settings, fixture.owner.uid, fixture.owner.gid);
      expect(await runIn(shell, fixture.workspace, "cat .vscode/settings.json; echo x > .vscode/settings.json")).toMatchObject({
        stdout: '{"a":1}\n',
        result: { exitCode: 1 },
      });
      expect(readFileSync(settings, "utf8")).toBe('{"a":1}\n');
      expect(shell.state().container.id).not.toBe(before);
    });

    it("keeps the attributes of the repository from commands, also while there are none", async () => {
      const info = join(fixture.workspace, ".git/info");
      mkdirSync(info);
      chownSync(info, fixture.owner.uid, fixture.owner.gid);
      const shell = start();
      const write = "echo '* filter=x' > .git/info/attributes";
      expect(await runIn(shell, fixture.workspace, write)).toMatchObject({ result: { exitCode: 1 } });
      expect(readdirSync(info)).toEqual([]);
      writeFileSync(join(info, "attributes"), "mine\n");
      chownSync(join(info, "attributes"), fixture.owner.uid, fixture.owner.gid);
      expect(await runIn(shell, fixture.workspace, write)).toMatchObject({ result: { exitCode: 1 } });
      expect(readFileSync(join(info, "attributes"), "utf8")).toBe("mine\n");
      rmSync(info, { recursive: true });
    });

    it("lets what runs continue while a new container takes the next commands", async () => {
      const shell = start();
      const begun = Promise.withResolvers<void>();
      const running = runIn(shell, fixture.workspace, "sleep 1; echo over", { onStarted: begun.resolve });
      await begun.promise;
      const config = join(fixture.workspace, ".git/config");
      writeFileSync(`${config}.lock`, readFileSync(config));
      renameSync(`${config}.lock`, config);
      expect(await runIn(shell, fixture.workspace, "echo next")).toMatchObject({ stdout: "next\n" });
      expect(await running).toMatchObject({ stdout: "over\n", result: { exitCode: 0, ended: "exit" } });
      await until("the old container is gone", async () => (await ours()).length === 1);
    });

    it("is never what a link of the repository leads to", async () => {
      const link = join(fixture.workspace, ".vscode/tasks.json");
      symlinkSync(join(fixture.outside, "secret.txt"), link);
      const shell = start({ protectedPaths: () => [".vscode/tasks.json", ".vscode/settings.json", "../project-evil/secret.txt"] });
      expect((await runIn(shell, fixture.workspace, "cat .vscode/tasks.json ../project-evil/secret.txt")).stdout).toBe("");
      rmSync(link);
    });

    it("hides the data folder where it lies in the workspace", async () => {
      const dataDir = join(fixture.workspace, "data");
      mkdirSync(dataDir);
      writeFileSync(join(dataDir, "lancelot.sqlite"), fixture.canary);
      const shell = start({}, { workspace: fixture.workspace, dataDir, protectedPaths: [] });
      const ran = await runIn(
        shell,
        fixture.workspace,
        "cat data/lancelot.sqlite; ls data; echo x > data/x; mv data away; rm -rf data; true",
      );
      expect(ran.stdout).not.toContain(fixture.canary);
      expect(readFileSync(join(dataDir, "lancelot.sqlite"), "utf8")).toBe(fixture.canary);
      await shell.close();
      rmSync(dataDir, { recursive: true });
    });

    it("holds the repository of a linked worktree, its hooks and configuration read-only; not what a repository merely claims", async () => {
      const folder = mkdtempSync(join(tmpdir(), "lancelot-worktree-"));
      const script = `git init -q main && cd main && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one && git worktree add -q ../tree`;
      const made = spawn("sh", ["-c", script], { cwd: folder, stdio: "ignore" });
      await new Promise((resolve) => made.once("exit", resolve));
      const workspace = join(folder, "tree");
      const settings = { read: () => ({ value: sandboxSettings(isolationLimits, { image: toolsImage }), problem: null }) };
      const shell = start({ settings }, { workspace, dataDir: fixture.dataDir, protectedPaths: [] });
      const ran = await runIn(
        shell,
        workspace,
        `git log --format=%s; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m two && git log --format=%s | head -n 1
         echo x > ../main/.git/hooks/pre-commit; git config core.pager x; echo "gitdir: /" > .git; ls ../main`,
      );
      expect(ran.stdout).toBe("one\ntwo\n");
      expect(existsSync(join(folder, "main/.git/hooks/pre-commit"))).toBe(false);
      expect(readFileSync(join(folder, "main/.git/config"), "utf8")).not.toContain("pager");
      // A worktree that the folder it names knows nothing of.
      mkdirSync(join(fixture.outside, "worktrees/x"), { recursive: true });
      for (const name of ["HEAD", "objects", "refs"]) writeFileSync(join(fixture.outside, name), "");
      const claimed = join(folder, "claimed");
      mkdirSync(claimed);
      writeFileSync(join(claimed, ".git"), `gitdir: ${fixture.outside}/worktrees/x\n`);
      const other = start({}, { workspace: claimed, dataDir: fixture.dataDir, protectedPaths: [] });
      expect((await runIn(other, claimed, `cat ${fixture.outside}/secret.txt`)).stdout).toBe("");
      for (const name of ["HEAD", "objects", "refs", "worktrees"]) rmSync(join(fixture.outside, name), { recursive: true });
      rmSync(folder, { recursive: true });
    });

    it.each(["/", "/usr", "/etc"])("is not a folder of the system: %s", async (workspace) => {
      const shell = start({}, { workspace, dataDir: fixture.dataDir, protectedPaths: [] });
      expect(await shell.probe()).toMatchObject({ status: "down" });
      await expect(runIn(shell, workspace, "true")).rejects.toMatchObject({
        code: "unavailable",
        message: expect.stringContaining("system") as string,
      });
    });
  });

  describe("commands", () => {
    it("run in a folder of the workspace and nowhere else", async () => {
      const shell = start();
      for (const cwd of [
        fixture.outside,
        join(fixture.workspace, ".."),
        "/",
        join(fixture.workspace, "README.md"),
        join(fixture.workspace, "none"),
      ])
        await expect(runIn(shell, cwd, "true")).rejects.toMatchObject({ code: "invalid_params" });
    });

    it("that are fifty at once give each its own", async () => {
      const shell = start();
      const all = await Promise.all(
        Array.from({ length: 50 }, (_unused, index) =>
          runIn(shell, fixture.workspace, `echo ${index}; exit ${index}`, { timeoutMs: 60_000 }),
        ),
      );
      expect(all.map(({ stdout, result }) => [stdout, result.exitCode, result.killedOrphans])).toEqual(
        all.map((_ran, index) => [`${index}\n`, index, false]),
      );
      expect(await ours()).toHaveLength(1);
    });

    it("take along what they left while others run beside them, and nothing of the others'", async () => {
      const shell = start();
      const begun = Promise.withResolvers<void>();
      const beside = runIn(shell, fixture.workspace, "(setsid sleep 5 &); sleep 2.5; ps | grep -c '[s]leep 5$'", {
        onStarted: begun.resolve,
      });
      await begun.promise;
      const daemons = await Promise.all([
        runIn(shell, fixture.workspace, "setsid sleep 601 >/dev/null 2>&1 & echo a"),
        runIn(shell, fixture.workspace, "setsid env -i sleep 602 >/dev/null 2>&1 & echo b"),
      ]);
      expect(daemons.map(({ stdout, result }) => [stdout, result.killedOrphans])).toEqual([
        ["a\n", true],
        ["b\n", true],
      ]);
      expect((await runIn(shell, fixture.workspace, "ps | grep '[s]leep 60'")).stdout).toBe("");
      expect(await beside).toMatchObject({ stdout: "1\n", result: { killedOrphans: true } });
    });

    it("are stopped one by one while others continue", async () => {
      const shell = start();
      const stop = new AbortController();
      const [stopped, timed, other] = await Promise.all([
        runIn(shell, fixture.workspace, "echo x; sleep 600", { signal: stop.signal, onOutput: () => stop.abort() }),
        runIn(shell, fixture.workspace, "sleep 600", { timeoutMs: 500 }),
        runIn(shell, fixture.workspace, "sleep 2; echo over"),
      ]);
      expect([stopped.result.ended, timed.result.ended, other.result.ended, other.stdout]).toEqual([
        "stopped",
        "timeout",
        "exit",
        "over\n",
      ]);
    });

    it("that use the network reach the proxy's socket, the others do not", async () => {
      const folder = mkdtempSync(join(tmpdir(), "lancelot-egress-test-"));
      const socketPath = join(folder, "proxy.sock");
      const heard: string[] = [];
      const server = createServer((socket) => {
        socket.once("data", (bytes) => {
          heard.push(bytes.toString("utf8").split("\r\n")[0] ?? "");
          socket.end("HTTP/1.1 403 Forbidden\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno\n");
        });
      });
      await new Promise<void>((resolve) => server.listen(socketPath, resolve));
      chmodSync(socketPath, 0o666);
      let revoked = 0;
      const grant = () =>
        Promise.resolve({
          socketPath,
          proxyUrl: (address: string) => `http://leave:word@${address}`,
          loopbackPort: () => Promise.resolve(0),
          revoke: () => Promise.resolve(void (revoked += 1)),
        });
      const settings = { read: () => ({ value: sandboxSettings(isolationLimits, { image: toolsImage }), problem: null }) };
      const shell = start({ egress: { grant }, settings });
      const ask = `exec 3<>/dev/tcp/127.0.0.1/3128 && printf 'CONNECT example.org:443 HTTP/1.1\\r\\n\\r\\n' >&3 && cat <&3; echo "$HTTPS_PROXY"; ls /run/lancelot`;
      const other = await runIn(shell, fixture.workspace, ask);
      expect(other.stdout).toBe("\nnonce\n");
      const ran = await runIn(shell, fixture.workspace, ask, { network: true });
      expect(ran.stdout).toMatch(/403 Forbidden[\s\S]*http:\/\/leave:word@127\.0\.0\.1:3128\negress\.sock\nnonce\n$/);
      expect(ran.result.killedOrphans).toBe(false);
      expect(heard[0]).toBe("CONNECT example.org:443 HTTP/1.1");
      expect(revoked).toBe(1);
      expect((await runIn(shell, fixture.workspace, ask)).stdout).toBe("\nnonce\n");
      const view = await shell.openView?.({
        folder: join(fixture.dataDir, "tasks/network"),
        layers: [{ name: "workspace", lower: fixture.workspace }],
      });
      if (view === undefined) throw new Error("The sandbox has no views.");
      expect((await runIn(shell, fixture.workspace, ask, { network: true, view })).stdout).toContain("403 Forbidden");
      expect((await runIn(shell, fixture.workspace, ask, { view })).stdout).toBe("\nnonce\n");
      expect(revoked).toBe(2);
      await view.close();
      server.close();
      rmSync(folder, { recursive: true });
    });

    it("that use the network are refused without a proxy", async () => {
      await expect(runIn(start(), fixture.workspace, "true", { network: true })).rejects.toMatchObject({ code: "unavailable" });
    });
  });

  describe("a host that is killed", () => {
    it("takes what it runs along, at once", async () => {
      const ticks = join(fixture.workspace, "ticks");
      const script = join(root, "test/support/engine/container-host/main.ts");
      const command =
        "trap '' TERM; (setsid sh -c 'while :; do echo tick >> ticks; sleep 0.02; done' &); while :; do echo x; sleep 0.1; done";
      const child = spawn(projectNode(), [script, fixture.workspace, fixture.dataDir, host(), "host_killed", command], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      await until("it ticks", () => existsSync(ticks) && statSync(ticks).size > 20);
      expect((await ours()).map(({ Labels }) => Labels["lancelot.host"])).toContain("host_killed");
      child.kill("SIGKILL");
      await until(
        "its container is gone",
        async () => (await ours()).every(({ Labels }) => Labels["lancelot.host"] !== "host_killed"),
        5_000,
      );
      const size = statSync(ticks).size;
      const shell = start();
      await runIn(shell, fixture.workspace, "sleep 0.3");
      expect(statSync(ticks).size).toBe(size);
      rmSync(ticks);
    });

    it("is cleaned up after by the next, but not what living hosts and other data folders have", async () => {
      const label = (name: string, data: string) => ({ "lancelot.data": data, "lancelot.host": name, "lancelot.workspace": "x" });
      const mine = start();
      await runIn(mine, fixture.workspace, "true");
      const data = (await ours())[0]?.Labels["lancelot.data"] ?? "";
      await mine.close();
      const create = async (name: string, of: string) =>
        (
          await docker.createContainer({
            Image: smallImage,
            Cmd: ["sleep", "600"],
            Labels: label(name, of),
            HostConfig: { NetworkMode: "none" },
          })
        ).id;
      const [dead, alive, others, forgotten] = [
        await create("host_dead", data),
        await create("host_alive", data),
        await create("host_dead", "somebody else's"),
        await create("host_tests", data),
      ];
      mkdirSync(join(fixture.dataDir, "sandbox/host_dead"), { recursive: true });
      const shell = start({ hostAlive: (name) => name === "host_alive" });
      await shell.probe();
      const left = (await ours()).map(({ Id }) => Id);
      expect([dead, alive, others, forgotten].map((id) => left.includes(id))).toEqual([false, true, true, false]);
      expect(existsSync(join(fixture.dataDir, "sandbox/host_dead"))).toBe(false);
      for (const id of [alive, others]) await docker.getContainer(id).remove({ force: true });
    });
  });
});
