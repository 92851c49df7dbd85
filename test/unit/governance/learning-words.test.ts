import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import type { SoulSubject } from "../../../agent-server/governance/facts.ts";
import { learningHandlers, type Observation } from "../../../agent-server/governance/learning/learning.ts";
import { neverAutomate } from "../../../agent-server/governance/learning/numbers.ts";
import { createLearningStore } from "../../../agent-server/governance/learning/store.ts";
import { eachInEarningFixture, type EarningHost, type EarningFixture } from "../../support/earning-fixture.ts";

const key = { capability: "shell_exec", action: "run", scope: "npm.install" };
const call = { owner: true, signal: new AbortController().signal };

let room: EarningFixture;
let host: EarningHost;
eachInEarningFixture((opened) => {
  ({ room, host } = opened);
});

function answers(times: number, verdict: "allow" | "deny" = "allow", more: Partial<Observation> = {}, at = host): void {
  at.storage.transaction(() => {
    for (let index = 0; index < times; index += 1) {
      const number = room.next();
      at.learning.observe({
        ...{ key, verdict, tier: "T2", riskLevel: "medium", held: null, questId: `quest-${number % 3}`, approvalId: `approval-${number}` },
        ...{ at: new Date(room.clock).toISOString(), ...more },
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
    const { code, message, data } = error as { code: string; message: string; data?: unknown };
    return data === undefined ? [code, message] : [code, message, data];
  }
  return null;
};

describe("what the owner is told", () => {
  it.each<["allow" | "deny", string | null, string, string]>([
    [
      "allow",
      "facts",
      "You would no longer be asked about memory.write on facts: it is allowed, at most 50 times a day and 500 in all, then you are asked to confirm it. What the soul or policy holds, what counts as irreversible and what is never automated is still asked.",
      "A rule you accepted from your own answers allows memory.write on facts.",
    ],
    [
      "deny",
      "facts",
      "You would no longer be asked about memory.write on facts: it is refused, at most 50 times a day and 500 in all, then you are asked to confirm it.",
      "A rule you accepted from your own answers refuses memory.write on facts.",
    ],
    [
      "allow",
      null,
      "You would no longer be asked about memory.write, whatever it is about: it is allowed, at most 50 times a day and 500 in all, then you are asked to confirm it. What the soul or policy holds, what counts as irreversible and what is never automated is still asked.",
      "A rule you accepted from your own answers allows memory.write on anything.",
    ],
  ])("of a rule that would %s on %s", (verdict, scope, words, decided) => {
    const about = (index: number) => ({ capability: "memory", action: "write", scope: scope ?? `thing${String.fromCharCode(97 + index)}` });
    for (let index = 0; index < 20; index += 1) answers(1, verdict, { key: about(index) });
    const [proposal] = host.learning.proposals("pending", 10);
    expect(proposal).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      pattern: { capability: "memory", action: "write", scope },
      verdict,
      observations: 20,
      consistency: 1,
      scope: words,
      status: "pending",
      createdAt: "2026-11-20T10:00:00.000Z",
      decidedAt: null,
    });
    room.clock += 60_000;
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
      message: decided,
    });
  });

  it("when an answer comes too late, or to the wrong thing", () => {
    answers(20);
    const id = pendingId();
    expect(refusal(id, "confirm")).toEqual(["conflict", "A proposal is accepted or declined."]);
    expect(refusal(id, "revoke")).toEqual(["conflict", "A proposal is accepted or declined."]);
    host.learning.decide(id, "decline");
    expect(refusal(id, "accept")).toEqual(["conflict", "This proposal was already declined.", { status: "declined" }]);
    expect(refusal(id, "decline")).toEqual(["conflict", "This proposal was already declined.", { status: "declined" }]);
    answers(20);
    const rule = host.learning.decide(pendingId(), "accept").rule?.id ?? "";
    expect(refusal(rule, "accept")).toEqual(["conflict", "A rule is confirmed or withdrawn."]);
    expect(refusal(rule, "decline")).toEqual(["conflict", "A rule is confirmed or withdrawn."]);
    expect(refusal(rule, "confirm")).toEqual(["conflict", "This rule is in use; there is nothing to confirm.", { status: "active" }]);
    host.learning.decide(rule, "revoke");
    for (const late of ["confirm", "revoke"] as const)
      expect(refusal(rule, late)).toEqual(["conflict", "This rule was already withdrawn.", { status: "revoked" }]);
    expect(refusal("x".repeat(300), "accept")).toEqual(["not_found", `There is no proposal and no rule ${"x".repeat(200)}.`]);
  });

  it("when there are as many rules as there may be", () => {
    host.close();
    room.configure("learning.yaml", numbers().replace("most: 50", "most: 1"));
    host = room.open();
    learn();
    answers(20, "allow", { key: { ...key, scope: "make" } });
    expect(refusal(pendingId(), "accept")).toEqual([
      "conflict",
      "There are 1 learned rules, which is the most there may be. Withdraw one, then accept this again.",
    ]);
  });

  it("when the reason of a proposal has gone: the list of what is never automated is longer now", () => {
    answers(20);
    const id = pendingId();
    host.close();
    room.configure(
      "learning.yaml",
      numbers()
        .replace("words:\n", "words:\n    - npm\n")
        .replace(/words: \[/, "words: [npm, "),
    );
    host = room.open();
    expect(host.learning.problem()).toBeNull();
    expect(refusal(id, "accept")).toEqual([
      "conflict",
      "This is on the list of what is never automated, so the proposal was withdrawn. Nothing was changed.",
    ]);
    expect(host.learning.proposals("withdrawn", 10)).toMatchObject([{ id }]);
    expect(host.learning.rules(undefined, 10)).toEqual([]);
    expect(withdrawals()).toEqual([{ why: "It is on the list of what is never automated." }]);
  });

  it("when its numbers cannot be used", () => {
    answers(20);
    const accepted = learn("allow", { key: { ...key, scope: "make" } });
    host.learning.outcome({ receiptId: "r", ruleId: accepted, result: "failure" });
    const id = pendingId();
    host.close();
    rmSync(join(room.configDir, "learning.yaml"));
    host = room.open();
    const words =
      "No learned rule allows anything: config/learning.yaml cannot be read or is malformed. Restore the file, or reinstall Lancelot.";
    expect(host.learning.problem()).toBe(words);
    expect(host.logged).toEqual(["learned rules allow nothing"]);
    expect(refusal(id, "accept")).toEqual(["unavailable", words]);
    expect(refusal(accepted, "confirm")).toEqual(["unavailable", words]);
    // What takes something away still may be said.
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
    const words = String(propose?.outputs["why"]);
    expect(words).toContain("You would no longer be asked about shell_exec.run on npm.install");
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
      ["learning.propose", "system", "T2", { ...pattern, id: expect.any(String) as string }, { why: words }, null],
      ["learning.accept", "user_interaction", "T2", { ...pattern, id }, { why: words }, propose?.id],
      ["learning.suspend", "system", "T2", { ...pattern, id }, { why: "What it allowed failed." }, "the action"],
      ["learning.confirm", "user_interaction", "T2", { ...pattern, id }, {}, accept?.id],
      ["learning.suspend", "system", "T2", { ...pattern, id }, { why: "You said no to the same." }, accept?.id],
      ["learning.revoke", "user_interaction", "T2", { ...pattern, id }, {}, accept?.id],
      ["learning.propose", "system", "T2", { ...pattern, id: expect.any(String) as string }, { why: words }, null],
      [
        "learning.withdraw",
        "system",
        "T2",
        { ...pattern, id: all[6]?.inputs["id"] },
        { why: "Later answers no longer agree." },
        all[6]?.id,
      ],
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
  it("show rules and proposals by state, newest first, and take the owner's word", async () => {
    const handlers = learningHandlers(host.learning);
    learn();
    room.clock += 1_000;
    answers(20, "deny", { key: { ...key, scope: "make" } });
    room.clock += 1_000;
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

describe("what is remembered", () => {
  it("is forgotten after 90 days, at most once a day", () => {
    const store = createLearningStore(host.storage);
    const id = learn();
    host.learning.outcome({ receiptId: "old", ruleId: id, result: "success" });
    expect(store.usedBy("old")).toEqual([id]);
    room.clock += 90 * 86_400_000;
    answers(1);
    expect(store.usedBy("old")).toEqual([id]);
    room.clock += 86_400_000 - 1;
    answers(1);
    expect(store.usedBy("old")).toEqual([id]);
    room.clock += 1;
    answers(1);
    expect(store.usedBy("old")).toEqual([]);
  });
});

describe("keys nobody would write", () => {
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

describe("what cannot be written", () => {
  const fail = () =>
    vi.spyOn(host.storage, "transaction").mockImplementationOnce(() => {
      throw new Error("disk full");
    });

  it("of what came of an action suspends its rule in this window", () => {
    const id = learn();
    fail();
    host.learning.outcome({ receiptId: "r", ruleId: id, result: "success" });
    expect(host.learning.find(key)).toBeNull();
    expect(host.logged).toEqual(["what came of a learned rule could not be written"]);
    expect(room.open().learning.find(key)).toMatchObject({ id });
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
      ...{ key, verdict: "deny", tier: "T2", riskLevel: "medium", held: null, questId: null, approvalId: "x" },
      at: "2026-11-20T10:00:00Z",
    });
    spy.mockRestore();
    expect(host.logged).toEqual(["a decision of a learned rule could not be counted", "an answer could not be learned from"]);
  });

  it("of a success that no rule decided costs nothing", () => {
    const spy = vi.spyOn(host.storage, "transaction");
    host.learning.outcome({ receiptId: "r", result: "success" });
    host.learning.outcome({ receiptId: "r", ruleId: null, result: "success" });
    expect(spy).not.toHaveBeenCalled();
  });
});

describe("a rule that refuses", () => {
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
    expect(host.learning.rules(undefined, 10)).toMatchObject([{ status: "needs_confirmation", waitsFor: "You allowed the same." }]);
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
