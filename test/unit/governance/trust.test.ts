import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Tier } from "../../../agent-server/contract/common.ts";
import type { TrustProposal } from "../../../agent-server/contract/trust.ts";
import type { TrustOutcome } from "../../../agent-server/governance/trust/trust.ts";
import { createEarningFixture, useEarningFixture, type EarningHost, type EarningFixture } from "../../support/earning-fixture.ts";

const key = { capability: "shell_exec", action: "run", scope: "npm.install" };

let fixture: EarningFixture;
let host: EarningHost;
useEarningFixture((opened) => {
  ({ fixture, host } = opened);
});

/** An outcome of a new action, decided at the tier that holds now. */
function tell(result: TrustOutcome["result"], more: Partial<TrustOutcome> = {}, at = host): string {
  const defaultTier = more.defaultTier ?? "T3";
  const about = more.key ?? key;
  const fresh = `receipt-${fixture.next()}`;
  const receiptId = more.receiptId ?? fresh;
  at.trust.outcome({
    key: about,
    defaultTier,
    decidedTier: at.trust.tier(about, defaultTier) ?? defaultTier,
    heldBy: null,
    changesFiles: false,
    result,
    questId: "quest",
    receiptId,
    ...more,
  });
  return receiptId;
}

function many(times: number, result: TrustOutcome["result"] = "success", more: Partial<TrustOutcome> = {}, at = host): void {
  // One transaction of the database for all of them: what is counted is the same.
  at.storage.transaction(() => {
    for (let index = 0; index < times; index += 1) tell(result, more, at);
  });
}

const pending = (at = host): TrustProposal[] => at.trust.proposals("pending", 50);
const record = (at = host) => {
  const [first] = at.trust.list(10);
  if (first === undefined) throw new Error("Nothing is recorded.");
  return first;
};

/** Earns and accepts the next step. */
function graduate(successes: number, more: Partial<TrustOutcome> = {}, at = host): TrustProposal {
  many(successes, "success", more, at);
  const about = more.key ?? key;
  const proposal = pending(at).find((one) => one.scope === about.scope && one.action === about.action);
  if (proposal === undefined) throw new Error("Nothing was proposed.");
  return at.trust.decide(proposal.id, "accept");
}

describe("the published numbers", () => {
  it.each([
    { from: "T3", to: "T2", needs: 50 },
    { from: "T2", to: "T1", needs: 100 },
    { from: "T1", to: "T0", needs: 200 },
  ] as const)("$from to $to is proposed after $needs successes in a row, and holds once accepted", ({ from, to, needs }) => {
    many(needs - 1, "success", { defaultTier: from });
    expect(pending()).toEqual([]);
    expect(record()).toMatchObject({ tier: from, successes: needs - 1, nextAt: needs, heldBy: null });
    tell("success", { defaultTier: from });
    const [proposal] = pending();
    expect(proposal).toMatchObject({ ...key, from, to, status: "pending", decidedAt: null });
    expect(proposal?.reason).toContain(`${needs} times in a row at ${from}`);
    // A proposal alone changes nothing.
    expect(host.trust.tier(key, from)).toBeNull();
    expect(host.trust.decide(proposal?.id ?? "", "accept")).toMatchObject({ status: "accepted" });
    expect(host.trust.tier(key, from)).toBe(to);
    expect(record()).toMatchObject({ tier: to, defaultTier: from, successes: 0 });
  });

  it("goes the whole way one step at a time: 50, then 100, then 200", () => {
    graduate(50);
    many(99);
    expect(pending()).toEqual([]);
    graduate(1);
    many(199);
    expect(pending()).toEqual([]);
    graduate(1);
    expect(host.trust.tier(key, "T3")).toBe("T0");
    many(300);
    expect(pending()).toEqual([]);
    expect(record()).toMatchObject({ tier: "T0", nextAt: null, heldBy: expect.any(String) });
  });

  it("is never T0 for what changes files", () => {
    many(400, "success", { defaultTier: "T1", changesFiles: true });
    expect(pending()).toEqual([]);
    expect(record()).toMatchObject({ tier: "T1", nextAt: null, heldBy: expect.any(String) });
  });

  it("is never T0 either when it changed files once", () => {
    tell("success", { defaultTier: "T1", changesFiles: true });
    many(300, "success", { defaultTier: "T1" });
    expect(pending()).toEqual([]);
  });

  it("takes T0 back when it turns out to change files", () => {
    graduate(200, { defaultTier: "T1" });
    tell("success", { defaultTier: "T1", changesFiles: true });
    expect(host.trust.tier(key, "T1")).toBeNull();
    expect(host.trust.proposals("withdrawn", 10)).toHaveLength(1);
    expect(host.receipts("trust.")).toContain("trust.reset");
  });

  it("is never proposed for what soul or policy hold", () => {
    many(60, "success", { heldBy: "The soul holds this." });
    expect(pending()).toEqual([]);
    expect(record()).toMatchObject({ nextAt: null, heldBy: "The soul holds this.", successes: 0 });
    // What went well while it was held earned nothing.
    many(49);
    expect(pending()).toEqual([]);
    many(1);
    expect(pending()).toHaveLength(1);
  });

  it.each(["failure", "rollback"] as const)("a %s in between begins the row again", (result) => {
    many(49);
    tell(result);
    expect(record()).toMatchObject({ successes: 0 });
    many(49);
    expect(pending()).toEqual([]);
    tell("success");
    expect(pending()).toHaveLength(1);
  });

  it("a failure resets to the default tier and withdraws what was accepted", () => {
    graduate(50);
    graduate(100);
    expect(host.trust.tier(key, "T3")).toBe("T1");
    tell("failure");
    expect(host.trust.tier(key, "T3")).toBeNull();
    expect(record()).toMatchObject({ tier: "T3", successes: 0, failures: 1 });
    expect(host.trust.proposals("withdrawn", 10)).toHaveLength(2);
    expect(host.trust.proposals("accepted", 10)).toEqual([]);
    expect(host.receipts("trust.").filter((name) => name === "trust.reset")).toHaveLength(2);
  });

  it.each([
    { defaultTier: "T1", becomes: "T2" },
    { defaultTier: "T2", becomes: "T3" },
    { defaultTier: "T3", becomes: null },
  ] as const)("a rollback of what begins at $defaultTier makes it one tier stricter", ({ defaultTier, becomes }) => {
    const receiptId = tell("success", { defaultTier });
    host.trust.rolledBack([receiptId]);
    expect(host.trust.tier(key, defaultTier)).toBe(becomes);
    expect(record()).toMatchObject({ rollbacks: 1, successes: 0 });
    // A failure does not make it milder, and another rollback not stricter.
    tell("failure", { defaultTier });
    expect(host.trust.tier(key, defaultTier)).toBe(becomes);
    host.trust.rolledBack([tell("success", { defaultTier })]);
    expect(host.trust.tier(key, defaultTier)).toBe(becomes);
  });

  it("a rollback rolls back what was accepted, and the step back is earned at the stricter tier", () => {
    graduate(200, { defaultTier: "T1" });
    host.trust.rolledBack([tell("success", { defaultTier: "T1" })]);
    expect(host.trust.tier(key, "T1")).toBe("T2");
    expect(host.receipts("trust.")).toEqual(["trust.propose", "trust.accept", "trust.rollback", "trust.reset"]);
    many(99, "success", { defaultTier: "T1" });
    expect(pending()).toEqual([]);
    graduate(1, { defaultTier: "T1" });
    expect(host.trust.tier(key, "T1")).toBeNull();
    expect(record()).toMatchObject({ tier: "T1", defaultTier: "T1" });
  });

  it("a declined step comes again after 50 actions, not 49", () => {
    many(50);
    host.trust.decide(pending()[0]?.id ?? "", "decline");
    expect(record()).toMatchObject({ coolDown: 50, successes: 50, tier: "T3" });
    many(49);
    expect(pending()).toEqual([]);
    expect(record()).toMatchObject({ coolDown: 1, successes: 50 });
    tell("success");
    expect(pending()).toHaveLength(1);
  });

  it("a refusal by the owner starts 50 actions of rest and withdraws what is proposed", () => {
    many(50);
    tell("refused");
    expect(pending()).toEqual([]);
    expect(record()).toMatchObject({ coolDown: 50, failures: 0 });
    many(20);
    // A second one begins it again.
    tell("refused");
    many(49);
    expect(pending()).toEqual([]);
    tell("success");
    expect(pending()).toHaveLength(1);
  });

  it("a revoked step pauses for 25 actions, which earn nothing, and then takes the whole row again", () => {
    const accepted = graduate(50);
    many(30);
    expect(host.trust.decide(accepted.id, "revoke")).toMatchObject({ status: "revoked" });
    expect(host.trust.tier(key, "T3")).toBeNull();
    expect(record()).toMatchObject({ coolDown: 25, successes: 0, tier: "T3" });
    many(25);
    expect(record()).toMatchObject({ coolDown: 0, successes: 0 });
    many(49);
    expect(pending()).toEqual([]);
    tell("success");
    expect(pending()).toHaveLength(1);
  });

  it("a withdrawn step does not shorten a rest that is longer", () => {
    const { id } = graduate(50);
    tell("refused");
    host.trust.decide(id, "revoke");
    expect(record()).toMatchObject({ coolDown: 50 });
  });

  it("withdrawing a step withdraws those built on it", () => {
    const first = graduate(50);
    graduate(100);
    host.trust.decide(first.id, "revoke");
    expect(host.trust.tier(key, "T3")).toBeNull();
    expect(host.trust.proposals("accepted", 10)).toEqual([]);
    expect(host.trust.proposals("withdrawn", 10)).toHaveLength(1);
  });

  it("withdrawing the last step leaves the one before it", () => {
    graduate(50);
    const second = graduate(100);
    host.trust.decide(second.id, "revoke");
    expect(host.trust.tier(key, "T3")).toBe("T2");
    expect(host.trust.proposals("accepted", 10)).toHaveLength(1);
  });
});

describe("counting", () => {
  it("counts each kind of action by capability, action, scope and the tier it starts from", () => {
    graduate(50);
    for (const other of [
      { ...key, scope: "npm.ci" },
      { ...key, action: "start" },
      { ...key, capability: "skill" },
    ])
      expect(host.trust.tier(other, "T3")).toBeNull();
    // Raised by policy, the same kind of action stands for itself.
    expect(host.trust.tier(key, "T2")).toBeNull();
    tell("success", { defaultTier: "T2", decidedTier: "T2" });
    expect(host.trust.list(10)).toHaveLength(2);
    expect(host.trust.tier(key, "T3")).toBe("T2");
  });

  it("does not count T0, nor keys that nobody would write", () => {
    tell("success", { defaultTier: "T0", decidedTier: "T0" });
    tell("success", { key: { ...key, scope: "x".repeat(301) } });
    tell("success", { key: { ...key, scope: "a\0b" } });
    expect(host.trust.list(10)).toEqual([]);
  });

  it("counts a receipt once; what is told later counts only when it is worse", () => {
    for (let index = 0; index < 60; index += 1) tell("success", { receiptId: "same" });
    expect(record()).toMatchObject({ successes: 1 });
    tell("failure", { receiptId: "same" });
    tell("success", { receiptId: "same" });
    tell("failure", { receiptId: "same" });
    expect(record()).toMatchObject({ successes: 0, failures: 1 });
    host.trust.rolledBack(["same", "same"]);
    expect(record()).toMatchObject({ rollbacks: 1 });
  });

  it("counts several kinds of action of one receipt each for itself", () => {
    tell("success", { receiptId: "same" });
    tell("success", { receiptId: "same", key: { ...key, scope: "npm.ci" } });
    expect(host.trust.list(10).map(({ successes }) => successes)).toEqual([1, 1]);
    host.trust.rolledBack(["same"]);
    expect(host.trust.list(10).map(({ rollbacks }) => rollbacks)).toEqual([1, 1]);
  });

  it("does not count what was decided at another tier than it has now", () => {
    graduate(50);
    // Decided in another window before the owner accepted.
    many(100, "success", { decidedTier: "T3" });
    expect(record()).toMatchObject({ successes: 0 });
  });

  it("passes over rollbacks of what was never told or refused", () => {
    const receiptId = tell("refused");
    host.trust.rolledBack([receiptId, "unknown"]);
    expect(record()).toMatchObject({ rollbacks: 0 });
  });
});

describe("the owner's decision", () => {
  it("is given once", () => {
    const { id } = graduate(50);
    for (const decision of ["accept", "decline"] as const)
      expect(() => host.trust.decide(id, decision)).toThrow(expect.objectContaining({ code: "conflict" }));
    host.trust.decide(id, "revoke");
    expect(() => host.trust.decide(id, "revoke")).toThrow(expect.objectContaining({ code: "conflict" }));
    expect(() => host.trust.decide("nothing", "accept")).toThrow(expect.objectContaining({ code: "not_found" }));
  });

  it("cannot be given for a step whose reason has gone", () => {
    many(50);
    const [proposal] = pending();
    tell("success", { heldBy: "Policy asks for this." });
    expect(pending()).toEqual([]);
    expect(() => host.trust.decide(proposal?.id ?? "", "accept")).toThrow(expect.objectContaining({ code: "conflict" }));
    expect(host.trust.tier(key, "T3")).toBeNull();
    expect(host.receipts("trust.")).toEqual(["trust.propose", "trust.withdraw"]);
  });

  it("is a receipt each time, and an event", () => {
    const { id } = graduate(50);
    host.trust.decide(id, "revoke");
    expect(host.receipts("trust.")).toEqual(["trust.propose", "trust.accept", "trust.revoke"]);
    const [revoked, accepted] = host.ledger.search({ limit: 10 }).items;
    expect(accepted).toMatchObject({
      actionType: "user_interaction",
      riskTier: "T3",
      inputs: { from: "T3", to: "T2", scope: "npm.install" },
    });
    expect(revoked).toMatchObject({ status: "success", inputs: { from: "T2", to: "T3" } });
    expect(host.events).toEqual(["trust", "trust", "trust"]);
  });

  it("does not hold while soul or policy hold the action", () => {
    graduate(50);
    tell("success", { heldBy: "The soul holds this." });
    expect(host.trust.tier(key, "T3")).toBeNull();
    expect(record()).toMatchObject({ tier: "T3", heldBy: "The soul holds this." });
    tell("success");
    expect(host.trust.tier(key, "T3")).toBe("T2");
  });
});

describe("the circuit breaker", () => {
  const scopes = ["a", "b", "c", "d"].map((scope) => ({ ...key, scope }));

  beforeEach(() => {
    for (const one of scopes) graduate(50, { key: one });
  });

  it("suspends everything a capability was granted after three failures within an hour, until the owner confirms", () => {
    tell("failure", { key: scopes[0] ?? key });
    tell("failure", { key: scopes[1] ?? key });
    expect(host.trust.tier(scopes[3] ?? key, "T3")).toBe("T2");
    fixture.clock += 59 * 60_000;
    tell("failure", { key: scopes[2] ?? key });
    expect(scopes.map((one) => host.trust.tier(one, "T3"))).toEqual([null, null, null, null]);
    expect(host.trust.list(10).find(({ scope }) => scope === "d")).toMatchObject({
      tier: "T3",
      nextAt: null,
      heldBy: expect.any(String),
    });
    const [confirm, ...others] = pending();
    expect(others).toEqual([]);
    expect(confirm).toMatchObject({
      scope: "d",
      from: "T3",
      to: "T2",
      reason: expect.stringMatching(/^3 shell_exec .* 60 minutes/),
    });
    // Going on well does not confirm by itself.
    many(80, "success", { key: scopes[3] ?? key });
    expect(host.trust.tier(scopes[3] ?? key, "T3")).toBeNull();
    host.trust.decide(confirm?.id ?? "", "accept");
    expect(host.trust.tier(scopes[3] ?? key, "T3")).toBe("T2");
  });

  it("lets failures that lie further apart be", () => {
    for (const one of scopes.slice(0, 3)) {
      tell("failure", { key: one });
      fixture.clock += 30 * 60_000;
    }
    expect(host.trust.tier(scopes[3] ?? key, "T3")).toBe("T2");
  });

  it("counts failures at lowered tiers and of the same capability only", () => {
    for (let index = 0; index < 5; index += 1) tell("failure", { key: { ...key, scope: "never graduated" } });
    const other = { capability: "skill", action: "run", scope: "x" };
    graduate(50, { key: other });
    tell("failure", { key: scopes[0] ?? key });
    tell("failure", { key: other });
    tell("failure", { key: scopes[1] ?? key });
    expect(host.trust.tier(scopes[3] ?? key, "T3")).toBe("T2");
  });

  it("begins counting again after it has tripped", () => {
    for (const one of scopes.slice(0, 3)) tell("failure", { key: one });
    host.trust.decide(pending()[0]?.id ?? "", "accept");
    graduate(50, { key: scopes[0] ?? key });
    tell("failure", { key: scopes[0] ?? key });
    expect(host.trust.tier(scopes[3] ?? key, "T3")).toBe("T2");
  });

  it("counts what the owner undid as well, also after it was reset", () => {
    const undone = scopes.slice(0, 3).map((one) => tell("success", { key: one }));
    tell("failure", { key: scopes[2] ?? key });
    host.trust.rolledBack(undone.slice(0, 1));
    expect(host.trust.tier(scopes[3] ?? key, "T3")).toBe("T2");
    host.trust.rolledBack(undone.slice(2));
    expect(host.trust.tier(scopes[3] ?? key, "T3")).toBeNull();
  });

  it("does not sleep when the clock was set back after it tripped", () => {
    for (const one of scopes.slice(0, 3)) tell("failure", { key: one });
    host.trust.decide(pending()[0]?.id ?? "", "accept");
    fixture.clock -= 30 * 86_400_000;
    for (const one of scopes.slice(0, 3)) graduate(50, { key: one });
    for (const one of scopes.slice(0, 3)) tell("failure", { key: one });
    expect(host.trust.tier(scopes[3] ?? key, "T3")).toBeNull();
  });

  it("withdraws the question for T0 when what was suspended turns out to change files", () => {
    const memory = ["a", "b", "c", "d"].map((scope) => ({ capability: "memory", action: "write", scope }));
    for (const one of memory) graduate(200, { key: one, defaultTier: "T1" });
    for (const one of memory.slice(0, 3)) tell("failure", { key: one, defaultTier: "T1" });
    tell("success", { key: memory[3] ?? key, defaultTier: "T1" });
    expect(pending()).toMatchObject([{ scope: "d", from: "T1", to: "T0" }]);
    tell("success", { key: memory[3] ?? key, defaultTier: "T1", changesFiles: true });
    expect(pending()).toEqual([]);
  });

  it("withdraws the question when what was suspended fails meanwhile", () => {
    for (const one of scopes.slice(0, 3)) tell("failure", { key: one });
    tell("failure", { key: scopes[3] ?? key });
    expect(pending()).toEqual([]);
    expect(host.trust.proposals("withdrawn", 50).filter(({ scope }) => scope === "d")).toHaveLength(2);
  });
});

describe("windows, restarts and damage", () => {
  it("holds in another window at the next decision, and after a restart", () => {
    const other = fixture.open();
    expect(other.trust.tier(key, "T3")).toBeNull();
    const { id } = graduate(50);
    expect(other.trust.tier(key, "T3")).toBe("T2");
    other.trust.decide(id, "revoke");
    expect(host.trust.tier(key, "T3")).toBeNull();
    many(74);
    host.close();
    const again = fixture.open();
    expect(pending(again)).toEqual([]);
    tell("success", {}, again);
    expect(pending(again)).toHaveLength(1);
  });

  it("counts outcomes of two windows in one row, without losing one", () => {
    const other = fixture.open();
    for (let index = 0; index < 25; index += 1) {
      tell("success", {}, host);
      tell("success", {}, other);
    }
    expect(pending(other)).toHaveLength(1);
    expect(pending(host)).toHaveLength(1);
  });

  it.each([
    ["missing numbers", "version: 1\n"],
    ["no YAML", "a: [\n"],
    ["no table at all", "trust everything"],
    ["a number that is none", readFileSync(join(import.meta.dirname, "../../../config/trust.yaml"), "utf8").replace("T3: 50", "T3: 0")],
    ["a field it does not know", `${readFileSync(join(import.meta.dirname, "../../../config/trust.yaml"), "utf8")}\nextra: 1\n`],
  ])("lifts nothing with %s, and keeps what was lost", (_what, text) => {
    graduate(50);
    const write = { ...key, scope: "undone" };
    host.trust.rolledBack([tell("success", { key: write, defaultTier: "T1" })]);
    many(50, "success", { key: { ...key, scope: "ready" } });
    const [ready] = pending();
    host.close();
    fixture.configure("trust.yaml", text);
    const broken = fixture.open();
    expect(broken.trust.problem()).toContain("config/trust.yaml");
    expect(broken.logged).toHaveLength(1);
    expect(broken.trust.tier(key, "T3")).toBeNull();
    expect(broken.trust.tier(write, "T1")).toBe("T2");
    expect(() => broken.trust.decide(ready?.id ?? "", "accept")).toThrow(expect.objectContaining({ code: "unavailable" }));
    many(300, "success", { key: { ...key, scope: "more" } }, broken);
    expect(pending(broken).map(({ scope }) => scope)).toEqual(["ready"]);
    tell("failure", {}, broken);
    expect(broken.trust.list(10).every((one) => one.nextAt === null && one.tier >= one.defaultTier)).toBe(true);
    expect(broken.trust.proposals("withdrawn", 10).map(({ scope }) => scope)).toEqual([key.scope]);
  });

  it("stops lifting in this window what failed and could not be written", () => {
    graduate(50);
    vi.spyOn(host.storage, "transaction").mockImplementationOnce(() => {
      throw new Error("disk full");
    });
    tell("failure");
    expect(host.trust.tier(key, "T3")).toBeNull();
    expect(host.logged).toHaveLength(1);
    // What goes well later does not bring back what is not known.
    tell("success");
    expect(host.trust.tier(key, "T3")).toBeNull();
    expect(fixture.open().trust.tier(key, "T3")).toBe("T2");
  });

  it("stops lifting in this window what was undone and could not be written", () => {
    graduate(50);
    const receiptId = tell("success");
    vi.spyOn(host.storage, "transaction").mockImplementationOnce(() => {
      throw new Error("disk full");
    });
    host.trust.rolledBack([receiptId]);
    expect(host.trust.tier(key, "T3")).toBeNull();
    expect(host.logged).toHaveLength(1);
  });

  it("keeps nothing of a transaction that is undone", () => {
    many(50);
    const [proposal] = pending();
    expect(() =>
      host.storage.transaction(() => {
        host.trust.decide(proposal?.id ?? "", "accept");
        expect(host.trust.tier(key, "T3")).toBe("T2");
        throw new Error("undone");
      }),
    ).toThrow("undone");
    expect(host.trust.tier(key, "T3")).toBeNull();
    expect(pending()).toHaveLength(1);
    expect(host.events).toEqual(["trust"]);
  });

  it("forgets what was told after 90 days, and nothing else", () => {
    tell("success", { receiptId: "old" });
    fixture.clock += 91 * 86_400_000;
    tell("success");
    expect(host.storage.db.prepare("SELECT receipt_id FROM trust_outcomes").pluck().all()).toEqual(["receipt-2"]);
    expect(record()).toMatchObject({ successes: 2 });
  });
});

describe("whatever happens", () => {
  const tiers = ["T1", "T2", "T3"] as const;
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ do: fc.constant("successes" as const), times: fc.integer({ min: 1, max: 120 }) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant("outcome" as const),
        result: fc.constantFrom("success" as const, "failure" as const, "rollback" as const, "refused" as const),
        heldBy: fc.boolean(),
        changesFiles: fc.boolean(),
        replay: fc.boolean(),
      }),
    },
    { weight: 4, arbitrary: fc.record({ do: fc.constant("accept" as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("decline" as const, "revoke" as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("restart" as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("wait" as const), minutes: fc.integer({ min: 1, max: 5000 }) }) },
  );

  it("a tier is never lower than what the owner accepted and has not lost, and never lifted when held", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...tiers),
        fc.array(fc.tuple(step, fc.nat({ max: 1 }), fc.nat({ max: 1 })), { minLength: 1, maxLength: 25 }),
        (defaultTier, steps) => {
          const own = createEarningFixture();
          try {
            const windows = [own.open(), own.open()];
            const keys = [key, { ...key, scope: "other" }];
            /** The lowest tier that may hold: the owner's last word, raised by every loss. */
            const lowest = keys.map((): Tier => defaultTier);
            const held = keys.map(() => false);
            let reported = 0;
            for (const [one, window, which] of steps) {
              const at = windows[window];
              const about = keys[which];
              if (at === undefined || about === undefined) throw new Error("There are two of each.");
              const decided = () => at.trust.tier(about, defaultTier) ?? defaultTier;
              const say = (result: TrustOutcome["result"], more: Partial<TrustOutcome> = {}) => {
                reported += 1;
                at.trust.outcome({
                  ...{ key: about, defaultTier, decidedTier: decided(), heldBy: null, changesFiles: false, result, questId: null },
                  ...{ receiptId: `r${reported}`, ...more },
                });
                if (more.receiptId === undefined) held[which] = more.heldBy !== undefined && more.heldBy !== null;
              };
              switch (one.do) {
                case "successes":
                  at.storage.transaction(() => {
                    for (let index = 0; index < one.times; index += 1) say("success");
                  });
                  break;
                case "outcome":
                  if (one.replay && reported > 0) {
                    // The same key and receipt told again as a success never changes anything.
                    const before = JSON.stringify(at.trust.list(10));
                    const last = at.storage.db
                      .prepare<[string], string>("SELECT receipt_id FROM trust_outcomes WHERE scope = ? LIMIT 1")
                      .pluck()
                      .get(about.scope);
                    if (last !== undefined) {
                      say("success", { receiptId: last });
                      expect(JSON.stringify(at.trust.list(10))).toBe(before);
                    }
                    break;
                  }
                  say(one.result, { heldBy: one.heldBy ? "held" : null, changesFiles: one.changesFiles });
                  if (one.result === "failure" || one.result === "rollback") lowest[which] = defaultTier;
                  break;
                case "accept":
                case "decline":
                case "revoke": {
                  const status = one.do === "revoke" ? "accepted" : "pending";
                  const found = at.trust.proposals(status, 50).find(({ scope }) => scope === about.scope);
                  if (found === undefined) break;
                  at.trust.decide(found.id, one.do);
                  if (one.do === "accept") lowest[which] = found.to;
                  if (one.do === "revoke") lowest[which] = found.from;
                  break;
                }
                case "restart":
                  at.close();
                  windows[window] = own.open();
                  break;
                case "wait":
                  own.clock += one.minutes * 60_000;
                  break;
              }
              for (const other of windows) {
                keys.forEach((each, index) => {
                  const tier = other.trust.tier(each, defaultTier) ?? defaultTier;
                  const floor = lowest[index] ?? defaultTier;
                  expect(tier >= (floor < defaultTier ? floor : defaultTier)).toBe(true);
                  if (held[index] === true) expect(tier >= defaultTier).toBe(true);
                });
                for (const one of other.trust.list(10)) {
                  expect(one.coolDown).toBeGreaterThanOrEqual(0);
                  expect(one.coolDown).toBeLessThanOrEqual(50);
                  if (one.heldBy === null) expect(one.nextAt).not.toBeNull();
                }
                const waiting = other.trust.proposals("pending", 50).map(({ scope }) => scope);
                expect(new Set(waiting).size).toBe(waiting.length);
              }
            }
          } finally {
            own.dispose();
          }
        },
      ),
      { numRuns: 25 },
    );
  });
});
