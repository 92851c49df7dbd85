import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Decision } from "../../../agent-server/contract/governance.ts";
import type { ScopeLimits } from "../../../agent-server/contract/soul.ts";
import { createGovernanceFixture, type GovernanceFixture, intent } from "../../support/governance-fixture.ts";

const everything: ScopeLimits = { max_tier: "T2", capabilities: ["file_ops", "shell_exec", "web_ops.fetch"] };
const contained = { command: "ls", containment: "transactional" };
type Asked = readonly [capability: string, action: string, args: Record<string, unknown>];

const souls = ["on", "off"] as const;
const fixtures = {} as Record<(typeof souls)[number], GovernanceFixture>;
beforeAll(() => {
  for (const soul of souls) {
    const fixture = createGovernanceFixture({ soulEnabled: () => soul === "on", posture: "autonomous" });
    mkdirSync(join(fixture.workspace, "src"), { recursive: true });
    writeFileSync(join(fixture.workspace, "src/a.ts"), "a\n");
    fixtures[soul] = fixture;
  }
});
afterAll(() => {
  for (const soul of souls) fixtures[soul].dispose();
});

function decide(soul: (typeof souls)[number], [capability, action, args]: Asked, limits?: ScopeLimits): Decision {
  const scope = limits === undefined ? {} : { soulScope: { name: "sub-task", level: "supervised" as const, limits } };
  return fixtures[soul].governance.evaluate(intent(capability, action, args, scope));
}

describe.each(souls)("the limits of a sub-task, with the soul %s", (soul) => {
  it.each<[string, Asked, Partial<ScopeLimits>, string]>([
    ["looks", ["file_ops", "read", { path: "src/a.ts" }], {}, "allow"],
    ["looks at what it may not change", ["file_ops", "read", { path: "README.md" }], { paths: ["src"] }, "allow"],
    ["looks at files without the capability", ["file_ops", "list", { path: "." }], { capabilities: ["shell_exec"] }, "allow"],
    ["looks at the repository", ["repo_ops", "status", {}], {}, "allow"],
    ["shows its plan", ["quest", "plan", {}], {}, "allow"],
    ["edits", ["file_ops", "write", { path: "src/a.ts" }], {}, "allow"],
    ["edits below its paths", ["file_ops", "write", { path: "src/new/b.ts" }], { paths: ["src"] }, "allow"],
    ["runs commands in its copy", ["shell_exec", "run", contained], {}, "allow"],
    ["edits elsewhere", ["file_ops", "write", { path: "b.ts" }], { paths: ["src"] }, "scope.path"],
    ["edits a path that only begins alike", ["file_ops", "write", { path: "src2/a.ts" }], { paths: ["src"] }, "scope.path"],
    ["edits elsewhere by a detour", ["file_ops", "write", { path: "src/../b.ts" }], { paths: ["src"] }, "scope.path"],
    ["edits several, one elsewhere", ["file_ops", "apply_patch", { paths: ["src/a.ts", "b.ts"] }], { paths: ["src"] }, "scope.path"],
    ["edits without the capability", ["file_ops", "write", { path: "src/a.ts" }], { capabilities: ["shell_exec"] }, "scope.capability"],
    ["runs without the capability", ["shell_exec", "run", contained], { capabilities: ["file_ops"] }, "scope.capability"],
    ["runs outside its copy", ["shell_exec", "run", { command: "ls" }], {}, "scope.containment"],
    ["deletes", ["file_ops", "delete", { path: "src/a.ts" }], {}, "scope.tier"],
    ["runs what is irreversible", ["shell_exec", "run", { command: "git push", containment: "transactional", network: [] }], {}, "scope."],
    ["runs at a lower tier", ["shell_exec", "run", contained], { max_tier: "T1" }, "scope.tier"],
    ["commits", ["repo_ops", "commit", { message: "x" }], {}, "scope.capability"],
    ["pushes", ["repo_ops", "push", { remote: "origin" }], {}, "scope.capability"],
    ["asks", ["quest", "ask", {}], {}, "scope.capability"],
    ["starts a sub-task", ["quest", "spawn", { goal: "x" }], {}, "scope.capability"],
    ["remembers", ["memory", "write", { target: "working", content: "x" }], {}, "scope.capability"],
    ["proposes a soul", ["soul", "propose", {}], {}, "scope.capability"],
    ["does something unknown", ["teleport", "home", {}], {}, "scope.capability"],
  ])("decides when it %s", (_what, asked, limits, expected) => {
    const { verdict, rules } = decide(soul, asked, { ...everything, ...limits });
    if (expected === "allow") expect(verdict).toBe("allow");
    else {
      expect(verdict).toBe("deny");
      expect(rules.map(({ id }) => id).join()).toContain(expected);
    }
  });

  it("never lets an action pass that the task itself could not make, and never asks", () => {
    const actions: Asked[] = [
      ["file_ops", "read", { path: ".env" }],
      ["file_ops", "write", { path: "../out.ts" }],
      ["file_ops", "write", { path: ".git/config" }],
      ["file_ops", "write", { path: "src/a.ts" }],
      ["file_ops", "delete", { path: "src/a.ts" }],
      ["shell_exec", "run", contained],
      ["shell_exec", "run", { command: "curl https://example.org" }],
      ["web_ops", "fetch", { url: "https://example.org" }],
      ["web_ops", "post", { url: "https://example.org" }],
      ["repo_ops", "push", {}],
      ["memory", "write", { target: "working", content: "x" }],
      ["teleport", "home", {}],
    ];
    const limits: fc.Arbitrary<ScopeLimits> = fc.record(
      {
        max_tier: fc.constantFrom("T0", "T1", "T2"),
        capabilities: fc.array(
          fc.oneof(fc.constantFrom(...actions.map(([capability]) => capability)), fc.string({ minLength: 1, maxLength: 9 })),
        ),
        paths: fc.array(fc.constantFrom(".", "src", "..", "/", ".git", "src/a.ts")),
      },
      { requiredKeys: ["max_tier", "capabilities"] },
    );
    fc.assert(
      fc.property(fc.constantFrom(...actions), limits, (action, tried) => {
        const within = decide(soul, action, tried).verdict;
        expect(within).not.toBe("ask");
        if (within === "allow") expect(decide(soul, action).verdict).toBe("allow");
      }),
    );
  });

  it("reviews edits where those of the task are applied at once", () => {
    const { governance } = fixtures[soul];
    expect(governance.posture({ soulScope: { name: "sub-task", level: "supervised", limits: everything } })).toBe("supervised");
    const { rules } = decide(soul, ["file_ops", "write", { path: "src/a.ts" }], everything);
    expect(rules.map(({ id }) => id)).toContain("mode.supervised");
  });

  it("does not answer for one path with what was decided for another", () => {
    const limits = { ...everything, paths: ["src"] };
    const write = (path: string) => decide(soul, ["file_ops", "write", { path }], limits).verdict;
    expect([write("src/a.ts"), write("b.ts"), write("src/a.ts")]).toEqual(["allow", "deny", "allow"]);
  });
});
