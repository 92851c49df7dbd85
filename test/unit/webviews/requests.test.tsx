// @vitest-environment jsdom
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Approval } from "../../../agent-server/contract/governance.ts";
import { Composer } from "../../../webviews/chat/composer.tsx";
import { emptyChat } from "../../../webviews/chat/chat-state.ts";
import { PendingRequests } from "../../../webviews/chat/requests.tsx";
import { buttonIn, type ChatPage, settle, startChat } from "../../support/chat-page.ts";
import { eachWithRoot } from "../../support/view-root.ts";
import { sampleApproval, sampleQuest } from "../../support/webview-harness/samples.ts";

let root: HTMLElement;
let page: ChatPage;
eachWithRoot((made) => {
  root = made;
});
beforeEach(() => {
  vi.spyOn(window, "requestAnimationFrame").mockReturnValue(0);
});
afterEach(() => {
  vi.restoreAllMocks();
});

const first = sampleApproval({ createdAt: "2026-01-01T00:00:00.000Z" });
const second = sampleApproval({ id: "approval-2", title: "Delete b", createdAt: "2026-01-01T00:00:01.000Z" });
const elsewhere = sampleApproval({ id: "approval-3", questId: "quest-2" });
const field = (): HTMLTextAreaElement | null => root.querySelector("textarea");
const shown = (): string | null | undefined => root.querySelector(".approval .card-title")?.textContent;

async function show(approvals: readonly Approval[], text = ""): Promise<void> {
  const quest = sampleQuest({ status: "active" });
  page = await startChat({
    quest,
    saved: { ...emptyChat, questId: quest.id, draft: text },
    answers: {
      "approvals.list": { items: approvals },
      "quests.list": { items: [quest, sampleQuest({ id: "quest-2", title: "The other one" })] },
    },
  });
  page.view.answer("approvals.decide", ({ id, decision }) => {
    const of = approvals.find((approval) => approval.id === id) ?? first;
    return { ...of, status: decision === "deny" ? "denied" : "allowed_once" };
  });
  vi.spyOn(performance, "now").mockReturnValue(1_000);
  void act(() =>
    render(
      <>
        <PendingRequests chat={page.chat} />
        <Composer chat={page.chat} />
      </>,
      root,
    ),
  );
  await settle();
  vi.spyOn(performance, "now").mockReturnValue(5_000);
}

async function press(key: string, more: KeyboardEventInit = { ctrlKey: true }): Promise<boolean> {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more });
  void act(() => void field()?.dispatchEvent(event));
  await settle();
  return event.defaultPrevented;
}

describe("what waits for the user", () => {
  it("is a queue: the oldest approval is shown, then the next", async () => {
    await show([second, first]);
    expect(root.querySelectorAll(".approval")).toHaveLength(1);
    expect(shown()).toContain(first.title);
    expect(root.querySelector('[data-testid="approval-queue"]')).not.toBeNull();
    void act(() => buttonIn(root, "allow-once").click());
    await settle();
    expect(page.view.calls("approvals.decide")).toEqual([{ id: "approval-1", decision: "allow_once" }]);
    expect(shown()).toContain("Delete b");
    expect(root.querySelector('[data-testid="approval-queue"]')).toBeNull();
  });

  it("names another task that asks, and opens it", async () => {
    await show([sampleApproval({ id: "approval-4", questId: "unknown" }), elsewhere]);
    expect(root.querySelector(".approval")).toBeNull();
    expect(root.querySelector(".other-tasks")?.textContent).toContain("The other one");
    void act(() => buttonIn(root, "open-asking-task").click());
    expect(page.chat.conversation.questId.value).toBe("quest-2");
  });

  it("shows nothing when nothing waits", async () => {
    await show([]);
    expect(root.querySelector(".requests")?.childElementCount).toBe(0);
    expect(await press("Enter")).toBe(false);
  });
});

describe("an approval is answered from the composer", () => {
  it("Ctrl+Enter allows it once, then the next one after a moment", async () => {
    await show([first, second]);
    expect(await press("Enter")).toBe(true);
    vi.spyOn(performance, "now").mockReturnValue(5_100);
    await press("Enter");
    expect(page.view.calls("approvals.decide")).toEqual([{ id: "approval-1", decision: "allow_once" }]);
    vi.spyOn(performance, "now").mockReturnValue(9_000);
    await press("Enter");
    expect(page.view.calls("approvals.decide")).toHaveLength(2);
  });

  it("with a text in the field no key answers: it may be the user's no", async () => {
    await show([first], "No, keep the file");
    await press("Enter");
    await press("Backspace");
    expect(page.view.calls("approvals.decide")).toEqual([]);
    expect(page.view.calls("chat.steer")).toEqual([]);
    expect(page.chat.draft.value).toBe("No, keep the file");
  });

  it("Ctrl+Backspace asks for the reason, and the next keys answer nothing", async () => {
    await show([first]);
    expect(await press("Backspace")).toBe(true);
    expect(document.activeElement?.tagName).toBe("INPUT");
    await press("Enter");
    expect(page.view.calls("approvals.decide")).toEqual([]);
  });

  it.each<[string, string, KeyboardEventInit]>([
    ["letters", "a", {}],
    ["Alt+Enter", "Enter", { altKey: true }],
    ["Ctrl+Shift+Enter", "Enter", { ctrlKey: true, shiftKey: true }],
    ["a key that is held down", "Enter", { ctrlKey: true, repeat: true }],
    ["Backspace", "Backspace", {}],
  ])("%s answer nothing", async (_, key, more) => {
    await show([first]);
    await press(key, more);
    expect(page.view.calls("approvals.decide")).toEqual([]);
    expect(root.querySelector("input[maxlength]")).toBeNull();
  });

  it("takes no key right after it appeared, nor after it is gone", async () => {
    await show([first]);
    vi.spyOn(performance, "now").mockReturnValue(1_300);
    await press("Enter");
    expect(page.view.calls("approvals.decide")).toEqual([]);
    void act(() => page.view.event("approval", { ...first, status: "denied" }));
    vi.spyOn(performance, "now").mockReturnValue(9_000);
    await settle();
    await press("Enter");
    expect(page.view.calls("approvals.decide")).toEqual([]);
  });
});
