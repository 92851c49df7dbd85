import { describe, expect, it } from "vitest";
import type { ActionMode } from "../../../agent-server/contract/governance.ts";
import { baseTiers } from "../../../agent-server/governance/base-tiers.ts";
import { decide } from "../../../agent-server/governance/decide.ts";
import { gateFacts } from "../../support/gate-facts.ts";
import { intent } from "../../support/governance-fixture.ts";

const args = {
  path: "src/a.ts",
  content: "text",
  command: "harmless",
  url: "https://example.org/",
  message: "m",
  name: "n",
  branch: "b",
  action: "test",
  target: "archival",
};
const rows = Object.entries(baseTiers).flatMap(([capability, actions]) =>
  Object.keys(actions).map((action) => [capability, action] as const),
);
const isDeniedBy = (mode: ActionMode, capability: string, action: string, containment?: string): boolean =>
  decide(
    intent(capability, action === "*" ? "run" : action, { ...args, ...(containment === undefined ? {} : { containment }) }, { mode }),
    gateFacts(),
  ).rules.some(({ id }) => id === `mode.${mode}`);

describe("what only looks", () => {
  it.each(["plan", "question"] as const)("%s mode denies every action that writes, deletes, commits or sends", (mode) => {
    const changing = rows.filter(([capability, action]) => {
      const base = baseTiers[capability]?.[action];
      if (capability === "memory" || base === undefined) return false;
      const { effect, kind, tags } = base;
      return (
        effect === "write" || effect === "delete" || tags.includes("upload") || kind === "commit" || kind === "branch" || kind === "deploy"
      );
    });
    expect(changing.length).toBeGreaterThan(10);
    // Policy may deny one before the mode is looked at.
    const free = changing.filter(
      ([capability, action]) =>
        decide(intent(capability, action, { ...args, containment: "transactional" }, { mode }), gateFacts()).verdict !== "deny",
    );
    expect(free).toEqual([]);
  });

  it("reads are as they are in normal mode", () => {
    for (const [capability, action] of rows.filter(([one, other]) => baseTiers[one]?.[other]?.tier === "T0"))
      for (const mode of ["plan", "question"] as const) expect(isDeniedBy(mode, capability, action), `${capability} ${action}`).toBe(false);
  });

  it("a question's commands run in a copy of the workspace, and a plan's not at all", () => {
    const levels = ["transactional", "copied", "watched", "host", undefined];
    expect(levels.map((level) => isDeniedBy("question", "shell_exec", "run", level))).toEqual([false, false, true, true, true]);
    expect(levels.map((level) => isDeniedBy("plan", "shell_exec", "run", level))).toEqual(levels.map(() => true));
    expect(isDeniedBy("question", "deploy_ops", "test", "watched")).toBe(true);
  });

  it("a question may be remembered, and a plan changes no memory", () => {
    expect(isDeniedBy("question", "memory", "write")).toBe(false);
    expect(isDeniedBy("plan", "memory", "write")).toBe(true);
  });
});
