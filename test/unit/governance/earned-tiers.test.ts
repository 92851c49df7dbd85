import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Approval, ApprovalDecision, Intent } from "../../../agent-server/contract/governance.ts";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import type { Authorization } from "../../../agent-server/governance/governance.ts";
import { createGovernanceFixture, type GovernanceFixture, intent } from "../../support/governance-fixture.ts";

/** T2, asked because the soul does not name skills, and held by nothing. */
const skill = (questId: string, name = "formatter"): Intent => intent("skill", "run", { name, permissions: ["read_input"] }, { questId });
const remove = (questId: string): Intent => intent("file_ops", "delete", { path: "src/a.ts" }, { questId });

let clock: number;
let fixture: GovernanceFixture;
let beside: GovernanceFixture | null;
let number: number;
beforeEach(() => {
  clock = Date.parse("2026-11-20T10:00:00Z");
  number = 0;
  fixture = createGovernanceFixture({ now: () => clock });
  beside = null;
});
afterEach(() => {
  beside?.close();
  fixture.dispose();
});

function secondWindow(): GovernanceFixture {
  beside = fixture.beside({ now: () => clock });
  return beside;
}

/** Asks the gate, and the owner where the gate does; null when it was refused. */
async function attempt(
  what: Intent,
  answer: ApprovalDecision = "allow_once",
  at = fixture,
): Promise<{ asked: Approval | null; authorization: Authorization | null; error: LancelotError | null }> {
  let asked: Approval | null = null;
  try {
    const authorization = await at.governance.authorize(
      what,
      { title: "Do it", detail: "it" },
      {
        quest: what.questId ?? null,
        parent: null,
        signal: new AbortController().signal,
        onWaiting(approval) {
          asked = approval;
          at.governance.approvals.decide(approval.id, answer);
        },
      },
    );
    at.governance.redeem(authorization, what);
    return { asked, authorization, error: null };
  } catch (error) {
    if (!(error instanceof LancelotError)) throw error;
    return { asked, authorization: null, error };
  }
}

/** Does it with leave, and tells how it went; the receipt. */
async function carry(what: Intent, result: "success" | "failure" = "success", at = fixture): Promise<string> {
  const { authorization } = await attempt(what, "allow_once", at);
  if (authorization === null) throw new Error("It was refused.");
  number += 1;
  const receiptId = `receipt-${number}`;
  const { decision, approvalId } = authorization;
  at.governance.outcome({ receiptId, questId: what.questId ?? null, steps: [{ intent: what, decision, approvalId }], result });
  return receiptId;
}

async function answers(times: number, answer: ApprovalDecision, make: (questId: string) => Intent = skill): Promise<void> {
  for (let index = 0; index < times; index += 1) await attempt(make(`quest-${index % 4}-${index}`), answer);
}

describe("approval learning changes what is asked", () => {
  async function learn(answer: ApprovalDecision): Promise<string> {
    await answers(20, answer);
    const [proposal] = fixture.governance.learning.proposals("pending", 10);
    const { rule } = fixture.governance.learning.decide(proposal?.id ?? "", "accept");
    return rule?.id ?? "";
  }

  it("after the owner accepts, and not before; in every window, and what the rule answers is no observation", async () => {
    await answers(20, "allow_once");
    const [proposal] = fixture.governance.learning.proposals("pending", 10);
    expect(proposal).toMatchObject({ verdict: "allow", pattern: { capability: "skill", action: "run", scope: "formatter" } });
    expect((await attempt(skill("q"))).asked).not.toBeNull();
    const { rule } = fixture.governance.learning.decide(proposal?.id ?? "", "accept");
    for (const at of [fixture, secondWindow()]) {
      const { asked, authorization } = await attempt(skill("q"), "allow_once", at);
      expect(asked).toBeNull();
      expect(authorization?.decision).toMatchObject({
        verdict: "allow",
        tier: "T2",
        rules: [{ id: `learning.${rule?.id}`, source: "learning" }, {}],
      });
    }
    expect(fixture.governance.learning.rules("active", 10)).toMatchObject([{ decidedInAll: 2 }]);
    expect(fixture.storage.db.prepare("SELECT count(*) FROM learning_observations").pluck().get()).toBe(21);
    // Another skill is another question.
    expect((await attempt(skill("q", "linter"))).asked).not.toBeNull();
  });

  it("50 times a day, then the owner is asked until the next day", async () => {
    await learn("allow_once");
    let asked = 0;
    for (let index = 0; index < 55; index += 1) if ((await attempt(skill(`x-${index}`))).asked !== null) asked += 1;
    expect(asked).toBe(5);
    clock += 86_400_000;
    expect((await attempt(skill("tomorrow"))).asked).toBeNull();
  });

  it("until what it allowed fails, or is undone, or the owner says no to the same", async () => {
    const id = await learn("allow_once");
    await carry(skill("a"), "failure");
    expect((await attempt(skill("b"))).asked).not.toBeNull();
    fixture.governance.learning.decide(id, "confirm");
    const done = await carry(skill("c"));
    expect((await attempt(skill("d"))).asked).toBeNull();
    fixture.governance.rolledBack({ receiptIds: [done], questId: "c" });
    expect(fixture.governance.learning.rules("needs_confirmation", 10)).toHaveLength(1);
  });

  it("a learned no refuses without asking", async () => {
    await learn("deny");
    const { asked, error } = await attempt(skill("q"));
    expect(asked).toBeNull();
    expect(error).toMatchObject({ code: "denied" });
  });

  it("never for what counts as irreversible, however often the owner allowed it", async () => {
    await answers(60, "allow_once", remove);
    expect(fixture.governance.learning.proposals("pending", 10)).toEqual([]);
    expect(fixture.governance.trust.proposals("pending", 10)).toEqual([]);
    expect((await attempt(remove("q"))).asked).not.toBeNull();
  });
});

describe("trust changes what is asked", () => {
  async function graduate(): Promise<string> {
    fixture.storage.transaction(() => {
      // What the gate tells of a hundred successes at T2; the leave of each is not the point here.
      const decision = fixture.governance.evaluate(skill("q"));
      for (let index = 0; index < 100; index += 1)
        fixture.governance.outcome({
          receiptId: `earned-${index}`,
          questId: "q",
          steps: [{ intent: skill("q"), decision, approvalId: "a" }],
          result: "success",
        });
    });
    const [proposal] = fixture.governance.trust.proposals("pending", 10);
    expect(proposal).toMatchObject({ capability: "skill", action: "run", scope: "formatter", from: "T2", to: "T1" });
    expect((await attempt(skill("q"))).asked).not.toBeNull();
    fixture.governance.trust.decide(proposal?.id ?? "", "accept");
    return proposal?.id ?? "";
  }

  it("after the owner accepts, in every window, until it fails", async () => {
    await graduate();
    for (const at of [fixture, secondWindow()]) {
      const { asked, authorization } = await attempt(skill("q"), "allow_once", at);
      expect(asked).toBeNull();
      expect(authorization?.decision).toMatchObject({ verdict: "allow", tier: "T1" });
      expect(authorization?.decision.rules.map(({ id }) => id)).toContain("trust.earned");
    }
    await carry(skill("q"), "failure");
    for (const at of [fixture, beside ?? fixture]) expect(at.governance.evaluate(skill("q"))).toMatchObject({ verdict: "ask", tier: "T2" });
  });

  it("until the owner withdraws it", async () => {
    const id = await graduate();
    fixture.governance.trust.decide(id, "revoke");
    expect(fixture.governance.evaluate(skill("q"))).toMatchObject({ verdict: "ask", tier: "T2" });
  });

  it("a rollback makes it stricter than it began", async () => {
    await graduate();
    const receiptId = await carry(skill("q"));
    fixture.governance.rolledBack({ receiptIds: [receiptId], questId: "q" });
    expect(fixture.governance.evaluate(skill("q"))).toMatchObject({ verdict: "ask", tier: "T3", rules: [{ id: "trust.lost" }] });
  });

  it("never past the soul: what it comes to hold is asked at T3 at the next decision, and a learned rule does not help", async () => {
    await graduate();
    await answers(20, "allow_once", (questId) => skill(questId, "linter"));
    const [learned] = fixture.governance.learning.proposals("pending", 10);
    fixture.governance.learning.decide(learned?.id ?? "", "accept");
    const { soul } = fixture.governance;
    const { yaml } = soul.get();
    const stricter = yaml
      .replace("version: v1", "version: v2")
      .replace("  requires_approval:\n", "  requires_approval:\n    - run_skills\n");
    const { id } = soul.propose({ yaml: stricter, reason: "Skills are asked about.", by: "owner", questId: null });
    soul.approve(id);
    expect(fixture.governance.evaluate(skill("q"))).toMatchObject({ verdict: "allow", tier: "T1" });
    soul.activate(id);
    for (const at of [fixture, secondWindow()]) {
      for (const name of ["formatter", "linter"]) {
        const decision = at.governance.evaluate(skill("q", name));
        expect(decision).toMatchObject({ verdict: "ask", tier: "T3" });
        expect(decision.rules.map(({ id: rule }) => rule)).toContain("soul.requires-approval");
      }
    }
    soul.rollback("v1");
    expect(fixture.governance.evaluate(skill("q"))).toMatchObject({ verdict: "allow", tier: "T1" });
  });

  it("a refusal by the owner starts its rest; one by the rules, or by nobody, teaches nothing", async () => {
    await carry(skill("q"));
    const standing = () => fixture.governance.trust.list(10).map(({ coolDown }) => coolDown);
    await attempt(intent("file_ops", "read", { path: ".env" }));
    expect(standing()).toEqual([0]);
    await attempt(skill("q"), "deny");
    expect(standing()).toEqual([50]);
  });
});

it("statistics count what the gate decided", async () => {
  await attempt(intent("file_ops", "read", { path: "src/a.ts" }));
  await attempt(skill("q"), "deny");
  await attempt(intent("file_ops", "read", { path: ".env" }));
  // Looking is no decision.
  fixture.governance.evaluate(skill("q"));
  const stats = fixture.governance.stats(1, { waiting: 0, failed: 0 });
  expect(stats).toMatchObject({
    decisions: 3,
    byVerdict: { allow: 1, ask: 1, deny: 1 },
    topRules: expect.arrayContaining([expect.objectContaining({ id: "secret.env", denied: 1 })]),
    approvals: { pending: 0, denied: 1 },
    soulVersion: "v1",
  });
});
