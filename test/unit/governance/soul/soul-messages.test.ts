import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { LancelotError } from "../../../../agent-server/contract/errors.ts";
import type { SoulProposal } from "../../../../agent-server/contract/soul.ts";
import { soulHash } from "../../../../agent-server/governance/soul/compile-soul.ts";
import { createSoulFixture, shippedSoul, type SoulFixture } from "../../../support/soul-fixture.ts";

const fixtures: SoulFixture[] = [];
function fixture(...args: Parameters<typeof createSoulFixture>): SoulFixture {
  const made = createSoulFixture(...args);
  fixtures.push(made);
  return made;
}
afterEach(() => {
  for (const one of fixtures.splice(0)) one.dispose();
});

const pushFree = shippedSoul.replace("    - push\n", "");
const vague = shippedSoul.replace("- push\n", "- push\n    - be_kind\n");
const unsound = shippedSoul.replace("no_autonomous_irreversible: true", "no_autonomous_irreversible: false");
const owner = { by: "owner", questId: null, reason: "Pushing is fine." } as const;
const agent = { by: "agent", questId: "q1", reason: "It would be handy." } as const;
const numbered = (index: number) => shippedSoul.replace("Plain, brief", `Plain (${index}), brief`);
const refusal = (work: () => unknown): unknown => {
  try {
    work();
  } catch (error) {
    const { code, data } = error as LancelotError;
    const status = (data as { status?: unknown } | undefined)?.status;
    return status === undefined ? [code] : [code, status];
  }
  return null;
};
const v2 = (yaml: string) => yaml.replace("version: v1", "version: v2");

describe("the owner's messages when the soul is not changed", () => {
  it("because of the text, or of what waits", () => {
    const { soul } = fixture();
    expect(refusal(() => soul.propose({ yaml: "#".repeat(200_001), ...owner }))).toEqual(["too_large"]);
    expect(refusal(() => soul.propose({ yaml: `#${"語".repeat(66_667)}`, ...owner }))).toEqual(["too_large"]);
    const long = soul.propose({ yaml: `${pushFree}#${"x".repeat(200_000 - Buffer.byteLength(pushFree) - 1)}`, ...owner });
    expect(soul.reject(long.id).status).toBe("rejected");
    expect(refusal(() => soul.propose({ yaml: numbered(1), ...owner, reason: " \n" }))).toEqual(["invalid_params"]);
    expect(refusal(() => soul.propose({ yaml: shippedSoul, ...owner }))).toEqual(["conflict"]);
    soul.propose({ yaml: pushFree, ...owner });
    expect(refusal(() => soul.propose({ yaml: pushFree, ...agent }))).toEqual(["conflict"]);
    for (let index = 0; index < 20; index += 1) soul.propose({ yaml: numbered(index), ...agent });
    expect(refusal(() => soul.propose({ yaml: numbered(20), ...agent }))).toEqual(["rate_limited"]);
  });

  it("because of the answer that was given, or of what is active by now", () => {
    const { soul, adopt } = fixture();
    const { id } = soul.propose({ yaml: pushFree, ...owner });
    expect(refusal(() => soul.activate(id))).toEqual(["conflict", "pending"]);
    soul.approve(id);
    expect(refusal(() => soul.approve(id))).toEqual(["conflict", "approved"]);
    adopt(numbered(1));
    expect(refusal(() => soul.activate(id))).toEqual(["conflict"]);
    soul.reject(id);
    for (const act of [soul.approve, soul.activate, soul.reject]) expect(refusal(() => act(id))).toEqual(["conflict", "rejected"]);
    const other = soul.propose({ yaml: numbered(2), ...owner });
    soul.approve(other.id);
    soul.activate(other.id);
    for (const act of [soul.approve, soul.activate, soul.reject]) expect(refusal(() => act(other.id))).toEqual(["conflict", "activated"]);
    for (const act of [soul.approve, soul.activate, soul.reject]) expect(refusal(() => act("x".repeat(300)))).toEqual(["not_found"]);
  });

  it("because its own text was changed by somebody, with the same number", () => {
    const { soul, storage } = fixture();
    const { id } = soul.propose({ yaml: pushFree, ...owner });
    storage.db.prepare("UPDATE soul_proposals SET from_sha256 = 'x' WHERE id = ?").run(id);
    expect(refusal(() => soul.approve(id))).toMatchObject(["conflict"]);
  });

  it("because of the lint, with the line", () => {
    const { soul, storage, write } = fixture();
    const line = unsound.split("\n").findIndex((text) => text.includes("no_autonomous_irreversible")) + 1;
    expect(soul.lint(unsound)[0]).toMatchObject({ severity: "critical", line });
    for (const yaml of [unsound, "[]"]) {
      expect(refusal(() => soul.propose({ yaml, ...agent }))).toEqual(["invalid_params"]);
      // An earlier version of Lancelot stored such proposals.
      const { id } = soul.propose({ yaml: `${pushFree}# ${yaml.length}\n`, ...agent });
      storage.db.prepare("UPDATE soul_proposals SET yaml = ? WHERE id = ?").run(yaml, id);
      expect(refusal(() => soul.approve(id))).toEqual(["conflict"]);
    }
    write("soul_versions/soul_v5.yaml", unsound.replace("version: v1", "version: v5"));
    expect(refusal(() => soul.rollback("v5"))).toEqual(["conflict"]);
    write("soul_versions/soul_v6.yaml", pushFree);
    expect(refusal(() => soul.rollback("v6"))).toEqual(["conflict"]);
    expect(refusal(() => soul.rollback("v1"))).toEqual(["conflict"]);
    expect(refusal(() => soul.rollback("v9"))).toEqual(["not_found"]);
    mkdirSync(join(fixtures[0]?.folder ?? "", "soul_versions/soul_v8.yaml"));
    expect(refusal(() => soul.rollback("v8"))).toEqual(["conflict"]);
    write("soul_versions/soul_v7.yaml", "a: [");
    expect(refusal(() => soul.get("v7"))).toMatchObject(["conflict"]);
  });

  it("because the flag is off", () => {
    const { soul } = fixture({ enabled: () => false });
    const content = ["disabled"];
    expect(refusal(() => soul.rollback("v1"))).toEqual(content);
    expect(refusal(() => soul.propose({ yaml: pushFree, ...owner }))).toEqual(content);
    expect(soul.problem()).toBeNull();
    expect(soul.prompt()).toBeNull();
    expect(soul.restricted({} as never)).toBeNull();
  });

  it("because no soul is active", () => {
    const first = fixture();
    first.close();
    rmSync(join(first.base, "data"), { recursive: true });
    rmSync(join(first.base, "product/soul"), { recursive: true });
    mkdirSync(join(first.base, "data"));
    const { soul, logged } = fixture({}, first.base);
    expect(refusal(() => soul.propose({ yaml: pushFree, ...owner }))).toEqual(["unavailable"]);
    expect(refusal(() => soul.get())).toEqual(["not_found"]);
    expect(soul.status()).toEqual({
      activeVersion: null,
      versions: [],
      pendingProposals: [],
      problem: expect.stringContaining("soul/ACTIVE"),
    });
    expect(logged).toContainEqual(expect.stringContaining("soul/ACTIVE"));
    expect(soul.active()?.document).toMatchObject({
      version: "v1",
      autonomy_posture: {
        level: "supervised",
        allowed_autonomous: [],
        requires_approval: ["everything"],
      },
      approval_rules: {
        default_timeout_seconds: 3600,
        escalation_on_timeout: "skip_and_log",
        channels: ["war_room", "chat", "notification", "terminal"],
      },
      tone_invariants: [expect.stringMatching(/silent.*fail/)],
      memory_ethics: [expect.stringMatching(/secret/)],
      scheduling_boundaries: { max_concurrent_jobs: 0, no_autonomous_irreversible: true, require_ready_state: true },
    });
    expect(soul.active()?.document.risk_rules).toEqual([]);
  });
});

describe("problems of the soul folder", () => {
  it.each<[string, (one: SoulFixture) => void, RegExp]>([
    ["a version changed by hand", (one) => one.write("soul_versions/soul_v2.yaml", "x"), /^soul_v2\.yaml/],
    ["a version that is gone", (one) => rmSync(join(one.folder, "soul_versions/soul_v2.yaml")), /^soul_v2\.yaml/],
    ["ACTIVE that is gone", (one) => rmSync(join(one.folder, "ACTIVE")), /^soul\/ACTIVE.*v2/],
    ["a version nobody has", (one) => one.write("ACTIVE", "v8"), /^soul_v8\.yaml.*v2/],
    [
      "a version with another number in it",
      (one) => {
        one.write("soul_versions/soul_v8.yaml", shippedSoul);
        one.write("ACTIVE", "v8");
      },
      /^soul_v8\.yaml.* v1\..* v8\..*v2/,
    ],
    [
      "a version the lint refuses",
      (one) => {
        one.write("soul_versions/soul_v8.yaml", "version: v8\n");
        one.write("ACTIVE", "v8");
      },
      /^soul_v8\.yaml.*\(line \d+\): \S.*v2/,
    ],
  ])("%s", (_, harm, problem) => {
    const one = fixture();
    one.adopt(pushFree);
    harm(one);
    expect(one.soul.status().problem).toMatch(problem);
    expect(one.soul.problem()).toBe(one.soul.status().problem);
    const [check] = one.ledger.search({ query: "soul.check", limit: 1 }).items;
    expect(check).toMatchObject({
      actionType: "system",
      riskTier: "T0",
      inputs: { title: "soul/ACTIVE" },
      status: "failure",
      errorMessage: one.soul.problem(),
    });
    // After a restart it is the same, from what the database holds.
    const again = one.beside();
    fixtures.push(again);
    expect(again.soul.problem()).toBe(one.soul.problem());
    expect(again.soul.active()?.version).toBe("v2");
  });

  it("where an earlier one is used, or the one that ships", () => {
    const one = fixture();
    one.adopt(pushFree);
    one.adopt(numbered(3));
    one.close();
    const storage = fixture({}, one.base);
    storage.storage.db.exec("DROP TABLE soul_activating");
    expect(storage.soul.active()?.version).toBe("v3");
    storage.close();
    const base = fixture();
    base.close();
    rmSync(join(base.base, "data"), { recursive: true });
    mkdirSync(join(base.base, "data/soul"), { recursive: true });
    writeFileSync(join(base.base, "data/soul/ACTIVE"), "v1");
    const other = fixture({}, base.base);
    expect(other.soul.problem()).toContain("soul_v1.yaml");
    // The last fall-back does not stay when there is something better.
    other.write("ACTIVE", "v4");
    mkdirSync(join(other.folder, "soul_versions"));
    other.write("soul_versions/soul_v4.yaml", pushFree.replace("version: v1", "version: v4"));
    other.write("ACTIVE", "v4\n");
    expect(other.soul.active()?.version).toBe("v4");
    expect(other.soul.problem()).toBeNull();
  });

  it("with words of the soul that cannot be read", () => {
    const base = fixture();
    base.close();
    writeFileSync(join(base.base, "product/config/governance.yaml"), "x: 1\n");
    const { soul, logged } = fixture({}, base.base);
    expect(soul.problem()).toContain("governance.yaml");
    expect(logged).not.toEqual([]);
    expect(soul.lint(pushFree)).toEqual([]);
  });
});

describe("the receipts of the soul", () => {
  it("say what was done, by whom and why", () => {
    const one = fixture();
    const first: SoulProposal = one.soul.propose({ yaml: pushFree, ...agent, reason: `Because. ${"x".repeat(300)}`, parentId: "the turn" });
    one.soul.approve(first.id);
    one.soul.activate(first.id);
    one.soul.rollback("v1");
    const second = one.soul.propose({ yaml: vague, ...owner });
    one.soul.reject(second.id, "No.");
    const third = one.soul.propose({ yaml: numbered(1), ...owner });
    one.soul.reject(third.id);
    one.write("ACTIVE", "v2\n");
    one.soul.active();
    const title = first.reason.slice(0, 200);
    const sha256 = soulHash(v2(pushFree));
    const of = ({ actionName, actionType, riskTier, questId, parentId, inputs, outputs }: (typeof all)[number]) => [
      actionName,
      ...[actionType, riskTier, questId, parentId],
      ...[inputs, outputs],
    ];
    const all = one.ledger.search({ query: "soul", limit: 50 }).items.toReversed();
    const proposed = { fromVersion: "v1", toVersion: "v2" };
    expect(all.map(of)).toEqual([
      [
        "soul.propose",
        ...["system", "T1", "q1", "the turn"],
        ...[
          { proposalId: first.id, ...proposed, proposedBy: "agent", reason: first.reason },
          { issues: [], bytes: Buffer.byteLength(pushFree) },
        ],
      ],
      ["soul.approve", "user_interaction", "T3", "q1", null, { proposalId: first.id, fromVersion: "v1", title }, { answer: "approved" }],
      [
        "soul.activate",
        ...["system", "T3", null, null],
        ...[
          { proposalId: first.id, from: "v1", title, version: "v2", sha256 },
          { version: "v2", sha256 },
        ],
      ],
      [
        "soul.rollback",
        ...["system", "T3", null, null],
        ...[
          { from: "v2", version: "v1", sha256: soulHash(shippedSoul) },
          { version: "v1", sha256: soulHash(shippedSoul) },
        ],
      ],
      [
        "soul.propose",
        ...["user_interaction", "T1", null, null],
        ...[
          { proposalId: second.id, fromVersion: "v1", toVersion: "v3", proposedBy: "owner", reason: owner.reason },
          { issues: ["warning: unknown_term"], bytes: Buffer.byteLength(vague) },
        ],
      ],
      [
        "soul.reject",
        ...["user_interaction", "T3", null, null],
        ...[
          { proposalId: second.id, fromVersion: "v1", title: owner.reason },
          { answer: "rejected", reason: "No." },
        ],
      ],
      [
        "soul.propose",
        ...["user_interaction", "T1", null, null],
        ...[
          { proposalId: third.id, fromVersion: "v1", toVersion: "v3", proposedBy: "owner", reason: owner.reason },
          { issues: [], bytes: Buffer.byteLength(numbered(1)) },
        ],
      ],
      [
        "soul.reject",
        "user_interaction",
        "T3",
        null,
        null,
        { proposalId: third.id, fromVersion: "v1", title: owner.reason },
        { answer: "rejected" },
      ],
      ["soul.found", "system", "T3", null, null, { title: "soul/ACTIVE was changed by hand", version: "v2", sha256 }, {}],
    ]);
  });

  it("of a version put there by hand name its hash", () => {
    const one = fixture();
    const mine = pushFree.replace("version: v1", "version: v4");
    one.write("soul_versions/soul_v4.yaml", mine);
    one.write("ACTIVE", "v4");
    one.soul.active();
    expect(one.ledger.search({ query: "soul.found", limit: 1 }).items[0]?.inputs).toEqual({
      title: "soul/ACTIVE was changed by hand",
      version: "v4",
      sha256: soulHash(mine),
    });
    expect(one.storage.db.prepare("SELECT version, origin FROM soul_versions ORDER BY number").raw().all()).toEqual([
      ["v1", "shipped"],
      ["v4", "found"],
    ]);
  });
});

describe("a host that dies during an activation", () => {
  function dying(at: "prepared" | "written" | "pointed"): { base: string; id: string } {
    let storage: SoulFixture["storage"] | null = null;
    const one = fixture({
      between: (step) => {
        if (step !== at) return;
        // From here on nothing of this host reaches the database any more.
        storage?.close();
        throw new Error("gone");
      },
    });
    const { id } = one.soul.propose({ yaml: pushFree, ...owner });
    one.soul.approve(id);
    ({ storage } = one);
    expect(() => one.soul.activate(id)).toThrow();
    return { base: one.base, id };
  }

  it.each(["prepared", "written"] as const)("after it was %s has it rolled back by the next one", (step) => {
    const { base, id } = dying(step);
    const next = fixture({}, base);
    expect(next.soul.status()).toMatchObject({ activeVersion: "v1", versions: ["v1"], problem: null });
    expect(readdirSync(join(next.folder, "soul_versions"))).toEqual(["soul_v1.yaml"]);
    const [receipt] = next.ledger.search({ query: "soul.activate", limit: 1 }).items;
    expect(receipt).toMatchObject({ status: "failure", errorMessage: expect.any(String) });
    expect(next.soul.activate(id)).toMatchObject({ status: "activated", toVersion: "v2" });
  });

  it("after the pointer moved has it completed by the next one", () => {
    const { base, id } = dying("pointed");
    const next = fixture({}, base);
    expect(next.soul.status()).toMatchObject({ activeVersion: "v2", versions: ["v1", "v2"], pendingProposals: [], problem: null });
    expect(next.soul.proposals({ limit: 1 })[0]).toMatchObject({ id, status: "activated", toVersion: "v2" });
    const [receipt] = next.ledger.search({ query: "soul.activate", limit: 1 }).items;
    expect(receipt).toMatchObject({ status: "success", outputs: { version: "v2", sha256: soulHash(v2(pushFree)) } });
    expect(next.receipts()).toEqual(["soul.propose success", "soul.approve success", "soul.activate success"]);
  });

  it("leaves a version file that somebody changed meanwhile where it is", () => {
    const { base } = dying("written");
    writeFileSync(join(base, "data/soul/soul_versions/soul_v2.yaml"), "mine");
    const next = fixture({}, base);
    expect(next.read("soul_versions/soul_v2.yaml")).toBe("mine");
    expect(next.soul.status()).toMatchObject({ activeVersion: "v1" });
  });
});

describe("a disk that rejects writes", () => {
  it("leaves the soul as it was, with a message, and a version that was in force before where it is", () => {
    const one = fixture();
    one.adopt(pushFree);
    rmSync(join(one.folder, "ACTIVE"));
    mkdirSync(join(one.folder, "ACTIVE/in-the-way"), { recursive: true });
    expect(refusal(() => one.soul.rollback("v1"))).toEqual(["unavailable"]);
    expect(one.soul.status()).toMatchObject({ activeVersion: "v2", versions: ["v1", "v2"] });
    expect(one.ledger.search({ query: "soul.rollback", limit: 1 }).items[0]).toMatchObject({
      status: "failure",
      errorMessage: expect.any(String),
    });
    expect(one.storage.db.prepare("SELECT count(*) FROM soul_activating").pluck().get()).toBe(0);
  });

  it("when it is full, says so", () => {
    const one = fixture({
      between: (step) => {
        if (step === "written") throw Object.assign(new Error("full"), { code: "ENOSPC" });
      },
    });
    const { id } = one.soul.propose({ yaml: pushFree, ...owner });
    one.soul.approve(id);
    expect(refusal(() => one.soul.activate(id))).toEqual(["unavailable"]);
    expect(one.soul.status()).toMatchObject({ activeVersion: "v1", versions: ["v1"] });
  });

  it("or a version file that is in the way, does", () => {
    const one = fixture();
    one.adopt(pushFree);
    one.write("soul_versions/soul_v1.yaml", "mine");
    expect(refusal(() => one.soul.rollback("v1"))).toEqual(["conflict"]);
    rmSync(join(one.folder, "soul_versions/soul_v1.yaml"));
    mkdirSync(join(one.folder, "soul_versions/soul_v1.yaml"));
    expect(refusal(() => one.soul.rollback("v1"))).toEqual(["conflict"]);
  });
});

describe("status events", () => {
  it("of a hand's change is told once, with the state it left", () => {
    const one = fixture();
    const there = one.beside();
    fixtures.push(there);
    expect(one.events).toEqual([]);
    one.adopt(pushFree);
    there.soul.notice();
    there.soul.notice();
    expect(there.events).toEqual([{ activeVersion: "v2", versions: ["v1", "v2"], pendingProposals: [], problem: null }]);
  });

  it("does not stop what was done when nobody can be told", () => {
    const one = fixture({
      emit: () => {
        throw new Error("closed");
      },
    });
    expect(one.adopt(pushFree)).toBe("v2");
    expect(one.logged).not.toEqual([]);
  });

  it("of proposals that cannot be looked at is nothing, and is logged", () => {
    const one = fixture();
    one.storage.db.exec("DROP TABLE soul_proposals");
    one.soul.notice();
    expect(one.logged).not.toEqual([]);
  });
});
