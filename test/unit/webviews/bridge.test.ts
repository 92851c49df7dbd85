// @vitest-environment jsdom
import { describe, expect, it, vi } from "vitest";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import { createFakeView, settled } from "../../support/fake-view.ts";
import { sampleQuest } from "../../support/webview-harness/samples.ts";

describe("bridge", () => {
  it("gives each call its own answer, in whatever order they come", async () => {
    const view = createFakeView();
    view.hold("quests.rename");
    view.answer("quests.rename", ({ title }) => sampleQuest({ title: String(title) }));
    view.answer("health.live", () => ({ status: "alive" }));
    const first = view.bridge.call("quests.rename", { id: "a", title: "one" });
    const second = view.bridge.call("health.live", {});
    expect(await second).toEqual({ status: "alive" });
    await view.release("quests.rename");
    expect((await first).title).toBe("one");
  });

  it("rejects with the code and the words of the contract's error", async () => {
    const view = createFakeView();
    view.answer("quests.get", () => {
      throw { code: "not_found", message: "That task is gone.", data: { id: "x" } };
    });
    const error = await view.bridge.call("quests.get", { id: "x" }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(LancelotError);
    expect(error).toMatchObject({ code: "not_found", message: "That task is gone.", data: { id: "x" } });
  });

  it("cancels a call whose signal aborts, and ignores an answer that comes after", async () => {
    const view = createFakeView();
    view.hold("receipts.verify");
    const stop = new AbortController();
    const call = view.bridge.call("receipts.verify", {}, stop.signal);
    stop.abort();
    await expect(call).rejects.toMatchObject({ code: "cancelled" });
    const id = view.posted.find((message) => message.type === "call")?.id;
    expect(view.posted.at(-1)).toEqual({ type: "cancel", id });
    view.send({ type: "result", id, result: { ok: true, entries: 0, head: null } });
    await settled();
  });

  it("does not call at all when the signal has aborted before", async () => {
    const view = createFakeView();
    await expect(view.bridge.call("health.live", {}, AbortSignal.abort())).rejects.toMatchObject({ code: "cancelled" });
    expect(view.posted).toEqual([]);
  });

  it("delivers events of the contract and reports those it cannot read", () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const view = createFakeView();
    const topics: string[] = [];
    let broken = 0;
    view.bridge.onEvent((event) => topics.push(event.topic));
    view.bridge.onBroken(() => {
      broken += 1;
    });
    view.event("quest", sampleQuest());
    view.event("quest", { id: 3 });
    view.send({ type: "event", event: { seq: 9, topic: "unknown", payload: {} } });
    expect(topics).toEqual(["quest"]);
    expect(broken).toBe(2);
    expect(log).toHaveBeenCalledTimes(2);
    log.mockRestore();
  });

  it.each([[null], ["text"], [{ type: "result" }], [{ type: "result", id: "1", result: 0 }], [{ type: "host", host: { state: "odd" } }]])(
    "takes no harm from a message that is none: %j",
    (message) => {
      const view = createFakeView();
      view.send(message);
      expect(view.bridge.host.value).toEqual({ state: "starting", detail: "" });
    },
  );

  it("reports the state of the host and says ready only when asked to", () => {
    const view = createFakeView();
    expect(view.posted).toEqual([]);
    view.bridge.ready();
    expect(view.posted).toEqual([{ type: "ready" }]);
    view.send({ type: "host", host: { state: "failed", detail: "It ended." } });
    expect(view.bridge.host.value).toEqual({ state: "failed", detail: "It ended." });
  });

  it("rejects what is open when it is disposed, and hears nothing more", async () => {
    const view = createFakeView();
    view.hold("health.live");
    const call = view.bridge.call("health.live", {});
    view.bridge.dispose();
    await expect(call).rejects.toMatchObject({ code: "cancelled" });
    view.send({ type: "host", host: { state: "ready", detail: "" } });
    expect(view.bridge.host.value.state).toBe("starting");
  });
});
