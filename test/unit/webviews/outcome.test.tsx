// @vitest-environment jsdom
import { render } from "preact";
import { act } from "preact/test-utils";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Outcome } from "../../../agent-server/contract/chat.ts";
import type { Chat } from "../../../webviews/chat/chat-state.ts";
import { OutcomeCard } from "../../../webviews/chat/outcome.tsx";
import { buttonIn, startChat } from "../../support/chat-page.ts";
import { eachWithRoot } from "../../support/view-root.ts";

let root: HTMLElement;
let chat: Chat;
eachWithRoot((made) => {
  root = made;
});
beforeEach(async () => {
  ({ chat } = await startChat());
});

const outcome = (more: Partial<Outcome> = {}): Outcome => ({
  type: "outcome",
  actions: [
    { text: "updated README.md", recorded: true, receiptId: "receipt-1" },
    { text: "deployed the site", recorded: false, receiptId: null },
  ],
  ...more,
});
const draw = (part: Outcome): void => {
  void act(() => render(<OutcomeCard part={part} chat={chat} />, root));
};
const all = (testId: string): Element[] => [...root.querySelectorAll(`[data-testid="${testId}"]`)];

describe("the outcome of a task", () => {
  it("tells recorded actions from others, by more than color", () => {
    draw(outcome());
    expect(all("outcome-recorded").map((item) => item.querySelector(".outcome-text")?.textContent)).toEqual(["updated README.md"]);
    const [unrecorded] = all("outcome-unrecorded");
    expect(unrecorded?.querySelector(".outcome-text")?.textContent).toBe("deployed the site");
    expect(unrecorded?.querySelector(".quiet")?.textContent).not.toBe("");
    expect(unrecorded?.querySelector(".codicon-warning")).not.toBeNull();
    expect(all("outcome-next")).toEqual([]);
  });

  it("opens the receipt of an action", () => {
    draw(outcome());
    const opened = vi.spyOn(chat, "openReceipt").mockImplementation(() => undefined);
    expect(all("outcome-receipt")).toHaveLength(1);
    void act(() => buttonIn(root, "outcome-receipt").click());
    expect(opened).toHaveBeenCalledExactlyOnceWith("receipt-1");
  });

  it("puts the next action into the composer, behind what is there", () => {
    draw(outcome({ nextAction: "Add a test" }));
    void act(() => buttonIn(root, "outcome-next").click());
    expect(chat.draft.value).toBe("Add a test");
    chat.draft.value = "First this.";
    void act(() => buttonIn(root, "outcome-next").click());
    expect(chat.draft.value).toBe("First this.\nAdd a test");
  });

  it("shows nothing without actions and next action", () => {
    draw(outcome({ actions: [] }));
    expect(all("outcome")).toEqual([]);
  });
});
