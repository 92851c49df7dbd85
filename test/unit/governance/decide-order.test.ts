import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Tier } from "../../../agent-server/contract/common.ts";
import type { Decision, Intent } from "../../../agent-server/contract/governance.ts";
import { decide, effectivePosture, type DecisionFacts, decideAssessed, assessIntent } from "../../../agent-server/governance/decide.ts";
import { createCachedEvaluator } from "../../../agent-server/governance/decision-cache.ts";
import { baseTiers } from "../../../agent-server/governance/base-tiers.ts";
import { commands, gateFacts, soul } from "../../support/gate-facts.ts";
import { intent } from "../../support/governance-fixture.ts";
import { runs } from "../../support/soak.ts";

const ids = (decision: Decision) => decision.rules.map(({ id }) => id);
const edit = intent("file_ops", "write", { path: "src/a.ts" });
const read = intent("file_ops", "read", { path: "src/a.ts" });
const remove = intent("file_ops", "delete", { path: "src/a.ts" });
const run = (command: string) => intent("shell_exec", "run", { command });
const operate = intent("vision_control", "perform_action", { description: "click" });
const earned = (tier: Tier): Partial<DecisionFacts> => ({ trust: { tier: () => tier } });
const learnt = (verdict: "allow" | "deny"): Partial<DecisionFacts> => ({
  learned: { find: () => ({ id: "L1", verdict, message: "You always say so." }) },
});

describe("soul", () => {
  it("what it requires approval for is held at T3, whatever was earned, learned or turned on", () => {
    const held = gateFacts({
      soul: soul({ requiresApproval: ({ kind }) => (kind === "edit_files" ? "writing" : null) }),
      ...earned("T0"),
      ...learnt("allow"),
    });
    for (const mode of ["normal", "crusader"] as const) {
      const decision = decide({ ...edit, mode }, { ...held, posture: "autonomous" });
      expect(decision).toMatchObject({ verdict: "ask", tier: "T3" });
      expect(ids(decision)).toEqual(["soul.requires-approval"]);
      expect(decision.rules[0]?.message).toContain('"writing"');
    }
    expect(decide(read, held).verdict).toBe("allow");
  });

  it("an enforced risk rule asks at the tier there is, and nothing lifts it", () => {
    const risky = gateFacts({
      soul: soul({ riskRules: () => [{ name: "No Surprises!", description: "Ask before commands." }] }),
      ...earned("T1"),
      ...learnt("allow"),
    });
    const decision = decide(run("harmless"), risky);
    expect(decision).toMatchObject({ verdict: "ask", tier: "T2" });
    expect(decision.rules).toEqual([{ id: "soul.risk.no-surprises", source: "soul", message: "Ask before commands." }]);
  });

  it("is told everything an action does and touches", () => {
    const seen: unknown[] = [];
    const curious = soul({
      requiresApproval: (subject) => {
        seen.push(subject);
        return null;
      },
    });
    decide(run("risky"), gateFacts({ soul: curious }));
    decide(
      edit,
      gateFacts({
        soul: curious,
        resolve: () => ({ ok: true, absolute: "/o", display: "/o", inside: false, type: "file", sensitive: null, rule: null }),
      }),
    );
    expect(seen).toEqual([
      { kind: "run_commands", capability: "shell_exec", action: "run", tags: ["shell", "install"] },
      { kind: "edit_files", capability: "file_ops", action: "write", tags: ["write", "outside"] },
    ]);
  });

  it("what it does not name is asked below T3, and T0 needs no name", () => {
    const silent = gateFacts({ soul: soul({ allows: () => null }) });
    expect(ids(decide(edit, silent))).toEqual(["soul.not-named"]);
    expect(decide(edit, silent)).toMatchObject({ verdict: "ask", tier: "T1" });
    expect(decide(run("harmless"), silent)).toMatchObject({ verdict: "ask", tier: "T2" });
    expect(decide(read, silent)).toMatchObject({ verdict: "allow", tier: "T0" });
    expect(decide(run("harmless"), { ...silent, ...learnt("allow") }).verdict).toBe("allow");
  });

  it("its level supervised holds edits for review; without it the owner's setting decides; crusader is the owner's own act", () => {
    const strict = gateFacts({ soul: soul({}, "supervised"), posture: "autonomous" });
    expect(effectivePosture(strict)).toBe("supervised");
    expect(ids(decide(edit, strict))).toContain("mode.supervised");
    expect(ids(decide({ ...edit, mode: "crusader" }, strict))).toContain("mode.crusader");
    expect(effectivePosture(gateFacts({ soul: soul(), posture: "autonomous" }))).toBe("autonomous");
    expect(effectivePosture(gateFacts({ soul: soul(), posture: "supervised" }))).toBe("supervised");
    expect(effectivePosture(gateFacts({ posture: "autonomous" }))).toBe("autonomous");
  });

  it("its memory ethics refuse what they forbid", () => {
    const ethical = gateFacts({
      soul: soul({
        forbidsMemory: (text) => (text.includes("@") ? { rule: "personal", message: "No addresses.", personal: false } : null),
      }),
    });
    expect(decide(intent("memory", "write", { target: "working", content: "a@b.example" }), ethical)).toMatchObject({
      verdict: "deny",
      rules: [{ id: "soul.memory-ethics.personal", source: "soul" }],
    });
    expect(decide(intent("memory", "write", { target: "working", content: "tabs, not spaces" }), ethical).verdict).toBe("allow");
  });

  const job = { id: "j", running: 1, elapsedSeconds: 1, ready: true };
  it.each([
    ["within its limits", job, "allow", "tier.T0"],
    ["before the set-up", { ...job, ready: false }, "deny", "soul.scheduling.not-ready"],
    ["as one of too many", { ...job, running: 3 }, "deny", "soul.scheduling.concurrent"],
    ["as the last of those allowed", { ...job, running: 2 }, "allow", "tier.T0"],
    ["after its time", { ...job, elapsedSeconds: 301 }, "deny", "soul.scheduling.duration"],
    ["in its last second", { ...job, elapsedSeconds: 300 }, "allow", "tier.T0"],
  ] as const)("a job %s", (_what, state, verdict, id) => {
    const decision = decide({ ...read, job: state }, gateFacts({ soul: soul() }));
    expect(decision.verdict).toBe(verdict);
    expect(ids(decision)).toContain(id);
  });

  it("a job does nothing irreversible by itself", () => {
    const decision = decide({ ...remove, job }, gateFacts({ soul: soul(), ...earned("T1"), ...learnt("allow") }));
    expect(ids(decide({ ...remove, job }, gateFacts({ soul: soul() })))).toContain("soul.scheduling.irreversible");
    expect(decision.tier === "T3" ? decision.verdict : "ask").toBe("ask");
    const risky = gateFacts({ soul: soul({ riskRules: () => [{ name: "r", description: "" }] }) });
    expect(decide({ ...run("harmless"), job }, risky).rules).toEqual([
      { id: "soul.risk.r", source: "soul", message: expect.stringContaining('"r"') as string },
    ]);
    expect(ids(decide(remove, gateFacts({ soul: soul() })))).toEqual(["tier.T3"]);
    // Without a soul there are no limits of its making.
    expect(decide({ ...read, job: { ...job, ready: false } }, gateFacts()).verdict).toBe("allow");
  });

  it("with another soul a cached decision is recomputed", () => {
    let now = gateFacts({ soul: soul() });
    const evaluate = createCachedEvaluator(() => now);
    evaluate(read);
    expect(evaluate(read).decision).toMatchObject({ verdict: "allow", cached: true });
    now = gateFacts({ soul: soul({ sha256: "1".repeat(64), requiresApproval: () => "reading" }) });
    expect(evaluate(read).decision).toMatchObject({ verdict: "ask", cached: false });
  });
});

describe("trust", () => {
  it.each([
    ["T2 to T1 for a command", run("harmless"), "T1", "allow", "T1"],
    ["T2 to T0 for a command stops at T1, where its checkpoint is", run("harmless"), "T0", "allow", "T1"],
    ["a command that is asked", run("risky"), "T1", "allow", "T1"],
    ["T3 to T2 for what only its base tier holds", operate, "T2", "allow", "T2"],
    ["not for a command that policy holds", run("grave"), "T1", "ask", "T3"],
    ["not for a denied one", run("fatal"), "T0", "deny", "T3"],
    ["what was lost is stricter than the default, and may have to be asked", run("harmless"), "T3", "ask", "T3"],
    ["an edit that was undone is verified before it counts", edit, "T2", "allow", "T2"],
    ["what was lost holds for what is held too", run("grave"), "T3", "ask", "T3"],
    ["memory may become T0", intent("memory", "write", { target: "working", content: "x" }), "T0", "allow", "T0"],
    ["an edit keeps its checkpoint", edit, "T0", "allow", "T1"],
  ] as const)("%s", (_what, one, tier, verdict, result) => {
    expect(decide(one, gateFacts(earned(tier)))).toMatchObject({ verdict, tier: result });
  });

  it("says so", () => {
    expect(ids(decide(run("risky"), gateFacts(earned("T1"))))).toContain("trust.earned");
    expect(ids(decide(edit, gateFacts(earned("T2"))))).toEqual(["trust.lost", "tier.T2", "mode.supervised"]);
    expect(ids(decide(edit, gateFacts(earned("T3"))))).toEqual(["trust.lost"]);
    expect(ids(decide(edit, gateFacts(earned("T1"))))).toEqual(["tier.T1", "mode.supervised"]);
  });

  it("is asked about exactly this: capability, action, what it acts on, and the tier it has without anything earned", () => {
    const asked: unknown[] = [];
    const curious = gateFacts({
      trust: {
        tier: (...about) => {
          asked.push(about);
          return null;
        },
      },
    });
    for (const one of [run("risky"), run("grave"), operate, read]) decide(one, curious);
    expect(asked).toEqual([
      [{ capability: "shell_exec", action: "run", scope: "risky" }, "T2"],
      [{ capability: "shell_exec", action: "run", scope: "grave" }, "T3"],
      [{ capability: "vision_control", action: "perform_action", scope: "screen" }, "T3"],
    ]);
  });

  it("says nothing of what only looks", () => {
    expect(decide(read, gateFacts(earned("T2")))).toMatchObject({ verdict: "allow", tier: "T0" });
  });

  it("never lifts what is outside the workspace or on the never-automate list", () => {
    const outside = gateFacts({
      ...earned("T1"),
      resolve: (path) => ({ ok: true, absolute: path, display: path, inside: false, type: "file", sensitive: null, rule: null }),
    });
    expect(decide(edit, outside)).toMatchObject({ verdict: "ask", tier: "T3" });
    expect(decide(operate, gateFacts({ ...earned("T2"), neverAutomate: () => true }))).toMatchObject({ verdict: "ask", tier: "T3" });
    expect(decide(run("risky"), gateFacts({ ...earned("T1"), neverAutomate: () => true }))).toMatchObject({ verdict: "ask", tier: "T2" });
  });

  it("what was earned is looked up each time, cached or not", () => {
    let tier: Tier | null = null;
    const evaluate = createCachedEvaluator(() => gateFacts({ trust: { tier: () => tier } }));
    const write = intent("memory", "write", { target: "working", content: "x" });
    expect(evaluate(write).decision.tier).toBe("T1");
    expect(evaluate(edit).decision.tier).toBe("T1");
    tier = "T0";
    expect(evaluate(write).decision.tier).toBe("T0");
    tier = null;
    expect(evaluate(write).decision.tier).toBe("T1");
  });
});

describe("learned rules", () => {
  it("turn a question below T3 into an allowance or a denial, and say so", () => {
    const allowed = decide(run("risky"), gateFacts(learnt("allow")));
    expect(allowed).toMatchObject({ verdict: "allow", tier: "T2" });
    expect(allowed.rules[0]).toMatchObject({ id: "learning.L1", source: "learning" });
    expect(decide(run("risky"), gateFacts(learnt("deny")))).toMatchObject({ verdict: "deny", rules: [{ id: "learning.L1" }] });
  });

  it("are not asked about what is held, and change nothing about it", () => {
    const find = () => {
      throw new Error("It was asked.");
    };
    const never = gateFacts({ learned: { find }, neverAutomate: () => true });
    expect(decide(run("risky"), never)).toMatchObject({ verdict: "ask", rules: [{ id: "command.risky" }] });
    for (const one of [run("harmless"), run("grave"), read, remove]) decide(one, gateFacts({ learned: { find } }));
  });

  it("leave what the owner can do instead where it was", () => {
    expect(decide(run("risky"), gateFacts()).alternatives).toEqual(["Say what is missing."]);
    expect(decide(run("risky"), gateFacts(learnt("deny"))).alternatives).toEqual(["Say what is missing."]);
    expect(decide(intent("quest", "plan"), gateFacts({ soul: soul({ requiresApproval: () => "plans" }) })).alternatives).toEqual([
      "Ask the owner.",
    ]);
  });

  it.each([
    ["T3", run("grave")],
    ["deleting", remove],
    ["what is denied", run("fatal")],
  ])("change nothing about %s", (_what, one) => {
    expect(decide(one, gateFacts(learnt("allow")))).toEqual(decide(one, gateFacts()));
  });

  it("are not asked where nothing would be asked", () => {
    expect(decide(run("harmless"), gateFacts(learnt("deny"))).verdict).toBe("allow");
  });

  it("the evaluation names the rule, so that its use is counted", () => {
    const facts = gateFacts(learnt("allow"));
    expect(decideAssessed(assessIntent(run("risky"), facts), facts)).toMatchObject({
      learnedRule: "L1",
      heldBy: null,
      defaultTier: "T2",
      changesFiles: true,
    });
    expect(decideAssessed(assessIntent(run("grave"), facts), facts)).toMatchObject({ learnedRule: null, heldBy: "It deletes." });
    const denied = gateFacts(learnt("deny"));
    expect(decideAssessed(assessIntent(run("risky"), denied), denied)).toMatchObject({
      learnedRule: "L1",
      heldBy: null,
      defaultTier: "T2",
    });
    const never = gateFacts({ neverAutomate: () => true });
    expect(decideAssessed(assessIntent(run("risky"), never), never).heldBy).toEqual(expect.any(String));
  });
});

describe("safe mode", () => {
  const safe = gateFacts({ safeMode: true });
  it.each([
    ["web_ops", "fetch", { url: "https://listed.example/" }],
    ["web_ops", "download", { url: "https://listed.example/", path: "a" }],
    ["repo_ops", "push", { remote: "origin" }],
    ["repo_ops", "clone", { url: "https://listed.example/r", path: "a" }],
    ["connector", "send", {}],
    ["deploy_ops", "deploy", {}],
    ["vision_control", "capture_screen", {}],
  ])("refuses %s %s", (capability, action, args) => {
    expect(decide(intent(capability, action, args), safe)).toMatchObject({ verdict: "deny", rules: [{ id: "mode.safe", source: "mode" }] });
  });

  it("leaves what works on this machine", () => {
    for (const one of [read, edit, run("harmless"), intent("deploy_ops", "test"), intent("repo_ops", "commit", { message: "x" })])
      expect(decide(one, safe).verdict).toBe("allow");
  });
});

// ---- whatever is asked ---------------------------------------------------------------------------------------------

const order = { allow: 0, ask: 1, deny: 2 };
const anyIntent: fc.Arbitrary<Intent> = fc
  .constantFrom(
    ...Object.entries(baseTiers).flatMap(([capability, actions]) => Object.keys(actions).map((action) => [capability, action] as const)),
  )
  .chain(([capability, action]) =>
    fc
      .record({
        command: fc.constantFrom(...Object.keys(commands)),
        path: fc.constantFrom("src/a.ts", "b.md"),
        url: fc.constantFrom("https://listed.example/x", "https://elsewhere.example/"),
        name: fc.constantFrom("echo", "main"),
        force: fc.boolean(),
      })
      .map((args) => intent(capability, action === "*" ? "run" : action, args)),
  );
const anyFacts: fc.Arbitrary<DecisionFacts> = fc
  .record({
    trusted: fc.boolean(),
    posture: fc.constantFrom("supervised" as const, "autonomous" as const),
    broad: fc.constantFrom(null, "Wide."),
    safeMode: fc.boolean(),
    tier: fc.constantFrom<Tier | null>(null, "T0", "T1", "T2", "T3"),
    verdict: fc.constantFrom(null, "allow" as const, "deny" as const),
    never: fc.boolean(),
  })
  .map(({ tier, verdict, never, ...more }) =>
    gateFacts({
      ...more,
      trust: { tier: () => tier },
      ...(verdict === null ? {} : learnt(verdict)),
      neverAutomate: () => never,
      soul: soul(),
    }),
  );

describe("whatever is asked", () => {
  it("a stricter soul, safe mode, a restriction or the never-automate list never lowers the verdict or the tier", () => {
    fc.assert(
      fc.property(anyIntent, anyFacts, (one, now) => {
        const before = decide(one, now);
        for (const stricter of [
          { soul: soul({ allows: () => null }) },
          { soul: soul({ requiresApproval: () => "all" }) },
          { soul: soul({ riskRules: () => [{ name: "r", description: "" }] }) },
          { soul: soul({}, "supervised" as const) },
          { safeMode: true },
          { trusted: false },
          { neverAutomate: () => true },
          { trust: { tier: () => "T3" as const } },
        ]) {
          const after = decide(one, { ...now, ...stricter });
          // A learned denial is itself stricter than a question that may no longer be lifted.
          const learnedDenial = before.verdict === "deny" && before.rules[0]?.source === "learning";
          expect(order[after.verdict]).toBeGreaterThanOrEqual(learnedDenial ? order.ask : order[before.verdict]);
          if (after.verdict === "allow") expect(after.tier >= before.tier).toBe(true);
        }
      }),
      { numRuns: runs(375, 1500) },
    );
  });

  it("nothing that was earned or learned lifts a denial of policy or anything at T3 that is held", () => {
    fc.assert(
      fc.property(anyIntent, anyFacts, (one, now) => {
        const bare = decide(one, { ...now, trust: { tier: () => null }, learned: { find: () => null } });
        const after = decide(one, now);
        if (bare.verdict === "deny") expect(after).toEqual(bare);
        const facts = { ...now, trust: { tier: () => null }, learned: { find: () => null } };
        if (decideAssessed(assessIntent(one, facts), facts).heldBy !== null)
          expect(order[after.verdict]).toBeGreaterThanOrEqual(order[bare.verdict]);
      }),
      { numRuns: runs(375, 1500) },
    );
  });

  it("crusader changes no verdict", () => {
    fc.assert(
      fc.property(anyIntent, anyFacts, (one, now) => {
        const { verdict, tier } = decide(one, now);
        expect(decide({ ...one, mode: "crusader" }, now)).toMatchObject({ verdict, tier });
      }),
    );
  });
});
