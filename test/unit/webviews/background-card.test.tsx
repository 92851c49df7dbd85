// @vitest-environment jsdom
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { BackgroundCommand } from "../../../agent-server/contract/background.ts";
import { emptyChat } from "../../../webviews/chat/chat-state.ts";
import { ToolCard } from "../../../webviews/chat/tool-card.tsx";
import { buttonIn, type ChatPage, settle, startChat } from "../../support/chat-page.ts";
import { at, sampleCommand, sampleQuest } from "../../support/webview-harness/samples.ts";
import { eachWithRoot } from "../../support/view-root.ts";

let root: HTMLElement;
let page: ChatPage;
let frames: FrameRequestCallback[] = [];
eachWithRoot((made) => {
  root = made;
});
beforeEach(() => {
  vi.spyOn(window, "requestAnimationFrame").mockImplementation((work) => frames.push(work));
});
afterEach(() => {
  vi.restoreAllMocks();
  frames = [];
});

const command = (patch: Partial<BackgroundCommand> = {}): BackgroundCommand => ({
  ...{ id: "bg-1", questId: "quest-1", callId: "call-command", receiptId: "receipt-9", text: "npm start", startedAt: at(5) },
  ...{ ports: [3000, 5173], end: null, live: { text: "ready\n", skipped: 0 } },
  ...patch,
});
const part = sampleCommand({
  status: "success",
  command: {
    ...{ text: "npm start", cwd: ".", place: "os_sandbox", network: false, exitCode: null, ended: null },
    background: { id: "bg-1" },
  },
  live: { text: "", skipped: 0 },
});

async function show(items: readonly BackgroundCommand[]): Promise<void> {
  page = await startChat({
    saved: { ...emptyChat, questId: "quest-1" },
    quest: sampleQuest({ status: "done" }),
    answers: {
      "background.list": { items },
      "background.stop": command({ ports: [], end: { reason: "user", exitCode: null, at: at(0) } }),
    },
  });
  await settle();
  void act(() => render(<ToolCard part={part} chat={page.chat} />, root));
  await settle();
}
const badge = () => root.querySelector('[data-testid="background-state"] .badge');
const actions = () => root.querySelector('[data-testid="background-actions"]');

describe("the card of a background command", () => {
  it("says that it runs, shows its last output, and offers its ports and to stop it, without being opened", async () => {
    await show([command()]);
    expect(badge()?.classList.contains("verdict-allow")).toBe(true);
    expect(root.querySelector(".tail")?.textContent).toBe("ready\n");
    await act(() =>
      page.view.event("backgroundOutput", { id: "bg-1", questId: "quest-1", callId: "call-command", offset: 6, text: "changed\n" }),
    );
    await act(() => frames.splice(0).forEach((work) => work(0)));
    expect(root.querySelector(".tail")?.textContent).toBe("ready\nchanged\n");
    // Buttons are reached by the keyboard, in reading order.
    expect([...(actions()?.querySelectorAll("button") ?? [])].map(({ dataset }) => dataset["testid"])).toEqual([
      "stop-background",
      "preview:3000",
      "preview:5173",
    ]);
    void act(() => buttonIn(root, "preview:5173").click());
    expect(page.view.posted.at(-1)?.["ui"]).toEqual({
      ...{ action: "command", command: "lancelot.previewPort" },
      args: [{ id: "bg-1", port: "5173" }],
    });
  });

  it("stops the command alone, and says so", async () => {
    await show([command()]);
    void act(() => buttonIn(root, "stop-background").click());
    await settle();
    expect([page.view.calls("background.stop"), page.view.calls("chat.cancel")]).toEqual([[{ id: "bg-1" }], []]);
    expect([actions(), badge()?.textContent === ""]).toEqual([null, false]);
  });

  it("follows its events", async () => {
    await show([command({ ports: [] })]);
    expect(root.querySelector('[data-testid="preview:8080"]')).toBeNull();
    await act(() => page.view.event("backgroundCommand", command({ ports: [8080] })));
    expect(buttonIn(root, "preview:8080")).not.toBeNull();
    await act(() => page.view.event("backgroundCommand", command({ ports: [], end: { reason: "exit", exitCode: 2, at: at(0) } })));
    expect(actions()).toBeNull();
    expect([badge()?.classList.contains("verdict-deny"), badge()?.textContent.includes("2")]).toEqual([true, true]);
  });

  it("says after a reload that a command has ended which the host does not know", async () => {
    await show([]);
    expect([actions(), badge() === null]).toEqual([null, false]);
  });
});
