// @vitest-environment jsdom
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, describe, expect, it, vi } from "vitest";
import { notForViews } from "../../../agent-server/contract/webview.ts";
import { now } from "../../../webviews/shared/components.tsx";
import { createStore } from "../../../webviews/shared/store.ts";
import { createViewState } from "../../../webviews/shared/view-state.ts";
import { createWarRoom, type WarRoom } from "../../../webviews/war-room/war-room-state.ts";
import { emptyWarRoom, SavedWarRoom } from "../../../webviews/war-room/war-room-types.ts";
import { UsagePanel } from "../../../webviews/war-room/usage/usage-panel.tsx";
import { dayColumns, laneParts, lastDay } from "../../../webviews/war-room/usage/usage-labels.ts";
import { buttonIn, fieldIn, settle } from "../../support/chat-page.ts";
import { createFakeView, type FakeView } from "../../support/fake-view.ts";
import { sampleNow, sampleQuest, sampleReceipt } from "../../support/webview-harness/samples.ts";
import {
  sampleDecision,
  sampleRouterStats,
  sampleServer,
  sampleUsage,
  sampleUsageRow,
  sampleUsageSum,
} from "../../support/webview-harness/usage-samples.ts";
import { eachWithRoot } from "../../support/view-root.ts";

let root: HTMLElement;
let view: FakeView;
let warRoom: WarRoom;

eachWithRoot((made) => {
  root = made;
});
afterEach(() => {
  vi.useRealTimers();
});

const local = {
  ...{ status: "ready", file: "qwen.gguf", name: "Qwen3 4B", license: "Apache-2.0", totalBytes: 2_500_000_000 },
  ...{ doneBytes: 2_500_000_000, source: "hub", problem: null, fit: "16 GB of memory; it takes 4 GB." },
};

async function open(answers: Record<string, unknown> = {}): Promise<void> {
  view = createFakeView();
  now.value = sampleNow;
  const all: Record<string, unknown> = {
    ...{ "quests.list": { items: [sampleQuest()] }, "approvals.list": { items: [] }, "changes.list": { items: [] } },
    ...{ "receipts.search": { items: [] }, "models.local": local, "usage.summary": sampleUsage() },
    "router.decisions": { items: [sampleDecision()] },
    "router.stats": sampleRouterStats(),
    "models.servers": { items: [sampleServer()] },
    ...answers,
  };
  for (const [name, answer] of Object.entries(all)) view.answer(name, () => answer);
  const api = { postMessage: () => undefined, getState: () => ({ ...emptyWarRoom, tab: "usage" }), setState: () => undefined };
  warRoom = createWarRoom(view.bridge, createStore(view.bridge), createViewState(api, SavedWarRoom, emptyWarRoom));
  void act(() => render(<UsagePanel warRoom={warRoom} />, root));
  await view.hostReady();
  await settle();
}

async function press(testId: string): Promise<void> {
  void act(() => buttonIn(root, testId).click());
  await settle();
}

async function fill(testId: string, text: string): Promise<void> {
  const field = fieldIn(root, testId);
  void act(() => {
    field.value = text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
  await settle();
}

const text = (): string => root.textContent;
const localModel = (): Element | null => root.querySelector('[data-testid="local-model"]');
const asked = () => view.posted.flatMap((message) => (message.type === "ui" ? [message["ui"]] : []));

describe("the panel Usage", () => {
  it("shows cost and tokens by lane, provider, model, task and day, with savings, prices and what has none", async () => {
    await open();
    for (const expectedText of [
      ...["$0.31", "$5.00", "$6.35", "214", "$3.91", "Our cluster", "claude-opus-5-5"],
      ...["$0.40", "$1.71", "2026-11-06", "work/qwen3-coder"],
    ])
      expect(text()).toContain(expectedText);
    const images = [...root.querySelectorAll('[role="img"]')].map((image) => image.getAttribute("aria-label")?.match(/\$[\d.]+/g));
    expect(images).toEqual([["$3.91", "$2.44"], null]);
    // Each lane has a pattern or a plain look of its own: its meaning does not hang on the color.
    expect(new Set(laneParts(sampleUsage().byLane, "cost").map(({ pattern }) => pattern)).size).toBe(4);
    expect(root.querySelectorAll(".record-table table")).toHaveLength(5);
  });

  it("draws tokens instead of cost, and other days, on request", async () => {
    await open();
    await press("measure:tokens");
    expect(buttonIn(root, "measure:tokens").getAttribute("aria-pressed")).toBe("true");
    await press("days:7");
    expect(view.calls("usage.summary").at(-1)).toEqual({ days: 7 });
    expect(root.querySelectorAll(".columns g")).toHaveLength(7);
  });

  it("leads from a task to the chat, and from a decision to its receipt", async () => {
    await open();
    await press("open-task:quest-1");
    expect(asked()).toEqual([{ action: "command", command: "lancelot.openChat", args: [{ questId: "quest-1" }] }]);
    expect([...root.querySelectorAll("button")].map(({ textContent }) => textContent)).not.toContain("A deleted task");
    expect(text()).toContain("speaks of a production database");
    expect(text()).toContain("The words of risk ask for more thought.");
    await press("receipt:receipt-3");
    expect(warRoom.tab.value).toBe("receipts");
    expect(warRoom.receipts.selected.value).toBe("receipt-3");
  });

  it("writes caps that are amounts, and shows what the host wrote with its receipt", async () => {
    await open();
    const save = () => buttonIn(root, "save-caps");
    expect(save().disabled).toBe(true);
    for (const wrong of ["five", "-1", "0", "1e3", "12345678"]) {
      await fill("day-cap", wrong);
      expect(save().disabled, wrong).toBe(true);
      expect(root.querySelector('.amount [role="alert"]')).not.toBeNull();
    }
    await fill("day-cap", "");
    await fill("task-cap", "$ 1,25");
    expect(root.querySelector('.amount [role="alert"]')).toBeNull();
    view.answer("usage.setCaps", (caps) => caps);
    view.answer("usage.summary", () => sampleUsage({ caps: { questUsd: 1.25, dayUsd: null } }));
    await press("save-caps");
    expect(view.calls("usage.setCaps")).toEqual([{ questUsd: 1.25, dayUsd: null }]);
    view.event("receipt", { ...sampleReceipt(0), id: "receipt-caps", actionName: "usage.setCaps", status: "success" });
    view.event("usage", { questId: null });
    await vi.waitFor(async () => {
      await settle();
      expect(root.querySelector('[data-testid="caps-saved"]')?.textContent).toContain("$1.25");
    });
    await press("caps-receipt");
    expect(warRoom.receipts.selected.value).toBe("receipt-caps");
  });

  it("says why caps were not written", async () => {
    await open();
    view.answer("usage.setCaps", () => {
      throw { code: "conflict", message: "config/usage.yaml, line 2: correct it." };
    });
    await fill("day-cap", "9");
    await press("save-caps");
    expect(root.querySelector(".problem")?.textContent).toContain("line 2: correct it.");
    expect(root.querySelector('[data-testid="caps-saved"]')).toBeNull();
  });

  it("reads again when calls were counted or routed, and names a provider that is left out", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    await open();
    view.answer("usage.summary", () => sampleUsage({ today: sampleUsageSum({ costUsd: 4.99 }) }));
    view.answer("router.stats", () =>
      sampleRouterStats({ breakers: [{ provider: "anthropic", state: "open", retryAt: null, reason: "Five failures in a row." }] }),
    );
    view.event("usage", { questId: "quest-1" });
    view.event("routed", sampleDecision());
    await act(() => {
      vi.advanceTimersByTime(2000);
    });
    await settle();
    expect(text()).toContain("$4.99");
    expect(root.querySelector('[data-testid="breaker:anthropic"]')).not.toBeNull();
    expect(text()).toContain("Five failures in a row.");
  });

  it.each([
    [{ status: "absent", doneBytes: 0, file: null, source: null }, ["download-model"], "codicon-circle-outline"],
    [{ status: "absent", doneBytes: 9, paused: true }, ["resume-download", "delete-model"], "codicon-debug-pause"],
    [{ status: "downloading", doneBytes: 1_000_000_000 }, ["pause-download"], "codicon-loading"],
    [{}, ["load-model", "delete-model"], "codicon-pass"],
    [{ status: "loaded" }, ["unload-model", "delete-model"], "codicon-pass"],
    [{ status: "ready", source: "owner" }, ["load-model"], "codicon-pass"],
    [
      { status: "failed", doneBytes: 5, problem: "It is damaged.", nextStep: "Delete it." },
      ["download-model", "delete-model"],
      "codicon-error",
    ],
  ])("offers the actions of the local model: %j", async (patch, buttons, icon) => {
    await open({ "models.local": { ...local, ...patch } });
    const ids = [...(localModel()?.querySelectorAll(".actions button") ?? [])].map((button) => button.getAttribute("data-testid"));
    expect(ids).toEqual(buttons);
    expect(localModel()?.querySelector(`.state .${icon}`)).not.toBeNull();
    if ("problem" in patch) expect(localModel()?.textContent).toContain(`${patch.problem} ${patch.nextStep}`);
  });

  it("loads, unloads and pauses by the host, downloads and deletes by the editor's own questions", async () => {
    await open({ "models.local.load": { ...local, status: "loaded" } });
    await press("load-model");
    expect(view.calls("models.local.load")).toHaveLength(1);
    view.event("localModel", { ...local, status: "loaded" });
    await settle();
    view.answer("models.local.unload", () => {
      throw { code: "conflict", message: "A request runs." };
    });
    await press("unload-model");
    expect(localModel()?.querySelector(".problem")?.textContent).toContain("A request runs.");
    await press("delete-model");
    expect(asked().at(-1)).toEqual({ action: "command", command: "lancelot.deleteLocalModel" });
    await press("reset-usage");
    expect(asked().at(-1)).toEqual({ action: "command", command: "lancelot.resetUsage" });
    for (const method of notForViews) expect(view.calls(method)).toEqual([]);
  });

  it("looks for servers on request, and uses one", async () => {
    await open({ "models.useServer": { provider: "ollama", model: "qwen3:8b" } });
    expect(view.calls("models.servers")).toEqual([]);
    await press("find-servers");
    expect(text()).toContain("http://127.0.0.1:11434/v1");
    await press("use-model:qwen3:8b");
    expect(view.calls("models.useServer")).toEqual([{ url: "http://127.0.0.1:11434/v1", model: "qwen3:8b" }]);
    view.answer("models.servers", () => ({ items: [] }));
    await press("find-servers");
    expect(root.querySelector('[data-testid="empty:server"]')).not.toBeNull();
  });

  it("says what will appear before the first call, and what went wrong when it cannot be read", async () => {
    const nothing = sampleUsageSum({ calls: 0, costUsd: 0, unpricedCalls: 0 });
    await open({
      "usage.summary": sampleUsage({ total: nothing, byLane: [], byProvider: [], byModel: [], byQuest: [], byDay: [], since: null }),
    });
    expect(root.querySelector('[data-testid="empty:credit-card"]')).not.toBeNull();
    await open({ "usage.summary": sampleUsage({ capsProblem: "config/usage.yaml, line 2: no." }) });
    expect(root.querySelector('[role="alert"]')?.textContent).toContain("config/usage.yaml, line 2: no.");
    view.answer("usage.summary", () => {
      throw { code: "unavailable", message: "The database does not answer." };
    });
    await view.hostReady();
    await settle();
    expect(text()).toContain("The database does not answer.");
    expect(text()).toContain("Qwen3 4B");
  });
});

describe("columns of days", () => {
  it("are one a day up to today, over the end of a month and a change of the clocks", () => {
    const rows = [{ ...sampleUsageRow("2026-03-29", ""), lanes: [sampleUsageRow("flagship_fast", "Fast", { costUsd: 2 })] }];
    const columns = dayColumns(rows, 4, "2026-03-31", "cost", (day) => day);
    expect(columns.map(({ label }) => label)).toEqual(["2026-03-28", "2026-03-29", "2026-03-30", "2026-03-31"]);
    expect(columns.map(({ parts }) => parts.reduce((sum, { value }) => sum + value, 0))).toEqual([0, 2, 0, 0]);
  });

  it("end with the host's day where that is ahead", () => {
    const rows = [{ ...sampleUsageRow("2026-04-01", ""), lanes: [] }];
    expect(lastDay(rows, new Date(2026, 2, 31, 23))).toBe("2026-04-01");
    expect(lastDay(rows, new Date(2026, 3, 5))).toBe("2026-04-05");
    expect(lastDay([], new Date(2026, 0, 2))).toBe("2026-01-02");
  });
});
