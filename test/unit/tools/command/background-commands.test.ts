import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createRedactor } from "../../../../agent-server/security/security.ts";
import type { ShellResult } from "../../../../agent-server/sandbox/shell-provider.ts";
import { createBackgroundCommands } from "../../../../agent-server/tools/command/background-commands.ts";
import type { BackgroundCommands, BackgroundHooks, BackgroundRequest } from "../../../../agent-server/tools/command/background-types.ts";
import { liveUnits } from "../../../../agent-server/tools/command/command-output.ts";

/** A command that does what a test tells it. */
interface Told {
  readonly hooks: BackgroundHooks;
  readonly ports: number[];
  print(said: string): void;
  end(result?: Partial<ShellResult>): void;
}

describe("background commands", () => {
  let commands: BackgroundCommands;
  const events: { topic: string; payload: unknown }[] = [];
  const receipts: { name: string; parent: unknown; status: string; outputs: Record<string, unknown> }[] = [];
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance"] });
    events.length = 0;
    receipts.length = 0;
    commands = createBackgroundCommands({
      emit: (topic, payload) => void events.push({ topic, payload: structuredClone(payload) }),
      ledger: {
        record: ({ actionName, parentId }, { status, outputs }) => {
          receipts.push({ name: actionName, parent: parentId, status, outputs: outputs ?? {} });
          return "receipt";
        },
      },
      // Previews are tested with the real pipeline, in background-task.test.ts.
      pipeline: { execute: () => Promise.reject(new Error("Nothing here is previewed.")) },
      now: () => new Date(0),
      log: () => undefined,
    });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  async function start(more: Partial<BackgroundRequest> = {}) {
    const { promise, resolve } = Promise.withResolvers<ShellResult>();
    const ports: number[] = [];
    const told = {} as { value?: Told };
    const starting = commands.start({
      ...{ questId: "q1", callId: "c1", receiptId: "r1", text: "npm start", waitMs: 15_000, redactor: createRedactor() },
      ...{ signal: new AbortController().signal, onText: () => undefined },
      async run(hooks) {
        const end = (result: Partial<ShellResult> = {}): void =>
          resolve({ ...{ exitCode: null, ended: "stopped", outputBytes: 0, durationMs: 5, killedOrphans: false }, ...result });
        told.value = { hooks, ports, end, print: (said) => hooks.onOutput("stdout", Buffer.from(said)) };
        hooks.signal.addEventListener("abort", () => end());
        hooks.onBackground?.({
          pause: () => Promise.resolve(() => undefined),
          ports: () => ports.map((port) => ({ port, family: 4 as const })),
          forward: (port, client) => void client.end(`port ${port.port}`),
        });
        const value = await promise;
        return {
          value,
          provider: { name: "bubblewrap", version: "1" },
          route: { provider: null, reason: "", alternatives: [] },
          tried: [],
        };
      },
      ...more,
    });
    await Promise.race([vi.waitUntil(() => told.value !== undefined), starting]);
    if (told.value === undefined) throw new Error("It was not started.");
    return { told: told.value, starting };
  }
  /** Lets a command run as its task would. */
  async function running(more: Partial<BackgroundRequest> = {}): Promise<Told & { id: string }> {
    const { told, starting } = await start(more);
    await vi.advanceTimersByTimeAsync(2_500);
    const { running: one } = await starting;
    if (one === null) throw new Error("It has ended.");
    void one.program.ended.then(() => one.onEnd(null));
    return { ...told, id: one.id };
  }
  const signal = new AbortController().signal;
  const read = (id: string, waitMs = 0) => commands.read({ id, questId: "q1", waitMs, signal });

  it.each([
    ["it listens", 400, (told: Told) => void told.ports.push(3000)],
    ["it is quiet", 2_300, () => undefined],
  ])("have started when %s", async (_when, afterMs, act) => {
    const { told, starting } = await start();
    let isOver = false;
    void starting.then(() => (isOver = true));
    act(told);
    await vi.advanceTimersByTimeAsync(afterMs);
    expect(isOver).toBe(true);
    expect((await starting).running?.ports).toEqual(told.ports);
  });

  it("have started after the longest wait, however much they print", async () => {
    const { told, starting } = await start({ waitMs: 5_000 });
    const printing = setInterval(() => told.print("line\n"), 100);
    await vi.advanceTimersByTimeAsync(4_800);
    let isOver = false;
    void starting.then(() => (isOver = true));
    await vi.advanceTimersByTimeAsync(10);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(400);
    expect(isOver).toBe(true);
    clearInterval(printing);
  });

  it("that end meanwhile are no background commands", async () => {
    const { told, starting } = await start();
    told.print("done\n");
    told.end({ exitCode: 1, ended: "exit" });
    const { done, running: none, output } = await starting;
    expect([done?.value.exitCode, none, output.text()]).toEqual([1, null, "done\n"]);
    expect([commands.list(), receipts]).toEqual([[], []]);
  });

  it("give each part of their output once, and say what is no longer held", async () => {
    const { id, print } = await running();
    print("one\n");
    expect(await read(id)).toMatchObject({ text: "one\n", dropped: 0 });
    expect(await read(id)).toMatchObject({ text: "", dropped: 0 });
    const waiting = read(id, 10_000);
    print("two\n");
    await vi.advanceTimersByTimeAsync(100);
    expect((await waiting).text).toBe("two\n");
    for (let line = 0; line < liveUnits; line += 1) print("12345\n");
    const { text: kept, dropped } = await read(id);
    expect(kept.length + dropped).toBe(liveUnits * 6);
    expect(kept.length).toBeLessThanOrEqual(liveUnits);
  });

  it("record how they ended, once, below the receipt of their start", async () => {
    const one = await running();
    one.print("last words\n");
    one.end({ exitCode: 3, ended: "exit" });
    await vi.waitUntil(() => receipts.length > 0);
    expect(receipts).toMatchObject([
      { name: "command_end", parent: "r1", status: "failure", outputs: { reason: "exit", exitCode: 3, output: "last words\n" } },
    ]);
    const two = await running();
    expect((await commands.stop(two.id, "user")).end).toMatchObject({ reason: "user", exitCode: null });
    expect((await commands.stop(two.id, "model")).end).toMatchObject({ reason: "user" });
    expect(receipts.map(({ status }) => status)).toEqual(["failure", "cancelled"]);
    const three = await running();
    three.end();
    await vi.waitUntil(() => receipts.length > 2);
    expect(receipts[2]).toMatchObject({ status: "failure", outputs: { reason: "limit" } });
    expect(events.filter(({ topic }) => topic === "backgroundCommand").at(-1)?.payload).toMatchObject({ end: { reason: "limit" } });
  });

  it("are told to the model once when they ended without it, with their last lines", async () => {
    const [secret] = [`ghp_${"a1B2".repeat(9)}`];
    const crashed = await running();
    crashed.print(`${"x".repeat(90)}\n`.repeat(400));
    crashed.print(`\u001b[31mtoken ${secret}\u001b[0m\nlast words\n`);
    crashed.end({ exitCode: 3, ended: "exit" });
    await vi.waitUntil(() => receipts.length > 0);
    expect(commands.takeEnds("q2")).toEqual([]);
    const [told] = commands.takeEnds("q1");
    expect(told).toMatchObject({ id: crashed.id, state: expect.stringContaining("3") });
    expect(told?.output.endsWith("last words")).toBe(true);
    expect(told?.output.split("\n").every((line) => line.length <= 90)).toBe(true);
    expect(told?.output.length).toBeLessThanOrEqual(1_500);
    expect(told?.output).not.toMatch(new RegExp(`${secret}|\\u001b`));
    expect(commands.takeEnds("q1")).toEqual([]);
    // What the model reads or does itself is no news; what the user does is.
    const seen = await running();
    seen.end({ exitCode: 0, ended: "exit" });
    await vi.waitUntil(() => receipts.length > 1);
    await read(seen.id);
    const [own, users, tasks] = [await running(), await running(), await running({ questId: "q3" })];
    await commands.stop(own.id, "model");
    await commands.stop(users.id, "user");
    await commands.close();
    expect(commands.takeEnds("q1").map(({ id }) => id)).toEqual([users.id]);
    expect([tasks.id, commands.takeEnds("q3")]).toEqual([tasks.id, []]);
  });

  it("belong to their task, which has at most four of them", async () => {
    const { id } = await running();
    await expect(commands.read({ id, questId: "q2", waitMs: 0, signal })).rejects.toMatchObject({ code: "not_found" });
    for (let more = 0; more < 3; more += 1) await running();
    await expect(running()).rejects.toMatchObject({ code: "conflict" });
    await commands.stop(id, "model");
    await running();
    await running({ questId: "q2" });
    const closing = commands.close();
    await vi.advanceTimersByTimeAsync(10);
    await closing;
    expect(commands.list().filter(({ end }) => end === null)).toEqual([]);
    expect(commands.list("q2").map(({ end }) => end?.reason)).toEqual(["host"]);
  });

  it("end when their start is stopped", async () => {
    const stop = new AbortController();
    const { starting } = await start({ signal: stop.signal });
    starting.catch(() => undefined);
    stop.abort();
    await vi.advanceTimersByTimeAsync(200);
    await expect(starting).rejects.toMatchObject({ code: "cancelled" });
    expect(commands.list()).toEqual([]);
  });
});
