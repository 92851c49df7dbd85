import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import type { LearningProposal } from "../../../agent-server/contract/trust.ts";
import type { Observation } from "../../../agent-server/governance/learning/learning.ts";
import { agreement } from "../../../agent-server/governance/learning/evidence-agreement.ts";
import { loadLearningConfig } from "../../../agent-server/governance/learning/learning-config.ts";
import { neverAutomate } from "../../../agent-server/governance/learning/never-automate.ts";
import { createEarningFixture, useEarningFixture, type EarningHost, type EarningFixture } from "../../support/earning-fixture.ts";

const config = join(import.meta.dirname, "../../../config");
const key = { capability: "shell_exec", action: "run", scope: "npm.install" };
const fetchKey = (scope: string) => ({ capability: "memory", action: "write", scope });

let fixture: EarningFixture;
let host: EarningHost;
useEarningFixture((opened) => {
  ({ fixture, host } = opened);
});

/** An answer of the owner in one of three tasks. */
function answer(verdict: "allow" | "deny", more: Partial<Observation> = {}, at = host): void {
  const number = fixture.next();
  at.learning.observe({
    ...{ key, verdict, tier: "T2", riskLevel: "medium", heldBy: null, questId: `quest-${number % 3}`, approvalId: `approval-${number}` },
    ...{ at: new Date(fixture.clock).toISOString(), ...more },
  });
}

function answers(times: number, verdict: "allow" | "deny" = "allow", more: Partial<Observation> = {}, at = host): void {
  at.storage.transaction(() => {
    for (let index = 0; index < times; index += 1) answer(verdict, more, at);
  });
}

const pending = (at = host): LearningProposal[] => at.learning.proposals("pending", 50);

function proposalFor(scope: string | null = key.scope, at = host): LearningProposal {
  const found = pending(at).find(({ pattern }) => pattern.scope === scope);
  if (found === undefined) throw new Error(`Nothing is proposed for ${String(scope)}.`);
  return found;
}

/** Learns a rule for a key and accepts it; its id. */
function learn(verdict: "allow" | "deny" = "allow", about = key, at = host): string {
  answers(20, verdict, { key: about }, at);
  const { rule } = at.learning.decide(proposalFor(about.scope, at).id, "accept");
  if (rule === null) throw new Error("No rule was made.");
  return rule.id;
}

/** Uses a rule a number of times, each for a new receipt; how often it was let. */
function use(ruleId: string, times: number, at = host): number {
  let let_ = 0;
  at.storage.transaction(() => {
    for (let index = 0; index < times; index += 1) {
      if (at.learning.used(ruleId, { questId: null, receiptId: `use-${fixture.next()}` })) let_ += 1;
    }
  });
  return let_;
}

describe("the published numbers", () => {
  it.each([
    { allow: 19, deny: 0, proposed: null },
    { allow: 20, deny: 0, proposed: "allow" },
    { allow: 17, deny: 3, proposed: "allow" },
    { allow: 16, deny: 4, proposed: null },
    { allow: 34, deny: 6, proposed: "allow" },
    { allow: 33, deny: 7, proposed: null },
    { allow: 0, deny: 19, proposed: null },
    { allow: 0, deny: 20, proposed: "deny" },
    { allow: 3, deny: 17, proposed: "deny" },
    { allow: 10, deny: 10, proposed: null },
  ] as const)("$allow times yes and $deny times no: $proposed", ({ allow, deny, proposed }) => {
    const [first, second] = allow < deny ? (["allow", "deny"] as const) : (["deny", "allow"] as const);
    answers(Math.min(allow, deny), first);
    answers(Math.max(allow, deny), second);
    expect(pending().map(({ verdict }) => verdict)).toEqual(proposed === null ? [] : [proposed]);
    if (proposed === null) return;
    expect(proposalFor()).toMatchObject({ pattern: key, status: "pending", observations: expect.any(Number) });
    // A proposal alone changes nothing.
    expect(host.learning.find(key)).toBeNull();
  });

  it("says exactly what would no longer be asked, and how far it goes", () => {
    answers(20);
    expect(proposalFor()).toMatchObject({ observations: 20, consistency: 1 });
    expect(proposalFor().scope).toMatch(/shell_exec\.run on npm\.install.* 50 times .* 500 /);
  });

  it("looks at the last 30 days", () => {
    answers(10);
    fixture.clock += 30 * 86_400_000;
    answers(10);
    expect(pending()).toEqual([]);
    answers(10);
    expect(pending()).toHaveLength(1);
  });

  it("counts an answer that is exactly within them", () => {
    answers(10);
    fixture.clock += 30 * 86_400_000 - 1;
    answers(10);
    expect(pending()).toHaveLength(1);
  });

  it.each([
    { quests: 1, proposed: 0 },
    { quests: 2, proposed: 0 },
    { quests: 3, proposed: 1 },
  ])("answers from $quests tasks: $proposed proposals", ({ quests, proposed }) => {
    for (let index = 0; index < 40; index += 1) answer("allow", { questId: `quest-${index % quests}` });
    expect(pending()).toHaveLength(proposed);
  });

  it("takes what was answered outside any task as one task", () => {
    answers(30, "allow", { questId: null });
    answers(1, "allow", { questId: "a" });
    expect(pending()).toEqual([]);
    answers(1, "allow", { questId: "b" });
    expect(pending()).toHaveLength(1);
  });

  it("a rule decides 50 times a day, and again on the next UTC day", () => {
    fixture.clock = Date.parse("2026-11-20T23:59:00Z");
    const id = learn();
    expect(host.learning.find(key)).toMatchObject({ id, verdict: "allow", message: expect.stringContaining("npm.install") });
    expect(use(id, 49)).toBe(49);
    expect(host.learning.find(key)).not.toBeNull();
    expect(use(id, 10)).toBe(1);
    expect(host.learning.find(key)).toBeNull();
    expect(host.learning.rules(undefined, 10)).toMatchObject([
      { status: "active", decidedToday: 50, decidedInAll: 50, maxPerDay: 50, maxInAll: 500 },
    ]);
    fixture.clock += 59_999;
    expect(use(id, 1)).toBe(0);
    fixture.clock += 1;
    expect(host.learning.find(key)).not.toBeNull();
    expect(host.learning.rules(undefined, 10)).toMatchObject([{ decidedToday: 0, decidedInAll: 50 }]);
    expect(use(id, 1)).toBe(1);
  });

  it("does not start a day again when the clock is set back", () => {
    const id = learn();
    expect(use(id, 50)).toBe(50);
    for (const back of [86_400_000, 3 * 86_400_000]) {
      fixture.clock -= back;
      expect(host.learning.find(key)).toBeNull();
      expect(use(id, 1)).toBe(0);
    }
  });

  it("counts for the later day what is done while the clock is set back", () => {
    const id = learn();
    expect(use(id, 30)).toBe(30);
    fixture.clock -= 86_400_000;
    expect(use(id, 10)).toBe(10);
    fixture.clock += 86_400_000;
    expect(use(id, 50)).toBe(10);
  });

  it("a rule decides 500 times in all, then waits until the owner confirms it", () => {
    const id = learn();
    for (let day = 0; day < 10; day += 1) {
      expect(use(id, 60)).toBe(50);
      fixture.clock += 86_400_000;
    }
    expect(host.learning.find(key)).toBeNull();
    expect(use(id, 5)).toBe(0);
    expect(host.learning.rules("needs_confirmation", 10)).toMatchObject([{ id, decidedInAll: 500, waitsFor: expect.any(String) }]);
    expect(host.learning.decide(id, "confirm")).toMatchObject({
      rule: { status: "active", decidedInAll: 0, waitsFor: null },
      proposal: null,
    });
    expect(host.learning.find(key)).not.toBeNull();
    expect(use(id, 60)).toBe(50);
    expect(host.receipts("learning.")).toEqual(["learning.propose", "learning.accept", "learning.suspend", "learning.confirm"]);
  });

  it("there are at most 50 rules; the 51st waits until one is withdrawn", () => {
    const ids = Array.from({ length: 50 }, (_, index) =>
      learn("allow", { ...key, scope: `tool${String.fromCharCode(97 + (index % 26))}.${index}` }),
    );
    answers(20);
    const { id } = proposalFor();
    expect(() => host.learning.decide(id, "accept")).toThrow(expect.objectContaining({ code: "conflict" }));
    expect(proposalFor().id).toBe(id);
    // One that waits to be confirmed still counts, so that confirming it never makes 51.
    host.learning.outcome({ receiptId: "r", ruleId: ids[0] ?? "", result: "failure" });
    expect(() => host.learning.decide(id, "accept")).toThrow(expect.objectContaining({ code: "conflict" }));
    host.learning.decide(ids[0] ?? "", "revoke");
    expect(host.learning.decide(id, "accept").rule).toMatchObject({ status: "active" });
  });

  it.each([
    { evidence: { observations: 20, allows: 17, allowQuests: 3, denyQuests: 1 }, of: "allow" },
    { evidence: { observations: 20, allows: 17, allowQuests: 2, denyQuests: 3 }, of: null },
    { evidence: { observations: 40, allows: 34, allowQuests: 3, denyQuests: 3 }, of: "allow" },
    { evidence: { observations: 100, allows: 84, allowQuests: 9, denyQuests: 9 }, of: null },
    { evidence: { observations: 100, allows: 15, allowQuests: 9, denyQuests: 3 }, of: "deny" },
    { evidence: { observations: 0, allows: 0, allowQuests: 0, denyQuests: 0 }, of: null },
  ] as const)("agreement of $evidence", ({ evidence, of }) => {
    expect(agreement({ ...evidence, scopes: 1 }, loadLearningConfig(config))?.verdict ?? null).toBe(of);
  });
});

describe("what counts as an answer", () => {
  it("counts each approval once", () => {
    for (let index = 0; index < 40; index += 1) answer("allow", { approvalId: `same-${index % 19}` });
    expect(pending()).toEqual([]);
    answer("allow");
    expect(pending()).toHaveLength(1);
  });

  it.each([
    ["at T3", { tier: "T3" }],
    ["held by soul or policy", { heldBy: "The soul holds this." }],
    ["critical", { riskLevel: "critical" }],
  ] as const)("learns nothing from answers about what is %s", (_what, more) => {
    answers(60, "allow", more);
    answers(60, "deny", { ...more, key: { ...key, scope: "other" } });
    expect(pending()).toEqual([]);
  });

  it("takes a moment that is no moment, or lies ahead, as now", () => {
    answers(10, "allow", { at: "yesterday" });
    answers(10, "allow", { at: "2099-01-01T00:00:00.000Z" });
    expect(pending()).toHaveLength(1);
  });

  it("passes over keys nobody would write", () => {
    answers(30, "allow", { key: { ...key, scope: "x".repeat(301) } });
    answers(30, "allow", { key: { ...key, scope: "a\0b" } });
    expect(pending()).toEqual([]);
  });
});

describe("patterns", () => {
  const scopes = ["facts", "people", "places", "habits", "tools"];

  it("proposes the most specific pattern first", () => {
    answers(20, "allow", { key: fetchKey("facts") });
    for (const scope of scopes) answer("allow", { key: fetchKey(scope) });
    expect(pending().map(({ pattern }) => pattern.scope)).toEqual(["facts"]);
  });

  it("proposes a wide pattern for answers about many things, each too few for itself", () => {
    for (let index = 0; index < 16; index += 1) answer("allow", { key: fetchKey(scopes[index % 4] ?? "") });
    for (let index = 0; index < 3; index += 1) answer("allow", { key: fetchKey(scopes[index] ?? "") });
    expect(pending()).toEqual([]);
    answer("allow", { key: fetchKey("tools") });
    expect(proposalFor(null)).toMatchObject({ pattern: { capability: "memory", action: "write", scope: null }, observations: 20 });
    expect(proposalFor(null).scope).toContain("on anything");
    host.learning.decide(proposalFor(null).id, "accept");
    expect(host.learning.find(fetchKey("anything else"))).toMatchObject({ verdict: "allow" });
    expect(host.learning.find({ ...fetchKey("x"), action: "read" })).toBeNull();
  });

  it("does not widen what its third dimension makes harmless", () => {
    for (let index = 0; index < 60; index += 1)
      answer("allow", { key: { ...key, scope: `program${String.fromCharCode(97 + (index % 20))}` } });
    expect(pending()).toEqual([]);
  });

  function widen(): string {
    for (let index = 0; index < 20; index += 1) answer("allow", { key: fetchKey(scopes[index % 5] ?? "") });
    const { rule } = host.learning.decide(proposalFor(null).id, "accept");
    return rule?.id ?? "";
  }

  it("a wide rule does not allow what is never automated", () => {
    widen();
    expect(host.learning.find(fetchKey("secrets"))).toBeNull();
    expect(host.learning.find(fetchKey("delete.everything"))).toBeNull();
  });

  it("a wide rule does not allow the single thing the owner declined or withdrew", () => {
    const single = learn("allow", fetchKey("diary"));
    answers(20, "allow", { key: fetchKey("letters") });
    host.learning.decide(proposalFor("letters").id, "decline");
    host.learning.decide(single, "revoke");
    answers(20, "allow", { key: fetchKey("people") });
    host.learning.decide(proposalFor("people").id, "accept");
    // Twenty new answers about many things.
    for (let index = 0; index < 20; index += 1) answer("allow", { key: fetchKey(`thing${String.fromCharCode(97 + index)}`) });
    host.learning.decide(proposalFor(null).id, "accept");
    expect(host.learning.find(fetchKey("anything"))).not.toBeNull();
    expect(host.learning.find(fetchKey("diary"))).toBeNull();
    expect(host.learning.find(fetchKey("letters"))).toBeNull();
  });

  it("a wide no holds for the single thing as well that the owner disallowed", () => {
    answers(20, "allow", { key: fetchKey("diary") });
    host.learning.decide(proposalFor("diary").id, "decline");
    for (let index = 0; index < 120; index += 1) answer("deny", { key: fetchKey(`thing${String.fromCharCode(97 + (index % 20))}`) });
    const wide = pending().find(({ pattern }) => pattern.scope === null);
    expect(wide).toMatchObject({ verdict: "deny" });
    host.learning.decide(wide?.id ?? "", "accept");
    expect(host.learning.find(fetchKey("diary"))).toMatchObject({ verdict: "deny" });
  });

  it("the rule for exactly this speaks before the wide one, also while it waits to be confirmed", () => {
    const single = learn("allow", fetchKey("diary"));
    for (let index = 0; index < 20; index += 1) answer("allow", { key: fetchKey(`thing${String.fromCharCode(97 + index)}`) });
    host.learning.decide(proposalFor(null).id, "accept");
    expect(host.learning.find(fetchKey("diary"))).toMatchObject({ id: single });
    host.learning.outcome({ receiptId: "r", ruleId: single, result: "failure" });
    expect(host.learning.find(fetchKey("diary"))).toBeNull();
    expect(host.learning.find(fetchKey("other"))).not.toBeNull();
  });
});

describe("what is never automated", () => {
  const never = neverAutomate(loadLearningConfig(config));

  it.each([
    "shell_exec.run on rm.recursive",
    "shell_exec.run on git.push",
    "shell_exec.run on npm.publish",
    "shell_exec.run on docker.system-prune",
    "shell_exec.run on sudo",
    "shell_exec.run on git.resetHard",
    "shell_exec.run on DROP_TABLE",
    "shell_exec.run on database.deletes",
    "shell_exec.run on wiping",
    "shell_exec.run on credentials",
    "shell_exec.run on read-secrets",
    "file_ops.write on outside",
    "file_ops.delete on workspace",
    "repo_ops.push on origin",
    "web_ops.post on example.org",
    "deploy_ops.build on anything",
    "deploy_ops.deploy on staging",
    "connector.send on mail",
    "connector.read on sender",
    "vision_control.perform_action on page",
    "memory.write on soul",
    "skill.run on deployer",
  ])("%s", (text) => {
    const [name = "", scope = ""] = text.split(" on ");
    const [capability = "", action = ""] = name.split(".");
    expect(never.key({ capability, action, scope })).toBe(true);
    answers(60, "allow", { key: { capability, action, scope } });
    expect(pending()).toEqual([]);
    // To be stricter may be learned.
    answers(60, "deny", { key: { capability, action, scope } });
    expect(pending().map(({ verdict }) => verdict)).toContain("deny");
  });

  it.each([
    "npm.install",
    "pip.install",
    "git.commit",
    "docker.build",
    "make",
    "postgres.query",
    "swipe",
    "example.com",
    "rmt",
    "forge",
    "rooted",
  ])("%s may be learned, unless a tag says otherwise", (scope) => {
    expect(never.key({ ...key, scope })).toBe(false);
    expect(never.subject({ kind: "run_commands", capability: "shell_exec", action: "run", tags: ["shell", "install"] })).toBe(false);
  });

  it.each([
    "delete",
    "destroy",
    "drop",
    "deploy",
    "publish",
    "push",
    "history",
    "upload",
    "credentials",
    "privilege",
    "outside",
    "sensitive",
  ] as const)("whatever bears the tag %s", (tag) => {
    expect(host.learning.neverAutomate({ kind: "run_commands", capability: "shell_exec", action: "run", tags: ["shell", tag] })).toBe(true);
  });
});

describe("the owner's decision", () => {
  it("a declined proposal comes back after 20 new answers, not 19", () => {
    answers(25);
    host.learning.decide(proposalFor().id, "decline");
    // Answers about what no rule could decide are none of the twenty.
    answers(30, "allow", { tier: "T3" });
    answers(19);
    expect(pending()).toEqual([]);
    answers(1);
    expect(pending()).toHaveLength(1);
  });

  it("a withdrawn rule is proposed again after 20 new answers", () => {
    const id = learn();
    host.learning.decide(id, "revoke");
    expect(host.learning.find(key)).toBeNull();
    expect(use(id, 1)).toBe(0);
    answers(19);
    expect(pending()).toEqual([]);
    answers(1);
    expect(pending()).toHaveLength(1);
  });

  it("withdraws a proposal that later answers contradict, and a proposal is accepted once", () => {
    answers(20);
    const { id } = proposalFor();
    answers(4, "deny");
    expect(pending()).toEqual([]);
    expect(host.learning.proposals("withdrawn", 10)).toMatchObject([{ id }]);
    expect(() => host.learning.decide(id, "accept")).toThrow(
      expect.objectContaining({ code: "conflict", data: { status: expect.stringMatching(/^(?:withdrawn|revoked)$/) as string } }),
    );
    const rule = learn("allow", { ...key, scope: "make" });
    const [accepted] = host.learning.proposals("accepted", 10);
    expect(() => host.learning.decide(accepted?.id ?? "", "accept")).toThrow(expect.objectContaining({ code: "conflict" }));
    for (const wrong of ["accept", "decline"] as const)
      expect(() => host.learning.decide(rule, wrong)).toThrow(expect.objectContaining({ code: "conflict" }));
    expect(() => host.learning.decide(accepted?.id ?? "", "confirm")).toThrow(expect.objectContaining({ code: "conflict" }));
    expect(() => host.learning.decide(rule, "confirm")).toThrow(expect.objectContaining({ code: "conflict", data: { status: "active" } }));
    expect(() => host.learning.decide("nothing", "accept")).toThrow(expect.objectContaining({ code: "not_found" }));
    host.learning.decide(rule, "revoke");
    expect(() => host.learning.decide(rule, "confirm")).toThrow(
      expect.objectContaining({ code: "conflict", data: { status: expect.stringMatching(/^(?:withdrawn|revoked)$/) as string } }),
    );
  });

  it("is a receipt each time, and an event", () => {
    const id = learn();
    host.learning.decide(id, "revoke");
    expect(host.receipts("learning.")).toEqual(["learning.propose", "learning.accept", "learning.revoke"]);
    expect(host.ledger.search({ query: id, limit: 10 }).items.map(({ actionType }) => actionType)).toEqual([
      "user_interaction",
      "user_interaction",
    ]);
    expect(host.events).toEqual(["learning", "learning", "learning"]);
  });

  it("a learned no refuses, and asks again once its limit is reached", () => {
    const id = learn("deny");
    expect(host.learning.find(key)).toMatchObject({ id, verdict: "deny" });
    use(id, 50);
    expect(host.learning.find(key)).toBeNull();
  });
});

describe("the circuit breaker", () => {
  it("suspends a rule when the owner answers the same the other way", () => {
    const id = learn();
    answer("deny");
    expect(host.learning.find(key)).toBeNull();
    expect(host.learning.rules("needs_confirmation", 10)).toMatchObject([{ id, waitsFor: expect.any(String) }]);
    host.learning.decide(id, "confirm");
    // Also when this one was heldBy: a no is a no.
    answer("deny", { tier: "T3", heldBy: "The soul holds this." });
    expect(host.learning.find(key)).toBeNull();
    // A yes changes nothing about a rule that allows.
    host.learning.decide(id, "confirm");
    answer("allow");
    expect(host.learning.find(key)).not.toBeNull();
  });

  it("suspends a rule that refuses when the owner allows the same", () => {
    learn("deny");
    answer("allow");
    expect(host.learning.find(key)).toBeNull();
  });

  it.each(["failure", "rollback"] as const)("suspends a rule after a %s of what it allowed", (result) => {
    const id = learn();
    host.learning.used(id, { questId: "q", receiptId: "turn" });
    host.learning.outcome({ receiptId: "done", ruleId: id, result: "success" });
    host.learning.outcome({ receiptId: "another", result });
    expect(host.learning.find(key)).not.toBeNull();
    // Told with the receipt alone, in another window.
    fixture.open().learning.outcome({ receiptId: "done", result });
    expect(host.learning.find(key)).toBeNull();
    expect(host.learning.rules(undefined, 10)).toMatchObject([{ id, status: "needs_confirmation", waitsFor: expect.any(String) }]);
    expect(use(id, 1)).toBe(0);
  });

  it("suspends a rule whose action fails at once", () => {
    const id = learn();
    host.learning.outcome({ receiptId: "done", ruleId: id, result: "failure" });
    expect(host.learning.find(key)).toBeNull();
  });

  it("counts every decision, also several under one receipt", () => {
    const id = learn();
    for (let index = 0; index < 5; index += 1) expect(host.learning.used(id, { questId: null, receiptId: "turn" })).toBe(true);
    expect(host.learning.rules(undefined, 10)).toMatchObject([{ decidedInAll: 5 }]);
  });
});

describe("windows, restarts and damage", () => {
  it("holds in another window at the next decision, with one count for both", () => {
    const other = fixture.open();
    const id = learn();
    expect(other.learning.find(key)).toMatchObject({ id });
    let allowed = 0;
    for (let index = 0; index < 40; index += 1) {
      for (const at of [host, other]) if (at.learning.used(id, { questId: null, receiptId: null })) allowed += 1;
    }
    expect(allowed).toBe(50);
    expect(other.learning.find(key)).toBeNull();
    other.learning.decide(id, "revoke");
    host.close();
    expect(fixture.open().learning.find(key)).toBeNull();
  });

  it.each([
    ["missing", ""],
    ["no YAML", "a: [\n"],
    [
      "an empty list of what is never automated",
      readFileSync(join(config, "learning.yaml"), "utf8").replace(/tags: \[[^\]]*\]/, "tags: []"),
    ],
    ["a consistency that is none", readFileSync(join(config, "learning.yaml"), "utf8").replace("0.85", "0.2")],
  ])("allows nothing with a file that is %s, and still refuses", (_what, text) => {
    learn();
    learn("deny", { ...key, scope: "make" });
    answers(20, "allow", { key: { ...key, scope: "ready" } });
    host.close();
    fixture.configure("learning.yaml", text);
    const broken = fixture.open();
    expect(broken.learning.problem()).toContain("config/learning.yaml");
    expect(broken.learning.find(key)).toBeNull();
    expect(broken.learning.find({ ...key, scope: "make" })).toMatchObject({ verdict: "deny" });
    expect(broken.learning.neverAutomate({ kind: "read_files", capability: "file_ops", action: "read", tags: [] })).toBe(true);
    const ready = proposalFor("ready", broken).id;
    expect(() => broken.learning.decide(ready, "accept")).toThrow(expect.objectContaining({ code: "unavailable" }));
    answers(40, "allow", { key: { ...key, scope: "new" } }, broken);
    answer("deny", {}, broken);
    expect(broken.learning.rules("needs_confirmation", 10)).toHaveLength(1);
    expect(broken.learning.proposals("pending", 10)).toHaveLength(1);
  });

  it("does not decide what it cannot count, nor continue after an answer it could not keep", () => {
    const id = learn();
    vi.spyOn(host.storage, "transaction").mockImplementationOnce(() => {
      throw new Error("disk full");
    });
    expect(host.learning.used(id, { questId: null, receiptId: null })).toBe(false);
    expect(host.learning.find(key)).toBeNull();
    const other = fixture.open();
    expect(other.learning.find(key)).not.toBeNull();
    vi.spyOn(other.storage, "transaction").mockImplementationOnce(() => {
      throw new Error("disk full");
    });
    answer("deny", {}, other);
    expect(other.learning.find(key)).toBeNull();
  });
});

describe("whatever happens", () => {
  const step = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constantFrom("allow" as const, "deny" as const),
        times: fc.integer({ min: 1, max: 40 }),
        heldBy: fc.boolean(),
      }),
    },
    { weight: 4, arbitrary: fc.record({ do: fc.constant("use" as const), times: fc.integer({ min: 1, max: 80 }) }) },
    {
      weight: 4,
      arbitrary: fc.record({ do: fc.constantFrom("accept" as const, "decline" as const, "confirm" as const, "revoke" as const) }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("fail" as const, "restart" as const) }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant("wait" as const), hours: fc.integer({ min: -30, max: 60 }) }) },
  );

  it("nothing is decided without the owner's acceptance, and never more than a rule may", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(step, fc.nat({ max: 1 }), fc.nat({ max: 2 })), { minLength: 1, maxLength: 30 }), (steps) => {
        const own = createEarningFixture();
        try {
          own.configure("learning.yaml", readFileSync(join(config, "learning.yaml"), "utf8").replace("most: 50", "most: 2"));
          const windows = [own.open(), own.open()];
          const keys = ["npm.install", "git.push", "make"].map((scope) => ({ ...key, scope }));
          const accepted = new Set<string>();
          /** Decisions since a rule was last confirmed, and by day. */
          const inAll = new Map<string, number>();
          const byDay = new Map<string, number>();
          let reported = 0;
          for (const [one, window, which] of steps) {
            const at = windows[window];
            const about = keys[which];
            if (at === undefined || about === undefined) throw new Error("There are some of each.");
            switch (one.do) {
              case "allow":
              case "deny":
                at.storage.transaction(() => {
                  for (let index = 0; index < one.times; index += 1) {
                    reported += 1;
                    at.learning.observe({
                      ...{
                        key: about,
                        verdict: one.do,
                        tier: "T2",
                        riskLevel: "medium",
                        heldBy: one.heldBy ? "held" : null,
                      },
                      ...{ questId: `q${reported % 4}`, approvalId: `a${reported}`, at: new Date(own.clock).toISOString() },
                    });
                  }
                });
                break;
              case "use": {
                const found = at.learning.find(about);
                if (found === null) break;
                expect(accepted.has(found.id)).toBe(true);
                at.storage.transaction(() => {
                  for (let index = 0; index < one.times; index += 1) {
                    reported += 1;
                    if (!at.learning.used(found.id, { questId: null, receiptId: `${found.id}-${reported}` })) continue;
                    inAll.set(found.id, (inAll.get(found.id) ?? 0) + 1);
                    const day = `${found.id}${new Date(own.clock).toISOString().slice(0, 10)}`;
                    byDay.set(day, (byDay.get(day) ?? 0) + 1);
                  }
                });
                break;
              }
              case "accept":
              case "decline": {
                const [found] = at.learning.proposals("pending", 5);
                if (found === undefined) break;
                try {
                  const { rule } = at.learning.decide(found.id, one.do);
                  if (rule !== null) accepted.add(rule.id);
                } catch (error) {
                  expect(error).toMatchObject({ code: "conflict" });
                }
                break;
              }
              case "confirm":
              case "revoke": {
                const [found] = at.learning.rules(one.do === "confirm" ? "needs_confirmation" : "active", 5);
                if (found === undefined) break;
                at.learning.decide(found.id, one.do);
                if (one.do === "confirm") inAll.set(found.id, 0);
                else accepted.delete(found.id);
                break;
              }
              case "fail": {
                const [found] = at.learning.rules("active", 5);
                if (found !== undefined) at.learning.outcome({ receiptId: "r", ruleId: found.id, result: "failure" });
                break;
              }
              case "restart":
                at.close();
                windows[window] = own.open();
                break;
              case "wait":
                own.clock += one.hours * 3_600_000;
                break;
            }
            for (const count of byDay.values()) expect(count).toBeLessThanOrEqual(50);
            for (const count of inAll.values()) expect(count).toBeLessThanOrEqual(500);
            for (const other of windows) {
              const rules = other.learning.rules(undefined, 50).filter(({ status }) => status !== "revoked");
              expect(rules.length).toBeLessThanOrEqual(2);
              for (const each of keys) {
                const found = other.learning.find(each);
                if (found === null) continue;
                expect(accepted.has(found.id)).toBe(true);
                expect(rules.find(({ id }) => id === found.id)).toMatchObject({ status: "active" });
                if (each.scope === "git.push") expect(found.verdict).toBe("deny");
              }
            }
          }
        } finally {
          own.dispose();
        }
      }),
      { numRuns: 25 },
    );
  });
});
