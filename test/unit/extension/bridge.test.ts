import { describe, expect, test } from "vitest";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import type { HostEvent } from "../../../agent-server/contract/events.ts";
import type { Call } from "../../../agent-server/contract/table.ts";
import { notForViews, type ToView, type UiAction } from "../../../agent-server/contract/webview.ts";
import { createBridge } from "../../../extension/views/bridge.ts";

function bridge(answer: (name: string, params: unknown, signal?: AbortSignal) => Promise<unknown>) {
  const posted: ToView[] = [];
  const asked: UiAction[] = [];
  const problems: unknown[] = [];
  const called: string[] = [];
  const made = createBridge({
    post: (message) => posted.push(message),
    call: ((name: string, params: unknown, signal?: AbortSignal) => {
      called.push(name);
      return answer(name, params, signal);
    }) as Call,
    state: () => ({ state: "ready", detail: "" }),
    ui(action) {
      asked.push(action);
      return Promise.resolve();
    },
    problem: (error) => problems.push(error),
  });
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
  return { ...made, posted, asked, problems, called, settle };
}
const event: HostEvent = { seq: 1, topic: "models", payload: {} };

describe("webview bridge", () => {
  test("a view gets nothing before it is ready, then its state and pending show requests", () => {
    const { receive, event: send, hostState, show, posted } = bridge(() => Promise.resolve({}));
    send(event);
    hostState({ state: "starting", detail: "…" });
    show({ questId: "q1" });
    expect(posted).toEqual([]);
    receive({ type: "ready" });
    send(event);
    expect(posted).toEqual([
      { type: "host", host: { state: "ready", detail: "" } },
      { type: "show", questId: "q1" },
      { type: "event", event },
    ]);
  });

  test("relays calls and their errors", async () => {
    const { receive, posted, settle } = bridge((name) =>
      name === "host.info"
        ? Promise.resolve({ pid: 1 })
        : Promise.reject(new LancelotError("not_found", "There is no quest x.", { data: { id: "x" } })),
    );
    receive({ type: "ready" });
    receive({ type: "call", id: 1, method: "host.info", params: {} });
    receive({ type: "call", id: 2, method: "quests.get", params: { id: "x" } });
    await settle();
    expect(posted.slice(1)).toEqual([
      { type: "result", id: 1, result: { pid: 1 } },
      { type: "error", id: 2, error: { code: "not_found", message: "There is no quest x.", data: { id: "x" } } },
    ]);
  });

  test.each([...notForViews].map((name) => [name]))("a view may not call %s", async (name) => {
    const { receive, posted, called, settle } = bridge(() => Promise.resolve({}));
    receive({ type: "ready" });
    receive({ type: "call", id: 7, method: name, params: {} });
    await settle();
    expect(called).toEqual([]);
    expect(posted.at(-1)).toMatchObject({ type: "error", id: 7, error: { code: "denied" } });
  });

  test.each(["toString", "__proto__", "lancelot/host.info", "nope"])("an unknown method (%s) is refused", async (name) => {
    const { receive, posted, called, settle } = bridge(() => Promise.resolve({}));
    receive({ type: "ready" });
    receive({ type: "call", id: 1, method: name, params: {} });
    await settle();
    expect(called).toEqual([]);
    expect(posted.at(-1)).toMatchObject({ type: "error", error: { code: "not_found" } });
  });

  test("canceling reaches the host; a reload of the view cancels its calls and drops their answers", async () => {
    const signals: AbortSignal[] = [];
    const { receive, posted, settle } = bridge(
      (_, __, signal) =>
        new Promise((_resolve, reject) => {
          if (signal === undefined) return;
          signals.push(signal);
          signal.addEventListener("abort", () => reject(new LancelotError("cancelled", "The call was cancelled.")));
        }),
    );
    receive({ type: "ready" });
    receive({ type: "call", id: 1, method: "host.info", params: {} });
    receive({ type: "cancel", id: 1 });
    await settle();
    expect(posted.at(-1)).toMatchObject({ type: "error", id: 1, error: { code: "cancelled" } });
    receive({ type: "call", id: 2, method: "host.info", params: {} });
    receive({ type: "ready" });
    await settle();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
    expect(posted.filter((message) => "id" in message && message.id === 2)).toEqual([]);
  });

  test("messages that violate the contract are reported and ignored", () => {
    const { receive, problems, asked } = bridge(() => Promise.resolve({}));
    for (const message of [
      null,
      "ready",
      { type: "call" },
      { type: "ui", ui: { action: "command", command: "workbench.action.terminal.new" } },
      { type: "ui", ui: { action: "openExternal", url: "file:///etc/passwd" } },
    ])
      receive(message);
    expect(problems).toHaveLength(5);
    expect(asked).toEqual([]);
    receive({ type: "ui", ui: { action: "openFile", path: "a.ts", line: 3 } });
    expect(asked).toEqual([{ action: "openFile", path: "a.ts", line: 3 }]);
  });
});
