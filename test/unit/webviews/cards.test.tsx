// @vitest-environment jsdom
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ChangeCard } from "../../../webviews/chat/change-card.tsx";
import { Composer } from "../../../webviews/chat/composer.tsx";
import { type Chat, emptyChat, type SavedChat } from "../../../webviews/chat/chat-state.ts";
import { ToolCard } from "../../../webviews/chat/tool-card.tsx";
import { PendingRequests } from "../../../webviews/chat/requests.tsx";
import { ApprovalCard } from "../../../webviews/shared/approval-card.tsx";
import { buttonIn, settle, startChat } from "../../support/chat-page.ts";
import type { FakeView } from "../../support/fake-view.ts";
import {
  sampleApproval,
  sampleScopes,
  sampleChange,
  sampleMessage,
  sampleQuest,
  sampleTool,
} from "../../support/webview-harness/samples.ts";
import { eachWithRoot } from "../../support/view-root.ts";

let root: HTMLElement;
let view: FakeView;
let chat: Chat;

let kept: Partial<SavedChat>;

async function start(saved: SavedChat = emptyChat, quest = sampleQuest()): Promise<void> {
  ({ view, chat, kept } = await startChat({ saved, quest }));
}

beforeEach(() => {
  vi.spyOn(window, "requestAnimationFrame").mockImplementation((work) => {
    work(0);
    return 0;
  });
});

eachWithRoot((made) => {
  root = made;
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** Does something and draws what came of it. */
function update(work: () => void): void {
  void act(work);
}

function press(target: Element | null | undefined, key: string, more: KeyboardEventInit = {}): KeyboardEvent {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more });
  update(() => {
    target?.dispatchEvent(event);
  });
  return event;
}

const button = (testId: string): HTMLButtonElement => buttonIn(root, testId);

describe("approval card", () => {
  beforeEach(async () => {
    await start();
    view.answer("approvals.decide", ({ id, decision }) =>
      sampleApproval({
        id: String(id),
        status: decision === "deny" ? "denied" : decision === "allow_once" ? "allowed_once" : "allowed_quest",
      }),
    );
    vi.spyOn(performance, "now").mockReturnValue(1000);
    update(() => render(<ApprovalCard approval={sampleApproval()} bridge={view.bridge} store={chat.store} />, root));
    vi.spyOn(performance, "now").mockReturnValue(5000);
  });

  const card = (): Element | null => root.querySelector(".approval");

  it("shows exactly what will happen, the tier, the rules and what each answer does", () => {
    const text = root.textContent ?? "";
    for (const part of [sampleApproval().detail, "T3", ...sampleApproval().rules.map(({ message }) => message)])
      expect(text).toContain(part);
    for (const answer of ["allow-once", "allow-for-task", "deny"]) {
      const description = button(answer).getAttribute("aria-describedby") ?? "";
      expect(document.getElementById(description)?.textContent).not.toBe("");
    }
  });

  it("shows no reason twice, and at most three until more are asked for", () => {
    const rules = ["one", "two", "one", "three", "four"].map((message, index) => ({ id: `r${index}`, source: "policy" as const, message }));
    update(() => render(<ApprovalCard approval={sampleApproval({ rules })} bridge={view.bridge} store={chat.store} />, root));
    expect(root.querySelectorAll(".approval-body > .rules > li")).toHaveLength(3);
    expect([...root.querySelectorAll(".more-reasons li")].map((item) => item.getAttribute("title"))).toEqual(["r3", "r4"]);
  });

  it.each([
    ["a", "allow_once"],
    ["T", "allow_quest"],
  ])("%s answers %s", async (key, decision) => {
    press(card(), key);
    await settle();
    expect(view.calls("approvals.decide")).toEqual([{ id: "approval-1", decision }]);
    expect(chat.store.approvals.value.get("approval-1")?.status).not.toBe("pending");
  });

  it("offers nothing for the workspace when nothing may be allowed there", async () => {
    expect(root.querySelector("[data-testid=allow-in-workspace]")).toBeNull();
    press(card(), "w");
    await settle();
    expect(root.querySelector("input")).toBeNull();
    expect(view.calls("approvals.decide")).toEqual([]);
  });

  it("a reason typed right after D allows nothing: its letters go into the field", () => {
    press(card(), "d");
    expect(document.activeElement?.tagName).toBe("INPUT");
    press(document.activeElement, "t");
    press(document.activeElement, "a");
    expect(view.calls("approvals.decide")).toEqual([]);
  });

  it.each(["Enter", " ", "y", "Escape", "1"])("%j answers nothing", async (key) => {
    press(card(), key);
    await settle();
    expect(view.calls("approvals.decide")).toEqual([]);
  });

  it("takes no key right after it appeared", async () => {
    vi.spyOn(performance, "now").mockReturnValue(1300);
    press(card(), "a");
    await settle();
    expect(view.calls("approvals.decide")).toEqual([]);
  });

  it("denies with the reason that was given, whose letters answer nothing", async () => {
    press(card(), "d");
    expect(view.calls("approvals.decide")).toEqual([]);
    const field = root.querySelector("input");
    expect(document.activeElement).toBe(field);
    press(field, "a");
    update(() => {
      if (field !== null) field.value = " use the other file ";
      field?.dispatchEvent(new Event("input", { bubbles: true }));
    });
    update(() => button("confirm-deny").click());
    await settle();
    expect(view.calls("approvals.decide")).toEqual([{ id: "approval-1", decision: "deny", reason: "use the other file" }]);
  });

  describe("for the whole workspace", () => {
    beforeEach(() =>
      update(() =>
        render(<ApprovalCard approval={sampleApproval({ scopes: sampleScopes })} bridge={view.bridge} store={chat.store} />, root),
      ),
    );
    const choices = (): HTMLInputElement[] => [...root.querySelectorAll<HTMLInputElement>("input[type=radio]")];

    it("W shows the exact scope and answers nothing: neither do the next keys", async () => {
      press(card(), "w");
      expect(document.activeElement).toBe(choices()[0]);
      for (const { pattern } of sampleScopes) expect(root.textContent).toContain(pattern);
      for (const target of [document.activeElement, button("save-scope"), card()])
        for (const key of ["a", "t", "d", "w"]) press(target, key);
      await settle();
      expect(view.calls("approvals.decide")).toEqual([]);
      expect(choices()).toHaveLength(sampleScopes.length);
    });

    it.each([
      [0, "the widest, which is chosen at first"],
      [1, "a narrower one"],
      [2, "the action itself"],
    ])("saves the scope with the index %i: %s", async (index) => {
      update(() => button("allow-in-workspace").click());
      if (index > 0) update(() => choices()[index]?.click());
      update(() => button("save-scope").click());
      await settle();
      expect(view.calls("approvals.decide")).toEqual([{ id: "approval-1", decision: "allow_workspace", scope: index }]);
    });

    it("Escape and Back return to the answers, with the focus on the card", async () => {
      for (const leave of [() => press(choices()[0], "Escape"), () => update(() => button("cancel-scope").click())]) {
        press(card(), "w");
        leave();
        expect(document.activeElement).toBe(card());
        expect(choices()).toEqual([]);
        expect(button("allow-once")).not.toBeNull();
      }
      await settle();
      expect(view.calls("approvals.decide")).toEqual([]);
    });
  });

  it("says when the answer did not arrive and can be answered again", async () => {
    view.answer("approvals.decide", () => {
      throw { code: "conflict", message: "This approval has expired." };
    });
    press(card(), "a");
    await settle();
    expect(root.querySelector('[role="alert"]')?.textContent).toContain("expired");
    press(card(), "a");
    await settle();
    expect(view.calls("approvals.decide")).toHaveLength(2);
  });
});

it("an approval card leaves the focus with someone who writes", async () => {
  await start();
  const field = document.createElement("textarea");
  root.before(field);
  field.focus();
  update(() => render(<ApprovalCard approval={sampleApproval()} bridge={view.bridge} store={chat.store} />, root));
  expect(document.activeElement).toBe(field);
  field.remove();
});

describe("change card", () => {
  beforeEach(async () => {
    await start();
    view.answer("changes.decide", () => sampleChange({ status: "accepted" }));
    update(() => render(<ChangeCard change={sampleChange()} chat={chat} />, root));
  });

  it.each([
    ["accept-hunk:2", { decision: "accept", hunks: [1] }],
    ["reject-hunk:1", { decision: "reject", hunks: [0] }],
    ["accept-file", { decision: "accept" }],
    ["reject-file", { decision: "reject" }],
  ])("%s decides just that", async (name, decision) => {
    update(() => button(name).click());
    await settle();
    expect(view.calls("changes.decide")).toEqual([{ id: "change-1", ...decision }]);
    expect(chat.store.changes.value.get("change-1")?.status).toBe("accepted");
  });

  it("offers nothing for a hunk that was decided", () => {
    expect(root.querySelectorAll('[data-testid^="accept-hunk:"]')).toHaveLength(2);
    expect(root.querySelectorAll(".hunk.rejected")).toHaveLength(1);
  });

  it("opens in the editor", () => {
    update(() => button("review-in-editor").click());
    expect(view.posted.at(-1)).toEqual({ type: "ui", ui: { action: "openChange", changeId: "change-1" } });
  });
});

describe("tool card", () => {
  const denied = sampleTool({
    status: "denied",
    tier: "T3",
    verdict: "deny",
    rules: [{ id: "secret.env", source: "policy", message: "Environment files hold keys and passwords." }],
    output: "Blocked: read_file was not done.",
  });

  beforeEach(() => start());

  it("shows the reasons of a denied call and the alternatives offered to the model", () => {
    const alternatives = ["Read a template beside it with read_file.", "Ask the owner with ask_owner."];
    update(() => render(<ToolCard part={{ ...denied, alternatives }} chat={chat} />, root));
    const text = root.textContent ?? "";
    for (const part of ["T3", "Environment files hold keys", ...alternatives]) expect(text).toContain(part);
    expect(root.querySelector(".tool-why .verdict-deny")).not.toBeNull();
  });

  it("says nothing of alternatives where there are none", () => {
    for (const part of [denied, { ...denied, alternatives: [] }, sampleTool()]) {
      update(() => render(<ToolCard part={part} chat={chat} />, root));
      expect(root.querySelector('[data-testid="alternatives"]')).toBeNull();
    }
  });
});

describe("question card", () => {
  it("sends an option or the owner's own words to the call that asked", async () => {
    const waitingFor = { kind: "answer" as const, id: "call-7", question: "Which?", options: ["One", "Two"] };
    await start({ ...emptyChat, questId: "quest-1" }, sampleQuest({ status: "waiting", waitingFor }));
    update(() => render(<PendingRequests chat={chat} />, root));
    update(() => button("option:Two").click());
    await settle();
    expect(view.calls("chat.answer")).toEqual([{ questId: "quest-1", callId: "call-7", answer: "Two" }]);
  });
});

describe("composer", () => {
  const field = (): HTMLTextAreaElement => root.querySelector("textarea") as HTMLTextAreaElement;

  async function type(text: string): Promise<void> {
    update(() => {
      field().value = text;
      field().setSelectionRange(text.length, text.length);
      field().dispatchEvent(new Event("input", { bubbles: true }));
    });
    await settle();
  }

  async function open(saved: SavedChat = emptyChat, quest = sampleQuest()): Promise<void> {
    await start(saved, quest);
    update(() => render(<Composer chat={chat} />, root));
    await settle();
  }

  it("sends a new task and is empty then", async () => {
    await open();
    await type("Fix it");
    press(field(), "Enter");
    await settle();
    expect(view.calls("chat.send")).toEqual([{ text: "Fix it" }]);
    expect(field().value).toBe("");
    expect(chat.conversation.questId.value).toBe("quest-1");
    expect(kept).toMatchObject({ questId: "quest-1", draft: "", history: ["Fix it"] });
  });

  it("keeps the words when they could not be sent, and says why", async () => {
    await open();
    view.answer("chat.send", () => {
      throw { code: "unavailable", message: "The agent host is not running." };
    });
    await type("Fix it");
    press(field(), "Enter");
    await settle();
    expect(field().value).toBe("Fix it");
    expect(root.querySelector('[role="alert"]')?.textContent).toContain("not running");
  });

  it("sends once, however often Enter is pressed", async () => {
    await open();
    view.hold("chat.send");
    await type("Fix it");
    press(field(), "Enter");
    press(field(), "Enter");
    await act(() => view.release("chat.send"));
    expect(view.calls("chat.send")).toHaveLength(1);
  });

  it("continues the open task", async () => {
    await open({ ...emptyChat, questId: "quest-1" });
    await type("And now?");
    press(field(), "Enter");
    await settle();
    expect(view.calls("chat.send")).toEqual([{ text: "And now?", questId: "quest-1" }]);
  });

  it.each([
    ["steers a running task", sampleQuest({ status: "active" }), "chat.steer", { questId: "quest-1", text: "Faster" }],
    [
      "steers a task that waits for an approval",
      sampleQuest({ status: "waiting", waitingFor: { kind: "approval", id: "a" } }),
      "chat.steer",
      { questId: "quest-1", text: "Faster" },
    ],
    [
      "answers a question",
      sampleQuest({ status: "waiting", waitingFor: { kind: "answer", id: "call-7" } }),
      "chat.answer",
      { questId: "quest-1", callId: "call-7", answer: "Faster" },
    ],
    [
      "starts a turn while changes wait for review",
      sampleQuest({ status: "waiting", waitingFor: { kind: "review", id: "quest-1" } }),
      "chat.send",
      { questId: "quest-1", text: "Faster" },
    ],
  ])("%s", async (_, quest, method, params) => {
    await open({ ...emptyChat, questId: "quest-1" }, quest);
    await type("Faster");
    press(field(), "Enter");
    await settle();
    expect(view.calls(method)).toEqual([params]);
  });

  it("lets files join a running task as a message", async () => {
    await open({ ...emptyChat, questId: "quest-1", chosen: ["src/line.ts"] }, sampleQuest({ status: "active" }));
    await type("Look at @src/line.ts too");
    press(field(), "Enter");
    await settle();
    expect(view.calls("chat.steer")).toEqual([]);
    expect(view.calls("chat.send")).toEqual([
      { text: "Look at @src/line.ts too", questId: "quest-1", attachments: [{ type: "file", path: "src/line.ts" }] },
    ]);
  });

  it("asks the extension to undo the open task", async () => {
    await open({ ...emptyChat, questId: "quest-1" });
    await type("/undo");
    press(field(), "Enter");
    expect(view.posted.at(-1)).toEqual({
      type: "ui",
      ui: { action: "command", command: "lancelot.undoTask", args: [{ questId: "quest-1" }] },
    });
  });

  it("stops a running task with Esc", async () => {
    await open({ ...emptyChat, questId: "quest-1" }, sampleQuest({ status: "active" }));
    press(field(), "Escape");
    await settle();
    expect(view.calls("chat.cancel")).toEqual([{ questId: "quest-1" }]);
    expect(chat.quest.value?.status).toBe("cancelled");
  });

  it("completes a file by keyboard and sends it along", async () => {
    await open();
    await type("Look at @li");
    expect([...root.querySelectorAll('[role="option"]')].map((option) => option.getAttribute("title"))).toEqual(["src/line.ts"]);
    press(field(), "Enter");
    await settle();
    expect(field().value).toBe("Look at @src/line.ts ");
    press(field(), "Enter");
    await settle();
    expect(view.calls("chat.send")).toEqual([{ text: "Look at @src/line.ts", attachments: [{ type: "file", path: "src/line.ts" }] }]);
  });

  it("offers the problems and the diff beside files, and leaves one letter to the files", async () => {
    await open();
    const titles = (): (string | null)[] => [...root.querySelectorAll('[role="option"]')].map((option) => option.getAttribute("title"));
    await type("Fix the @pro");
    expect(titles()).toEqual(["@problems"]);
    press(field(), "Enter");
    await settle();
    expect(field().value).toBe("Fix the @problems ");
    view.answer("workspace.files", () => ({ items: ["src/diff.ts"] }));
    await type("@d");
    expect(titles()).toEqual(["src/diff.ts", "@diff"]);
    await type("@di");
    expect(titles()).toEqual(["@diff", "src/diff.ts"]);
  });

  it("keeps a closed list closed until the word changes", async () => {
    await open();
    await type("@src");
    press(field(), "Escape");
    await settle();
    expect(root.querySelector('[role="listbox"]')).toBeNull();
    await type("@src/");
    expect(root.querySelector('[role="listbox"]')).not.toBeNull();
  });

  it("runs an action command and sends a prompt command as text", async () => {
    await open();
    await type("/model");
    press(field(), "Enter");
    expect(view.posted.at(-1)).toEqual({ type: "ui", ui: { action: "command", command: "lancelot.chooseModel" } });
    await type("/fix the test");
    press(field(), "Enter");
    await settle();
    expect(view.calls("chat.send")).toEqual([{ text: "/fix the test" }]);
  });

  it("recalls own messages, newest first, and comes back to an empty field", async () => {
    await open({ ...emptyChat, history: ["one", "two"] });
    const seen: string[] = [];
    for (const key of ["ArrowUp", "ArrowUp", "ArrowUp", "ArrowDown", "ArrowDown"]) {
      press(field(), key);
      await settle();
      seen.push(field().value);
    }
    expect(seen).toEqual(["two", "one", "one", "two", ""]);
  });

  it("edits and sends a message again in place of the old one", async () => {
    await open({ ...emptyChat, questId: "quest-1" });
    update(() =>
      chat.edit(
        sampleMessage({
          id: "old",
          parts: [
            { type: "text", text: "Fix @src/line.ts" },
            { type: "file", path: "src/line.ts" },
          ],
        }),
      ),
    );
    await settle();
    expect(field().value).toBe("Fix @src/line.ts");
    press(field(), "Enter");
    await settle();
    expect(view.calls("chat.send")).toEqual([
      { text: "Fix @src/line.ts", questId: "quest-1", replaceMessageId: "old", attachments: [{ type: "file", path: "src/line.ts" }] },
    ]);
    expect(chat.editing.value).toBeNull();
  });

  it("brings the draft back after a reload", async () => {
    await open({ ...emptyChat, draft: "half a thou" });
    expect(field().value).toBe("half a thou");
  });

  it("attaches a pasted picture and refuses one that is no picture it knows", async () => {
    await open();
    const paste = (file: File): void => {
      const event = new Event("paste", { bubbles: true, cancelable: true });
      Object.assign(event, { clipboardData: { files: [file] } });
      update(() => {
        field().dispatchEvent(event);
      });
    };
    paste(new File([new Uint8Array([1, 2, 3])], "a.png", { type: "image/png" }));
    await vi.waitFor(() => expect(chat.images.value).toEqual([{ type: "image", mediaType: "image/png", data: "AQID" }]));
    paste(new File(["<svg/>"], "a.svg", { type: "image/svg+xml" }));
    await vi.waitFor(() => expect(chat.problem.value).toContain("a.svg"));
    expect(chat.images.value).toHaveLength(1);
  });
});

describe("crusader mode", () => {
  it("is for the one message it was turned on for, and is seen before it is sent", async () => {
    await start();
    await act(() => render(<Composer chat={chat} />, root));
    const button = buttonIn(root, "crusader-mode");
    expect(button?.getAttribute("aria-pressed")).toBe("false");
    await act(() => button?.click());
    expect(root.querySelector('[data-testid="crusader-notice"]')).not.toBeNull();
    chat.draft.value = "Fix it";
    await act(() => chat.send());
    chat.newQuest();
    chat.draft.value = "And that";
    await act(() => chat.send());
    expect(view.calls("chat.send")).toEqual([{ text: "Fix it", mode: "crusader" }, { text: "And that" }]);
    expect(root.querySelector('[data-testid="crusader-notice"]')).toBeNull();
  });

  it("joins a running task as a message, not as plain steering", async () => {
    await start({ ...emptyChat, questId: "quest-1" }, sampleQuest({ status: "active" }));
    chat.crusader.value = true;
    chat.draft.value = "Faster";
    await act(() => chat.send());
    expect(view.calls("chat.send")).toEqual([{ text: "Faster", questId: "quest-1", mode: "crusader" }]);
    expect(view.calls("chat.steer")).toEqual([]);
  });

  it("is turned on by the command of the editor", async () => {
    await start();
    view.send({ type: "show", crusader: true, focus: true });
    expect(chat.crusader.value).toBe(true);
  });

  it("a card whose output reads like orders says so", async () => {
    await start();
    await act(() => render(<ToolCard part={sampleTool({ findings: ["override.previous"] })} chat={chat} />, root));
    expect(root.querySelector(".tool-suspicious")).not.toBeNull();
    expect(root.textContent).toContain("override.previous");
  });
});

describe("what the extension asks to show", () => {
  it("opens a task, puts text into the composer and starts a new task", async () => {
    await start();
    view.send({ type: "show", questId: "quest-1" });
    expect(chat.conversation.questId.value).toBe("quest-1");
    view.send({ type: "show", compose: "about this selection" });
    view.send({ type: "show", compose: "and this" });
    expect(chat.draft.value).toBe("about this selection\nand this");
    view.send({ type: "show", newQuest: true });
    expect(chat.conversation.questId.value).toBeNull();
  });
});
