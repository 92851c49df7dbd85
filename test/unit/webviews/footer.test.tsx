// @vitest-environment jsdom
import { signal } from "@preact/signals";
import { render } from "preact";
import { act } from "preact/test-utils";
import { describe, expect, it } from "vitest";
import type { Quest } from "../../../agent-server/contract/chat.ts";
import type { AnsweredBy } from "../../../agent-server/contract/router.ts";
import { Footer } from "../../../webviews/chat/footer.tsx";
import { MessageView } from "../../../webviews/chat/message.tsx";
import { buttonIn, type ChatPage, settle, startChat } from "../../support/chat-page.ts";
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
const button = (testId: string): HTMLButtonElement => buttonIn(root, testId);
const uncapped = { questUsd: null, dayUsd: null };

describe("the footer of the chat", () => {
  it("names model and lane of the last answer, and why, and lets the owner choose for this task", async () => {
    await open({});
    const model = button("choose-model");
    expect(model.textContent).toBe("claude-opus-5-5· Deep");
    for (const part of ["claude-opus-5-5", "Anthropic", answeredBy.rationale]) expect(model.title).toContain(part);
    model.click();
    expect(page.view.posted.at(-1)?.["ui"]).toEqual({
      ...{ action: "command", command: "lancelot.chooseTaskModel", args: [{ questId: "quest-1" }] },
    });
    await open({ override: { lane: "flagship_deep" } });
    expect(button("choose-model").querySelector(".codicon-pinned")).not.toBeNull();
  });

  it("calls the model by the name its provider gives it, where that is known", async () => {
    await open({});
    const item = { provider: "anthropic", kind: "anthropic", model: "claude-opus-5-5", displayName: "Claude Opus 5.5" };
    page.view.answer("models.list", () => ({ items: [{ ...item, active: false, contextWindow: null }], providers: [], problem: null }));
    page.view.event("models", {});
    await settle();
    expect(button("choose-model").textContent).toBe("Claude Opus 5.5· Deep");
  });

  it("without a task chooses the model of all tasks", async () => {
    await open(null);
    button("choose-model").click();
    expect(page.view.posted.at(-1)?.["ui"]).toEqual({ action: "command", command: "lancelot.chooseModel" });
  });

  it.each([
    ["a task against its cap, and today", { costUsd: 0.25 }, sampleUsage(), ["$0.25", "$0.31", "$5.00"], ["$0.25", "$2.50"], false],
    ["without caps", { costUsd: 0.25 }, sampleUsage({ caps: uncapped }), ["$0.25", "$0.31"], ["$0.25"], false],
    ["near the cap of the task", { costUsd: 2.4 }, sampleUsage(), ["$2.40", "$0.31", "$5.00"], ["$2.40", "$2.50"], true],
    ["near the cap of the day", {}, sampleUsage({ today: sampleUsageSum({ costUsd: 4.6 }) }), ["$4.60", "$5.00"], [], true],
    [
      ...(["calls whose price nobody knows", { costUsd: 0 }, sampleUsage({ today: sampleUsageSum({ unpricedCalls: 2 }) })] as const),
      ...([["$0.00", "$2.31", "$5.00"], [], false] as const),
    ],
  ])("shows %s", async (_, quest, usage, amounts, hint, near) => {
    await open(quest, usage);
    const cost = button("open-usage");
    expect(cost.textContent.match(/\$\d+\.\d+/g)).toEqual(amounts);
    for (const part of hint) expect(cost.title).toContain(part);
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
    expect(text()).toContain("$1.50");
  });

  it("shows how full the window is, or the tokens while that is not known", async () => {
    await open({ context: { tokens: 96_400, window: 128_000 } });
    expect(text()).toContain("96.4K/128K (75%)");
    await open({});
    expect(text()).toContain("44.4K");
  });
});

describe("an answer", () => {
  it.each([
    ["shares the line of the next message by the same model", answeredBy, 0],
    ["has its own line before a message by another lane", { ...answeredBy, lane: "flagship_fast" as const }, 1],
    ["has its own line before a message that no model wrote", undefined, 1],
  ])("%s", async (_, by, lines) => {
    await open({});
    const message = page.chat.conversation.messages.value.at(-1);
    if (message === undefined) throw new Error("The answer is gone.");
    const parts = [{ type: "text" as const, text: "More." }];
    const next = signal(
      sampleMessage({ id: "message-3", seq: 2, role: "assistant", parts, ...(by === undefined ? {} : { answeredBy: by }) }),
    );
    void act(() => render(<MessageView message={message} next={next} chat={page.chat} />, root));
    expect(root.querySelectorAll(".answered")).toHaveLength(lines);
    void act(() => {
      next.value = { ...next.value, parts: [] };
    });
    expect(root.querySelectorAll(".answered")).toHaveLength(1);
    void act(() => render(<MessageView message={message} chat={page.chat} />, root));
    expect(root.querySelectorAll(".answered")).toHaveLength(1);
  });

  it("says which model wrote it by which lane, and why in a hint and to a screen reader", async () => {
    await open({});
    const message = page.chat.conversation.messages.value.at(-1);
    if (message === undefined) throw new Error("The answer is gone.");
    void act(() => render(<MessageView message={message} chat={page.chat} />, root));
    const line = root.querySelector(".answered");
    expect(line?.getAttribute("title")).toContain(answeredBy.rationale);
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
    void act(() => buttonIn(root, "notice:setCaps").click());
    expect(page.view.posted.at(-1)?.["ui"]).toEqual({ action: "command", command: "lancelot.setCaps", args: [{ questId: "quest-1" }] });
  });
});
