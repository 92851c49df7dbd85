// @vitest-environment jsdom
import { signal } from "@preact/signals";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createLiveQuery } from "../../../webviews/war-room/live-query.ts";
import { createFakeView, settled } from "../../support/fake-view.ts";
import { sampleReceipt, sampleSoulStatus, sampleStats } from "../../support/webview-harness/samples.ts";

function stats(options: { shown?: boolean; generation?: number; minIntervalMs?: number } = {}) {
  const view = createFakeView();
  let decisions = 0;
  view.answer("governance.stats", () => sampleStats({ decisions: ++decisions }));
  const shown = signal(options.shown ?? true);
  const generation = signal(options.generation ?? 1);
  const live = createLiveQuery({
    bridge: view.bridge,
    store: { generation },
    shown,
    topics: ["receipt", "soul"],
    read: (abort) => view.bridge.call("governance.stats", { days: 7 }, abort),
    ...(options.minIntervalMs === undefined ? {} : { minIntervalMs: options.minIntervalMs }),
  });
  const reads = (): number => view.calls("governance.stats").length;
  return { view, live, shown, generation, reads };
}

describe("what a panel reads of the host", () => {
  it("is read when the panel is first shown, and not for a panel nobody looks at", async () => {
    const { live, shown, reads, view } = stats({ shown: false });
    view.event("soul", sampleSoulStatus());
    await settled();
    expect(reads()).toBe(0);
    shown.value = true;
    await settled();
    expect(live.value.value?.decisions).toBe(1);
    shown.value = false;
    shown.value = true;
    await settled();
    expect(reads()).toBe(1);
  });

  it("waits for the host", async () => {
    const { generation, reads } = stats({ generation: 0 });
    await settled();
    expect(reads()).toBe(0);
    generation.value = 1;
    await settled();
    expect(reads()).toBe(1);
  });

  it("is read again after an event of its topics, and after no other", async () => {
    const { view, live, reads } = stats();
    await settled();
    view.event("models", {});
    await settled();
    expect(reads()).toBe(1);
    view.event("soul", sampleSoulStatus());
    await settled();
    expect(live.value.value?.decisions).toBe(2);
  });

  it("an event while an answer is on its way leads to one more read", async () => {
    const { view, live, reads } = stats();
    view.hold("governance.stats");
    await settled();
    live.refresh();
    live.refresh();
    await view.release("governance.stats");
    await settled();
    expect(live.value.value?.decisions).toBe(3);
    expect(reads()).toBe(3);
  });

  it("an event while the panel is away is caught up when it is shown", async () => {
    const { view, shown, live } = stats();
    await settled();
    shown.value = false;
    view.event("soul", sampleSoulStatus());
    await settled();
    expect(live.value.value?.decisions).toBe(1);
    shown.value = true;
    await settled();
    expect(live.value.value?.decisions).toBe(2);
  });

  it("a failure says what went wrong, keeps what was there, and goes with the next answer", async () => {
    const { view, live } = stats();
    await settled();
    view.answer("governance.stats", () => {
      throw { code: "internal", message: "It failed inside the host." };
    });
    live.refresh();
    await settled();
    expect(live.problem.value).toEqual({ text: "It failed inside the host.", flag: null });
    expect(live.value.value?.decisions).toBe(1);
    view.answer("governance.stats", () => sampleStats({ decisions: 9 }));
    live.refresh();
    await settled();
    expect(live.problem.value).toBeNull();
    expect(live.value.value?.decisions).toBe(9);
  });

  it("names the flag that switches it off", async () => {
    const { view, live } = stats();
    await settled();
    view.answer("governance.stats", () => {
      throw { code: "disabled", message: "It is off.", data: { flag: "SOUL" } };
    });
    live.refresh();
    await settled();
    expect(live.problem.value).toEqual({ text: "It is off.", flag: "SOUL" });
  });

  it("another host's answer is not mixed with one that was on its way", async () => {
    const { view, live, generation } = stats();
    view.hold("governance.stats");
    live.refresh();
    generation.value = 2;
    await settled();
    expect(view.posted.filter(({ type }) => type === "cancel")).toHaveLength(1);
    await view.release("governance.stats");
    expect(live.value.value).not.toBeNull();
    expect(live.loading.value).toBe(false);
  });
});

describe("a burst of receipts", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("is read at most once a rest, and once after its end", async () => {
    const { view, reads } = stats({ minIntervalMs: 1500 });
    await settled();
    for (let index = 0; index < 300; index += 1) view.event("receipt", sampleReceipt(index));
    await settled();
    expect(reads()).toBe(1);
    vi.advanceTimersByTime(1500);
    await settled();
    expect(reads()).toBe(2);
    vi.advanceTimersByTime(60_000);
    await settled();
    expect(reads()).toBe(2);
  });
});
