import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createEgressProxy, type EgressProxy } from "../../../agent-server/sandbox/egress.ts";
import type { BackgroundProcess, ShellProvider } from "../../../agent-server/sandbox/shell-provider.ts";
import type { OverlayView } from "../../../agent-server/workspace/workspace.ts";
import { createSandboxFixture, type SandboxFixture } from "./fixture.ts";
import { isolationLimits } from "./limits.ts";
import { openOsShell } from "./os-shell.ts";
import { type Ran, runIn, type RunOptions, until } from "./run.ts";

/** Answers each connection with one line, on the port that is its first argument. */
const server = (port: number, answer: string): string => `socat TCP-LISTEN:${port},bind=127.0.0.1,reuseaddr,fork SYSTEM:'echo ${answer}'`;
const ask = (port: number): string => `socat -u TCP:127.0.0.1:${port},connect-timeout=5 - 2>/dev/null || echo refused`;

interface Started {
  readonly process: BackgroundProcess;
  readonly ended: Promise<Ran>;
  stop(): Promise<Ran>;
}

/** Commands in the background of a view: others reach their ports, and they can be paused whatever they do. */
export function backgroundCases(who: string): void {
  describe(`background commands, ${who}`, () => {
    let fixture: SandboxFixture;
    let shell: ShellProvider;
    let egress: EgressProxy;
    const views: OverlayView[] = [];
    const started: Started[] = [];
    beforeAll(() => {
      fixture = createSandboxFixture();
      egress = createEgressProxy({
        judge: () => ({ verdict: "deny", rule: { message: "Not here." }, alternatives: [] }),
        onConnection: () => undefined,
        log: () => undefined,
      });
      shell = openOsShell(fixture, { egress });
    });
    afterEach(async () => {
      for (const one of started.splice(0)) await one.stop();
      for (const view of views.splice(0)) await view.close();
    });
    afterAll(async () => {
      await shell.close();
      await egress.close();
      fixture.close();
    });

    const layer = () => ({ name: "workspace", lower: fixture.workspace });
    async function open(task: string): Promise<OverlayView> {
      const view = await shell.openView?.({ folder: join(fixture.dataDir, "tasks", task), layers: [layer()] });
      if (view === undefined) throw new Error("The sandbox has no views.");
      views.push(view);
      return view;
    }
    const run = (view: OverlayView, command: string, options: RunOptions = {}) =>
      runIn(shell, fixture.workspace, command, { view, ...options });
    async function start(view: OverlayView, command: string, options: RunOptions = {}): Promise<Started> {
      const stop = new AbortController();
      const running = Promise.withResolvers<BackgroundProcess>();
      const ended = run(view, command, {
        ...{ signal: stop.signal, timeoutMs: 600_000, bytesPerSecond: 1_000_000, onBackground: running.resolve },
        ...options,
      });
      ended.catch(running.reject);
      const one = {
        process: await running.promise,
        ended,
        async stop() {
          stop.abort();
          return ended;
        },
      };
      started.push(one);
      return one;
    }
    const listening = (one: Started, port: number) => until(`port ${port}`, () => one.process.ports().some((found) => found.port === port));

    it("are reached by later commands of the view and by nothing else, and end when they are stopped", async () => {
      const [view, other] = [await open("a"), await open("b")];
      const one = await start(view, server(3000, "one"));
      await listening(one, 3000);
      expect(one.process.ports()).toEqual([{ port: 3000, family: 4 }]);
      expect((await run(view, ask(3000))).stdout).toBe("one\n");
      expect((await run(other, ask(3000))).stdout).toBe("refused\n");
      expect((await runIn(shell, fixture.workspace, ask(3000))).stdout).toBe("refused\n");
      const forwarder = createServer((client) => one.process.forward({ port: 3000, family: 4 }, client)).listen(0, "127.0.0.1");
      const { port } = await until("it listens", () => forwarder.address() as AddressInfo | null);
      expect(await text(connect(port, "127.0.0.1"))).toBe("one\n");
      forwarder.close();
      // A second one shares the network, and its processes are apart.
      const two = await start(view, `${server(3001, "two")} & ${ask(3000)}; ls /proc | grep -c '^[0-9]'; wait`);
      await listening(two, 3001);
      expect(two.process.ports()).toEqual([{ port: 3001, family: 4 }]);
      expect((await one.stop()).result.ended).toBe("stopped");
      expect((await run(view, `${ask(3001)}; ${ask(3000)}`)).stdout).toBe("two\nrefused\n");
      await two.stop();
      expect((await run(view, ask(3001))).stdout).toBe("refused\n");
    });

    it("see what is written in their view, and write there alone", async () => {
      const view = await open("c");
      const one = await start(view, "while ! [ -e src/seen.txt ]; do sleep 0.05; done; echo saw; echo made > src/made.txt");
      expect((await run(view, "echo x > src/seen.txt")).result.exitCode).toBe(0);
      expect(await one.ended).toMatchObject({ stdout: "saw\n", result: { ended: "exit", exitCode: 0 } });
      expect(readdirSync(join(view.upper(layer()), "src")).sort()).toEqual(["made.txt", "seen.txt"]);
      expect(readdirSync(join(fixture.workspace, "src"))).not.toContain("made.txt");
    });

    it("write nothing while they are paused, however many processes they are, and go on afterwards", async () => {
      const view = await open("d");
      // Forks all the time; each process swaps a folder for a link and back, and counts.
      const swap = "mkdir -p p$1; while :; do mv p$1 q$1; ln -s /etc p$1; date +%N > count$1; rm p$1; mv q$1 p$1; done";
      const one = await start(
        view,
        `mkdir -p swap; cd swap; for i in 1 2 3 4; do sh -c '${swap}' sh $i & done; while :; do (sh -c '(date +%N > fork) &' &); sleep 0.005; done`,
      );
      const folder = join(view.upper(layer()), "swap");
      await until("it starts", () => existsSync(folder));
      await until("it swaps", () => readdirSync(folder).includes("fork"));
      const state = () =>
        readdirSync(folder, { withFileTypes: true })
          .map(
            (entry) =>
              `${entry.name} ${entry.isSymbolicLink() ? "link" : entry.isFile() ? readFileSync(join(folder, entry.name), "utf8") : ""}`,
          )
          .sort();
      for (let round = 0; round < 10; round += 1) {
        const resume = await one.process.pause();
        const before = state();
        await new Promise((resolve) => setTimeout(resolve, 60));
        expect(state()).toEqual(before);
        resume();
        await Promise.race([
          until("it goes on", () => state().join() !== before.join(), 20_000),
          one.ended.then(({ stderr }) => Promise.reject(new Error(`It ended: ${stderr}`))),
        ]);
      }
      expect((await one.stop()).result.ended).toBe("stopped");
    });

    it("cannot continue by themselves while they are paused", async () => {
      const view = await open("e");
      // A timer and a file that would send SIGCONT: both are refused.
      const program = `
import ctypes, signal, fcntl, os, time
signal.signal(signal.SIGCONT, lambda *a: None)
libc = ctypes.CDLL(None, use_errno=True)
class Event(ctypes.Structure):
    _fields_ = [("value", ctypes.c_void_p), ("signo", ctypes.c_int), ("notify", ctypes.c_int), ("pad", ctypes.c_byte * 48)]
timer = ctypes.c_void_p()
made = libc.timer_create(1, ctypes.byref(Event(None, signal.SIGCONT, 0)), ctypes.byref(timer))
print("timer", made, flush=True)
r, w = os.pipe()
try:
    fcntl.fcntl(r, 10, signal.SIGCONT)
    print("signal set", flush=True)
except OSError as error:
    print("signal refused", flush=True)
while True:
    open("ticks", "a").write("x")
    time.sleep(0.001)
`;
      const one = await start(view, `cat > t.py <<'PY'\n${program}\nPY\n/usr/bin/python3 t.py`);
      await until("it ticks", () => readdirSync(view.upper(layer())).includes("ticks"));
      const resume = await one.process.pause();
      const size = () => readFileSync(join(view.upper(layer()), "ticks")).length;
      const before = size();
      await new Promise((resolve) => setTimeout(resolve, 200));
      expect(size()).toBe(before);
      resume();
      await until("it goes on", () => size() > before);
      expect((await one.stop()).stdout).toBe("timer -1\nsignal refused\n");
    });

    it("share no network access: nobody takes the place of a forwarder, and nobody uses one without a grant", async () => {
      const view = await open("n");
      const port = 3128;
      const networked = await start(view, server(3000, "networked"), { network: true, hosts: ["example.invalid"] });
      await listening(networked, 3000);
      expect(networked.process.ports()).toEqual([{ port: 3000, family: 4 }]);
      const connect = `printf 'CONNECT example.invalid:443 HTTP/1.1\\r\\n\\r\\n' | socat -t 5 - TCP:127.0.0.1:${port} 2>&1 | head -1`;
      const without = await run(view, `${ask(3000)}; ${connect}; env | grep -ci proxy`);
      expect(without.stdout.split("\n").map((line) => line.split(" ")[1] ?? line.trim())).toEqual(["networked", "407", "0", ""]);
      await networked.stop();
      // A program that waits in the place of the forwarder gets nothing of a command with access.
      const squatter = await start(view, `socat -v TCP-LISTEN:${port},bind=127.0.0.1,reuseaddr,fork SYSTEM:'cat' 2> heard.txt`);
      await listening(squatter, port);
      const other = await run(view, `env | grep -c '^HTTPS_PROXY='; ${connect}`, {
        network: true,
        hosts: ["example.invalid"],
      });
      expect(other.stdout).toContain("407");
      expect(readFileSync(join(view.upper(layer()), "heard.txt"), "utf8")).toBe("");
    });

    it.each([
      ["that are idle", "o", "echo ready; sleep 600"],
      ["that write to pipes", "p", "dd if=/dev/zero bs=1M count=400 2>/dev/null | cat > /dev/null; echo ready; sleep 600"],
    ])("%s are not blamed for what others write to the same disk", async (_name, folder, command) => {
      const view = await open(folder);
      const one = await start(view, command);
      const foreign = join(fixture.dataDir, "foreign");
      await new Promise((resolve) => setTimeout(resolve, 100));
      // More than the disk limit of the command, several times.
      writeFileSync(foreign, Buffer.alloc(isolationLimits.workspaceBytes));
      for (let times = 0; times < 5; times += 1) appendFileSync(foreign, Buffer.alloc(isolationLimits.workspaceBytes));
      await new Promise((resolve) => setTimeout(resolve, 500));
      rmSync(foreign);
      expect((await run(view, "true")).result.exitCode).toBe(0);
      const ended = await one.stop();
      expect([ended.result.ended, ended.stderr]).toEqual(["stopped", ""]);
    });

    it("are ended at the limits, and wait while they print faster than is read", async () => {
      const view = await open("f");
      const memory = await start(view, `/usr/bin/python3 -c 'a = "x" * (400 << 20); import time; time.sleep(60)'; exit 3`);
      expect((await memory.ended).result.ended === "memory" || (await memory.ended).result.exitCode === 3).toBe(true);
      const disk = await start(view, "i=0; while :; do i=$((i + 1)); head -c 8000000 /dev/zero > big$i; done");
      expect((await disk.ended).result.ended).toBe("stopped");
      const loud = await start(view, "yes", { bytesPerSecond: 100_000, outputBytes: Number.MAX_SAFE_INTEGER });
      await new Promise((resolve) => setTimeout(resolve, 2_500));
      expect((await loud.stop()).received).toBeLessThan(2_000_000);
    });
  });
}
