import { describe, expect, it } from "vitest";
import { createRunQueue, type RunPlace } from "../../../agent-server/quests/run-queue.ts";

const never = new AbortController().signal;

/** Notes the names of runs in the order in which they start. */
function recording(limit: number | (() => number)) {
  const queue = createRunQueue(typeof limit === "number" ? () => limit : limit);
  const started: string[] = [];
  const enter = (name: string, signal: AbortSignal = never): RunPlace & { readonly begun: Promise<void> } => {
    const place = queue.enter();
    const begun = place.ready(signal).then(() => void started.push(name));
    return {
      ...place,
      begun,
      get isQueued() {
        return place.isQueued;
      },
    };
  };
  return { queue, started, enter };
}

describe("the queue of runs", () => {
  it("lets as many runs work as the limit says, and starts the others in order", async () => {
    const { started, enter } = recording(2);
    const [a, b, c, d] = ["a", "b", "c", "d"].map((name) => enter(name));
    await Promise.all([a?.begun, b?.begun]);
    expect([a, b, c, d].map((place) => place?.isQueued)).toEqual([false, false, true, true]);
    b?.leave();
    await c?.begun;
    a?.leave();
    await d?.begun;
    expect(started).toEqual(["a", "b", "c", "d"]);
  });

  it("frees a place once, however often it is left", async () => {
    const { enter } = recording(1);
    const [a, b, c] = ["a", "b", "c"].map((name) => enter(name));
    a?.leave();
    a?.leave();
    await b?.begun;
    expect(c?.isQueued).toBe(true);
  });

  it("gives the place of a run that waits to another one, and lets it continue at once", async () => {
    const { enter } = recording(1);
    const [a, b, c] = ["a", "b", "c"].map((name) => enter(name));
    a?.pause();
    a?.pause();
    await b?.begun;
    a?.continue();
    a?.continue();
    // Both work: the next one starts after both have left.
    b?.leave();
    expect(c?.isQueued).toBe(true);
    a?.leave();
    await c?.begun;
    expect(c?.isQueued).toBe(false);
  });

  it("forgets a run that is stopped before its turn", async () => {
    const { started, enter } = recording(1);
    const stop = new AbortController();
    const a = enter("a");
    const b = enter("b", stop.signal);
    const c = enter("c");
    await a.begun;
    stop.abort(new Error("stopped"));
    await expect(b.begun).rejects.toThrow("stopped");
    a.leave();
    await c.begun;
    expect(started).toEqual(["a", "c"]);
  });

  it("frees nothing when a run leaves that waits for the user", async () => {
    const { enter } = recording(1);
    const [a, b, c] = ["a", "b", "c"].map((name) => enter(name));
    a?.pause();
    await b?.begun;
    a?.leave();
    a?.continue();
    expect(c?.isQueued).toBe(true);
    b?.leave();
    await c?.begun;
  });

  it("starts a run that works for another one at once, without a place", async () => {
    const { queue, enter } = recording(1);
    const [a, b] = ["a", "b"].map((name) => enter(name));
    const child = queue.enter({ bypass: true });
    await child.ready(never);
    child.leave();
    expect([a?.isQueued, child.isQueued, b?.isQueued]).toEqual([false, false, true]);
  });

  it("starts runs when the limit is raised, and none when it is lowered", async () => {
    let limit = 1;
    const { queue, enter } = recording(() => limit);
    const [a, b, c] = ["a", "b", "c"].map((name) => enter(name));
    limit = 2;
    queue.refresh();
    await b?.begun;
    limit = 1;
    a?.leave();
    expect(c?.isQueued).toBe(true);
    b?.leave();
    await c?.begun;
  });

  it("lets a run that was stopped before it entered not start", async () => {
    const { enter, started } = recording(1);
    const a = enter("a", AbortSignal.abort(new Error("stopped")));
    await expect(a.begun).rejects.toThrow("stopped");
    await enter("b").begun;
    expect(started).toEqual(["b"]);
  });
});
