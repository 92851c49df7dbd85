// @vitest-environment jsdom
import { render } from "preact";
import { act } from "preact/test-utils";
import { describe, expect, it } from "vitest";
import type { Quest } from "../../../agent-server/contract/chat.ts";
import { emptyChat } from "../../../webviews/chat/chat-state.ts";
import { PlanCard } from "../../../webviews/chat/plan-card.tsx";
import { buttonIn, type ChatPage, fieldIn, settle, startChat } from "../../support/chat-page.ts";
import { samplePlan } from "../../support/webview-harness/plan-samples.ts";
import { sampleQuest } from "../../support/webview-harness/samples.ts";
import { eachWithRoot } from "../../support/view-root.ts";

let root: HTMLElement;
let page: ChatPage;
eachWithRoot((made) => {
  root = made;
});

async function show(plan = samplePlan(), status?: Quest["status"]): Promise<void> {
  const quest = sampleQuest(status === undefined ? {} : { status });
  page = await startChat({
    quest,
    ...(status === undefined ? {} : { saved: { ...emptyChat, questId: quest.id } }),
    answers: {
      "plans.get": plan,
      "plans.approve": { ...plan, status: "approved" },
      "plans.execute": { ...plan, status: "running" },
      "plans.reject": { ...plan, status: "rejected" },
      "plans.update": plan,
    },
  });
  void act(() => render(<PlanCard planId="plan-1" chat={page.chat} />, root));
  await settle();
}

async function press(testId: string): Promise<void> {
  void act(() => buttonIn(root, testId).click());
  await settle();
}

function type(testId: string, text: string): void {
  void act(() => {
    const field = fieldIn(root, testId);
    field.value = text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

const shown = (testId: string): boolean => root.querySelector(`[data-testid="${testId}"]`) !== null;

describe("the card of a plan", () => {
  it("approves, then runs", async () => {
    await show();
    expect(shown("plan-check:ask")).toBe(true);
    expect(root.querySelectorAll(".plan-card-steps > li")).toHaveLength(2);
    await press("plan-approve");
    expect(page.view.calls("plans.approve")).toEqual([{ id: "plan-1", updatedAt: samplePlan().updatedAt }]);
    expect([...root.querySelectorAll("code")].some(({ textContent }) => textContent === "b.txt")).toBe(true);
    expect(page.view.calls("plans.execute")).toEqual([{ id: "plan-1" }]);
    expect(shown("plan-approve")).toBe(false);
  });

  it("saves edited, added, moved and removed steps, each with what proves it", async () => {
    await show();
    await press("plan-edit");
    type("plan-step:1", "Write b with care");
    type("plan-details:1", "Two lines.");
    await press("plan-remove:2");
    await press("plan-add-step");
    expect(buttonIn(root, "plan-confirm").disabled).toBe(true);
    const added =
      [...root.querySelectorAll<HTMLElement>('[data-testid^="plan-step:"]')].at(-1)?.dataset["testid"]?.slice("plan-step:".length) ?? "";
    type(`plan-step:${added}`, "Test it");
    type(`plan-done:${added}`, "`npm test` passes\n\n`b.txt` exists");
    type(`plan-actions:${added}`, "nonsense");
    expect(buttonIn(root, "plan-confirm").disabled).toBe(true);
    type(`plan-actions:${added}`, "run_command npm test\n\nedit_file: a b.txt");
    await press(`plan-up:${added}`);
    expect(buttonIn(root, `plan-up:${added}`).disabled).toBe(true);
    await press("plan-confirm");
    expect(page.view.calls("plans.update")).toMatchObject([
      {
        id: "plan-1",
        steps: [
          {
            title: "Test it",
            doneWhen: ["`npm test` passes", "`b.txt` exists"],
            actions: [
              { tool: "run_command", target: "npm test" },
              { tool: "edit_file", target: "a b.txt" },
            ],
          },
          {
            title: "Write b with care",
            details: "Two lines.",
            doneWhen: ["`b.txt` exists"],
            actions: [{ tool: "write_file", target: "b.txt" }],
          },
        ],
      },
    ]);
  });

  it("rejects with a reason, or without one, and can be canceled", async () => {
    await show();
    await press("plan-reject");
    await press("plan-cancel");
    await press("plan-reject");
    type("plan-reason", "Not b.");
    await press("plan-confirm");
    expect(page.view.calls("plans.reject")).toEqual([{ id: "plan-1", reason: "Not b." }]);
    expect(shown("plan-reject")).toBe(false);
  });

  it("keeps planned actions to the letter where their lines are not edited", async () => {
    const [first] = samplePlan().planSteps;
    if (first === undefined) throw new Error("the sample has two steps");
    const actions = [
      { tool: "run_command", target: "cat <<E\n  a\nE" },
      { tool: "mcp-like", target: "x" },
    ];
    await show(samplePlan({ planSteps: [{ ...first, actions }] }));
    await press("plan-edit");
    type("plan-step:1", "Another title");
    await press("plan-confirm");
    expect(page.view.calls("plans.update")).toMatchObject([{ steps: [{ title: "Another title", actions }] }]);
  });

  it("carries on after its task answered something else", async () => {
    await show(samplePlan({ status: "running" }), "done");
    expect(shown("plan-approve")).toBe(false);
    await press("plan-continue");
    expect(page.view.calls("plans.execute")).toEqual([{ id: "plan-1" }]);
  });

  it.each<[string, Quest["status"] | undefined]>([
    ["runs", "active"],
    ["waits for the user", "waiting"],
    ["has a button to resume it", "cancelled"],
    ["is not read yet", undefined],
  ])("has no button to carry on while its task %s", async (_, status) => {
    await show(samplePlan({ status: "running" }), status);
    expect(shown("plan-continue")).toBe(false);
    expect(root.querySelector(".codicon-debug-stop") !== null).toBe(status === "cancelled");
  });

  it("follows the plan, and shows why something failed", async () => {
    await show();
    const [first, second] = samplePlan().planSteps;
    if (first === undefined || second === undefined) throw new Error("the sample has two steps");
    void act(() =>
      page.view.event(
        "plan",
        samplePlan({ status: "running", planSteps: [{ ...first, status: "failed", problem: "b.txt is missing" }, second] }),
      ),
    );
    expect(shown("plan-approve")).toBe(false);
    expect(root.querySelector(".plan-problem")?.textContent).toBe("b.txt is missing");
    void act(() => page.view.event("plan", { ...samplePlan({ status: "draft" }), id: "another" }));
    expect(shown("plan-approve")).toBe(false);
  });

  it("shows the problem of an action, and stays usable", async () => {
    await show();
    page.view.answer("plans.approve", () => {
      throw { code: "conflict", message: "The plan was rejected.", data: {} };
    });
    await press("plan-approve");
    expect(page.view.calls("plans.execute")).toEqual([]);
    expect(buttonIn(root, "plan-approve").disabled).toBe(false);
  });
});
