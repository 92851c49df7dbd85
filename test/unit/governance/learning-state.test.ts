import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import type { SoulSubject } from "../../../agent-server/governance/decision-facts.ts";
import { learningHandlers, type Observation } from "../../../agent-server/governance/learning/learning.ts";
import { neverAutomate } from "../../../agent-server/governance/learning/never-automate.ts";
import { createLearningStore } from "../../../agent-server/governance/learning/learning-store.ts";
import { useEarningFixture, type EarningHost, type EarningFixture } from "../../support/earning-fixture.ts";

const key = { capability: "shell_exec", action: "run", scope: "npm.install" };
const call = { owner: true, signal: new AbortController().signal };

let fixture: EarningFixture;
let host: EarningHost;
useEarningFixture((opened) => {
  ({ fixture, host } = opened);
});

function answers(times: number, verdict: "allow" | "deny" = "allow", more: Partial<Observation> = {}, at = host): void {
  at.storage.transaction(() => {
    for (let index = 0; index < times; index += 1) {
      const number = fixture.next();
      at.learning.observe({
        ...{
          key,
          verdict,
          tier: "T2",
          riskLevel: "medium",
          heldBy: null,
          questId: `quest-${number % 3}`,
          approvalId: `approval-${number}`,
        },
        ...{ at: new Date(fixture.clock).toISOString(), ...more },
      });
    }
  });
}

const pendingId = (at = host): string => at.learning.proposals("pending", 1)[0]?.id ?? "";
function learn(verdict: "allow" | "deny" = "allow", more: Partial<Observation> = {}): string {
  answers(20, verdict, more);
  return host.learning.decide(pendingId(), "accept").rule?.id ?? "";
}
const refusal = (id: string, decision: "accept" | "decline" | "confirm" | "revoke", at = host): unknown => {
  try {
    at.learning.decide(id, decision);
  } catch (error) {
    const { code, data } = error as { code: string; data?: unknown };
    return data === undefined ? [code] : [code, data];
  }
  return null;
};

describe("messages for the owner", () => {
  it.each<["allow" | "deny", string | null, string]>([
    ["allow", "facts", "memory.write on facts"],
    ["deny", "facts", "memory.write on facts"],
    ["allow", null, "memory.write on anything"],
  ])("of a rule that would %s on %s", (verdict, scope, label) => {
    const about = (index: number) => ({ capability: "memory", action: "write", scope: scope ?? `thing${String.fromCharCode(97 + index)}` });
    for (let index = 0; index < 20; index += 1) answers(1, verdict, { key: about(index) });
    const [proposal] = host.learning.proposals("pending", 10);
    expect(proposal).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      pattern: { capability: "memory", action: "write", scope },
      verdict,
      observations: 20,
      consistency: 1,
      scope: expect.stringMatching(new RegExp(`${label}.* 50 times .* 500 `)) as string,
      status: "pending",
      createdAt: "2026-11-20T10:00:00.000Z",
      decidedAt: null,
    });
    fixture.clock += 60_000;
    const { rule, proposal: accepted } = host.learning.decide(proposal?.id ?? "", "accept");
    expect(accepted).toEqual({ ...proposal, status: "accepted", decidedAt: "2026-11-20T10:01:00.000Z" });
    expect(rule).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      pattern: { capability: "memory", action: "write", scope },
      verdict,
      status: "active",
      waitsFor: null,
      decidedToday: 0,
      decidedInAll: 0,
      maxPerDay: 50,
      maxInAll: 500,
      createdAt: "2026-11-20T10:01:00.000Z",
      confirmedAt: "2026-11-20T10:01:00.000Z",
    });
    expect(host.learning.find({ capability: "memory", action: "write", scope: "facts" })).toEqual({
      id: rule?.id,
      verdict,
      message: expect.stringContaining(label) as string,
    });
  });

  it("when an answer comes too late, or to the wrong thing", () => {
    answers(20);
    const id = pendingId();
    expect(refusal(id, "confirm")).toEqual(["conflict"]);
    expect(refusal(id, "revoke")).toEqual(["conflict"]);
    host.learning.decide(id, "decline");
    expect(refusal(id, "accept")).toEqual(["conflict", { status: "declined" }]);
    expect(refusal(id, "decline")).toEqual(["conflict", { status: "declined" }]);
    answers(20);
    const rule = host.learning.decide(pendingId(), "accept").rule?.id ?? "";
    expect(refusal(rule, "accept")).toEqual(["conflict"]);
    expect(refusal(rule, "decline")).toEqual(["conflict"]);
    expect(refusal(rule, "confirm")).toEqual(["conflict", { status: "active" }]);
    host.learning.decide(rule, "revoke");
    for (const late of ["confirm", "revoke"] as const) expect(refusal(rule, late)).toEqual(["conflict", { status: "revoked" }]);
    expect(refusal("x".repeat(300), "accept")).toEqual(["not_found"]);
  });

  it("when there are as many rules as there may be", () => {
    host.close();
    fixture.configure("learning.yaml", numbers().replace("most: 50", "most: 1"));
    host = fixture.open();
    learn();
    answers(20, "allow", { key: { ...key, scope: "make" } });
    expect(refusal(pendingId(), "accept")).toEqual(["conflict"]);
  });

  it("when the reason of a proposal has gone: the list of what is never automated is longer now", () => {
    answers(20);
    const id = pendingId();
    host.close();
    fixture.configure(
      "learning.yaml",
      numbers()
        .replace("words:\n", "words:\n    - npm\n")
        .replace(/words: \[/, "words: [npm, "),
    );
    host = fixture.open();
    expect(host.learning.problem()).toBeNull();
    expect(refusal(id, "accept")).toEqual(["conflict"]);
    expect(host.learning.proposals("withdrawn", 10)).toMatchObject([{ id }]);
    expect(host.learning.rules(undefined, 10)).toEqual([]);
    expect(withdrawals()).toEqual([{ why: expect.any(String) }]);
  });

  it("when its numbers cannot be used", () => {
    answers(20);
    const accepted = learn("allow", { key: { ...key, scope: "make" } });
    host.learning.outcome({ receiptId: "r", ruleId: accepted, result: "failure" });
    const id = pendingId();
    host.close();
    rmSync(join(fixture.configDir, "learning.yaml"));
    host = fixture.open();
    expect(host.learning.problem()).toContain("config/learning.yaml");
    expect(host.logged).toHaveLength(1);
    expect(refusal(id, "accept")).toEqual(["unavailable"]);
    expect(refusal(accepted, "confirm")).toEqual(["unavailable"]);
    // Declining and revoking still work.
    expect(host.learning.decide(id, "decline").proposal).toMatchObject({ status: "declined" });
    expect(host.learning.decide(accepted, "revoke").rule).toMatchObject({ status: "revoked" });
  });
});

function numbers(): string {
  return `version: 1
evidence: { observations: 20, days: 30, consistency: 0.85, quests: 3, again: 20 }
rules: { most: 50, per_day: 50, in_all: 500 }
wide: { scopes: 4, never: [shell_exec] }
never_automate:
  actions: [repo_ops.push, "deploy_ops.*"]
  words: [delete, "secret*"]
  tags: [delete]
`;
}
const withdrawals = () =>
  host.ledger
    .search({ limit: 100 })
    .items.filter(({ actionName }) => actionName === "learning.withdraw")
    .map(({ outputs }) => outputs);

describe("the receipts of learning", () => {
  it("say what, of whom and why, each below the one it follows from", () => {
    const id = learn();
    host.learning.outcome({ receiptId: "the action", ruleId: id, result: "failure" });
    host.learning.decide(id, "confirm");
    answers(1, "deny");
    host.learning.decide(id, "revoke");
    answers(20);
    answers(10, "deny");
    const all = host.ledger.search({ limit: 100 }).items.toReversed();
    const propose = all[0];
    const pattern = { title: "shell_exec.run on npm.install", ...key, verdict: "allow" };
    const text = String(propose?.outputs["why"]);
    expect(text).toContain("shell_exec.run on npm.install");
    const accept = all[1];
    expect(
      all.map(({ actionName, actionType, riskTier, inputs, outputs, parentId }) => [
        actionName,
        actionType,
        riskTier,
        inputs,
        outputs,
        parentId,
      ]),
    ).toEqual([
      ["learning.propose", "system", "T2", { ...pattern, id: expect.any(String) as string }, { why: text }, null],
      ["learning.accept", "user_interaction", "T2", { ...pattern, id }, { why: text }, propose?.id],
      ["learning.suspend", "system", "T2", { ...pattern, id }, { why: expect.any(String) }, "the action"],
      ["learning.confirm", "user_interaction", "T2", { ...pattern, id }, {}, accept?.id],
      ["learning.suspend", "system", "T2", { ...pattern, id }, { why: expect.any(String) }, accept?.id],
      ["learning.revoke", "user_interaction", "T2", { ...pattern, id }, {}, accept?.id],
      ["learning.propose", "system", "T2", { ...pattern, id: expect.any(String) as string }, { why: text }, null],
      ["learning.withdraw", "system", "T2", { ...pattern, id: all[6]?.inputs["id"] }, { why: expect.any(String) }, all[6]?.id],
    ]);
    expect(host.events).toHaveLength(all.length);
  });

  it("are undone, with what they tell of, when the transaction around them is", () => {
    expect(() =>
      host.storage.transaction(() => {
        answers(20);
        throw new Error("undone");
      }),
    ).toThrow("undone");
    expect(host.events).toEqual([]);
    expect(host.ledger.search({ limit: 10 }).items).toEqual([]);
    expect(host.learning.proposals("pending", 10)).toEqual([]);
  });
});

describe("the contract's methods", () => {
  it("show rules and proposals by state, newest first, and take the owner's decision", async () => {
    const handlers = learningHandlers(host.learning);
    learn();
    fixture.clock += 1_000;
    answers(20, "deny", { key: { ...key, scope: "make" } });
    fixture.clock += 1_000;
    answers(20, "allow", { key: { ...key, scope: "cargo" } });
    const scopes = async (params: Parameters<(typeof handlers)["learning.proposals"]>[0]) =>
      (await handlers["learning.proposals"](params, call)).items.map(({ pattern }) => pattern.scope);
    expect(await scopes({ limit: 10 })).toEqual(["cargo", "make"]);
    expect(await scopes({ limit: 1 })).toEqual(["cargo"]);
    expect(await scopes({ status: "accepted", limit: 10 })).toEqual(["npm.install"]);
    const decided = await handlers["learning.decide"]({ id: pendingId(), decision: "accept" }, call);
    expect(decided.rule).toMatchObject({ pattern: { scope: "cargo" }, verdict: "allow" });
    const rules = async (params: Parameters<(typeof handlers)["learning.rules"]>[0]) =>
      (await handlers["learning.rules"](params, call)).items.map(({ pattern }) => pattern.scope);
    expect(await rules({ limit: 10 })).toEqual(["cargo", "npm.install"]);
    expect(await rules({ limit: 1 })).toEqual(["cargo"]);
    expect(await rules({ status: "revoked", limit: 10 })).toEqual([]);
  });
});

describe("retention", () => {
  it("is forgotten after 90 days, at most once a day", () => {
    const store = createLearningStore(host.storage);
    const id = learn();
    host.learning.outcome({ receiptId: "old", ruleId: id, result: "success" });
    expect(store.usedBy("old")).toEqual([id]);
    fixture.clock += 90 * 86_400_000;
    answers(1);
    expect(store.usedBy("old")).toEqual([id]);
    fixture.clock += 86_400_000 - 1;
    answers(1);
    expect(store.usedBy("old")).toEqual([id]);
    fixture.clock += 1;
    answers(1);
    expect(store.usedBy("old")).toEqual([]);
  });
});

describe("invalid keys", () => {
  it.each([
    ["capability", { capability: "c".repeat(301) }],
    ["action", { action: "a".repeat(301) }],
    ["scope", { scope: "s".repeat(301) }],
    ["a NUL in its capability", { capability: "c\0c" }],
    ["a NUL in its action", { action: "a\0a" }],
  ])("are passed over: %s", (_, more) => {
    answers(40, "deny", { key: { ...key, ...more } });
    expect(host.learning.proposals("pending", 10)).toEqual([]);
  });

  it("are those longer than 300 characters", () => {
    answers(20, "deny", { key: { ...key, scope: "s".repeat(300) } });
    expect(host.learning.proposals("pending", 10)).toHaveLength(1);
  });
});

describe("failed writes", () => {
  const fail = () =>
    vi.spyOn(host.storage, "transaction").mockImplementationOnce(() => {
      throw new Error("disk full");
    });

  it("of what came of an action suspends its rule in this window", () => {
    const id = learn();
    fail();
    host.learning.outcome({ receiptId: "r", ruleId: id, result: "success" });
    expect(host.learning.find(key)).toBeNull();
    expect(host.logged).toHaveLength(1);
    expect(fixture.open().learning.find(key)).toMatchObject({ id });
  });

  it("of an answer, or of a decision, is told", () => {
    const id = learn();
    fail();
    host.learning.used(id, { questId: null, receiptId: null });
    vi.restoreAllMocks();
    const spy = vi.spyOn(host.storage, "transaction").mockImplementation(() => {
      throw new Error("disk full");
    });
    host.learning.observe({
      ...{ key, verdict: "deny", tier: "T2", riskLevel: "medium", heldBy: null, questId: null, approvalId: "x" },
      at: "2026-11-20T10:00:00Z",
    });
    spy.mockRestore();
    expect(host.logged).toHaveLength(2);
  });

  it("of a success that no rule decided costs nothing", () => {
    const spy = vi.spyOn(host.storage, "transaction");
    host.learning.outcome({ receiptId: "r", result: "success" });
    host.learning.outcome({ receiptId: "r", ruleId: null, result: "success" });
    expect(spy).not.toHaveBeenCalled();
  });
});

describe("a deny rule", () => {
  it("is not suspended by what fails, having done nothing", () => {
    const id = learn("deny");
    host.learning.outcome({ receiptId: "r", ruleId: id, result: "failure" });
    expect(host.learning.find(key)).toMatchObject({ id, verdict: "deny" });
    host.learning.outcome({ receiptId: "r", ruleId: "no such rule", result: "failure" });
    expect(host.logged).toEqual([]);
  });

  it("waits when the owner allows the same, and says so", () => {
    learn("deny");
    answers(1);
    expect(host.learning.rules(undefined, 10)).toMatchObject([{ status: "needs_confirmation", waitsFor: expect.any(String) }]);
  });
});

describe("the list of what is never automated", () => {
  const never = neverAutomate({
    version: 1,
    evidence: { observations: 20, days: 30, consistency: 0.85, quests: 3, again: 20 },
    rules: { most: 50, per_day: 50, in_all: 500 },
    wide: { scopes: 4, never: [] },
    never_automate: { actions: ["repo_ops.push", "deploy_ops.*"], words: ["delete", "secret*"], tags: ["delete", "history"] },
  });

  it.each([
    ["repo_ops", "push", "x", true],
    ["repo_ops", "pull", "x", false],
    ["deploy_ops", "anything", "x", true],
    ["memory", "delete", "x", true],
    ["memory", "deletes", "x", false],
    ["memory", "write", "delete_all", true],
    ["memory", "write", "deleteAll", true],
    ["memory", "write", "allDelete", true],
    ["memory", "write", "ｄｅｌｅｔｅ", true],
    ["memory", "write", "undelete", false],
    ["memory", "write", "secretary", true],
    ["memory", "write", "asecret", false],
    ["memory", "write", "SECRETS", true],
    ["memory", "write", "v2Delete", true],
    ["delete", "write", "x", true],
  ])("%s.%s on %s: %s", (capability, action, scope, expected) => {
    expect(never.key({ capability, action, scope })).toBe(expected);
  });

  it.each([
    [{ kind: "k", capability: "repo_ops", action: "push", tags: [] }, true],
    [{ kind: "k", capability: "memory", action: "write", tags: ["network", "history"] }, true],
    [{ kind: "k", capability: "memory", action: "write", tags: ["network"] }, false],
    [{ kind: "secret_things", capability: "memory", action: "write", tags: [] }, true],
    [{ kind: "k", capability: "secrets", action: "write", tags: [] }, true],
    [{ kind: "k", capability: "memory", action: "delete", tags: [] }, true],
  ] as const)("a subject %j: %s", (subject, expected) => {
    expect(never.subject({ ...subject, tags: [...subject.tags] } as unknown as SoulSubject)).toBe(expected);
  });
});
