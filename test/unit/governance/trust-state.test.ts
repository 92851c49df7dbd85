import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import type { LancelotError } from "../../../agent-server/contract/errors.ts";
import type { TrustProposal } from "../../../agent-server/contract/trust.ts";
import { trustHandlers, type TrustOutcome } from "../../../agent-server/governance/trust/trust.ts";
import { actionLabel } from "../../../agent-server/governance/trust/trust-messages.ts";
import { useEarningFixture, type EarningHost, type EarningFixture } from "../../support/earning-fixture.ts";

const key = { capability: "shell_exec", action: "run", scope: "npm.install" };
const call = { owner: true, signal: new AbortController().signal };

let fixture: EarningFixture;
let host: EarningHost;
useEarningFixture((opened) => {
  ({ fixture, host } = opened);
});

function tell(result: TrustOutcome["result"], more: Partial<TrustOutcome> = {}, at = host): string {
  const defaultTier = more.defaultTier ?? "T3";
  const about = more.key ?? key;
  const receiptId = more.receiptId ?? `receipt-${fixture.next()}`;
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
const many = (times: number, more: Partial<TrustOutcome> = {}, at = host): void =>
  at.storage.transaction(() => {
    for (let index = 0; index < times; index += 1) tell("success", more, at);
  });
const pending = (at = host): TrustProposal[] => at.trust.proposals("pending", 50);
function graduate(successes: number, more: Partial<TrustOutcome> = {}): TrustProposal {
  many(successes, more);
  const about = more.key ?? key;
  const found = pending().find((one) => one.scope === about.scope && one.capability === about.capability);
  return host.trust.decide(found?.id ?? "", "accept");
}
const refusal = (id: string, decision: "accept" | "decline" | "revoke", at = host): unknown => {
  try {
    at.trust.decide(id, decision);
  } catch (error) {
    const { code, data } = error as LancelotError;
    return data === undefined ? [code] : [code, data];
  }
  return null;
};
/** The receipts of trust, oldest first: name, whose, tier, from, to, why, what they hang under. */
const receipts = () =>
  host.ledger
    .search({ limit: 500 })
    .items.filter(({ actionName }) => actionName.startsWith("trust."))
    .toReversed()
    .map(({ actionName, actionType, riskTier, inputs, outputs, parentId }) => ({
      name: actionName.slice(6),
      by: actionType,
      riskTier,
      step: `${String(inputs["from"])} ${String(inputs["to"])}`,
      proposalId: inputs["proposalId"],
      why: outputs["why"],
      parentId,
    }));

describe("what is proposed", () => {
  it.each([
    ["T3", "T2", 50],
    ["T2", "T1", 100],
    ["T1", "T0", 200],
  ] as const)("from %s to %s", (from, to, times) => {
    many(times, { defaultTier: from });
    expect(pending()).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
        ...key,
        from,
        to,
        reason: expect.stringContaining(`shell_exec.run on npm.install succeeded ${times} times`) as string,
        status: "pending",
        createdAt: "2026-11-20T10:00:00.000Z",
        decidedAt: null,
      },
    ]);
    fixture.clock += 1_000;
    const accepted = host.trust.decide(pending()[0]?.id ?? "", "accept");
    expect(accepted).toMatchObject({ status: "accepted", decidedAt: "2026-11-20T10:00:01.000Z" });
  });

  it("names what it is about", () => {
    expect(actionLabel(key)).toBe("shell_exec.run on npm.install");
    expect(actionLabel({ ...key, scope: "" })).toBe("shell_exec.run on anything");
  });
});

describe("the circuit breaker", () => {
  it("says why, suspends each, and shows it in the list", () => {
    const scopes = ["a", "b", "c", "d"];
    for (const scope of scopes) graduate(50, { key: { ...key, scope } });
    tell("failure", { key: { ...key, scope: "a" } });
    fixture.clock += 60 * 60_000 - 1;
    tell("failure", { key: { ...key, scope: "b" } });
    expect(pending()).toEqual([]);
    const last = tell("failure", { key: { ...key, scope: "c" } });
    const why = pending()[0]?.reason;
    expect(pending()).toMatchObject([{ scope: "d", from: "T3", to: "T2", reason: why }]);
    expect(host.trust.tier({ ...key, scope: "d" }, "T3")).toBeNull();
    expect(host.trust.list(10).find(({ scope }) => scope === "d")).toMatchObject({
      tier: "T3",
      successes: 0,
      nextAt: null,
      heldBy: expect.any(String),
      updatedAt: new Date(fixture.clock).toISOString(),
    });
    expect(receipts().slice(-2)).toMatchObject([
      { name: "reset", by: "system", step: "T2 T3", why },
      { name: "propose", by: "system", step: "T3 T2", why, parentId: last },
    ]);
    const id = pending()[0]?.id ?? "";
    expect(host.trust.decide(id, "accept")).toMatchObject({ status: "accepted" });
    expect(host.trust.tier({ ...key, scope: "d" }, "T3")).toBe("T2");
  });

  it("counts an hour, to the millisecond", () => {
    for (const scope of ["a", "b", "c", "d"]) graduate(50, { key: { ...key, scope } });
    tell("failure", { key: { ...key, scope: "a" } });
    fixture.clock += 60 * 60_000;
    tell("failure", { key: { ...key, scope: "b" } });
    tell("failure", { key: { ...key, scope: "c" } });
    expect(pending()).toEqual([]);
  });

  it("withdraws what was proposed meanwhile for what it suspends", () => {
    for (const scope of ["a", "b", "c"]) graduate(50, { key: { ...key, scope } });
    graduate(50);
    many(100);
    expect(pending()).toMatchObject([{ scope: key.scope, from: "T2", to: "T1" }]);
    for (const scope of ["a", "b", "c"]) tell("failure", { key: { ...key, scope } });
    expect(pending()).toMatchObject([{ scope: key.scope, from: "T3", to: "T2" }]);
    expect(host.trust.proposals("withdrawn", 10).find(({ to }) => to === "T1")).toMatchObject({ from: "T2" });
  });
});

describe("the receipts of trust", () => {
  it("say each step, who took it, why, and under which receipt", () => {
    const first = graduate(50);
    const second = graduate(100);
    host.trust.decide(first.id, "revoke");
    many(25);
    graduate(50);
    const failed = tell("failure");
    many(50);
    const declined = pending()[0]?.id ?? "";
    host.trust.decide(declined, "decline");
    const undone = tell("rollback");
    const messageOf = (from: string, to: string, times: number) =>
      expect.stringMatching(new RegExp(` ${times} times .* at ${from}\\..* to ${to}:`)) as string;
    const all = receipts();
    expect(all.map(({ name, by, riskTier, step, why }) => [name, by, riskTier, step, why])).toEqual([
      ["propose", "system", "T3", "T3 T2", messageOf("T3", "T2", 50)],
      ["accept", "user_interaction", "T3", "T3 T2", undefined],
      ["propose", "system", "T2", "T2 T1", messageOf("T2", "T1", 100)],
      ["accept", "user_interaction", "T2", "T2 T1", undefined],
      ["revoke", "user_interaction", "T3", "T2 T3", undefined],
      ["reset", "system", "T2", "T1 T2", expect.any(String)],
      ["propose", "system", "T3", "T3 T2", messageOf("T3", "T2", 50)],
      ["accept", "user_interaction", "T3", "T3 T2", undefined],
      ["reset", "system", "T3", "T2 T3", expect.any(String)],
      ["propose", "system", "T3", "T3 T2", messageOf("T3", "T2", 50)],
      ["decline", "user_interaction", "T3", "T3 T3", undefined],
    ]);
    expect(all[1]).toMatchObject({
      proposalId: first.id,
      parentId: host.ledger.search({ query: "trust.propose", limit: 50 }).items.at(-1)?.id,
    });
    expect(all[5]?.proposalId).toBe(second.id);
    expect(all[0]?.parentId).toMatch(/^receipt-/);
    expect([failed, undone]).toHaveLength(2);
    expect(host.events.filter((topic) => topic === "trust")).toHaveLength(all.length);
    const inputs = host.ledger.search({ query: "trust.accept", limit: 1 }).items[0]?.inputs;
    expect(inputs).toMatchObject({ title: "shell_exec.run on npm.install", ...key });
  });

  it("of a rollback say that it is stricter now, also at what it took back", () => {
    graduate(100, { defaultTier: "T2" });
    const undone = tell("rollback", { defaultTier: "T2" });
    expect(receipts().slice(2)).toMatchObject([
      { name: "rollback", by: "system", step: "T1 T3", why: expect.any(String), parentId: undone },
      { name: "reset", step: "T1 T2", why: expect.any(String) },
    ]);
  });

  it("of what changed files say that it keeps its checkpoint", () => {
    graduate(200, { defaultTier: "T1" });
    tell("success", { defaultTier: "T1", changesFiles: true });
    expect(receipts().at(-1)).toMatchObject({ name: "reset", step: "T0 T1", why: expect.any(String) });
    graduate(200, { defaultTier: "T1", key: { ...key, scope: "b" } });
    tell("refused", { defaultTier: "T1", changesFiles: true, key: { ...key, scope: "b" } });
    expect(receipts().at(-1)).toMatchObject({ name: "reset", step: "T0 T1", why: expect.any(String) });
  });

  it("of a proposal that lost its reason say so", () => {
    many(50);
    tell("success", { heldBy: "The soul holds this." });
    expect(receipts().at(-1)).toMatchObject({ name: "withdraw", step: "T3 T2", why: expect.any(String) });
    expect(pending()).toEqual([]);
  });
});

describe("messages for the owner", () => {
  it("when an answer comes too late", () => {
    const { id } = graduate(50);
    expect(refusal(id, "accept")).toEqual(["conflict", { status: "accepted" }]);
    expect(refusal(id, "decline")).toEqual(["conflict", { status: "accepted" }]);
    host.trust.decide(id, "revoke");
    expect(refusal(id, "revoke")).toEqual(["conflict", { status: "revoked" }]);
    many(75);
    const next = pending()[0]?.id ?? "";
    tell("failure");
    expect(refusal(next, "accept")).toEqual(["conflict", { status: "withdrawn" }]);
    expect(refusal("x".repeat(300), "accept")).toEqual(["not_found"]);
  });

  it("when the reason has gone without being noticed, or the record has", () => {
    many(50);
    const [proposal] = pending();
    host.storage.db.prepare("UPDATE trust_records SET successes = 3").run();
    expect(refusal(proposal?.id ?? "", "accept")).toEqual(["conflict"]);
    expect(receipts().at(-1)).toMatchObject({ name: "withdraw", why: expect.any(String) });
    many(50);
    host.storage.db.prepare("DELETE FROM trust_records").run();
    expect(refusal(pending()[0]?.id ?? "", "accept")).toEqual(["not_found"]);
  });

  it("when the numbers cannot be used", () => {
    const accepted = graduate(50);
    many(50, { key: { ...key, scope: "make" } });
    const id = pending()[0]?.id ?? "";
    host.close();
    rmSync(join(fixture.configDir, "trust.yaml"));
    host = fixture.open();
    expect(host.trust.problem()).toContain("config/trust.yaml");
    expect(host.logged).toHaveLength(1);
    expect(refusal(id, "accept")).toEqual(["unavailable"]);
    expect(host.trust.tier(key, "T3")).toBeNull();
    expect(host.trust.list(10).find(({ scope }) => scope === key.scope)).toMatchObject({
      tier: "T3",
      heldBy: expect.stringContaining("config/trust.yaml"),
    });
    expect(host.trust.decide(id, "decline")).toMatchObject({ status: "declined" });
    expect(host.trust.decide(accepted.id, "revoke")).toMatchObject({ status: "revoked" });
    many(60);
    expect(pending()).toEqual([]);
  });
});

describe("cool-down after a denial", () => {
  const coolDown = (scope = key.scope) => host.trust.list(10).find((one) => one.scope === scope)?.coolDown;

  it.each([
    ["declining", "decline", 50],
    ["withdrawing", "revoke", 25],
  ] as const)("%s pauses as long as documented, and does not shorten a longer pause", (_, decision, rest) => {
    many(50);
    const id = pending()[0]?.id ?? "";
    if (decision === "revoke") host.trust.decide(id, "accept");
    host.trust.decide(id, decision);
    expect(coolDown()).toBe(rest);
    expect(host.trust.list(10)[0]).toMatchObject({ tier: "T3" });
    tell("success");
    expect(coolDown()).toBe(rest - 1);
    host.storage.db.prepare("UPDATE trust_records SET cool_down = 80").run();
    tell("refused");
    expect(coolDown()).toBe(80);
  });
});

describe("failed writes", () => {
  const fail = () =>
    vi.spyOn(host.storage, "transaction").mockImplementationOnce(() => {
      throw new Error("disk full");
    });

  it("of something good costs nothing but the count", () => {
    graduate(50);
    fail();
    tell("success");
    expect(host.logged).toHaveLength(1);
    expect(host.trust.tier(key, "T3")).toBe("T2");
    fail();
    tell("failure");
    expect(host.trust.tier(key, "T3")).toBeNull();
    expect(fixture.open().trust.tier(key, "T3")).toBe("T2");
  });

  it("of a rollback is not lifted any more in this window, each kind of action of it", () => {
    graduate(50);
    const receiptId = tell("success");
    fail();
    host.trust.rolledBack([receiptId]);
    expect(host.logged).toHaveLength(1);
    expect(host.trust.tier(key, "T3")).toBeNull();
    expect(fixture.open().trust.tier(key, "T3")).toBe("T2");
  });
});

describe("rollbacks by receipt", () => {
  it("count for what they were, each once, and leave refusals alone", () => {
    graduate(100, { defaultTier: "T2" });
    const done = tell("success", { defaultTier: "T2" });
    const refused = tell("refused", { defaultTier: "T2" });
    host.trust.rolledBack(["never told", refused]);
    expect(host.trust.list(1)[0]).toMatchObject({ rollbacks: 0 });
    host.trust.rolledBack([done, done]);
    expect(host.trust.list(1)[0]).toMatchObject({ rollbacks: 1, tier: "T3", defaultTier: "T2" });
    host.storage.db.prepare("DELETE FROM trust_records").run();
    const lost = tell("success");
    host.storage.db.prepare("DELETE FROM trust_records").run();
    host.trust.rolledBack([lost]);
    expect(host.trust.list(5)).toEqual([]);
    expect(host.logged).toEqual([]);
  });

  it("of what was lifted count for the breaker", () => {
    for (const scope of ["a", "b", "c", "d"]) graduate(50, { key: { ...key, scope } });
    const done = ["a", "b", "c"].map((scope) => tell("success", { key: { ...key, scope } }));
    const unlifted = ["x", "y", "z"].map((scope) => tell("success", { key: { ...key, scope } }));
    host.trust.rolledBack(unlifted);
    expect(host.trust.tier({ ...key, scope: "d" }, "T3")).toBe("T2");
    host.trust.rolledBack(done);
    expect(host.trust.tier({ ...key, scope: "d" }, "T3")).toBeNull();
  });
});

describe("invalid keys", () => {
  it.each([
    [{ ...key, capability: "c".repeat(301) }, 0],
    [{ ...key, action: "a".repeat(301) }, 0],
    [{ ...key, scope: "s".repeat(301) }, 0],
    [{ ...key, scope: "s".repeat(300) }, 1],
    [{ ...key, scope: "a\0b" }, 0],
    [{ ...key, action: "a\0b" }, 0],
  ])("%j", (about, kept) => {
    tell("success", { key: about });
    expect(host.trust.list(10)).toHaveLength(kept);
  });
});

describe("recorded outcomes", () => {
  it("is forgotten after 90 days, at most once a day", () => {
    const reported = () => host.storage.db.prepare("SELECT count(*) FROM trust_outcomes").pluck().get();
    tell("success");
    fixture.clock += 90 * 86_400_000;
    tell("success");
    expect(reported()).toBe(2);
    fixture.clock += 86_400_000 - 1;
    tell("success");
    expect(reported()).toBe(3);
    fixture.clock += 1;
    tell("success");
    expect(reported()).toBe(3);
  });
});

describe("the contract's methods", () => {
  it("show records, proposals by state, newest first, and take the owner's decision", async () => {
    const handlers = trustHandlers(host.trust);
    many(50);
    fixture.clock += 1_000;
    many(50, { key: { ...key, scope: "make" } });
    const scopes = async (params: Parameters<(typeof handlers)["trust.proposals"]>[0]) =>
      (await handlers["trust.proposals"](params, call)).items.map(({ scope }) => scope);
    expect(await scopes({ limit: 10 })).toEqual(["make", "npm.install"]);
    expect(await scopes({ limit: 1 })).toEqual(["make"]);
    expect(await scopes({ status: "accepted", limit: 10 })).toEqual([]);
    expect((await handlers["trust.list"]({ limit: 10 }, call)).items.map(({ scope }) => scope)).toEqual(["make", "npm.install"]);
    expect((await handlers["trust.list"]({ limit: 1 }, call)).items).toHaveLength(1);
    const id = pending()[0]?.id ?? "";
    expect(await handlers["trust.decide"]({ id, decision: "accept" }, call)).toMatchObject({ id, status: "accepted" });
  });
});
