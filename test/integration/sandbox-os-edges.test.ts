// @module-tag ordinary-user
// @module-tag sandbox
import { execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
// A user like any other, where root runs the tests: what root is spared must not be what makes them pass.
import "../support/sandbox/ordinary-user.ts";
import type { ShellProvider } from "../../agent-server/sandbox/shell-provider.ts";
import { isolationLimits, megabyte } from "../support/sandbox/limits.ts";
import { runs } from "../support/soak.ts";
import { openOsShell } from "../support/sandbox/os-shell.ts";
import { createSandboxFixture, type SandboxFixture } from "../support/sandbox/fixture.ts";
import { quoted, runIn, until } from "../support/sandbox/run.ts";

let fixture: SandboxFixture;
let shell: ShellProvider;
const run = (command: string, more: Parameters<typeof runIn>[3] = {}) => runIn(shell, fixture.workspace, command, more);
beforeEach(() => {
  fixture = createSandboxFixture();
  shell = openOsShell(fixture);
});
afterEach(async () => {
  await shell.close();
  fixture.close();
});
const git = (cwd: string, ...args: string[]) =>
  execFileSync("git", ["-c", "user.name=O", "-c", "user.email=o@example.org", ...args], {
    cwd,
    encoding: "utf8",
    env: { PATH: process.env["PATH"], HOME: cwd, GIT_CONFIG_NOSYSTEM: "1" },
  });

describe("permissions that a command takes away", () => {
  it.each([".git", ".vscode", ".git .vscode"])(
    "of %s: later commands run, none writes there, and no placeholder stays",
    async (folders) => {
      const names = () => readdirSync(fixture.workspace, { recursive: true }).map(String).toSorted();
      const before = names();
      await run(`chmod -R 000 ${folders}`);
      const first = folders.split(" ")[0] ?? "";
      for (const round of ["one", "two"]) {
        const next = await run(`echo ${round}; chmod 755 ${folders}; echo x > ${first}/planted; mkdir ${first}/hooks; true`);
        expect(next).toMatchObject({ stdout: `${round}\n`, result: { ended: "exit", exitCode: 0 } });
      }
      for (const folder of folders.split(" ")) chmodSync(join(fixture.workspace, folder), 0o755);
      expect(names()).toEqual(before);
      expect(await run(`echo x > .git/config`)).not.toMatchObject({ result: { exitCode: 0 } });
      expect(names()).toEqual(before);
    },
  );

  it("a folder that became read-only still gets its placeholders, and stays as it is", async () => {
    const folder = join(fixture.workspace, ".git");
    await run("chmod 555 .git");
    expect(await run("echo on; echo x > .git/commondir")).toMatchObject({ stdout: "on\n", result: { exitCode: 1 } });
    expect(statSync(folder).mode & 0o777).toBe(0o555);
    expect(readdirSync(folder).toSorted()).toEqual(["HEAD", "config", "hooks", "objects"]);
    chmodSync(folder, 0o755);
  });
});

it("a command that is stopped at any moment of its start ends, and runs nothing afterwards", async () => {
  const rounds = runs(8, 40);
  for (let turns = 0; turns < 40; turns += 40 / rounds) {
    const stop = new AbortController();
    const running = run("sleep 60", { signal: stop.signal });
    for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    stop.abort();
    expect((await running).result).toMatchObject({ ended: "stopped", exitCode: null });
  }
});

describe("the end of the host", () => {
  it("is the end of what it ran, daemons as well", async () => {
    const script = `
      import { createOsShell } from ${JSON.stringify(new URL("../../agent-server/sandbox/os-sandbox.ts", import.meta.url).href)};
      const shell = createOsShell({
        workspace: process.argv[1], dataDir: process.argv[2], protectedPaths: () => [], egress: null, log() {},
        masked: () => Promise.resolve({ files: [], folders: [] }),
        limits: () => (${JSON.stringify(isolationLimits)}),
      });
      await shell.run({
        command: "setsid sh -c 'while :; do echo tick >> ticks; sleep 0.02; done' & while :; do echo tick >> ticks; sleep 0.02; done",
        cwd: process.argv[1], timeoutMs: 60_000, outputBytes: 1000, network: false,
        signal: new AbortController().signal, onOutput() {}, onStarted() {},
      });`;
    const host = spawn(process.execPath, ["--input-type=module", "-e", script, fixture.workspace, fixture.dataDir], { stdio: "inherit" });
    const ticks = join(fixture.workspace, "ticks");
    await until("it runs", () => existsSync(ticks) && statSync(ticks).size > 50);
    host.kill("SIGKILL");
    let size = -1;
    await until("nothing is written any more", async () => {
      size = statSync(ticks).size;
      await new Promise((resolve) => setTimeout(resolve, 300));
      return statSync(ticks).size === size;
    });
    // What stood in for files of the repository is left, and goes with the next start.
    expect(existsSync(join(fixture.workspace, ".git/commondir"))).toBe(true);
    expect(await run("echo alive")).toMatchObject({ stdout: "alive\n" });
    expect(existsSync(join(fixture.workspace, ".git/commondir"))).toBe(false);
    expect(readdirSync(join(fixture.dataDir, "sandbox")).filter((name) => !name.startsWith(`${process.pid}-`))).toEqual([]);
  });

  it("by closing ends what runs and waits for it", async () => {
    const running = run("echo begun; sleep 600");
    await shell.probe();
    await run("true");
    await shell.close();
    expect((await running).result).toMatchObject({ exitCode: null, ended: "stopped" });
  });
});

describe("protected files that are not there", () => {
  it("cannot be made, and leave no trace", async () => {
    rmSync(join(fixture.workspace, ".vscode"), { recursive: true });
    rmSync(join(fixture.workspace, ".mcp.json"));
    rmSync(join(fixture.workspace, ".git/hooks"), { recursive: true });
    const names = () => readdirSync(fixture.workspace, { recursive: true }).map(String).toSorted();
    const before = names();
    const ran = await run(`
      mkdir -p .vscode && echo x > .vscode/settings.json && echo MADE; echo x > .mcp.json && echo MADE; rm -rf .mcp.json .vscode
      echo x > .mcp.json && echo MADE; mkdir .git/hooks; echo x > .git/hooks/pre-commit && echo MADE
      echo /tmp > .git/commondir && echo MADE; rm -f .git/commondir; echo /tmp > .git/commondir && echo MADE
      ln -s /tmp .mcp.json && echo MADE; true`);
    expect(ran.stdout).toBe("");
    expect(names()).toEqual(before);
  });

  it.each(["first", "last"])("stay protected for the command that began %s when the other ends", async (which) => {
    rmSync(join(fixture.workspace, ".mcp.json"));
    const tries = "sleep 1.2; echo x > .mcp.json && echo MADE; rm -rf .mcp.json; echo x > .mcp.json && echo MADE; true";
    const first = run(which === "first" ? tries : "sleep 0.6");
    await until("it stands in", () => existsSync(join(fixture.workspace, ".mcp.json")));
    const second = run(which === "first" ? "sleep 0.2" : tries);
    expect((await first).stdout + (await second).stdout).toBe("");
    expect(existsSync(join(fixture.workspace, ".mcp.json"))).toBe(false);
  });

  it("leave what the owner makes of them meanwhile, and are taken up by no commit", async () => {
    rmSync(join(fixture.workspace, ".vscode"), { recursive: true });
    rmSync(join(fixture.workspace, ".git"), { recursive: true });
    git(fixture.workspace, "init", "-q");
    const ran = await run("git add -A && git status --short; sleep 0.5", {
      onOutput: () => writeFileSync(join(fixture.workspace, ".vscode/settings.json"), '{"mine":true}'),
    });
    expect(ran.stdout).toBe("A  .mcp.json\nA  README.md\n");
    expect(readFileSync(join(fixture.workspace, ".vscode/settings.json"), "utf8")).toBe('{"mine":true}');
  });
});

describe("links of the workspace", () => {
  it.each([
    ["a protected file that is a link out", ".mcp.json", () => fixture.outside],
    ["a protected folder that is a link to what holds the workspace", ".git/hooks", () => ".."],
    ["one that leads nowhere", ".vscode/settings.json", () => "/nowhere"],
  ])("show nothing and stop nothing: %s", async (_name, at, target) => {
    const path = join(fixture.workspace, at);
    rmSync(path, { recursive: true });
    symlinkSync(target(), path);
    const ran = await run(`cat ${at} ${at}/secret.txt ../project-evil/secret.txt ../data/lancelot.sqlite; ls ..`);
    expect(ran.stdout).toBe("project\n");
    expect(lstatSync(path).isSymbolicLink()).toBe(true);
  });
});

describe("a work tree of another repository", () => {
  it("is committed in, and the repository's programs stay out of reach", async () => {
    const main = join(fixture.outside, "main");
    chmodSync(fixture.outside, 0o755);
    mkdirSync(main);
    writeFileSync(join(main, "a"), "a\n");
    git(main, "init", "-q");
    git(main, "add", ".");
    git(main, "commit", "-qm", "one");
    rmSync(fixture.workspace, { recursive: true });
    git(main, "worktree", "add", "-q", fixture.workspace);
    const ran = await run(`
      echo b > b && git add b && git -c user.name=O -c user.email=o@example.org commit -qm two && git log --oneline | wc -l
      echo x > ${quoted(main)}/.git/hooks/pre-commit; echo x > ${quoted(main)}/.git/config; mv ${quoted(main)}/.git/hooks ${quoted(main)}/.git/h
      cat ${quoted(main)}/a ${quoted(fixture.outside)}/secret.txt; true`);
    expect(ran.stdout).toBe("2\n");
    expect(existsSync(join(main, ".git/hooks/pre-commit"))).toBe(false);
    expect(readFileSync(join(main, ".git/config"), "utf8")).toContain("[core]");
    expect(git(main, "log", "--oneline", "--all").trim().split("\n")).toHaveLength(2);
  });

  it("is not made of one that knows nothing of it", async () => {
    const other = join(fixture.outside, "other");
    mkdirSync(other);
    git(other, "init", "-q");
    rmSync(join(fixture.workspace, ".git"), { recursive: true });
    writeFileSync(join(fixture.workspace, ".git"), `gitdir: ${other}/.git\n`);
    await expect(run("true")).rejects.toMatchObject({ code: "denied" });
  });

  it("works as usual in an ordinary repository", async () => {
    rmSync(join(fixture.workspace, ".git"), { recursive: true });
    git(fixture.workspace, "init", "-q");
    const ran = await run(
      "git add README.md && git -c user.name=O -c user.email=o@example.org commit -qm one && git status --short && git log --format=%s",
    );
    expect(ran.stdout).toBe("?? .mcp.json\n?? .vscode/\none\n");
    expect(ran.stderr).toBe("");
    expect(git(fixture.workspace, "log", "--format=%s")).toBe("one\n");
    expect(existsSync(join(fixture.workspace, ".git/commondir"))).toBe(false);
  });
});

describe("commits in a repository that names nobody", () => {
  const home = process.env["HOME"];
  afterEach(() => {
    process.env["HOME"] = home;
  });

  it.each([
    [
      "are the user's",
      '[user]\n\tname = "Ann \\"A\\" Lee"\n\temail = ann@example.org\n[alias]\n\tx = !touch made\n',
      'Ann "A" Lee <ann@example.org>\n',
    ],
    ["fail where the user's settings name nobody, too", "[core]\n\teditor = true\n", ""],
  ])("%s, without any other setting of the user", async (_name, settings, author) => {
    process.env["HOME"] = fixture.outside;
    writeFileSync(join(fixture.outside, ".gitconfig"), settings);
    rmSync(join(fixture.workspace, ".git"), { recursive: true });
    git(fixture.workspace, "init", "-q");
    const other = openOsShell(fixture);
    const ran = await runIn(
      other,
      fixture.workspace,
      "git add README.md; git commit -qm one 2>/dev/null && git log --format='%an <%ae>'; git x; true",
    );
    expect(ran.stdout).toBe(author);
    expect(existsSync(join(fixture.workspace, "made"))).toBe(false);
    await other.close();
  });
});

describe("limits", () => {
  it("hold for all processes together, not for each", async () => {
    // Each of them keeps to the limit.
    const one = `python3 -c 'import time; block = bytearray(${100 * megabyte}); time.sleep(30)'`;
    const ran = await run(`${one} & ${one} & ${one} & wait`, { timeoutMs: 25_000 });
    expect(ran.result).toMatchObject({ ended: "memory", exitCode: null });
  });

  it("let programs reserve more than they use", async () => {
    expect((await run("python3 -c 'import mmap; mmap.mmap(-1, 8 << 30, prot=mmap.PROT_READ); print(1)'")).stdout).toBe("1\n");
    // Its own heap grows to what is allowed, its address space is far larger.
    expect((await run(`${quoted(realpathSync(process.execPath))} -p 1`)).stdout).toMatch(/^(1\n)?$/);
  });

  it("end what adds too much to the workspace, and say so", async () => {
    const ran = await run("i=0; while :; do head -c 1000000 /dev/zero > f$i; i=$((i + 1)); done", { timeoutMs: 60_000 });
    expect(ran.result).toMatchObject({ ended: "stopped", exitCode: null });
    expect(ran.stderr).toContain("more than 48 MB");
  });

  it("are hard: nothing inside lifts them", async () => {
    const ran = await run("ulimit -u 10000 && echo LIFTED; ulimit -c unlimited && echo LIFTED; ulimit -d unlimited && echo LIFTED; true");
    expect(ran.stdout).toBe("");
  });

  it("hold for memory kept in shared folders", async () => {
    const ran = await run("dd if=/dev/zero of=/dev/shm/big bs=1M count=200; code=$?; rm -f /dev/shm/big; exit $code");
    expect(ran.result.exitCode).not.toBe(0);
    for (const folder of ["/", "/dev", "/run", "/etc", "/var", "/proc", "/usr"])
      expect((await run(`touch ${folder}/x`)).result.exitCode, folder).not.toBe(0);
  });
});

describe("the system", () => {
  it("filters what namespaces do not hold", async () => {
    const ran = await run(`grep ^Seccomp: /proc/self/status | tr -d '\\t'
      python3 - <<'END'
import ctypes, socket, os, fcntl, errno
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *args):
    result = libc.syscall(*args)
    print(name, result if result >= 0 else errno.errorcode[ctypes.get_errno()])
arm = os.uname().machine == "aarch64"
call("keyctl", 219 if arm else 250, 0, -3, 0)
call("unshare", 97 if arm else 272, 0x10000000)
call("bpf", 280 if arm else 321, 0, 0, 0)
call("io_uring_setup", 425, 1, 0)
call("clone3", 435, 0, 0)
call("clone", 220 if arm else 56, 0x10000000 | 17, 0, 0, 0, 0)
for family in (40, 38):
    try:
        socket.socket(family, socket.SOCK_STREAM); print("socket", family, "made")
    except OSError as error:
        print("socket", family, errno.errorcode[error.errno])
try:
    fcntl.ioctl(0, 0x5412, b"x"); print("typed")
except OSError as error:
    print("ioctl", errno.errorcode[error.errno])
socket.socketpair(); socket.socket(socket.AF_UNIX); print("unix sockets work")
END`);
    expect(ran.stdout.split("\n")).toEqual([
      "Seccomp:2",
      "keyctl EPERM",
      "unshare EPERM",
      "bpf EPERM",
      "io_uring_setup ENOSYS",
      "clone3 ENOSYS",
      "clone EPERM",
      "socket 40 EPERM",
      "socket 38 EPERM",
      "ioctl EPERM",
      "unix sockets work",
      "",
    ]);
  });

  it("can open its output by name, and threads, pipes and temporary files work", async () => {
    const ran = await run(
      `echo a > /dev/stdout; echo b > /dev/stderr; seq 3 | sort -r | head -1; mktemp >/dev/null && python3 -c 'import threading; t = threading.Thread(target=print, args=(7,)); t.start(); t.join()'; getent hosts localhost | wc -l; id -un`,
    );
    expect(ran).toMatchObject({ stdout: "a\n3\n7\n1\nlancelot\n", stderr: "b\n" });
  });

  it.runIf(existsSync("/usr/bin/javac"))("has the settings that Java needs to begin", async () => {
    writeFileSync(
      join(fixture.workspace, "Main.java"),
      "class Main { public static void main(String[] a) { System.out.println(java.security.Security.getProviders().length > 3); } }",
    );
    const other = openOsShell(fixture, { limits: () => ({ ...isolationLimits, memoryBytes: 2 ** 31 }) });
    const ran = await runIn(other, fixture.workspace, "java -Xmx256m -XX:TieredStopAtLevel=1 Main.java", { timeoutMs: 60_000 });
    expect(ran).toMatchObject({ stdout: "true\n", result: { exitCode: 0 } });
    await other.close();
  });

  it("shows more folders where the owner named them, to read alone", async () => {
    const toolchain = join(fixture.outside, "toolchain");
    mkdirSync(toolchain);
    writeFileSync(join(toolchain, "tool"), "#!/bin/sh\necho tool\n", { mode: 0o755 });
    const other = openOsShell(fixture, { readable: () => [toolchain] });
    const ran = await runIn(
      other,
      fixture.workspace,
      `${quoted(toolchain)}/tool; echo x > ${quoted(toolchain)}/x; cat ${quoted(fixture.outside)}/secret.txt`,
    );
    expect(ran.stdout).toBe("tool\n");
    expect(readdirSync(toolchain)).toEqual(["tool"]);
    await other.close();
  });

  it("hides the data folder where it lies in the workspace", async () => {
    const inside = join(fixture.workspace, ".lancelot");
    mkdirSync(inside);
    writeFileSync(join(inside, "lancelot.sqlite"), fixture.canary);
    const other = openOsShell(fixture, { dataDir: inside });
    const ran = await runIn(other, fixture.workspace, "ls -A .lancelot; cat .lancelot/lancelot.sqlite; echo x > .lancelot/x");
    expect(ran.stdout).toBe("");
    expect(existsSync(join(inside, "x"))).toBe(false);
    await other.close();
  });

  it.each([["the home folder"], ["what holds it"], ["the whole disk"], ["the system"]])("does not open on %s", async (what) => {
    const home = join(fixture.workspace, "home");
    mkdirSync(home);
    const workspace =
      { "the home folder": home, "what holds it": fixture.workspace, "the whole disk": "/", "the system": "/usr" }[what] ?? "";
    const other = openOsShell(fixture, { workspace, env: { ...process.env, HOME: home } });
    await expect(runIn(other, workspace, "true")).rejects.toMatchObject({ code: "unavailable" });
    await other.close();
  });
});

describe("where there is no sandbox", () => {
  const program = (text: string) => {
    const path = join(fixture.outside, "bwrap");
    writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    return path;
  };

  it("says what to install", async () => {
    const other = openOsShell(fixture, { program: join(fixture.outside, "none") });
    expect(await other.probe()).toMatchObject({
      status: "down",
      nextStep: expect.stringMatching(/bubblewrap/) as string,
    });
    const started: string[] = [];
    await expect(runIn(other, fixture.workspace, "echo x > ran", { onStarted: () => void started.push("yes") })).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("bubblewrap") as string,
    });
    expect(started).toEqual([]);
    expect(existsSync(join(fixture.workspace, "ran"))).toBe(false);
  });

  it.each([
    ["namespaces are refused", "bwrap: No permissions to create new namespace, likely because the kernel does not allow it", /namespaces/],
    ["ids cannot be mapped", "bwrap: setting up uid map: Permission denied", /namespaces/],
    ["/proc cannot be mounted", "bwrap: Can't mount proc on /newroot/proc: Operation not permitted", /container/],
    ["something is gone", "bwrap: Can't find source path /x/y: No such file or directory", /no longer exists/],
    ["it fails in another way", "bwrap: Something else", /Something else/],
  ])("says what to do when %s", async (_name, said, expectedText) => {
    const other = openOsShell(fixture, {
      program: program(
        `case "$1" in --version) echo bubblewrap 0.8.0;; --help) echo "--size BYTES --disable-userns";; *) echo "${said}" >&2; exit 1;; esac`,
      ),
    });
    const health = await other.probe();
    expect(health).toMatchObject({
      status: "down",
      message: expect.stringMatching(expectedText) as string,
      nextStep: expect.any(String) as string,
    });
    await expect(runIn(other, fixture.workspace, "true")).rejects.toMatchObject({ code: "unavailable" });
  });

  it("reports what an older one lacks", async () => {
    const other = openOsShell(fixture, {
      program: program(`case "$1" in --version) echo bubblewrap 0.6.1;; --help) echo nothing;; *) exec bwrap "$@";; esac`),
    });
    expect(await other.probe()).toMatchObject({ status: "degraded", message: expect.stringContaining("older than 0.7") as string });
    expect(other.version()).toBe("0.6.1");
    expect((await runIn(other, fixture.workspace, "echo works")).stdout).toBe("works\n");
  });

  it("refuses before the beginning when the sandbox breaks later", async () => {
    const broken = join(fixture.outside, "broken");
    const other = openOsShell(fixture, {
      program: program(`[ -e ${quoted(broken)} ] && { echo "bwrap: clone failed" >&2; exit 1; }; exec bwrap "$@"`),
    });
    expect((await runIn(other, fixture.workspace, "echo works")).stdout).toBe("works\n");
    writeFileSync(broken, "");
    await expect(runIn(other, fixture.workspace, "echo works")).rejects.toMatchObject({ code: "unavailable" });
    rmSync(broken);
    expect((await runIn(other, fixture.workspace, "echo works")).stdout).toBe("works\n");
  });

  it("reports a sandbox that was removed under a command as lost", async () => {
    const pids = join(tmpdir(), `lancelot-pid-${process.pid}`);
    const other = openOsShell(fixture, { program: program(`echo $$ > ${quoted(pids)}; exec bwrap "$@"`) });
    const ran = await runIn(other, fixture.workspace, "echo begun; sleep 600", {
      onOutput: () => process.kill(Number(readFileSync(pids, "utf8")), "SIGKILL"),
    });
    rmSync(pids);
    expect(ran.result).toMatchObject({ ended: "lost", exitCode: null });
  });
});
