// @vitest-environment jsdom
import { signal } from "@preact/signals";
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ChangeCard } from "../../../webviews/chat/change-card.tsx";
import { Composer } from "../../../webviews/chat/composer.tsx";
import { MessageView } from "../../../webviews/chat/message.tsx";
import { emptyChat } from "../../../webviews/chat/chat-state.ts";
import { buttonIn, type ChatPage, type ChatPageOptions, settle, startChat } from "../../support/chat-page.ts";
import { sampleChange, sampleMessage, sampleQuest, sampleReceipt } from "../../support/webview-harness/samples.ts";
import { eachWithRoot } from "../../support/view-root.ts";

let root: HTMLElement;
let page: ChatPage;

eachWithRoot((made) => {
  root = made;
});
afterEach(() => {
  vi.useRealTimers();
});

async function open(options: ChatPageOptions = {}): Promise<void> {
  page = await startChat(options);
  void act(() => render(<Composer chat={page.chat} />, root));
  await settle();
}

const inQuest = { saved: { ...emptyChat, questId: "quest-1" } };

function send(text: string): void {
  void act(() => {
    page.chat.draft.value = text;
    void page.chat.send();
  });
}

describe("messages on their way", () => {
  it("one that is sent while another is on its way follows it, into the task that the first began", async () => {
    await open();
    page.view.hold("chat.send");
    send("Fix it");
    send("And mind the commas");
    await settle();
    expect(page.view.calls("chat.send")).toEqual([{ text: "Fix it" }]);
    expect(page.chat.draft.value).toBe("");
    expect(root.querySelector(".outgoing")?.textContent).toMatch(/Fix it.*1/);
    await act(() => page.view.release("chat.send"));
    await settle();
    expect(page.view.calls("chat.send").at(-1)).toEqual({ text: "And mind the commas", questId: "quest-1" });
    expect(root.querySelector(".outgoing")).toBeNull();
  });

  it("what was not sent comes back, in order, before what was written since", async () => {
    await open(inQuest);
    page.view.hold("chat.send");
    send("one");
    send("two");
    page.chat.draft.value = "three";
    page.view.answer("chat.send", () => {
      throw { code: "unavailable", message: "The agent host is not running." };
    });
    await act(() => page.view.release("chat.send"));
    await settle();
    expect(page.chat.draft.value).toBe("one\n\ntwo\n\nthree");
    expect(page.view.calls("chat.send")).toHaveLength(1);
    expect(root.querySelector('[role="alert"]')?.textContent).toContain("not running");
  });

  it("the arrival of one leaves alone what was begun meanwhile: an edit, its files, the mode", async () => {
    await open(inQuest);
    page.view.hold("chat.send");
    send("one");
    const old = sampleMessage({
      id: "old",
      parts: [
        { type: "text", text: "Fix @src/line.ts" },
        { type: "file", path: "src/line.ts" },
      ],
    });
    void act(() => page.chat.edit(old));
    page.chat.crusader.value = true;
    await act(() => page.view.release("chat.send"));
    expect(page.chat.editing.value?.id).toBe("old");
    send("Fix @src/line.ts now");
    await settle();
    expect(page.view.calls("chat.send").at(-1)).toEqual({
      ...{ text: "Fix @src/line.ts now", questId: "quest-1", replaceMessageId: "old", mode: "crusader" },
      attachments: [{ type: "file", path: "src/line.ts" }],
    });
  });

  it("an edit that could not be sent is an edit again", async () => {
    await open(inQuest);
    page.view.answer("chat.send", () => {
      throw { code: "conflict", message: "Not now." };
    });
    void act(() => page.chat.edit(sampleMessage({ id: "old" })));
    send("Better words");
    await settle();
    expect(page.chat.editing.value?.id).toBe("old");
    expect(page.chat.draft.value).toBe("Better words");
  });

  it("the owner who went on to another task is not brought back", async () => {
    await open();
    page.view.hold("chat.send");
    send("Fix it");
    void act(() => page.chat.newQuest());
    send("Another");
    await act(() => page.view.release("chat.send"));
    await settle();
    expect(page.view.calls("chat.send")).toEqual([{ text: "Fix it" }, { text: "Another" }]);
  });

  it("words whose arrival is not known are there again after a reload, with a word about it", async () => {
    await open();
    page.view.hold("chat.send");
    send("Fix it");
    expect(page.kept).toMatchObject({ draft: "", outgoing: ["Fix it"] });
    await open({ saved: { ...emptyChat, draft: "half a th", outgoing: ["Fix it"] } });
    expect(root.querySelector("textarea")?.value).toBe("Fix it\n\nhalf a th");
    expect(root.querySelector('[role="alert"]')).not.toBeNull();
  });
});

describe("editing a message", () => {
  it("takes the very next key: the field holds the message before the click is over", async () => {
    page = await startChat(inQuest);
    const message = signal(sampleMessage());
    const frames: FrameRequestCallback[] = [];
    vi.spyOn(window, "requestAnimationFrame").mockImplementation((work) => frames.push(work));
    void act(() =>
      render(
        <>
          <MessageView message={message} chat={page.chat} />
          <Composer chat={page.chat} />
        </>,
        root,
      ),
    );
    buttonIn(root, "restore-to-message").click();
    const [restore] = page.view.posted.slice(-1).map(({ ui }) => ui);
    const { questId, createdAt: since } = message.peek();
    expect(restore).toMatchObject({ command: "lancelot.restoreTo", args: [{ questId, since }] });
    buttonIn(root, "edit-and-resend").click();
    const field = root.querySelector("textarea");
    expect(field?.value).toContain("The invoice test fails.");
    expect(document.activeElement).toBe(field);
    expect(field?.selectionStart).toBe(field?.value.length);
    // What waits for the next frame is done here, not after the test.
    await act(() => {
      for (const work of frames) work(0);
    });
    vi.restoreAllMocks();
  });
});

describe("an answer that was stopped before its first word", () => {
  it.each([[[]], [[{ type: "text" as const, text: "" }]], [[{ type: "thinking" as const, text: " \n" }]]])(
    "%j shows nothing",
    async (parts) => {
      page = await startChat(inQuest);
      const message = signal(sampleMessage({ role: "assistant", open: true, parts }));
      void act(() => render(<MessageView message={message} chat={page.chat} />, root));
      expect(root.querySelector("article")).not.toBeNull();
      void act(() => {
        message.value = { ...message.value, open: false };
      });
      expect(root.querySelector("article")).toBeNull();
    },
  );
});

describe("a change that was accepted", () => {
  const accepted = sampleChange({ status: "accepted" });
  const restored = () => sampleReceipt(1, { actionName: "checkpoint_restore", actionType: "file_op", riskTier: "T1", status: "success" });
  const state = () => root.querySelector(".change-heading .state .codicon")?.className.split("codicon-")[1];

  async function show(files: { path: string; diff: string }[]): Promise<void> {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    page = await startChat({ ...inQuest, quest: sampleQuest(), answers: { "checkpoints.diff": { files } } });
    void act(() => render(<ChangeCard change={accepted} chat={page.chat} />, root));
    await later();
  }
  async function later(): Promise<void> {
    await act(() => {
      vi.advanceTimersByTime(3000);
    });
    await settle();
  }

  it("says so until the task is undone, and again after Redo", async () => {
    const differs = [{ path: accepted.path, diff: "@@" }];
    await show(differs);
    expect(state()).toBe("check");
    page.view.answer("checkpoints.diff", () => ({ files: [] }));
    page.view.event("receipt", restored());
    await later();
    expect(state()).toBe("discard");
    page.view.answer("checkpoints.diff", () => ({ files: differs }));
    page.view.event("receipt", restored());
    await later();
    expect(state()).toBe("check");
  });

  it("is not called undone while that is not known", async () => {
    await show([]);
    expect(state()).toBe("discard");
    page.view.answer("checkpoints.diff", () => {
      throw { code: "unavailable", message: "No." };
    });
    page.view.event("change", { ...accepted, updatedAt: "2026-03-04T10:31:00.000Z" });
    await later();
    expect(state()).toBe("check");
  });
});
