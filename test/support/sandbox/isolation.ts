import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SandboxLimits, ShellProvider } from "../../../agent-server/sandbox/shell-provider.ts";
import { runs, soak } from "../soak.ts";
import { isolationLimits, megabyte } from "./limits.ts";
import { createSandboxFixture, type SandboxFixture } from "./fixture.ts";
import { quoted, runIn, until } from "./run.ts";

export interface IsolationOptions {
  /** Opens the place on a workspace. The suite closes it. */
  readonly open: (fixture: SandboxFixture, limits: SandboxLimits) => Promise<ShellProvider>;
  /** Sockets that may be seen inside, by their paths; none without. */
  readonly sockets?: readonly string[];
  /** How using too much memory ends: told by the engine, or by the program that gets no more. */
  readonly memoryEnds: "memory" | "exit" | "either";
  /** How commands end is tried elsewhere in the same way, so here it is tried in the soak alone. */
  readonly endsElsewhere?: boolean;
}

/**
 * Registers the cases that every place for commands has to pass: isolation by trying (issue 4). The commands are plain `sh` with what
 * busybox has, so they run in the smallest image too.
 */
export function isolationCases(title: string, options: IsolationOptions): void {
  describe(title, () => {
    let fixture: SandboxFixture;
    let provider: ShellProvider;
    const run = (command: string, more: Parameters<typeof runIn>[3] = {}) => runIn(provider, fixture.workspace, command, more);

    beforeAll(async () => {
      fixture = createSandboxFixture();
      provider = await options.open(fixture, isolationLimits);
      expect(await provider.probe()).toMatchObject({ status: expect.stringMatching(/^(ok|degraded)$/) as string });
    });
    afterAll(async () => {
      await provider.close();
      fixture.close();
    });

    describe("a command", () => {
      it("gives both streams apart, its exit code, and its beginning once", async () => {
        const ran = await run("echo out; echo err >&2; exit 7");
        expect(ran).toMatchObject({
          stdout: "out\n",
          stderr: "err\n",
          started: 1,
          result: { exitCode: 7, ended: "exit", killedOrphans: false },
        });
        expect(ran.result.outputBytes).toBe(8);
      });

      it("is told as it speaks, not at its end", async () => {
        let ended = false;
        const seen: boolean[] = [];
        await run("echo one; sleep 0.7; echo two", { onOutput: () => void seen.push(ended) }).then(() => (ended = true));
        expect(seen.length).toBeGreaterThanOrEqual(2);
        expect(seen).not.toContain(true);
      });

      it("has nothing to read on stdin", async () => {
        expect(await run("cat; echo read $?")).toMatchObject({ stdout: "read 0\n", result: { exitCode: 0, ended: "exit" } });
      });

      it("works in its folder, and what it writes belongs to the workspace's owner", async () => {
        const ran = await runIn(provider, join(fixture.workspace, "src"), "pwd; cat ../README.md; echo new > made.txt; mkdir -p a/b");
        expect(ran).toMatchObject({ stdout: `${join(fixture.workspace, "src")}\nhello\n`, result: { exitCode: 0 } });
        for (const made of ["src/made.txt", "src/a/b"]) {
          const { uid, gid } = statSync(join(fixture.workspace, made));
          expect({ uid, gid }).toEqual(fixture.owner);
        }
      });

      it.each([
        ["quotes, newlines and dollars", `printf '%s\\n' 'a  "b"' "$((1 + 2))"\nprintf '%s' '$HOME'`, `a  "b"\n3\n$HOME`],
        ["a leading dash", "-x 2>/dev/null || echo none", "none\n"],
        ["bytes that are no text", String.raw`printf '\303\244\n'`, "ä\n"],
      ])("comes through as it was written: %s", async (_name, command, said) => {
        expect((await run(command)).stdout).toBe(said);
      });

      it("sees nothing of this process's environment", async () => {
        const ran = await run("env; cat /proc/*/environ 2>/dev/null; true");
        expect(ran.stdout).toMatch(/^HOME=/m);
        expect(ran.stdout).not.toContain(fixture.canary);
        expect(ran.stdout).not.toContain("LANCELOT_SANDBOX_CANARY");
      });

      it("has a home and a folder for temporary files that it can write to", async () => {
        expect(await run('echo a > "$HOME/x" && echo b > /tmp/y && cat "$HOME/x" /tmp/y')).toMatchObject({ stdout: "a\nb\n" });
      });
    });

    describe("network", () => {
      it("reaches no listener of this machine, by address or by socket", async () => {
        const reached: string[] = [];
        const listening = [
          await listen(
            (server, done) => server.listen(0, "127.0.0.1", done),
            () => reached.push("tcp"),
          ),
          await listen(
            (server, done) => server.listen(`\0lancelot-isolation-${process.pid}`, done),
            () => reached.push("abstract"),
          ),
        ];
        const address = listening[0]?.address();
        const port = typeof address === "object" && address !== null ? address.port : 0;
        const tries = `
          (exec 3<>/dev/tcp/127.0.0.1/${port}) 2>&1
          nc -w 1 127.0.0.1 ${port} </dev/null 2>&1
          wget -T 1 -t 1 -O- http://127.0.0.1:${port}/ 2>&1
          python3 -c 'import socket; socket.create_connection(("127.0.0.1", ${port}), 1)' 2>&1
          python3 -c 'import socket; s=socket.socket(socket.AF_UNIX); s.connect("\\0lancelot-isolation-${process.pid}")' 2>&1
          true`;
        await run(tries);
        expect(reached).toEqual([]);
        // The same words do reach it from outside the sandbox: the test can fail.
        spawnSync("bash", ["-c", tries], { timeout: 10_000 });
        const outside = spawnSync("bash", ["-c", `(exec 3<>/dev/tcp/127.0.0.1/${port})`], { timeout: 10_000 });
        expect(outside.status).toBe(0);
        await until("the listener is reached from outside", () => reached.length > 0);
        for (const server of listening) server.close();
      });

      it("has no way out but loopback", async () => {
        expect((await run("ls /sys/class/net 2>/dev/null || sed 1,2d /proc/net/dev | cut -d: -f1 | tr -d ' '")).stdout.trim()).toMatch(
          /^(lo)?$/,
        );
        expect((await run("cat /proc/net/route | sed 1d | wc -l")).stdout.trim()).toBe("0");
      });
    });

    describe("what is not the workspace", () => {
      it("cannot be read: files of the host, the data folder, a folder whose name begins like the workspace's", async () => {
        symlinkSync(fixture.outside, join(fixture.workspace, "link"));
        const ran = await run(`
          cat ${quoted(fixture.outside)}/secret.txt ../project-evil/secret.txt link/secret.txt src/../../project-evil/secret.txt
          cat ${quoted(fixture.dataDir)}/lancelot.sqlite ${quoted(fixture.dataDir)}/config/flags.yaml
          for root in /proc/[0-9]*/root /proc/[0-9]*/cwd; do cat $root${fixture.outside}/secret.txt $root/../project-evil/secret.txt; done
          ln ${quoted(fixture.outside)}/secret.txt hard && cat hard
          cat /etc/shadow
          grep -rl ${fixture.canary.slice(0, 12)} /tmp /home /root /var /mnt /opt 2>/dev/null
          true`);
        rmSync(join(fixture.workspace, "link"));
        expect(ran.stdout + ran.stderr).not.toContain(fixture.canary);
        expect(ran.stdout).not.toMatch(/^root:[^:]*:\d+:/m);
      });

      it("cannot be written to", async () => {
        const name = `written-${fixture.canary}`;
        const folders = [
          "/",
          "/etc",
          "/usr",
          "/usr/bin",
          "/var",
          "/home",
          "/root",
          "/opt",
          "/boot",
          "/lib",
          fixture.outside,
          fixture.dataDir,
          join(fixture.dataDir, "config"),
        ];
        await run(`
          for folder in ${folders.map(quoted).join(" ")} .. ../project-evil; do
            mkdir -p $folder 2>/dev/null; echo x > $folder/${name}; ln -s /etc $folder/${name}; mv README.md $folder/${name}; cp /bin/sh $folder/${name}
          done 2>/dev/null; true`);
        for (const folder of folders) expect(existsSync(join(folder, name)), folder).toBe(false);
        expect(readFileSync(join(fixture.outside, "secret.txt"), "utf8")).toBe(fixture.canary);
        writeFileSync(join(fixture.workspace, "README.md"), "hello\n");
      });

      it("is not reached by swapping a folder for a link while commands run in it", async () => {
        const swapped = join(fixture.workspace, "swapped");
        mkdirSync(swapped);
        const swapping = run(
          `
          while :; do
            mv swapped was 2>/dev/null; ln -s ${quoted(fixture.outside)} swapped; rm -f swapped; ln -s ${quoted(fixture.dataDir)} swapped; rm -f swapped
            mv was swapped 2>/dev/null
          done`,
          { timeoutMs: runs(2_000, 6_000) },
        );
        const said: string[] = [];
        for (let round = 0; round < 10; round += 1) {
          const ran = await runIn(
            provider,
            swapped,
            `cat secret.txt lancelot.sqlite ./swapped/secret.txt; echo x > raced; echo x > config/raced; pwd`,
          ).catch((error: unknown) => ({ stdout: String(error), stderr: "" }));
          said.push(ran.stdout + ran.stderr);
        }
        expect((await swapping).result.ended).toBe("timeout");
        expect(said.join("")).not.toContain(fixture.canary);
        expect(readdirSync(fixture.outside)).toEqual(["secret.txt"]);
        expect(existsSync(join(fixture.dataDir, "raced")) || existsSync(join(fixture.dataDir, "config/raced"))).toBe(false);
        for (const left of ["swapped", "was"]) rmSync(join(fixture.workspace, left), { recursive: true, force: true });
      });

      it("holds no socket, so none of an engine's", async () => {
        const ran = await run(
          "find / -xdev -type s 2>/dev/null; find /run /var/run /tmp -type s 2>/dev/null; ls /var/run/docker.sock /run/podman/podman.sock 2>/dev/null; true",
        );
        expect(ran.stdout.split("\n").filter((line) => line !== "" && !(options.sockets ?? []).includes(line))).toEqual([]);
      });
    });

    describe("protected files of the workspace", () => {
      it("can be read, but not written, replaced or moved away with their folder", async () => {
        const before = protectedContents(fixture);
        const ran = await run(`
          cat .git/config
          echo x > .git/hooks/pre-commit; echo x > .git/config; echo x > .vscode/settings.json; echo x > .mcp.json
          rm -rf .git/config .git/hooks .vscode/settings.json .mcp.json
          for at in .git .vscode .git/hooks .mcp.json .vscode/settings.json; do mv $at moved; echo x > new; mv -f new $at; done
          mkdir -p .git/hooks .vscode; echo x > .git/hooks/post-checkout; echo x > .git/config; echo x > .vscode/settings.json
          ln -sf /etc/passwd .mcp.json; chmod 777 .git/hooks .git/config
          true`);
        expect(ran.stdout).toContain("repositoryformatversion");
        expect(protectedContents(fixture)).toEqual(before);
        rmSync(join(fixture.workspace, "new"), { force: true });
      });

      it("lets the rest of .git be written", async () => {
        expect(await run("echo a > .git/objects/made && mv .git/objects/made .git/index && cat .git/index")).toMatchObject({
          stdout: "a\n",
        });
      });
    });

    describe("privileges", () => {
      it("are none, and no program brings any", async () => {
        const ran = await run("id -u; grep -E '^(CapEff|CapBnd|CapPrm|NoNewPrivs|Seccomp):' /proc/self/status");
        expect(ran.stdout).toMatch(/CapEff:\s+0+$/m);
        expect(ran.stdout).toMatch(/NoNewPrivs:\s+1$/m);
        expect(ran.stdout).toMatch(new RegExp(`^${fixture.owner.uid}$`, "m"));
      });

      // Only root can make such a program.
      if (process.getuid?.() === 0)
        it("are not gained by a setuid program of root's", async () => {
          const shell = join(fixture.workspace, "suid-id");
          copyFileSync("/usr/bin/id", shell);
          chmodSync(shell, 0o6755);
          expect(lstatSync(shell)).toMatchObject({ uid: 0, mode: 0o106755 });
          expect((await run("./suid-id -u; cp suid-id mine; chmod 4755 mine; ./mine -u; true")).stdout).not.toMatch(/^0$/m);
          rmSync(shell);
        });

      it("cannot be gained: sudo, su, mount, unshare, chroot, devices, kernel settings", async () => {
        const ran = await run(`
          sudo -n id; su -c id </dev/null; mknod dev-null c 1 3 && echo MADE-DEVICE; mknod disk b 254 0 && echo MADE-DEVICE
          mkdir -p m; mount -t tmpfs none m && echo MOUNTED; mount --bind ${quoted(fixture.outside)} m && cat m/secret.txt
          unshare -Ur sh -c 'mount --bind ${fixture.outside} m; cat m/secret.txt ${fixture.outside}/secret.txt; echo x > ${fixture.outside}/unshared'
          unshare -n true && echo NEW-NETWORK
          chroot / true && echo CHROOTED
          echo x > /proc/sys/kernel/core_pattern && echo SET-KERNEL; echo 1 > /proc/sys/vm/drop_caches && echo SET-KERNEL; echo h > /proc/sysrq-trigger && echo SET-KERNEL
          dmesg | head -n 1; head -c 16 /dev/mem /dev/kmem /dev/vda /dev/sda /proc/kcore && echo READ-DEVICE
          true`);
        const said = ran.stdout + ran.stderr;
        expect(said).not.toMatch(/uid=0|MADE-DEVICE|MOUNTED|CHROOTED|SET-KERNEL|READ-DEVICE/);
        expect(said).not.toContain(fixture.canary);
        expect(readdirSync(fixture.outside)).toEqual(["secret.txt"]);
        for (const left of ["m", "dev-null", "disk"]) rmSync(join(fixture.workspace, left), { recursive: true, force: true });
      });

      it("do not reach processes of the machine: it sees and ends its own alone", async () => {
        const ran = await run(
          `ls -d /proc/${process.pid} 2>/dev/null; kill -9 ${process.pid}; kill -9 ${process.ppid}; kill -9 -1; echo over`,
        );
        expect(ran.result.ended).toMatch(/^(exit|lost)$/);
        expect(await run("echo alive")).toMatchObject({ stdout: "alive\n" });
      });
    });

    describe("limits", () => {
      it("end a fork bomb, and the next command runs", async () => {
        const before = processes();
        let most = 0;
        const watch = setInterval(() => (most = Math.max(most, processes() - before)), 50);
        const ran = await run("bomb() { bomb | bomb & }; (bomb) >/dev/null 2>&1 & while :; do :; done", { timeoutMs: runs(1_500, 3_000) });
        clearInterval(watch);
        expect(ran.result.ended).toBe("timeout");
        expect(ran.result.exitCode).toBeNull();
        expect(most).toBeLessThan(isolationLimits.processes + 60);
        expect(await run("echo alive")).toMatchObject({ stdout: "alive\n", result: { exitCode: 0, killedOrphans: false } });
        await until("the bomb is gone", () => processes() < before + 30);
      });

      it("end what takes too much memory", async () => {
        const ran = await run("tail /dev/zero", { timeoutMs: 60_000 });
        expect(options.memoryEnds === "either" ? ["memory", "exit"] : [options.memoryEnds]).toContain(ran.result.ended);
        expect(ran.result.exitCode).not.toBe(0);
        expect(await run("echo alive")).toMatchObject({ stdout: "alive\n" });
      });

      it.each([
        ["one file", "dd if=/dev/zero of=filler/big bs=1M count=4000"],
        [
          "many files",
          "i=0; while [ $i -lt 4000 ]; do dd if=/dev/zero of=filler/$i bs=1M count=1 2>/dev/null || exit 9; i=$((i + 1)); done",
        ],
      ])("end what fills the disk: %s", async (_name, command) => {
        const filler = join(fixture.workspace, "filler");
        const ran = await run(`mkdir -p filler; ${command}`, { timeoutMs: 60_000 });
        expect(ran.result.exitCode).not.toBe(0);
        expect(ran.result.ended).not.toBe("timeout");
        const bytes = readdirSync(filler).reduce((sum, name) => sum + statSync(join(filler, name)).blocks * 512, 0);
        expect(bytes).toBeLessThan(isolationLimits.workspaceBytes * 8);
        rmSync(filler, { recursive: true, force: true });
      });

      it("end what fills the disk with deleted files that are still open", async () => {
        const megabytes = Math.floor(isolationLimits.workspaceBytes / megabyte) - 8;
        const hold = `(exec 3>held; rm held; dd if=/dev/zero bs=1M count=${megabytes} >&3 2>/dev/null; sleep 600) &`;
        const ran = await run(`${`${hold} sleep 0.2; `.repeat(8)} wait`, { timeoutMs: 120_000 });
        expect([ran.result.ended, ran.result.exitCode]).toEqual(["stopped", null]);
        expect(await run("echo alive")).toMatchObject({ stdout: "alive\n" });
      });

      it.each([
        ["are idle", "echo ready; while [ ! -e filled ]; do sleep 0.1; done"],
        [
          "write to pipes",
          "dd if=/dev/zero bs=1M count=400 2>/dev/null | cat > /dev/null; echo ready; while [ ! -e filled ]; do sleep 0.1; done",
        ],
      ])("do not blame commands that %s for what others write to the same disk", async (name, command) => {
        // It stays: the disk is told of space that becomes free later than the next command starts.
        const foreign = join(fixture.dataDir, `foreign ${name}`);
        const filled = join(fixture.workspace, "filled");
        const ran = run(`${command}; sleep 1; echo over`, {
          timeoutMs: 120_000,
          onOutput(_stream, bytes) {
            if (!Buffer.from(bytes).includes("ready")) return;
            // More than the disk limit of the command, several times.
            for (let times = 0; times < 6; times += 1) appendFileSync(foreign, Buffer.alloc(isolationLimits.workspaceBytes));
            writeFileSync(filled, "");
          },
        });
        expect(await ran).toMatchObject({ stdout: "ready\nover\n", stderr: "", result: { ended: "exit", exitCode: 0 } });
        rmSync(filled);
      });

      it("hold in the folder for temporary files", async () => {
        const ran = await run("dd if=/dev/zero of=/tmp/big bs=1M count=200; code=$?; wc -c < /tmp/big; rm -f /tmp/big; exit $code");
        expect(ran.result.exitCode).not.toBe(0);
        expect(Number(ran.stdout.trim())).toBeLessThanOrEqual(isolationLimits.scratchBytes);
      });

      it("hand on what output may take, and no more, of a flood far larger than memory may grow", async () => {
        const megabytes = runs(256, 1024);
        const before = process.memoryUsage().rss;
        let most = 0;
        const watch = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), 20);
        const ran = await run(`dd if=/dev/zero bs=1M count=${megabytes} 2>/dev/null; echo end >&2`, { timeoutMs: 100_000 });
        clearInterval(watch);
        expect(ran.received).toBeLessThanOrEqual(1_000_000);
        expect(ran.result).toMatchObject({ ended: "exit", exitCode: 0 });
        expect(ran.result.outputBytes).toBeGreaterThanOrEqual(megabytes * megabyte);
        expect(most - before).toBeLessThan(160 * megabyte);
      });
    });

    const describeEnds = options.endsElsewhere === true && !soak ? () => undefined : describe;
    describeEnds("ending", () => {
      it.each([
        ["a sleeper", "sleep 600"],
        ["one that will not be ended", "trap '' TERM INT HUP QUIT; while :; do sleep 1; done"],
        ["a tree with its own groups", "setsid sh -c 'trap \"\" TERM; sleep 600' & (sleep 600 | sleep 600) & sleep 600"],
      ])("is by the clock: %s", async (_name, command) => {
        const ran = await run(`echo begun; ${command}`, { timeoutMs: 1_000 });
        expect(ran).toMatchObject({ stdout: "begun\n", result: { ended: "timeout", exitCode: null } });
        expect(ran.result.durationMs).toBeGreaterThanOrEqual(1_000);
        expect((await running(run, "sleep 600")).length).toBe(0);
      });

      it("is by the owner", async () => {
        const stop = new AbortController();
        const ran = await run("echo begun; sleep 600", { signal: stop.signal, onOutput: () => stop.abort() });
        expect(ran).toMatchObject({ stdout: "begun\n", result: { ended: "stopped", exitCode: null } });
        expect((await running(run, "sleep 600")).length).toBe(0);
      });

      it("was before it began: nothing is run", async () => {
        const ran = await run("echo x > never", { signal: AbortSignal.abort() }).catch((error: unknown) => error);
        if (!(ran instanceof Error)) expect(ran).toMatchObject({ result: { ended: "stopped" } });
        expect(existsSync(join(fixture.workspace, "never"))).toBe(false);
      });

      it("does not wait for a child that holds its output, and says that one was left", async () => {
        const ran = await run("sleep 600 & echo done");
        expect(ran).toMatchObject({ stdout: "done\n", result: { ended: "exit", exitCode: 0, killedOrphans: true } });
        expect((await running(run, "sleep 600")).length).toBe(0);
      });

      it.each([
        ["a daemon", "setsid sh -c 'while :; do echo tick >> ticks; sleep 0.05; done' >/dev/null 2>&1 </dev/null & "],
        [
          "one that forgot its environment",
          "setsid env -i sh -c 'while :; do echo tick >> ticks; sleep 0.05; done' >/dev/null 2>&1 </dev/null & ",
        ],
        ["one whose parent is gone", "(setsid sh -c '(while :; do echo tick >> ticks; sleep 0.05; done) &' >/dev/null 2>&1 &) ; "],
      ])("takes along what was left in the background: %s", async (_name, command) => {
        const ticks = join(fixture.workspace, "ticks");
        const ran = await run(`${command} while [ ! -s ticks ]; do sleep 0.05; done; echo begun`);
        expect(ran).toMatchObject({ stdout: "begun\n", result: { ended: "exit", exitCode: 0, killedOrphans: true } });
        const size = statSync(ticks).size;
        await run("sleep 0.5");
        expect(statSync(ticks).size).toBe(size);
        rmSync(ticks);
      });

      it("keeps commands that run side by side apart", async () => {
        const all = await Promise.all(
          Array.from({ length: 12 }, (_unused, index) => run(`echo ${index}; sleep 0.$((${index} % 3)); echo ${index} >&2; exit ${index}`)),
        );
        expect(all.map((ran) => [ran.stdout, ran.stderr, ran.result.exitCode, ran.result.ended])).toEqual(
          all.map((_ran, index) => [`${index}\n`, `${index}\n`, index, "exit"]),
        );
      });
    });
  });
}

/** Command lines inside that contain `text`, the asking one left out. */
async function running(run: (command: string) => Promise<{ stdout: string }>, text: string): Promise<string[]> {
  const ran = await run("for at in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $at 2>/dev/null; echo; done");
  return ran.stdout.split("\n").filter((line) => line.trim() === text);
}

/** Processes on this machine. */
const processes = (): number => readdirSync("/proc").filter((name) => /^\d+$/.test(name)).length;

/** What protected files hold, and what is in protected folders. */
function protectedContents(fixture: SandboxFixture): unknown[] {
  return fixture.protectedPaths.map((path) => {
    const at = join(fixture.workspace, path);
    const stats = lstatSync(at);
    return [path, stats.mode, stats.isDirectory() ? readdirSync(at) : readFileSync(at, "utf8")];
  });
}

function listen(start: (server: Server, done: () => void) => void, reached: () => void): Promise<Server> {
  const server = createServer((socket) => {
    reached();
    socket.on("error", () => {});
    socket.end("HOST");
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    start(server, () => resolve(server));
  });
}
