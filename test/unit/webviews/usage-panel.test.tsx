// @vitest-environment jsdom
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, describe, expect, it, vi } from "vitest";
import { notForViews } from "../../../agent-server/contract/webview.ts";
import { now } from "../../../webviews/shared/components.tsx";
import { createStore } from "../../../webviews/shared/store.ts";
import { createViewState } from "../../../webviews/shared/view-state.ts";
import { createWarRoom, emptyRoom, SavedRoom, type WarRoom } from "../../../webviews/war-room/state.ts";
import { UsagePanel } from "../../../webviews/war-room/usage/panel.tsx";
import { dayColumns, laneParts, lastDay } from "../../../webviews/war-room/usage/words.ts";
import { buttonIn, settle } from "../../support/chat-page.ts";
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
let room: WarRoom;

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
  const api = { postMessage: () => undefined, getState: () => ({ ...emptyRoom, tab: "usage" }), setState: () => undefined };
  room = createWarRoom(view.bridge, createStore(view.bridge), createViewState(api, SavedRoom, emptyRoom));
  void act(() => render(<UsagePanel room={room} />, root));
  await view.hostReady();
  await settle();
}

async function press(name: string): Promise<void> {
  void act(() => buttonIn(root, name).click());
  await settle();
}

async function fill(label: string, text: string): Promise<void> {
  const id = [...root.querySelectorAll("label")].find(({ textContent }) => textContent === label)?.htmlFor ?? "";
  const field = root.querySelector<HTMLInputElement>(`[id="${id}"]`);
  if (field === null) throw new Error(`There is no field ${label}.`);
  void act(() => {
    field.value = text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
  await settle();
}

const text = (): string => root.textContent;
const asked = () => view.posted.flatMap((message) => (message.type === "ui" ? [message["ui"]] : []));

describe("the panel Usage", () => {
  it("shows cost and tokens by lane, provider, model, task and day, with savings, prices and what has none", async () => {
    await open();
    for (const words of [
      ...["$0.31 of $5.00", "$6.35 and more", "214 calls", "Deep $3.91", "Our cluster", "not known", "claude-opus-5-5"],
      ...["By work on this machine$0.40", "By the providers' caches$1.71", "price table of 2026-11-06", "work/qwen3-coder"],
    ])
      expect(text().replaceAll(/\s+/g, " ")).toContain(words.replace("Deep $3.91", "Deep$3.91"));
    const images = [...root.querySelectorAll('[role="img"]')].map((image) => image.getAttribute("aria-label"));
    expect(images).toEqual(["By lane: Deep $3.91, Fast $2.44", "Cost by day"]);
    // Each lane has a pattern or a plain look of its own: its meaning does not hang on the colour.
    expect(new Set(laneParts(sampleUsage().byLane, "cost").map(({ look }) => look)).size).toBe(4);
    expect([...root.querySelectorAll("table")].map((table) => table.getAttribute("aria-label")).filter((label) => label !== null)).toEqual([
      ...["By lane", "By provider", "By model", "By task", "Decisions of the router"],
    ]);
  });

  it("draws tokens instead of cost, and other days, when it is told to", async () => {
    await open();
    await press("Tokens");
    expect(root.querySelector('.columns[role="img"]')?.getAttribute("aria-label")).toBe("Tokens by day");
    await press("7 days");
    expect(view.calls("usage.summary").at(-1)).toEqual({ days: 7 });
    expect(root.querySelectorAll(".columns g")).toHaveLength(7);
  });

  it("leads from a task to the chat, and from a decision to its receipt", async () => {
    await open();
    await press("Find out why the invoice test fails");
    expect(asked()).toEqual([{ action: "command", command: "lancelot.openChat", args: [{ questId: "quest-1" }] }]);
    expect([...root.querySelectorAll("button")].map(({ textContent }) => textContent)).not.toContain("A deleted task");
    expect(text()).toContain("speaks of a production database");
    expect(text()).toContain("The words of risk ask for more thought.");
    await press("chat");
    expect(room.tab.value).toBe("receipts");
    expect(room.receipts.selected.value).toBe("receipt-3");
  });

  it("writes caps that are amounts, and shows what the host wrote with its receipt", async () => {
    await open();
    const save = () => buttonIn(root, "Save");
    expect(save().disabled).toBe(true);
    for (const wrong of ["five", "-1", "0", "1e3", "12345678"]) {
      await fill("For a day, US dollars", wrong);
      expect(save().disabled, wrong).toBe(true);
      expect(root.querySelector('.amount [role="alert"]')?.textContent).toContain("An amount above 0");
    }
    await fill("For a day, US dollars", "");
    await fill("For a task, US dollars", "$ 1,25");
    expect(root.querySelector('.amount [role="alert"]')).toBeNull();
    view.answer("usage.setCaps", (caps) => caps);
    view.answer("usage.summary", () => sampleUsage({ caps: { questUsd: 1.25, dayUsd: null } }));
    await press("Save");
    expect(view.calls("usage.setCaps")).toEqual([{ questUsd: 1.25, dayUsd: null }]);
    view.event("receipt", { ...sampleReceipt(0), id: "receipt-caps", actionName: "usage.setCaps", status: "success" });
    view.event("usage", { questId: null });
    await vi.waitFor(async () => {
      await settle();
      expect(text()).toContain("Saved: $1.25 for a task, no cap for a day.");
    });
    await press("Receipt");
    expect(room.receipts.selected.value).toBe("receipt-caps");
  });

  it("says why caps were not written", async () => {
    await open();
    view.answer("usage.setCaps", () => {
      throw { code: "conflict", message: "config/usage.yaml, line 2: correct it." };
    });
    await fill("For a day, US dollars", "9");
    await press("Save");
    expect(root.querySelector(".problem")?.textContent).toContain("line 2: correct it.");
    expect(text()).not.toContain("Saved:");
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
    expect(text()).toContain("$4.99 of $5.00");
    expect(text()).toContain("left out for now");
    expect(text()).toContain("Five failures in a row.");
  });

  it.each([
    [{ status: "absent", doneBytes: 0, file: null, source: null }, ["Download…"], "not downloaded"],
    [{ status: "absent", doneBytes: 9, paused: true }, ["Go on downloading", "Delete…"], "download paused"],
    [{ status: "downloading", doneBytes: 1_000_000_000 }, ["Pause"], "1 GB of 2.5 GB"],
    [{}, ["Load now", "Delete…"], "16 GB of memory"],
    [{ status: "loaded" }, ["Unload", "Delete…"], "loaded"],
    [{ status: "ready", source: "owner" }, ["Load now"], "ready"],
    [
      { status: "failed", doneBytes: 5, problem: "It is damaged.", nextStep: "Delete it." },
      ["Download…", "Delete…"],
      "It is damaged. Delete it.",
    ],
  ])("offers what can be done with the local model: %j", async (patch, buttons, words) => {
    await open({ "models.local": { ...local, ...patch } });
    const block = root.querySelector('[aria-label="Local model"]');
    expect([...(block?.querySelectorAll(".actions button") ?? [])].map(({ textContent }) => textContent)).toEqual(buttons);
    expect(block?.textContent).toContain(words);
  });

  it("loads, unloads and pauses by the host, downloads and deletes by the editor's own questions", async () => {
    await open({ "models.local.load": { ...local, status: "loaded" } });
    await press("Load now");
    expect(view.calls("models.local.load")).toHaveLength(1);
    view.event("localModel", { ...local, status: "loaded" });
    await settle();
    view.answer("models.local.unload", () => {
      throw { code: "conflict", message: "A request runs." };
    });
    await press("Unload");
    expect(root.querySelector('[aria-label="Local model"] .problem')?.textContent).toContain("A request runs.");
    await press("Delete…");
    expect(asked().at(-1)).toEqual({ action: "command", command: "lancelot.deleteLocalModel" });
    await press("Count anew…");
    expect(asked().at(-1)).toEqual({ action: "command", command: "lancelot.resetUsage" });
    for (const method of notForViews) expect(view.calls(method)).toEqual([]);
  });

  it("looks for servers when it is told to, and uses one", async () => {
    await open({ "models.useServer": { provider: "ollama", model: "qwen3:8b" } });
    expect(view.calls("models.servers")).toEqual([]);
    await press("Look for servers");
    expect(text()).toContain("http://127.0.0.1:11434/v1");
    await press("Use qwen3:8b");
    expect(view.calls("models.useServer")).toEqual([{ url: "http://127.0.0.1:11434/v1", model: "qwen3:8b" }]);
    view.answer("models.servers", () => ({ items: [] }));
    await press("Look for servers");
    expect(text()).toContain("No model server answers on this machine.");
  });

  it("says what will appear before the first call, and what went wrong when it cannot be read", async () => {
    const nothing = sampleUsageSum({ calls: 0, costUsd: 0, unpricedCalls: 0 });
    await open({
      "usage.summary": sampleUsage({ total: nothing, byLane: [], byProvider: [], byModel: [], byQuest: [], byDay: [], since: null }),
    });
    expect(text()).toContain("No model was called in these days.");
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
