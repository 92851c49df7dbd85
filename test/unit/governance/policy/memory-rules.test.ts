import { describe, expect, it } from "vitest";
import type { Intent } from "../../../../agent-server/contract/governance.ts";
import type { DecisionFacts } from "../../../../agent-server/governance/decision-facts.ts";
import { adviceFor } from "../../../../agent-server/governance/negotiation-advice.ts";
import type { PolicyFinding } from "../../../../agent-server/governance/policy/policy-finding.ts";
import { assessPolicy } from "../../../../agent-server/governance/policy/policy.ts";
import { baseTier } from "../../../../agent-server/governance/base-tiers.ts";
import { gateFacts, soul } from "../../../support/gate-facts.ts";
import { intent } from "../../../support/governance-fixture.ts";

/** Forbids a word outright, and another unless the owner asks. */
const ethical = soul({
  forbidsMemory: (text) =>
    text.includes("forbidden")
      ? { rule: "words", message: "Not this.", personal: false }
      : text.includes("personal")
        ? { rule: "people", message: "Not of people.", personal: true }
        : null,
});

function look(
  action: "read" | "write",
  args: Record<string, unknown>,
  more: Partial<Intent> = {},
  facts: Partial<DecisionFacts> = {},
): PolicyFinding {
  const base = baseTier("memory", action);
  if (base === null) throw new Error("no row");
  return assessPolicy(intent("memory", action, args, more), base, gateFacts({ soul: ethical, ...facts }));
}

/** What an policyFinding says, in one line: denial or questions, then the scope. */
function said({ denial, asks, scope }: PolicyFinding): string {
  const verdict =
    denial === null
      ? asks.map(({ id }) => `ask ${id}`).join(" ") || "yes"
      : `deny ${denial.rules.map(({ id }) => id).join(" ")} ${denial.tier} ${denial.riskLevel}`;
  return `${verdict} [${scope}]`;
}

const big = "x".repeat(100_001);
const x = { content: "x" };

describe("memory", () => {
  it.each<[Record<string, unknown>, string]>([
    // Edits, by where they go.
    [{ target: "working", ...x }, "yes [memory]"],
    [{ op: "insert", target: "archival", ...x }, "yes [memory]"],
    [{ op: "insert", target: "episodic", ...x }, "yes [memory]"],
    [{ op: "replace", target: "core:human", ...x }, "yes [core]"],
    [{ op: "rethink", target: "working", ...x }, "yes [memory]"],
    [{ op: "delete", target: "archival", selector: "it" }, "yes [memory]"],
    [{ target: "core:persona", ...x }, "deny memory.persona T1 high [core]"],
    [{ target: " CORE: Persona ", ...x }, "deny memory.persona T1 high [core]"],
    [{ target: "core :persona", ...x }, "deny memory.persona T1 high [core]"],
    [{ target: "ｃｏｒｅ：persona", ...x }, "deny memory.persona T1 high [core]"],
    [{ target: "persona", ...x }, "deny memory.persona T1 high [core]"],
    [{ op: "delete", target: "core:persona" }, "deny memory.persona T1 high [core]"],
    [{ op: "promote", author: "owner", target: "core:persona", ...x }, "deny memory.persona T1 high [core]"],
    [{ target: "core:soul", ...x }, "deny memory.target T1 high [core]"],
    [{ target: "somewhere", ...x }, "deny memory.target T1 high [memory]"],
    [{ target: ["archival"], ...x }, "deny memory.target T1 high [memory]"],
    [x, "deny memory.target T1 high [memory]"],
    [{ op: "wipe" }, "deny memory.op T1 high [memory]"],
    [{ op: "__proto__", target: "archival" }, "deny memory.op T1 high [memory]"],
    // How much.
    [{ target: "working", content: "x".repeat(100_000) }, "yes [memory]"],
    [{ target: "working", content: big }, "deny memory.size T1 high [memory]"],
    [{ target: "working", old_text: "x".repeat(60_000), new_text: "x".repeat(60_000) }, "deny memory.size T1 high [memory]"],
    // What.
    [{ target: "working", content: "forbidden" }, "deny soul.memory-ethics.words T1 high [memory]"],
    [{ target: "working", new_text: "forbidden" }, "deny soul.memory-ethics.words T1 high [memory]"],
    [{ target: "working", old_text: "forbidden" }, "deny soul.memory-ethics.words T1 high [memory]"],
    [{ target: "working", content: "for", new_text: "bidden" }, "yes [memory]"],
    [{ target: "working", content: ["forbidden"] }, "yes [memory]"],
    [{ op: "remember", target: "archival", author: "owner", content: "forbidden" }, "deny soul.memory-ethics.words T1 high [memory]"],
    [{ op: "remember", target: "core:human", author: "owner", content: "personal" }, "yes [core]"],
    [{ op: "promote", target: "core:human", author: "owner", content: "personal" }, "yes [core]"],
    [{ op: "insert", target: "archival", author: "agent", content: "personal" }, "deny soul.memory-ethics.people T1 high [memory]"],
    [{ op: "rollback", foreign: false, content: "forbidden" }, "deny soul.memory-ethics.words T1 high [rollback]"],
    // What goes may hold what may not be kept.
    [{ op: "delete", target: "archival", content: "forbidden" }, "yes [memory]"],
    [{ op: "set_aside", target: "archival", owners: false, current: "forbidden" }, "yes [set_aside]"],
    // Where it is seen.
    [{ target: "archival", namespace: "workspace", ...x }, "yes [memory]"],
    [{ target: "archival", namespace: "quest:q1", ...x }, "yes [memory]"],
    [{ target: "archival", namespace: "quest:q2", ...x }, "deny memory.other-task T1 high [memory]"],
    [{ target: "archival", namespace: "quest:q2", author: "owner", ...x }, "yes [memory]"],
    [{ target: "archival", namespace: "/elsewhere", ...x }, "deny memory.namespace T1 high [memory]"],
    [{ target: "archival", namespace: 1, ...x }, "deny memory.namespace T1 high [memory]"],
    [{ target: "archival", namespace: "global", ...x }, "ask memory.everywhere [memory]"],
    [{ target: "archival", namespace: "global", author: "owner", ...x }, "yes [memory]"],
    // Core waits in quarantine for the owner anyway.
    [{ target: "core:human", namespace: "global", ...x }, "yes [core]"],
    // Commits.
    [{ op: "begin" }, "yes [memory]"],
    [{ op: "abandon", commitId: "c" }, "yes [memory]"],
    [{ op: "finish", commitId: "c", items: 30, deletes: 10 }, "yes [memory]"],
    [{ op: "finish", commitId: "c", items: 11, deletes: 11 }, "ask memory.forget-many [memory]"],
    [{ op: "finish", commitId: "c", items: 11, deletes: 11, author: "owner" }, "yes [memory]"],
    [{ op: "rollback", commitId: "c", foreign: false }, "yes [rollback]"],
    [{ op: "rollback", commitId: "c", foreign: true }, "ask memory.rollback-foreign [rollback]"],
    [{ op: "rollback", commitId: "c" }, "ask memory.rollback-foreign [rollback]"],
    [{ op: "rollback", commitId: "c", foreign: true, author: "owner" }, "yes [rollback]"],
    [{ op: "rollback", commitId: "c", foreign: true, author: "Owner" }, "ask memory.rollback-foreign [rollback]"],
    // Out of use.
    [{ op: "set_aside", target: "archival", owners: false }, "yes [set_aside]"],
    [{ op: "set_aside", target: "archival", owners: true }, "deny memory.set-aside T1 high [set_aside]"],
    [{ op: "set_aside", target: "archival" }, "deny memory.set-aside T1 high [set_aside]"],
    [{ op: "set_aside", target: "core:operating_rules", owners: false }, "deny memory.set-aside T1 high [set_aside]"],
    [{ op: "set_aside", target: "core:operating_rules", author: "owner" }, "yes [set_aside]"],
    // What is the owner's.
    [{ op: "promote", target: "core:human", ...x }, "deny memory.owners T1 high [core]"],
    [{ op: "deny", target: "core:human" }, "deny memory.owners T1 high [core]"],
    [{ op: "remember", target: "core:human", ...x }, "deny memory.owners T1 high [core]"],
    [{ op: "forget", target: "archival" }, "deny memory.owners T1 high [memory]"],
    [{ op: "import", mode: "replace" }, "deny memory.owners T1 high [memory]"],
    [{ op: "job", name: "memory_decay_archival", author: "agent" }, "deny memory.owners T1 high [memory]"],
    [{ op: "import", mode: "replace", author: "owner" }, "yes [memory]"],
    [{ op: "job", name: "memory_decay_archival", author: "owner" }, "yes [memory]"],
  ])("%j: %s", (args, expected) => {
    const found = look("write", args, { questId: "q1" });
    expect(said(found)).toBe(expected);
    expect(found.key).toBeNull();
    expect((found.denial ?? found).alternatives.length).toBeGreaterThan(0);
  });

  it("is read by anybody, and that is kept", () => {
    expect(look("read", { target: "core:persona", query: "forbidden" })).toMatchObject({ denial: null, asks: [], key: "" });
  });

  it("of a task without a name is no other task's", () => {
    expect(said(look("write", { target: "working", namespace: "quest:", ...x }))).toBe("deny memory.namespace T1 high [memory]");
    expect(said(look("write", { target: "working", namespace: "quest:q1", ...x }))).toBe("deny memory.other-task T1 high [memory]");
  });

  it.each<[Record<string, unknown>, string]>([
    [{ op: "insert", target: "archival", ...x }, "deny policy.untrusted T1 high [memory]"],
    [{ op: "replace", target: "core:mission", ...x }, "deny policy.untrusted T1 high [core]"],
    [{ op: "insert", target: "working", ...x }, "yes [memory]"],
    [{ op: "delete", target: "archival" }, "yes [memory]"],
    [{ op: "rollback", foreign: false }, "yes [rollback]"],
    [{ op: "remember", target: "archival", author: "owner", ...x }, "yes [memory]"],
  ])("in a restricted workspace %j: %s", (args, expected) => {
    expect(said(look("write", args, {}, { trusted: false }))).toBe(expected);
  });

  it("without a soul keeps what only a soul forbids", () => {
    expect(said(look("write", { target: "archival", content: "forbidden" }, {}, { soul: null }))).toBe("yes [memory]");
  });

  it.each([
    ["memory.persona", "soul_propose_amendment"],
    ["memory.everywhere", "memory_insert"],
    ["memory.size", "memory_insert"],
    ["memory.rollback-foreign", "Memory panel"],
    ["memory.set-aside", "Memory panel"],
  ])("%s is answered with alternatives: %s", (id, expectedText) => {
    const rules = [{ id, source: "policy" as const, message: "No." }];
    const usable = new Set(["memory_insert", "soul_propose_amendment"]);
    const offers = (tools: ReadonlySet<string>) => adviceFor({ capability: "memory", action: "write", args: {} }, rules, tools).join("\n");
    expect(offers(usable)).toContain(expectedText);
    expect(offers(new Set())).not.toMatch(/memory_insert|soul_propose/);
  });
});
