// @vitest-environment jsdom
import { signal } from "@preact/signals";
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { sectionId } from "../../../agent-server/contract/artifacts.ts";
import type { Message } from "../../../agent-server/contract/chat.ts";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import { MessageView } from "../../../webviews/chat/message.tsx";
import { now } from "../../../webviews/shared/components.tsx";
import { createStore } from "../../../webviews/shared/store.ts";
import { createViewState } from "../../../webviews/shared/view-state.ts";
import { App } from "../../../webviews/war-room/war-room-app.tsx";
import { createWarRoom, type WarRoom } from "../../../webviews/war-room/war-room-state.ts";
import { emptyWarRoom, SavedWarRoom } from "../../../webviews/war-room/war-room-types.ts";
import { buttonIn, fieldIn, settle, startChat } from "../../support/chat-page.ts";
import { createFakeView, type FakeView } from "../../support/fake-view.ts";
import { eachWithRoot } from "../../support/view-root.ts";
import { answerWithSections, sampleArtifact, sampleArtifacts } from "../../support/webview-harness/artifact-samples.ts";
import { sampleMessage, sampleNow, sampleQuest, sampleTool } from "../../support/webview-harness/samples.ts";

// They want a browser; the real ones are drawn in test/integration/webviews.test.ts.
vi.mock("@vscode-elements/elements/dist/vscode-option/index.js", () => ({}));
vi.mock("@vscode-elements/elements/dist/vscode-single-select/index.js", () => ({}));

let root: HTMLElement;
eachWithRoot((made) => {
  root = made;
});
beforeEach(() => {
  // A page without layout: the rows of a virtual list are those that would be on a screen of this height.
  vi.spyOn(Element.prototype, "clientHeight", "get").mockReturnValue(800);
  vi.spyOn(Element.prototype, "clientWidth", "get").mockReturnValue(800);
  HTMLElement.prototype.scrollIntoView = () => undefined;
  HTMLElement.prototype.scrollTo = () => undefined;
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const find = (testId: string): Element | null => root.querySelector(`[data-testid="${testId}"]`);

describe("an answer in the chat", () => {
  async function draw(patch: Partial<Message>) {
    const message = sampleMessage({
      id: "message-2",
      seq: 1,
      role: "assistant",
      parts: [{ type: "text", text: answerWithSections }],
      ...patch,
    });
    const { chat, view } = await startChat();
    const shown = signal(message);
    void act(() => render(<MessageView message={shown} chat={chat} />, root));
    const update = (next: Partial<Message>): void =>
      void act(() => {
        shown.value = { ...shown.peek(), ...next };
      });
    return { view, update };
  }
  const headings = (): (string | null)[] => [...root.querySelectorAll("h3")].map((heading) => heading.textContent);

  it("shows its chat part, and opens the rest in the War Room", async () => {
    const { view } = await draw({});
    expect(headings()).toEqual([]);
    expect(root.querySelectorAll("p")).toHaveLength(1);
    expect(buttonIn(root, "open-artifacts").textContent).toMatch(/Risks, Test Plan/);
    void act(() => buttonIn(root, "open-artifacts").click());
    expect(view.posted.at(-1)?.["ui"]).toEqual({
      ...{ action: "command", command: "lancelot.openWarRoom" },
      args: [{ questId: "quest-1", id: sectionId("message-2", 0, 0) }],
    });
  });

  it("is whole while it streams, and folds its sections at its end", async () => {
    const { update } = await draw({ open: true });
    expect(headings()).toEqual(["Risks", "Test Plan"]);
    expect(find("open-artifacts")).toBeNull();
    update({ open: false });
    expect(headings()).toEqual([]);
    expect(find("open-artifacts")).not.toBeNull();
  });

  it.each([
    ["a message that calls a tool", { parts: [{ type: "text", text: answerWithSections }, sampleTool()] }],
    ["an answer of verbose sections only", { parts: [{ type: "text", text: "## Risks\n\nOne.\n\n## Test Plan\n\nTwo.\n" }] }],
  ] satisfies [string, Partial<Message>][])("leaves %s whole", async (_, patch) => {
    await draw(patch);
    expect(headings()).toEqual(["Risks", "Test Plan"]);
    expect(find("open-artifacts")).toBeNull();
  });

  it("leaves the user's own words alone", async () => {
    await draw({ role: "user" });
    expect(root.querySelector(".own-text")?.textContent).toBe(answerWithSections);
    expect(find("open-artifacts")).toBeNull();
  });

  it("keeps the links that a section defines", async () => {
    await draw({ parts: [{ type: "text", text: "See [the docs][1].\n\n## References\n\n[1]: https://docs.example/x\n" }] });
    expect(root.querySelector("a")?.getAttribute("href")).toBe("https://docs.example/x");
  });
});

describe("the Artifacts panel", () => {
  let view: FakeView;
  let warRoom: WarRoom;

  async function open(
    list: (params: Record<string, unknown>) => unknown = () => ({ items: sampleArtifacts }),
    show: object = {},
  ): Promise<void> {
    view = createFakeView();
    now.value = sampleNow;
    const answers = { "quests.list": { items: [sampleQuest()] }, "approvals.list": { items: [] }, "changes.list": { items: [] } };
    for (const [name, answer] of Object.entries({ ...answers, "receipts.search": { items: [] } })) view.answer(name, () => answer);
    view.answer("artifacts.list", list);
    const api = { postMessage: () => undefined, getState: () => ({ ...emptyWarRoom, tab: "artifacts" }), setState: () => undefined };
    warRoom = createWarRoom(view.bridge, createStore(view.bridge), createViewState(api, SavedWarRoom, emptyWarRoom));
    void act(() => render(<App warRoom={warRoom} />, root));
    view.send({ type: "show", tab: "artifacts", ...show });
    await view.hostReady();
    await settle();
    await settle();
  }
  const rows = (): Element[] => [...root.querySelectorAll('[role="option"]')];
  const asked = (): unknown[] => view.posted.filter(({ method }) => method === "artifacts.list").map(({ params }) => params);
  const pressKey = (key: string): void =>
    void act(() => void root.querySelector('[role="listbox"]')?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })));

  it("lists artifacts of all kinds, and opens one with its task", async () => {
    await open();
    expect(rows()).toHaveLength(sampleArtifacts.length);
    expect(asked()).toEqual([{ limit: 50 }]);
    void act(() => {
      warRoom.artifacts.selected.value = "plan:plan-1";
    });
    expect(find("artifact-text")?.textContent).toContain("Change total");
    void act(() => buttonIn(root, "open-task").click());
    expect(view.posted.at(-1)?.["ui"]).toEqual({ action: "command", command: "lancelot.openChat", args: [{ questId: "quest-1" }] });
    void act(() => buttonIn(root, "copy-artifact").click());
    expect(view.posted.at(-1)?.["ui"]).toEqual({ action: "copy", text: sampleArtifacts[2]?.text });
    void act(() => buttonIn(root, "close-detail").click());
    expect(find("artifact-text")).toBeNull();
  });

  it("is operated by keyboard", async () => {
    await open();
    pressKey("ArrowDown");
    pressKey("Enter");
    expect(warRoom.artifacts.selected.value).toBe(sampleArtifacts[0]?.id);
    pressKey("ArrowDown");
    expect(warRoom.artifacts.selected.value).toBe(sampleArtifacts[1]?.id);
  });

  it("opens at the artifact of a link, however far down its task's list it is", async () => {
    const wanted = sampleArtifact({ id: sectionId("old", 0, 0), title: "Estimate" });
    await open(({ cursor }) => (cursor === undefined ? { items: sampleArtifacts, nextCursor: "more" } : { items: [wanted] }), {
      artifact: { questId: "quest-1", id: wanted.id },
    });
    expect(asked()).toEqual([
      { questId: "quest-1", limit: 50 },
      { questId: "quest-1", limit: 50, cursor: "more" },
    ]);
    expect(warRoom.artifacts.shown.value?.id).toBe(wanted.id);
    expect(find("artifact-text")).not.toBeNull();
  });

  it("says when the artifact of a link is gone", async () => {
    await open(() => ({ items: [] }), { artifact: { questId: "quest-1", id: "section:gone:0:0" } });
    expect(find("artifact-missing")).not.toBeNull();
    expect(find("placeholder:library")).not.toBeNull();
  });

  /** Lets the pauses of typing and between two reads pass. */
  async function pass(): Promise<void> {
    for (let pause = 0; pause < 2; pause += 1) {
      await act(() => {
        vi.advanceTimersByTime(1_000);
      });
      await settle();
      await settle();
    }
  }

  it("searches on the host, reads on after an empty page, and clears the filters", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    await open(({ query, cursor }) => {
      if (query === undefined) return { items: sampleArtifacts };
      return cursor === undefined ? { items: [], nextCursor: "more" } : { items: sampleArtifacts.slice(1, 2) };
    });
    void act(() => {
      const field = fieldIn(root, "search-artifacts");
      field.value = " npm ";
      field.dispatchEvent(new Event("input", { bubbles: true }));
    });
    await pass();
    expect(asked().slice(1)).toEqual([
      { query: "npm", limit: 50 },
      { query: "npm", limit: 50, cursor: "more" },
    ]);
    expect(rows()).toHaveLength(1);
    void act(() => buttonIn(root, "clear-filters").click());
    await pass();
    expect(rows()).toHaveLength(sampleArtifacts.length);
  });

  it("explains an empty list", async () => {
    await open(() => ({ items: [] }));
    expect(find("placeholder:library")).not.toBeNull();
    expect(find("clear-filters")).toBeNull();
  });

  it("shows a failed read and tries again", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    let fails = true;
    await open(() => {
      if (fails) throw new LancelotError("internal", "no");
      return { items: sampleArtifacts };
    });
    expect(rows()).toEqual([]);
    expect(root.querySelector('[role="alert"]')).not.toBeNull();
    fails = false;
    void act(() => buttonIn(root, "try-again").click());
    await pass();
    expect(rows()).toHaveLength(sampleArtifacts.length);
    expect(find("try-again")).toBeNull();
  });
});
