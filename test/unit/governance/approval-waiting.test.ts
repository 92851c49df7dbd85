import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Approval } from "../../../agent-server/contract/governance.ts";
import { createApprovalWaiters, type ApprovalWaiters } from "../../../agent-server/governance/approval-waiting.ts";

/** Questions that have ended, by id. */
let ended: Map<string, Approval | Error>;
let looked: string[];
let withdrawn: string[];
let waiting: ApprovalWaiters;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  ended = new Map();
  looked = [];
  withdrawn = [];
  waiting = createApprovalWaiters({
    ended(id) {
      looked.push(id);
      const one = ended.get(id);
      if (one instanceof Error) throw one;
      return one ?? null;
    },
    cancel(id) {
      withdrawn.push(id);
      ended.set(id, answer(id));
    },
  });
});
afterEach(() => void vi.useRealTimers());

const answer = (id: string) => ({ id }) as Approval;
const signal = () => new AbortController().signal;

describe("waiting for an answer", () => {
  it("ends at once for a question that has ended", async () => {
    ended.set("a", answer("a"));
    expect(await waiting.wait("a", signal())).toEqual({ id: "a" });
    expect(waiting.has("a")).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("ends when it is woken, for everybody who waits for the same, and for nobody else", async () => {
    const both = [waiting.wait("a", signal()), waiting.wait("a", signal())];
    const other = waiting.wait("b", signal());
    expect([waiting.has("a"), waiting.has("b"), waiting.has("c")]).toEqual([true, true, false]);
    ended.set("a", answer("a"));
    ended.set("b", answer("b"));
    waiting.wake("a");
    expect(await Promise.all(both)).toEqual([{ id: "a" }, { id: "a" }]);
    expect([waiting.has("a"), waiting.has("b")]).toEqual([false, true]);
    expect(vi.getTimerCount()).toBe(1);
    waiting.wake("b");
    await other;
    expect(vi.getTimerCount()).toBe(0);
  });

  it("looks every 500 ms, by one timer however many wait, and only while somebody waits", async () => {
    const both = [waiting.wait("a", signal()), waiting.wait("b", signal())];
    expect(vi.getTimerCount()).toBe(1);
    looked = [];
    vi.advanceTimersByTime(499);
    expect(looked).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(looked).toEqual(["a", "b"]);
    ended.set("a", answer("a"));
    ended.set("b", answer("b"));
    vi.advanceTimersByTime(500);
    await Promise.all(both);
    expect(vi.getTimerCount()).toBe(0);
    const again = waiting.wait("c", signal());
    expect(vi.getTimerCount()).toBe(1);
    ended.set("c", answer("c"));
    vi.advanceTimersByTime(500);
    await again;
  });

  it("of one does not end the waiting of another for the same", async () => {
    const stop = new AbortController();
    const first = waiting.wait("a", stop.signal);
    let second = "waits";
    const promise = waiting.wait("b", signal()).then(() => (second = "ended"));
    stop.abort();
    expect(await first).toEqual({ id: "a" });
    expect([withdrawn, second, waiting.has("b")]).toEqual([["a"], "waits", true]);
    ended.set("b", answer("b"));
    waiting.wake("b");
    await promise;
  });

  it("that is stopped withdraws the question, also when it was stopped before", async () => {
    const stop = new AbortController();
    const promise = waiting.wait("a", stop.signal);
    stop.abort();
    stop.signal.dispatchEvent(new Event("abort"));
    expect(await promise).toEqual({ id: "a" });
    expect(await waiting.wait("b", AbortSignal.abort())).toEqual({ id: "b" });
    expect(withdrawn).toEqual(["a", "b"]);
  });

  it("does not withdraw what has ended", async () => {
    const stop = new AbortController();
    ended.set("a", answer("a"));
    await waiting.wait("a", stop.signal);
    stop.abort();
    expect(withdrawn).toEqual([]);
  });

  it("ends with the error of a look that fails, and looks no more", async () => {
    const promise = waiting.wait("a", signal());
    ended.set("a", new Error("The database is gone."));
    vi.advanceTimersByTime(500);
    await expect(promise).rejects.toThrow("The database is gone.");
    expect([waiting.has("a"), vi.getTimerCount()]).toEqual([false, 0]);
  });
});
