// @vitest-environment jsdom
import { render } from "preact";
import { act } from "preact/test-utils";
import { describe, expect, it } from "vitest";
import type { Quest } from "../../../agent-server/contract/chat.ts";
import type { AnsweredBy } from "../../../agent-server/contract/router.ts";
import { Footer } from "../../../webviews/chat/footer.tsx";
import { MessageView } from "../../../webviews/chat/message.tsx";
import { type ChatPage, settle, startChat } from "../../support/chat-page.ts";
import { sampleMessage, sampleQuest } from "../../support/webview-harness/samples.ts";
import { sampleUsage, sampleUsageSum } from "../../support/webview-harness/usage-samples.ts";
import { eachWithRoot } from "../../support/view-root.ts";

let root: HTMLElement;
let page: ChatPage;
eachWithRoot((made) => {
  root = made;
});

const answeredBy: AnsweredBy = {
  ...{ provider: "anthropic", model: "claude-opus-5-5", displayName: "Anthropic", lane: "flagship_deep", decisionId: null },
  rationale: "It speaks of a failure.",
};
const answer = sampleMessage({ id: "message-2", seq: 1, role: "assistant", parts: [{ type: "text", text: "Done." }], answeredBy });

async function open(quest: Partial<Quest> | null, usage: Record<string, unknown> = sampleUsage()): Promise<void> {
  const sample = sampleQuest(quest ?? {});
  page = await startChat({ quest: sample, messages: [sampleMessage(), answer], answers: { "usage.summary": usage } });
  if (quest !== null) page.chat.openQuest(sample.id);
  await settle();
  void act(() => render(<Footer chat={page.chat} />, root));
  await settle();
}

const text = (): string => root.textContent.replaceAll(/\s+/g, " ");
const button = (words: string): HTMLButtonElement => {
  const found = [...root.querySelectorAll("button")].find(
    (one) => one.textContent.includes(words) || one.getAttribute("aria-label")?.includes(words) === true,
  );
  if (found === undefined) throw new Error(`There is no button ${words} in ${text()}.`);
  return found;
};
const uncapped = { questUsd: null, dayUsd: null };

describe("the footer of the chat", () => {
  it("names model and lane of the last answer, and why, and lets the owner choose for this task", async () => {
    await open({});
    const model = button("Choose another for this task");
    expect(model.textContent).toBe("claude-opus-5-5· Deep");
    expect(model.title).toContain("Answered by claude-opus-5-5 of Anthropic, lane Deep. It speaks of a failure.");
    model.click();
    expect(page.view.posted.at(-1)?.["ui"]).toEqual({
      ...{ action: "command", command: "lancelot.chooseTaskModel", args: [{ questId: "quest-1" }] },
    });
    await open({ override: { lane: "flagship_deep" } });
    expect(button("chosen for this task")).toBeDefined();
  });

  it("calls the model by the name its provider gives it, where that is known", async () => {
    await open({});
    const item = { provider: "anthropic", kind: "anthropic", model: "claude-opus-5-5", displayName: "Claude Opus 5.5" };
    page.view.answer("models.list", () => ({ items: [{ ...item, active: false, contextWindow: null }], providers: [], problem: null }));
    page.view.event("models", {});
    await settle();
    expect(button("Choose another for this task").textContent).toBe("Claude Opus 5.5· Deep");
  });

  it("without a task chooses the model of all tasks", async () => {
    await open(null);
    button("Choose another").click();
    expect(page.view.posted.at(-1)?.["ui"]).toEqual({ action: "command", command: "lancelot.chooseModel" });
  });

  it.each([
    [
      "a task against its cap, and today",
      { costUsd: 0.25 },
      sampleUsage(),
      "$0.25 · Today: $0.31 of $5.00",
      "This task: $0.25 of $2.50",
      false,
    ],
    ["without caps", { costUsd: 0.25 }, sampleUsage({ caps: uncapped }), "$0.25 · Today: $0.31", "This task: $0.25\n", false],
    ["near the cap of the task", { costUsd: 2.4 }, sampleUsage(), "$2.40 · Today: $0.31 of $5.00", "This task: $2.40 of $2.50", true],
    ["near the cap of the day", {}, sampleUsage({ today: sampleUsageSum({ costUsd: 4.6 }) }), "Today: $4.60 of $5.00", "", true],
    [
      ...(["calls whose price nobody knows", { costUsd: 0 }, sampleUsage({ today: sampleUsageSum({ unpricedCalls: 2 }) })] as const),
      ...(["$0.00 · Today: $2.31 of $5.00", "Calls to models without a price are not in it.", false] as const),
    ],
  ])("shows %s", async (_, quest, usage, words, hint, near) => {
    await open(quest, usage);
    const cost = button("Open Usage");
    expect(cost.textContent.replaceAll(/\s+/g, " ")).toContain(words);
    expect(cost.title).toContain(hint);
    expect(cost.classList.contains("near")).toBe(near);
    cost.click();
    expect(page.view.posted.at(-1)?.["ui"]).toEqual({ action: "command", command: "lancelot.openWarRoom", args: [{ tab: "usage" }] });
  });

  it("follows what is counted, and takes no room before anything was", async () => {
    await open({}, sampleUsage({ today: sampleUsageSum({ calls: 0, costUsd: 0 }), caps: uncapped }));
    expect(text()).not.toContain("$");
    page.view.answer("usage.summary", () => sampleUsage({ today: sampleUsageSum({ costUsd: 1.5 }), caps: uncapped }));
    page.view.event("usage", { questId: "quest-1" });
    await settle();
    await settle();
    expect(text()).toContain("Today: $1.50");
  });

  it("shows how full the window is, or the tokens while that is not known", async () => {
    await open({ context: { tokens: 96_400, window: 128_000 } });
    expect(text()).toContain("Context used: 96.4K/128K (75 %)");
    await open({});
    expect(text()).toContain("44.4K tokens");
  });
});

describe("an answer", () => {
  it("says which model wrote it by which lane, and why in a hint and to a screen reader", async () => {
    await open({});
    const message = page.chat.conversation.messages.value.at(-1);
    if (message === undefined) throw new Error("The answer is gone.");
    void act(() => render(<MessageView message={message} chat={page.chat} />, root));
    const line = root.querySelector(".answered");
    expect(line?.getAttribute("title")).toBe("Answered by claude-opus-5-5 of Anthropic, lane Deep. It speaks of a failure.");
    expect(line?.querySelector(".sr-only")?.textContent).toBe(line?.getAttribute("title"));
    expect(line?.textContent).toContain("claude-opus-5-5 · Deep");
    const item = { ...answeredBy, kind: "anthropic", displayName: "Claude Opus 5.5", active: false, contextWindow: null };
    page.view.answer("models.list", () => ({ items: [item], providers: [], problem: null }));
    page.view.event("models", {});
    await settle();
    expect(line?.textContent).toContain("Claude Opus 5.5 · Deep");
    message.value = { ...message.value, parts: [{ type: "notice", level: "error", text: "Not sent.", action: "raise_cap" }] };
    await settle();
    expect(root.querySelector(".answered")).toBeNull();
    void act(() => [...root.querySelectorAll("button")].find(({ textContent }) => textContent === "Change the caps")?.click());
    expect(page.view.posted.at(-1)?.["ui"]).toEqual({ action: "command", command: "lancelot.setCaps", args: [{ questId: "quest-1" }] });
  });
});
