// @vitest-environment jsdom
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, describe, expect, it, vi } from "vitest";
import { notForViews } from "../../../agent-server/contract/webview.ts";
import { createStore } from "../../../webviews/shared/store.ts";
import { createViewState } from "../../../webviews/shared/view-state.ts";
import { createWarRoom, type WarRoom } from "../../../webviews/war-room/war-room-state.ts";
import { emptyWarRoom, SavedWarRoom } from "../../../webviews/war-room/war-room-types.ts";
import { ToolsPanel } from "../../../webviews/war-room/tools/tools-panel.tsx";
import { buttonIn, settle } from "../../support/chat-page.ts";
import { createFakeView, type FakeView } from "../../support/fake-view.ts";
import {
  sampleDoctor,
  sampleProvider,
  sampleProviders,
  sampleReceipt,
  sampleRoute,
  sampleSandbox,
} from "../../support/webview-harness/samples.ts";
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

async function open(answers: Record<string, unknown> = {}): Promise<void> {
  view = createFakeView();
  const all: Record<string, unknown> = {
    ...{ "quests.list": { items: [] }, "approvals.list": { items: [] }, "changes.list": { items: [] } },
    "receipts.search": { items: [sampleReceipt(2), sampleReceipt(1), sampleReceipt(0)] },
    "tools.providers": { items: sampleProviders },
    "tools.route": sampleRoute(),
    "tools.sandbox": sampleSandbox(),
    "tools.doctor": { items: sampleDoctor },
    "host.info": {
      ...{ name: "lancelot", version: "1", protocolVersion: 1, pid: 1, workspace: "shop", trusted: true, posture: "supervised" },
      ...{ startedAt: "2026-01-01T00:00:00.000Z", safeMode: true, sleeping: null, maxRunningTasks: 4, lastEventSeq: 0 },
    },
    ...answers,
  };
  for (const [name, answer] of Object.entries(all)) view.answer(name, () => answer);
  const api = { postMessage: () => undefined, getState: () => ({ ...emptyWarRoom, tab: "tools" }), setState: () => undefined };
  warRoom = createWarRoom(view.bridge, createStore(view.bridge), createViewState(api, SavedWarRoom, emptyWarRoom));
  void act(() => render(<ToolsPanel warRoom={warRoom} />, root));
  await view.hostReady();
  await settle();
}

async function press(testId: string): Promise<void> {
  void act(() => buttonIn(root, testId).click());
  await settle();
}

const text = (): string => root.textContent;
const failing = (message: string) => () => {
  throw { code: "unavailable", message };
};

describe("the panel Tools", () => {
  it("shows providers with version, health, next step and the way of each capability", async () => {
    await open();
    for (const expectedText of [
      ...["Container sandbox 27.3.1", "Docker answers.", "Use a container engine to limit it.", "TOOLS_NETWORK"],
      ...["Its flag TOOLS_HOST_EXECUTION is off.", "4.3 GB", "512"],
    ])
      expect(text()).toContain(expectedText);
    expect(root.querySelector('[role="switch"]')?.getAttribute("aria-checked")).toBe("true");
    expect(view.calls("tools.route").map(({ capability }) => capability)).toEqual(["deploy_ops", "repo_ops", "shell_exec", "web_ops"]);
  });

  it("reads providers again when one changes, and takes the sandbox from its events", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    await open();
    const reads = view.calls("tools.sandbox").length;
    view.answer("tools.providers", () => ({
      items: [sampleProvider({ health: { status: "down", message: "The engine went away.", nextStep: "Start it.", checkedAt: null } })],
    }));
    view.event("providers", {});
    view.event("sandbox", sampleSandbox({ place: "os_sandbox", message: "Commands run in bubblewrap." }));
    await act(() => {
      vi.advanceTimersByTime(2000);
    });
    await settle();
    expect(text()).toContain("The engine went away.");
    expect(text()).toContain("Commands run in bubblewrap.");
    expect(view.calls("tools.sandbox")).toHaveLength(reads);
  });

  it("builds the image, shows how far it is, and cancels", async () => {
    await open();
    const building = (message: string) => sampleSandbox({ image: { ...sampleSandbox().image, state: "building", message } });
    view.answer("tools.sandbox.build", () => building("Step 1/12"));
    view.answer("tools.sandbox.cancelBuild", () => sampleSandbox({ image: { ...sampleSandbox().image, state: "missing" } }));
    await press("build-image");
    expect(text()).toContain("Step 1/12");
    view.event("sandbox", building("Step 2/12"));
    await settle();
    expect(text()).toContain("Step 2/12");
    await press("cancel-build");
    expect(view.calls("tools.sandbox.cancelBuild")).toHaveLength(1);
    expect(buttonIn(root, "build-image").disabled).toBe(false);
  });

  it("says why a build did not start", async () => {
    await open();
    view.answer("tools.sandbox.build", failing("The disk is full. Free some space."));
    await press("build-image");
    expect(root.querySelector('[role="alert"]')?.textContent).toContain("The disk is full.");
  });

  it("offers no build without an engine", async () => {
    await open({ "tools.sandbox": sampleSandbox({ engine: null, place: "os_sandbox" }) });
    expect(buttonIn(root, "build-image").disabled).toBe(true);
  });

  it("asks the editor before it restarts the sandbox or switches safe mode", async () => {
    await open();
    await press("restart-sandbox");
    root.querySelector<HTMLElement>('[role="switch"]')?.click();
    expect(view.posted.filter(({ type }) => type === "ui").map(({ ui }) => ui)).toEqual([
      { action: "command", command: "lancelot.restartSandbox" },
      { action: "command", command: "lancelot.toggleSafeMode", args: [{ enabled: "false" }] },
    ]);
    for (const method of notForViews) expect(view.calls(method)).toEqual([]);
  });

  it("examines the machine: a fix or a sentence for each line that needs attention", async () => {
    await open();
    expect(view.calls("tools.doctor")).toEqual([]);
    await press("doctor");
    expect(
      [...root.querySelectorAll(".doctor li")].map((line) => line.querySelector("button")?.getAttribute("data-testid") ?? null),
    ).toEqual(sampleDoctor.map(({ id, action }) => (action === null ? null : `fix:${id}`)));
    expect(text()).toContain("Free up disk space soon.");
    const flags = sampleDoctor.find(({ action }) => action === "open_flags");
    void act(() => buttonIn(root, `fix:${flags?.id}`).click());
    expect(view.posted.at(-1)?.["ui"]).toEqual({ action: "command", command: "lancelot.setFlag" });
  });

  it("looks at every provider on request", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    await open({ "tools.health": { ok: true, items: sampleProviders } });
    await press("check-now");
    await act(() => {
      vi.advanceTimersByTime(2000);
    });
    await settle();
    expect(view.calls("tools.health")).toHaveLength(1);
    expect(view.calls("tools.providers")).toHaveLength(2);
  });

  it("keeps what can be read when the rest cannot", async () => {
    await open();
    view.answer("tools.providers", failing("The registry is gone."));
    await press("check-now");
    expect(text()).toContain("Docker answers.");
    await open({ "tools.sandbox": null });
    view.answer("tools.sandbox", failing("The engine does not answer."));
    await view.hostReady();
    await settle();
    expect(text()).toContain("The engine does not answer.");
    expect(text()).toContain("Container sandbox 27.3.1");
  });

  it("leads to the receipts of tools", async () => {
    await open();
    const [first] = warRoom.store.latestReceipts.value.filter(({ actionType }) => actionType !== "llm_call" && actionType !== "system");
    await press(`receipt:${first?.id}`);
    expect(warRoom.tab.value).toBe("receipts");
    expect(warRoom.receipts.selected.value).toBe(first?.id);
  });
});
