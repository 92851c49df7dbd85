// @vitest-environment jsdom
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Composer } from "../../../webviews/chat/composer.tsx";
import { type ChatPage, settle, startChat } from "../../support/chat-page.ts";
import { sampleQuest } from "../../support/webview-harness/samples.ts";
import { eachWithRoot } from "../../support/view-root.ts";

let root: HTMLElement;
let page: ChatPage;
eachWithRoot((made) => {
  root = made;
});
beforeEach(() => {
  vi.spyOn(window, "requestAnimationFrame").mockImplementation((work) => {
    work(0);
    return 0;
  });
});
afterEach(() => {
  vi.restoreAllMocks();
});

async function show(answers: Record<string, unknown> = {}): Promise<void> {
  page = await startChat({
    quest: sampleQuest({ status: "done" }),
    answers: { "chat.send": { questId: "quest-1", messageId: "m" }, ...answers },
  });
  void act(() => render(<Composer chat={page.chat} />, root));
  await settle();
}
function select(): HTMLSelectElement {
  const found = root.querySelector<HTMLSelectElement>('select[data-testid="mode"]');
  if (found === null) throw new Error("no mode");
  return found;
}
const choose = async (value: string): Promise<void> => {
  select().value = value;
  select().dispatchEvent(new Event("change", { bubbles: true }));
  await act(settle);
};
const nextMode = (): Promise<void> =>
  act(() => void root.querySelector("textarea")?.dispatchEvent(new KeyboardEvent("keydown", { key: ".", ctrlKey: true, bubbles: true })));
const send = async (text: string): Promise<void> => {
  page.chat.draft.value = text;
  await act(() => page.chat.send());
};
const sent = (): unknown[] => page.view.calls("chat.send").map(({ text, mode }) => [text, mode]);

describe("the mode of a new task", () => {
  it("is the setting, else what was chosen, and ends with the task", async () => {
    await show();
    page.chat.newQuest();
    await act(settle);
    expect([...select().options].map(({ value }) => value)).toEqual(["plan", "review", "auto"]);
    expect(select().value).toBe("review");
    await send("First");
    page.chat.newQuest();
    await choose("plan");
    await send("Second");
    page.chat.newQuest();
    await act(settle);
    expect(select().value).toBe("review");
    await choose("auto");
    await send("Third");
    expect(sent()).toEqual([
      ["First", undefined],
      ["Second", "plan"],
      ["Third", "auto"],
    ]);
    expect(page.view.calls("quests.edits")).toEqual([]);
  });

  it("goes round by the key", async () => {
    await show();
    page.chat.newQuest();
    const seen: string[] = [];
    for (let n = 0; n < 3; n++) {
      await nextMode();
      seen.push(select().value);
    }
    expect(seen).toEqual(["auto", "plan", "review"]);
  });
});

describe("the mode of a task", () => {
  it("is told to the host at once, and shown when the host has taken it", async () => {
    await show({ "quests.edits": sampleQuest({ status: "done", edits: "auto", updatedAt: "2030-01-01T00:00:00.000Z" }) });
    page.chat.openQuest("quest-1");
    await choose("auto");
    expect(page.view.calls("quests.edits")).toEqual([{ id: "quest-1", edits: "auto" }]);
    expect(select().value).toBe("auto");
    await send("Go on");
    expect(sent()).toEqual([["Go on", undefined]]);
  });

  it("stays when the host refuses it, with the reason", async () => {
    await show();
    page.view.answer("quests.edits", () => {
      throw { code: "conflict", message: "The soul requires a review.", data: {} };
    });
    page.chat.openQuest("quest-1");
    await choose("auto");
    expect(select().value).toBe("review");
    expect(page.chat.problem.value).toBe("The soul requires a review.");
  });

  it("is asked for a plan with each message until it is chosen otherwise", async () => {
    await show();
    page.chat.openQuest("quest-1");
    await choose("plan");
    await send("First");
    await send("Second");
    await choose("review");
    await send("Third");
    expect(sent()).toEqual([
      ["First", "plan"],
      ["Second", "plan"],
      ["Third", undefined],
    ]);
  });
});
