import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { capabilities, Decision, type Intent } from "../../../agent-server/contract/governance.ts";
import { decide, type DecisionFacts } from "../../../agent-server/governance/decide.ts";
import { createCachedEvaluator } from "../../../agent-server/governance/decision-cache.ts";
import type { ResolvedPath } from "../../../agent-server/governance/policy/path-policy.ts";
import { baseTiers } from "../../../agent-server/governance/base-tiers.ts";
import { gateFacts, soul } from "../../support/gate-facts.ts";
import { intent } from "../../support/governance-fixture.ts";
import { runs } from "../../support/soak.ts";

type Found = Extract<ResolvedPath, { ok: true }>;

function found(more: Partial<Found> = {}): Found {
  const display = more.display ?? "src/a.ts";
  return { ok: true, absolute: `/w/${display}`, display, inside: true, type: "file", sensitive: null, rule: null, ...more };
}

/** Paths by the word that stands for them. */
const paths: Record<string, ResolvedPath> = {
  inside: found(),
  root: found({ display: ".", type: "directory" }),
  outside: found({ absolute: "/o/a", display: "/o/a", inside: false }),
  disk: found({ absolute: "/", display: "/", inside: false, type: "directory" }),
  secret: found({ display: ".env", sensitive: "secret", rule: "secret.env" }),
  "secret outside": found({ absolute: "/h/.ssh/x", display: "/h/.ssh/x", inside: false, sensitive: "secret", rule: "secret.ssh" }),
  protected: found({ display: ".git/config", sensitive: "protected", rule: "protected.git" }),
  pipe: found({ type: "other" }),
  database: found({ display: "/d/x", inside: false, sensitive: "secret", rule: "own.secret" }),
  settings: found({ display: "/d/config/x", inside: false, sensitive: "protected", rule: "own.data" }),
  nowhere: { ok: false, rule: "path.loop", message: "It runs in a circle." },
};

const facts: DecisionFacts = gateFacts({ resolve: (path) => paths[path] ?? found({ display: path }) });

const ruleIds = (decision: Decision) => decision.rules.map((rule) => rule.id);

describe("what is decided about files", () => {
  it.each([
    ["read", "inside", "allow", "T0", ["tier.T0"]],
    ["read", "root", "allow", "T0", ["tier.T0"]],
    ["read", "protected", "allow", "T0", ["tier.T0"]],
    ["read", "outside", "ask", "T3", ["tier.outside"]],
    ["read", "settings", "ask", "T3", ["tier.outside"]],
    ["read", "secret", "deny", "T3", ["secret.env"]],
    ["read", "secret outside", "deny", "T3", ["secret.ssh"]],
    ["read", "database", "deny", "T3", ["own.secret"]],
    ["read", "pipe", "deny", "T3", ["path.special"]],
    ["read", "nowhere", "deny", "T3", ["path.loop"]],
    ["list", "inside", "allow", "T0", ["tier.T0"]],
    ["list", "secret", "deny", "T3", ["secret.env"]],
    ["list", "outside", "ask", "T3", ["tier.outside"]],
    ["search", "root", "allow", "T0", ["tier.T0"]],
    ["write", "inside", "allow", "T1", ["tier.T1", "mode.supervised"]],
    ["write", "secret", "ask", "T3", ["secret.env"]],
    ["write", "protected", "ask", "T3", ["protected.git"]],
    ["write", "outside", "ask", "T3", ["tier.outside"]],
    ["write", "secret outside", "ask", "T3", ["tier.outside", "secret.ssh"]],
    ["write", "settings", "deny", "T3", ["own.data"]],
    ["write", "database", "deny", "T3", ["own.secret"]],
    ["write", "pipe", "deny", "T3", ["path.special"]],
    ["write", "nowhere", "deny", "T3", ["path.loop"]],
    ["apply_patch", "inside", "allow", "T1", ["tier.T1", "mode.supervised"]],
    ["apply_patch", "protected", "ask", "T3", ["protected.git"]],
    ["apply_patch", "settings", "deny", "T3", ["own.data"]],
    ["delete", "inside", "ask", "T3", ["tier.T3"]],
    ["delete", "secret", "ask", "T3", ["secret.env"]],
    ["delete", "outside", "ask", "T3", ["tier.outside"]],
    ["delete", "root", "deny", "T3", ["policy.destructive"]],
    ["delete", "disk", "deny", "T3", ["policy.destructive"]],
    ["delete", "settings", "deny", "T3", ["own.data"]],
  ] as const)("%s %s: %s", (action, path, verdict, tier, rules) => {
    const decision = decide(intent("file_ops", action, { path }), facts);
    expect(decision).toMatchObject({ verdict, tier });
    expect(ruleIds(decision)).toEqual(rules);
  });

  it("the strictest of several paths decides", () => {
    expect(decide(intent("file_ops", "write", { paths: ["inside", "outside"] }), facts).verdict).toBe("ask");
    expect(decide(intent("file_ops", "write", { path: "inside", paths: ["outside", "settings"] }), facts).verdict).toBe("deny");
    expect(decide(intent("file_ops", "read", { paths: ["inside", "secret"] }), facts).verdict).toBe("deny");
  });

  it("a path that no longer leads where the intent says is denied", () => {
    expect(decide(intent("file_ops", "write", { path: "inside", absolute: "/w/src/a.ts" }), facts).verdict).toBe("allow");
    expect(ruleIds(decide(intent("file_ops", "write", { path: "inside", absolute: "/o/a" }), facts))).toEqual(["path.moved"]);
  });

  it("a change that names no file is asked for, and a path that is no text is denied", () => {
    expect(decide(intent("file_ops", "write"), facts)).toMatchObject({ verdict: "ask", tier: "T3" });
    for (const path of [1, null, {}, ["inside"]]) expect(decide(intent("file_ops", "write", { path }), facts).verdict).toBe("deny");
    expect(decide(intent("file_ops", "read", { paths: "inside" }), facts).verdict).toBe("allow");
    expect(decide(intent("file_ops", "read", { paths: "secret" }), facts).verdict).toBe("deny");
  });

  it("the working folder counts", () => {
    expect(decide(intent("repo_ops", "status", {}, { cwd: "outside" }), facts).verdict).toBe("ask");
    expect(decide(intent("repo_ops", "diff", { path: "secret" }), facts).verdict).toBe("deny");
  });

  it("a restricted workspace is read and never written", () => {
    const restricted = { ...facts, trusted: false };
    expect(decide(intent("file_ops", "read", { path: "inside" }), restricted).verdict).toBe("allow");
    for (const action of ["write", "apply_patch", "delete"]) {
      for (const path of Object.keys(paths)) {
        const decision = decide(intent("file_ops", action, { path }, { mode: "crusader" }), { ...restricted, posture: "autonomous" });
        expect(decision.verdict).toBe("deny");
      }
    }
    expect(ruleIds(decide(intent("file_ops", "write", { path: "inside" }), restricted))).toEqual(["policy.untrusted"]);
  });

  it("a workspace that is too wide is written with approval only", () => {
    const wide = { ...facts, broad: "It is your home folder." };
    expect(decide(intent("file_ops", "read", { path: "inside" }), wide).verdict).toBe("allow");
    expect(decide(intent("file_ops", "write", { path: "inside" }), wide)).toMatchObject({ verdict: "ask", tier: "T3" });
  });

  it("posture and crusader say how an edit arrives, and change nothing else", () => {
    const write = intent("file_ops", "write", { path: "inside" });
    expect(ruleIds(decide(write, { ...facts, posture: "autonomous" }))).toContain("mode.autonomous");
    expect(ruleIds(decide({ ...write, mode: "crusader" }, facts))).toContain("mode.crusader");
    for (const capability of capabilities) {
      for (const action of Object.keys(baseTiers[capability] ?? {})) {
        for (const path of Object.keys(paths)) {
          const one = intent(capability, action, { path });
          const { verdict, tier } = decide(one, facts);
          expect(decide({ ...one, mode: "crusader" }, { ...facts, posture: "autonomous" })).toMatchObject({ verdict, tier });
        }
      }
    }
  });
});

describe("what is decided about everything else", () => {
  it.each([
    ["repo_ops", "status", {}, "allow", "T0"],
    ["repo_ops", "diff", {}, "allow", "T0"],
    ["repo_ops", "log", {}, "allow", "T0"],
    ["repo_ops", "commit", { message: "x" }, "allow", "T1"],
    ["repo_ops", "commit", { message: "x", amend: true }, "ask", "T3"],
    ["repo_ops", "branch", { name: "x" }, "allow", "T1"],
    ["repo_ops", "branch", { name: "x", delete: true }, "ask", "T3"],
    ["repo_ops", "branch", { name: "--force" }, "deny", "T3"],
    ["repo_ops", "checkout", { ref: "main" }, "allow", "T1"],
    ["repo_ops", "checkout", { ref: "main", force: true }, "ask", "T1"],
    ["repo_ops", "checkout", { path: "protected" }, "ask", "T3"],
    ["repo_ops", "apply_patch", { path: "inside" }, "allow", "T1"],
    ["repo_ops", "push", { remote: "origin", branch: "main" }, "ask", "T3"],
    ["repo_ops", "push", { remote: "--receive-pack=sh" }, "deny", "T3"],
    ["repo_ops", "clone", { url: "https://elsewhere.example/r", path: "inside" }, "deny", "T2"],
    ["repo_ops", "clone", { url: "https://listed.example/r", path: "inside" }, "allow", "T2"],
    ["repo_ops", "clone", { url: "ext::sh -c id", path: "inside" }, "deny", "T3"],
    ["repo_ops", "clone", {}, "deny", "T3"],
    ["shell_exec", "run", { command: "harmless" }, "allow", "T2"],
    ["shell_exec", "run", { command: "risky" }, "ask", "T2"],
    ["shell_exec", "run", { command: "grave" }, "ask", "T3"],
    ["shell_exec", "run", { command: "fatal" }, "deny", "T3"],
    ["shell_exec", "run", { command: "harmless", cwd: "nowhere" }, "deny", "T3"],
    ["shell_exec", "run", { command: "harmless", cwd: "inside" }, "deny", "T3"],
    ["shell_exec", "run", { command: "harmless", cwd: "root" }, "allow", "T2"],
    ["shell_exec", "anything", {}, "deny", "T3"],
    ["web_ops", "fetch", { url: "https://elsewhere.example/" }, "deny", "T2"],
    ["web_ops", "fetch", { url: "https://listed.example/" }, "allow", "T2"],
    ["web_ops", "fetch", {}, "deny", "T2"],
    ["web_ops", "post", { url: "https://listed.example/" }, "ask", "T3"],
    ["web_ops", "download", { url: "https://listed.example/", path: "inside" }, "allow", "T2"],
    ["web_ops", "download", { url: "https://listed.example/" }, "ask", "T3"],
    ["web_ops", "download", { url: "https://listed.example/", path: "protected" }, "ask", "T3"],
    ["web_ops", "screenshot", { url: "https://listed.example/" }, "allow", "T2"],
    ["ui_builder", "scaffold", { template: "x", target: "inside" }, "allow", "T1"],
    ["ui_builder", "scaffold", { template: "x", target: "outside" }, "ask", "T3"],
    ["deploy_ops", "build", {}, "allow", "T2"],
    ["deploy_ops", "test", { command: "grave" }, "ask", "T3"],
    ["deploy_ops", "package", { command: "fatal" }, "deny", "T3"],
    ["deploy_ops", "deploy", {}, "ask", "T3"],
    ["vision_control", "capture_screen", {}, "allow", "T2"],
    ["vision_control", "locate_element", { url: "https://elsewhere.example/" }, "deny", "T2"],
    ["vision_control", "perform_action", {}, "ask", "T3"],
    ["vision_control", "verify_state", {}, "allow", "T2"],
    ["memory", "read", {}, "allow", "T0"],
    ["memory", "write", { target: "working", content: "x" }, "allow", "T1"],
    ["memory", "write", { target: "core:persona", content: "x" }, "deny", "T1"],
    ["memory", "write", { target: "archival", content: "x".repeat(100_001) }, "deny", "T1"],
    ["skill", "run", { name: "echo", permissions: ["read_input"] }, "allow", "T2"],
    ["skill", "run", { name: "echo", permissions: ["network"] }, "ask", "T2"],
    ["skill", "run", { name: "../echo" }, "deny", "T2"],
    ["connector", "send", { connector: "mail" }, "ask", "T3"],
    ["quest", "ask", {}, "allow", "T0"],
    ["quest", "plan", {}, "allow", "T0"],
    ["quest", "spawn", { goal: "Rename it." }, "allow", "T0"],
    ["soul", "propose", {}, "allow", "T1"],
    ["soul", "activate", {}, "ask", "T3"],
    ["file_ops", "frobnicate", {}, "ask", "T3"],
    ["repo_ops", "rebase", {}, "ask", "T3"],
    ["teleport", "home", {}, "ask", "T3"],
    ["constructor", "name", {}, "ask", "T3"],
    ["file_ops", "toString", {}, "ask", "T3"],
    ["__proto__", "x", {}, "ask", "T3"],
  ] as const)("%s %s %o: %s at %s", (capability, action, args, verdict, tier) => {
    expect(decide(intent(capability, action, args), facts)).toMatchObject({ verdict, tier });
  });

  it("the table covers every capability of the contract", () => {
    expect(Object.keys(baseTiers).toSorted()).toEqual([...capabilities].toSorted());
  });

  it("a restricted workspace runs, commits and builds nothing", () => {
    const restricted = { ...facts, trusted: false };
    for (const one of [
      intent("shell_exec", "run", { command: "harmless" }),
      intent("repo_ops", "commit", { message: "x" }),
      intent("repo_ops", "branch", { name: "x" }),
      intent("repo_ops", "checkout", { ref: "main" }),
      intent("repo_ops", "push", { remote: "origin" }),
      intent("deploy_ops", "test"),
      intent("skill", "run", { name: "echo", permissions: ["read_input"] }),
      intent("ui_builder", "scaffold", { target: "inside" }),
    ])
      expect(decide(one, restricted), `${one.capability} ${one.action}`).toMatchObject({
        verdict: "deny",
        rules: [{ id: "policy.untrusted" }],
      });
    expect(decide(intent("repo_ops", "status"), restricted).verdict).toBe("allow");
  });
});

const anyIntent: fc.Arbitrary<Intent> = fc.record({
  capability: fc.oneof(fc.constantFrom(...capabilities), fc.string({ minLength: 1 })),
  action: fc.oneof(
    fc.constantFrom("read", "list", "write", "delete", "apply_patch", "status", "diff", "run", "fetch", "ask"),
    fc.string({ minLength: 1 }),
  ),
  args: fc.oneof(
    fc.record({ path: fc.constantFrom(...Object.keys(paths)) }),
    fc.record({ paths: fc.array(fc.constantFrom(...Object.keys(paths))) }),
    fc.dictionary(fc.string(), fc.anything()),
  ),
  mode: fc.constantFrom("normal", "crusader"),
});
const anyFacts = fc
  .record({
    trusted: fc.boolean(),
    posture: fc.constantFrom("supervised" as const, "autonomous" as const),
    broad: fc.constantFrom(null, "Wide."),
  })
  .map((more): DecisionFacts => ({ ...facts, ...more }));

const order = { allow: 0, ask: 1, deny: 2 };

describe("whatever is asked", () => {
  it("the same intent and facts get the same decision, and evaluating agrees with deciding, cached or not", () => {
    fc.assert(
      fc.property(anyIntent, anyFacts, (one, now) => {
        const decision = decide(one, now);
        expect(decide(one, now)).toEqual(decision);
        const evaluate = createCachedEvaluator(() => now);
        expect(evaluate(one).decision).toEqual(decision);
        const second = evaluate(one).decision;
        expect({ ...second, cached: false }).toEqual(decision);
        if (decision.tier === "T2" || decision.tier === "T3" || decision.verdict === "ask") expect(second.cached).toBe(false);
        else if (one.capability === "file_ops") expect(second.cached).toBe(true);
      }),
      { numRuns: runs(375, 1500) },
    );
  });

  it("a decision is well formed: it names rules, and an ask or a denial names alternatives", () => {
    fc.assert(
      fc.property(anyIntent, anyFacts, (one, now) => {
        const decision = Decision.parse(decide(one, now));
        expect(decision.rules.length).toBeGreaterThan(0);
        if (decision.verdict !== "allow") expect(decision.alternatives.length).toBeGreaterThan(0);
        if (decision.verdict === "ask") expect(["T1", "T2", "T3"]).toContain(decision.tier);
        if (decision.verdict === "allow") expect(decision.tier).not.toBe("T3");
      }),
      { numRuns: runs(375, 1500) },
    );
  });

  it("another path, a restriction or a wide workspace never lowers the verdict", () => {
    fc.assert(
      fc.property(
        fc.constantFrom("read", "list", "write", "delete", "apply_patch"),
        fc.array(fc.constantFrom(...Object.keys(paths)), { minLength: 1 }),
        fc.constantFrom(...Object.keys(paths)),
        anyFacts,
        (action, named, another, now) => {
          const before = decide(intent("file_ops", action, { paths: named }), now);
          const after = [
            decide(intent("file_ops", action, { paths: [...named, another] }), now),
            decide(intent("file_ops", action, { paths: named }), { ...now, trusted: false }),
            decide(intent("file_ops", action, { paths: named }), { ...now, broad: "Wide." }),
          ];
          for (const one of now.broad === null ? after : after.slice(0, 2))
            expect(order[one.verdict]).toBeGreaterThanOrEqual(order[before.verdict]);
        },
      ),
    );
  });
});

describe("the gate", () => {
  it("denies when a rule throws, and does not remember it", () => {
    let broken = true;
    const logged: unknown[] = [];
    const evaluate = createCachedEvaluator(
      () => ({
        ...facts,
        resolve: (path) => {
          if (broken) throw new Error("disk on fire");
          return facts.resolve(path);
        },
      }),
      (...line) => logged.push(line),
    );
    const read = intent("file_ops", "read", { path: "inside" });
    expect(evaluate(read).decision).toMatchObject({ verdict: "deny", tier: "T3", cached: false });
    expect(ruleIds(evaluate(read).decision)).toEqual(["policy.gate-failed"]);
    expect(logged[0]).toEqual([expect.any(String), new Error("disk on fire")]);
    broken = false;
    expect(evaluate(read).decision).toMatchObject({ verdict: "allow", cached: false });
  });

  it("never throws, whatever it is given", () => {
    const evaluate = createCachedEvaluator(() => facts);
    fc.assert(
      fc.property(fc.anything(), (value) => {
        expect(["ask", "deny"]).toContain(evaluate(value as Intent).decision.verdict);
      }),
    );
  });

  it("looks at the path again on a cached decision", () => {
    let leads: ResolvedPath = found();
    const evaluate = createCachedEvaluator(() => ({ ...facts, resolve: () => leads }));
    const read = intent("file_ops", "read", { path: "x" });
    evaluate(read);
    expect(evaluate(read).decision).toMatchObject({ verdict: "allow", cached: true });
    leads = found({ inside: false });
    expect(evaluate(read).decision).toMatchObject({ verdict: "ask", cached: false });
    leads = found({ sensitive: "secret", rule: "secret.env" });
    expect(evaluate(read).decision).toMatchObject({ verdict: "deny", cached: false });
  });

  it("does not mix up what differs in posture, mode or trust", () => {
    let now = facts;
    const evaluate = createCachedEvaluator(() => now);
    const write = intent("file_ops", "write", { path: "inside" });
    expect(ruleIds(evaluate(write).decision)).toContain("mode.supervised");
    now = { ...facts, posture: "autonomous" };
    expect(ruleIds(evaluate(write).decision)).toContain("mode.autonomous");
    expect(ruleIds(evaluate({ ...write, mode: "crusader" }).decision)).toContain("mode.crusader");
    now = { ...facts, trusted: false };
    expect(evaluate(write).decision.verdict).toBe("deny");
    now = { ...facts, broad: "Wide." };
    expect(evaluate(write).decision.verdict).toBe("ask");
  });

  it("a decision that was given out cannot be altered", () => {
    const decision = createCachedEvaluator(() => facts)(intent("file_ops", "delete", { path: "inside" })).decision;
    expect(() => {
      decision.verdict = "allow";
    }).toThrow();
    expect(() => decision.rules.pop()).toThrow(TypeError);
    expect(() => decision.alternatives.push("Do it anyway.")).toThrow(TypeError);
    const [first] = decision.rules;
    if (first === undefined) throw new Error("no rule");
    expect(() => {
      first.message = "";
    }).toThrow(TypeError);
  });

  it("keeps 512 decisions, and lets the oldest go", () => {
    let now = facts;
    const evaluate = createCachedEvaluator(() => now);
    const plan = intent("quest", "plan");
    const underSoul = (index: number) => {
      now = { ...facts, soul: soul({ sha256: String(index) }) };
      return evaluate(plan).decision.cached;
    };
    for (let index = 0; index < 512; index += 1) expect(underSoul(index)).toBe(false);
    for (let index = 0; index < 512; index += 1) expect(underSoul(index)).toBe(true);
    expect(underSoul(512)).toBe(false);
    expect(underSoul(1)).toBe(true);
    expect(underSoul(0)).toBe(false);
  });

  it("keeps nothing that depends on more than where it lies", () => {
    const job = { id: "j", running: 1, elapsedSeconds: 1, ready: true };
    const silent = { ...facts, soul: soul({ allows: () => null }) };
    const learned = { find: () => ({ id: "L1", verdict: "allow" as const, message: "You always say so." }) };
    for (const [one, now] of [
      [intent("memory", "write", { target: "working", content: "x" }), facts],
      [intent("repo_ops", "branch", { name: "x" }), facts],
      [intent("file_ops", "read", { path: "inside" }, { job }), facts],
      [intent("file_ops", "read", { path: "secret" }), facts],
      [intent("file_ops", "delete", { path: "root" }), facts],
      [intent("file_ops", "write", { path: "inside" }), silent],
      [intent("file_ops", "write", { path: "inside" }), { ...silent, learned }],
      [intent("file_ops", "write", { path: "inside" }), { ...facts, trust: { tier: () => "T1" as const } }],
    ] as const) {
      const evaluate = createCachedEvaluator(() => now);
      const first = evaluate(one).decision;
      expect(evaluate(one).decision, `${one.capability}.${one.action}`).toEqual(first);
      expect(first.cached).toBe(false);
    }
    const evaluate = createCachedEvaluator(() => ({ ...facts, trust: { tier: () => "T1" } }));
    const look = intent("file_ops", "read", { path: "inside" });
    evaluate(look);
    expect(evaluate(look).decision.cached).toBe(true);
  });

  it("what was lost holds at the next decision, kept or not", () => {
    let tier: "T2" | null = null;
    const evaluate = createCachedEvaluator(() => ({ ...facts, trust: { tier: () => tier } }));
    const write = intent("file_ops", "write", { path: "inside" });
    evaluate(write);
    expect(evaluate(write).decision).toMatchObject({ tier: "T1", cached: true });
    tier = "T2";
    expect(evaluate(write).decision).toMatchObject({ tier: "T2", cached: false });
  });

  it("says what it is about, what it would have been, and why nothing may lift it", () => {
    const judged = (one: Intent) => createCachedEvaluator(() => facts)(one);
    expect(judged(intent("teleport", "home"))).toMatchObject({
      trustKey: { capability: "teleport", action: "home", scope: "any" },
      defaultTier: "T3",
      heldBy: expect.any(String),
      changesFiles: false,
    });
    expect(judged(intent("file_ops", "read", { path: "secret" }))).toMatchObject({
      trustKey: { capability: "file_ops", action: "read", scope: "sensitive" },
      defaultTier: "T0",
      heldBy: expect.stringContaining("secret.env"),
    });
    for (const [capability, action, changes] of [
      ["file_ops", "delete", true],
      ["file_ops", "write", true],
      ["file_ops", "read", false],
      ["repo_ops", "commit", true],
      ["repo_ops", "push", false],
      ["shell_exec", "run", true],
      ["deploy_ops", "test", false],
    ] as const)
      expect(judged(intent(capability, action, { path: "inside", command: "harmless" })).changesFiles, action).toBe(changes);
  });
});
