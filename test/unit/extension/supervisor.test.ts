import { describe, expect, test } from "vitest";
import type { HostState } from "../../../agent-server/contract/webview.ts";
import { createBackoff } from "../../../extension/host/backoff.ts";
import { createSupervisor, type Session, StartRefused } from "../../../extension/host/supervisor.ts";

/** A host that is started, ended and asked by the test; time passes when the test says so. */
function world() {
  const states: HostState[] = [];
  const timers: { ms: number; run: () => void; off: boolean }[] = [];
  const starts: {
    resolve(): void;
    reject(error: Error): void;
    end(reason: string): void;
    stopped: boolean;
    /** What its end waits for. */
    held: Promise<void>;
    signal: AbortSignal;
    asked: string[];
  }[] = [];
  let now = 0;
  const supervisor = createSupervisor({
    backoff: createBackoff(),
    now: () => now,
    onState: (state) => states.push(state),
    schedule(ms, run) {
      const timer = { ms, run, off: false };
      timers.push(timer);
      return () => {
        timer.off = true;
      };
    },
    messages: {
      starting: "starting",
      stopped: "stopped",
      restarting: (reason, seconds) => `${reason}, again in ${seconds} s`,
      failed: (reason) => `gave up: ${reason}`,
    },
    connect(signal) {
      const started = Promise.withResolvers<Session>();
      const ended = Promise.withResolvers<string>();
      const start = {
        stopped: false,
        held: Promise.resolve(),
        signal,
        asked: [] as string[],
        reject: started.reject,
        end: ended.resolve,
        resolve: () =>
          started.resolve({
            pid: starts.length,
            ended: ended.promise,
            request(method) {
              start.asked.push(method);
              return Promise.resolve(`${method} answered`);
            },
            stop() {
              start.stopped = true;
              ended.resolve("stopped");
              return start.held;
            },
          }),
      };
      starts.push(start);
      return started.promise;
    },
  });
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
  const pass = (ms: number) => {
    now += ms;
  };
  const last = () => {
    const start = starts.at(-1);
    if (start === undefined) throw new Error("nothing was started");
    return start;
  };
  const fire = () => {
    const timer = timers.at(-1);
    if (timer === undefined || timer.off) throw new Error("nothing is scheduled");
    timer.run();
  };
  return { supervisor, states, timers, starts, settle, pass, last, fire };
}

describe("supervision of the agent host", () => {
  test("starts, becomes ready, and restarts after a crash", async () => {
    const { supervisor, states, timers, starts, settle, last, fire } = world();
    supervisor.start();
    last().resolve();
    await settle();
    last().end("killed");
    await settle();
    expect(states.map(({ state }) => state)).toEqual(["starting", "ready", "restarting"]);
    expect(states.at(-1)?.detail).toBe("killed, again in 1 s");
    expect(timers.at(-1)?.ms).toBe(1000);
    fire();
    last().resolve();
    await settle();
    expect(starts).toHaveLength(2);
    expect(supervisor.state.state).toBe("ready");
  });

  test("gives up after five quick failures and starts again when the owner asks", async () => {
    const { supervisor, states, starts, settle, last, fire } = world();
    supervisor.start();
    for (let i = 0; i < 6; i++) {
      last().reject(new Error("no such file"));
      await settle();
      if (i < 5) fire();
    }
    expect(supervisor.state).toEqual({ state: "failed", detail: "gave up: no such file" });
    expect(starts).toHaveLength(6);
    await supervisor.restart();
    last().resolve();
    await settle();
    expect(states.at(-1)?.state).toBe("ready");
  });

  test("a host that refuses the handshake is not restarted", async () => {
    const { supervisor, timers, settle, last } = world();
    supervisor.start();
    last().reject(new StartRefused("Of different versions. Reload the window."));
    await settle();
    expect(supervisor.state).toEqual({ state: "failed", detail: "Of different versions. Reload the window." });
    expect(timers).toHaveLength(0);
  });

  test("a request waits for a host that is starting", async () => {
    const { supervisor, settle, last } = world();
    supervisor.start();
    const answer = supervisor.request("host.info", {});
    await settle();
    last().resolve();
    await expect(answer).resolves.toBe("host.info answered");
  });

  test("a waiting request can be canceled, and fails when restarts are given up", async () => {
    const { supervisor, settle, last } = world();
    supervisor.start();
    const abort = new AbortController();
    const cancelled = supervisor.request("host.info", {}, abort.signal);
    const waiting = supervisor.request("host.info", {});
    abort.abort();
    await expect(cancelled).rejects.toMatchObject({ code: "cancelled" });
    last().reject(new StartRefused("no"));
    await expect(waiting).rejects.toMatchObject({ code: "unavailable", message: "no" });
    await settle();
    await expect(supervisor.request("host.info", {})).rejects.toMatchObject({ code: "unavailable" });
  });

  test("stopping ends the host and cancels scheduled and pending starts", async () => {
    const { supervisor, timers, starts, settle, last } = world();
    supervisor.start();
    last().resolve();
    await settle();
    last().end("killed");
    await settle();
    await supervisor.stop();
    expect(timers.at(-1)?.off).toBe(true);
    await supervisor.restart();
    const late = last();
    await supervisor.stop();
    expect(late.signal.aborted).toBe(true);
    late.resolve();
    await settle();
    expect(late.stopped, "a host that comes up after it was called off is ended").toBe(true);
    expect(supervisor.state.state).toBe("stopped");
    expect(starts).toHaveLength(2);
  });

  test("the end of an earlier host does not affect the current one", async () => {
    const { supervisor, settle, last, starts } = world();
    supervisor.start();
    last().resolve();
    await settle();
    await supervisor.restart();
    last().resolve();
    await settle();
    starts[0]?.end("long ago");
    await settle();
    expect(supervisor.state.state).toBe("ready");
    expect(starts).toHaveLength(2);
  });

  test.each([
    ["restart", "ready"],
    ["stop", "stopped"],
  ] as const)("a restart and a %s at a time leave no second host, and none before the old one ended", async (second, state) => {
    const { supervisor, settle, last, starts } = world();
    supervisor.start();
    last().resolve();
    await settle();
    const release = Promise.withResolvers<void>();
    last().held = release.promise;
    const both = [supervisor.restart(), supervisor[second]()];
    await settle();
    expect(starts).toHaveLength(1);
    release.resolve();
    await Promise.all(both);
    expect(starts).toHaveLength(second === "restart" ? 2 : 1);
    last().resolve();
    await settle();
    expect(supervisor.state.state).toBe(state);
    expect(starts.filter(({ stopped }) => stopped)).toHaveLength(1);
  });
});
