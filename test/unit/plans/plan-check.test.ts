import { describe, expect, it } from "vitest";
import type { Decision, Intent } from "../../../agent-server/contract/governance.ts";
import type { ProposedStep } from "../../../agent-server/contract/plans.ts";
import { checkSteps, repeated, vagueSteps } from "../../../agent-server/plans/plan-check.ts";

const tools = new Map([
  ["write_file", { capability: "file_ops", action: "write" }],
  ["run_command", { capability: "shell_exec", action: "run" }],
  ["fetch_url", { capability: "web_ops", action: "fetch" }],
  ["git_push", { capability: "repo_ops", action: "push" }],
]);
const step = (title: string, ...actions: [tool: string, target: string][]): ProposedStep => ({
  title,
  doneWhen: ["`a` exists"],
  actions: actions.map(([tool, target]) => ({ tool, target })),
});

describe("the check of a plan", () => {
  it("finds generic steps and unknown tools", () => {
    expect(vagueSteps([step("Analyze"), step("Implement"), step("Test")], tools)).toHaveLength(3);
    expect(vagueSteps([{ ...step("Look"), whyNoActions: "The log names the file." }, step("Write", ["write_file", "a"])], tools)).toEqual(
      [],
    );
    expect(vagueSteps([step("Write", ["write_files", "a"])], tools)).toHaveLength(1);
  });

  it("says which actions will ask and which are not allowed", () => {
    const asked: Intent[] = [];
    const verdicts: Record<string, Decision["verdict"]> = { write: "allow", run: "deny", push: "ask", fetch: "allow" };
    const evaluate = (intent: Intent): Decision => {
      asked.push(intent);
      const rules = [{ id: "x", source: "policy" as const, message: "Why." }];
      return { verdict: verdicts[intent.action] ?? "deny", tier: "T3", riskLevel: "high", rules, alternatives: [], cached: false };
    };
    const steps = [
      step("One", ["write_file", "a.ts"], ["run_command", "rm -rf /"]),
      step("Two", ["git_push", "origin"], ["fetch_url", "https://example.org"], ["unknown", "x"]),
    ];
    const checked = checkSteps(steps, { governance: { evaluate }, tools, questId: "q" });
    expect(checked.map(({ id, status, checks }) => [id, status, checks.map(({ tool, verdict }) => [tool, verdict])])).toEqual([
      ["1", "pending", [["run_command", "deny"]]],
      ["2", "pending", [["git_push", "ask"]]],
    ]);
    expect(asked.map(({ args, mode }) => [args, mode])).toEqual([
      [{ path: "a.ts" }, "normal"],
      [{ command: "rm -rf /" }, "normal"],
      [{ target: "origin" }, "normal"],
      [{ url: "https://example.org" }, "normal"],
    ]);
  });

  it("recognizes the steps of an earlier plan in other punctuation, and no other steps", () => {
    const governance = {
      evaluate: (): Decision => ({ verdict: "allow", tier: "T1", riskLevel: "low", rules: [], alternatives: [], cached: false }),
    };
    const planSteps = checkSteps([step("Write a", ["write_file", "a"])], { governance, tools, questId: "q" });
    const at = "2026-01-01T00:00:00.000Z";
    const earlier = {
      ...{ id: "p", questId: "q", status: "rejected" as const, goal: "g", context: "", assumptions: [], decisionPoints: [], risks: [] },
      ...{ doneWhen: [], nextAction: "", reason: null, receiptId: "r", createdAt: at, updatedAt: at, planSteps },
    };
    expect(repeated([step("write, A!", ["write_file", "a"])], [earlier])).toBe(earlier);
    expect(repeated([step("Write a", ["write_file", "b"])], [earlier])).toBeNull();
    expect(repeated([step("Write a", ["write_file", "a"]), step("Test", ["run_command", "npm test"])], [earlier])).toBeNull();
  });
});
