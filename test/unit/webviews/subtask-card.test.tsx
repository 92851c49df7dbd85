// @vitest-environment jsdom
import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, it, vi } from "vitest";
import type { ToolPart } from "../../../agent-server/contract/chat.ts";
import { ToolCard } from "../../../webviews/chat/tool-card.tsx";
import { startChat } from "../../support/chat-page.ts";
import { eachWithRoot } from "../../support/view-root.ts";

let root: HTMLElement;
eachWithRoot((made) => {
  root = made;
});

type Step = NonNullable<ToolPart["subtask"]>["steps"][number];
const step = (id: string, more: Partial<Step> = {}): Step => ({
  id,
  title: `Read ${id}`,
  status: "success",
  output: "",
  receiptId: null,
  ...more,
});
const call: ToolPart = {
  ...{ type: "tool", callId: "c", tool: "spawn_subtask", args: { goal: "g" }, title: "Sub-task: g", status: "running", tier: "T0" },
  ...{ verdict: "allow", rules: [], output: null, durationMs: null, receiptId: "r0", approvalId: null, changeId: null },
};

it("shows the steps of a sub-task below the closed card, and opens the result and the receipt of each", async () => {
  const { chat } = await startChat({});
  const openReceipt = vi.spyOn(chat, "openReceipt").mockReturnValue(undefined);
  const steps = [step("a", { output: "text", receiptId: "r1" }), step("b", { status: "denied" })];
  void act(() => render(<ToolCard part={{ ...call, subtask: { questId: "q2", status: "active", steps, total: 12 } }} chat={chat} />, root));
  const tree = root.querySelector('[data-testid="subtask"]');
  expect(tree?.closest("details")).toBeNull();
  const shown = [...(tree?.querySelectorAll('[data-testid="subtask-step"]') ?? [])];
  expect(shown).toHaveLength(2);
  expect(shown.map((one) => one.querySelector(".tool-title")?.textContent)).toEqual(["Read a", "Read b"]);
  expect(shown[0]?.querySelector("pre")?.textContent).toBe("text");
  expect(shown[1]?.querySelector("pre")).toBeNull();
  shown[0]?.querySelector<HTMLElement>('[data-testid="subtask-receipt"]')?.click();
  expect(openReceipt).toHaveBeenCalledWith("r1");
  expect(tree?.querySelector("p")?.textContent).toContain("10");
});

it("shows none without a sub-task", async () => {
  const { chat } = await startChat({});
  void act(() => render(<ToolCard part={call} chat={chat} />, root));
  expect(root.querySelector('[data-testid="subtask"]')).toBeNull();
});
