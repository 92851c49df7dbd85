import { describe, expect, it } from "vitest";
import type { Tier } from "../../../agent-server/contract/common.ts";
import { Decision, type Intent } from "../../../agent-server/contract/governance.ts";
import { decide, failedEvaluation, type DecisionFacts } from "../../../agent-server/governance/decide.ts";
import type { ResolvedPath } from "../../../agent-server/governance/policy/path-policy.ts";
import { baseTiers } from "../../../agent-server/governance/base-tiers.ts";
import { commands, gateFacts, soul } from "../../support/gate-facts.ts";
import { intent } from "../../support/governance-fixture.ts";

type Found = Extract<ResolvedPath, { ok: true }>;
const found = (more: Partial<Found>): Found => ({
  ok: true,
  absolute: "/w/a",
  display: "a",
  inside: true,
  type: "file",
  sensitive: null,
  rule: null,
  ...more,
});
const paths: Record<string, ResolvedPath> = {
  inside: found({}),
  folder: found({ type: "directory" }),
  root: found({ display: ".", type: "directory" }),
  outside: found({ inside: false }),
  secret: found({ sensitive: "secret", rule: "secret.env" }),
  protected: found({ sensitive: "protected", rule: "protected.git" }),
  own: found({ sensitive: "protected", rule: "own.data" }),
  pipe: found({ type: "other" }),
  nowhere: { ok: false, rule: "path.loop", message: "It runs in a circle." },
};
const allowed = ["https://listed.example/r", "https://elsewhere.example/r"];

const args: readonly Record<string, unknown>[] = [
  {},
  ...Object.keys(paths).flatMap((path) => [{ path, url: allowed[0] }, { target: path }, { paths: [path, "outside"] }]),
  { path: 1 },
  { path: "inside", absolute: "/elsewhere" },
  ...Object.keys(commands).map((command) => ({ command })),
  { command: "harmless", cwd: 1 },
  { command: "harmless", cwd: "inside" },
  { command: "harmless", cwd: "nowhere" },
  ...allowed.map((url) => ({ url, path: "inside" })),
  { url: "ext::sh -c id" },
  { url: "/elsewhere/r", path: "inside" },
  { name: "--force" },
  { name: "echo", permissions: ["read_input"] },
  { name: "echo", permissions: ["network"] },
  { branch: "main", remote: "origin", force: true, amend: true, delete: true },
  { target: "core:persona" },
  { target: "working", content: "x" },
  { target: "working", content: "x".repeat(100_001) },
  { target: "working", content: "a@b.example" },
  { connector: "mail" },
];

const job = { id: "j", running: 1, elapsedSeconds: 1, ready: true };
const earned = (tier: Tier): Partial<DecisionFacts> => ({ trust: { tier: () => tier } });
const learnt = (verdict: "allow" | "deny"): Partial<DecisionFacts> => ({
  soul: soul({ allows: () => null }),
  learned: { find: () => ({ id: "L1", verdict, message: "You always say so." }) },
});
const situations: readonly { facts?: Partial<DecisionFacts>; with?: Partial<Intent>; all?: true }[] = [
  { all: true },
  { with: { mode: "crusader" } },
  { with: { cwd: "folder" } },
  { facts: { posture: "autonomous" } },
  { facts: { trusted: false } },
  { facts: { broad: "It is your home folder." } },
  { facts: { safeMode: true } },
  { facts: { soul: soul({ allows: () => null }) } },
  { facts: { soul: soul({ requiresApproval: () => "all" }) } },
  { facts: { soul: soul({ riskRules: () => [{ name: "No Surprises!", description: "" }] }) } },
  {
    facts: {
      soul: soul({
        forbidsMemory: (text) => (text.includes("@") ? { rule: "personal", message: "No addresses.", personal: false } : null),
      }),
    },
    all: true,
  },
  { facts: { neverAutomate: () => true } },
  ...(["T0", "T1", "T2", "T3"] as const).map((tier) => ({ facts: earned(tier) })),
  { facts: learnt("allow") },
  { facts: learnt("deny") },
  { facts: { soul: soul() }, with: { job } },
  { facts: { soul: soul() }, with: { job: { ...job, ready: false } } },
  { facts: { soul: soul() }, with: { job: { ...job, running: 9 } } },
  { facts: { soul: soul() }, with: { job: { ...job, elapsedSeconds: 9999 } } },
];

/** A whole sentence for people. */
const sentence = /^[A-Z][^]{6,}[.)]$/;

/** Every action of the contract with all arguments as things ordinarily stand, and with some of them however they stand. */
function* everything(): Generator<readonly [Intent, Decision]> {
  for (const [index, { facts: more, with: given, all }] of situations.entries()) {
    const facts = gateFacts({ resolve: (path) => paths[path] ?? found({ display: path }), ...more });
    for (const [capability, actions] of [...Object.entries(baseTiers), ["teleport", { home: null }] as const]) {
      for (const name of Object.keys(actions)) {
        for (const [at, one] of args.entries()) {
          if (all !== true && at % 5 !== index % 5) continue;
          const asked = intent(capability, name === "*" ? "run" : name, one, given);
          yield [asked, decide(asked, facts)];
        }
      }
    }
  }
}

describe("whatever is decided", () => {
  it("names rules in whole sentences, and says what to do instead exactly when it does not allow", () => {
    const wrong = [...everything()].filter(
      ([, { verdict, rules, alternatives }]) =>
        rules.length === 0 ||
        new Set(rules.map(({ id }) => id)).size !== rules.length ||
        !rules.every(({ message }) => sentence.test(message)) ||
        !alternatives.every((alternative) => sentence.test(alternative)) ||
        alternatives.length > 0 !== (verdict !== "allow"),
    );
    expect(wrong).toEqual([]);
  });

  it("names a risk that fits: what is refused or held at T3 is high at least, what is allowed at T0 and T1 is low", () => {
    const wrong = [...everything()].filter(([{ args: given }, { verdict, tier, riskLevel, rules }]) => {
      // What a command risks is said by its own rules, and what was learned or earned changes no risk.
      if (given["command"] !== undefined || rules.some(({ source }) => source === "learning" || source === "trust")) return false;
      const grave = riskLevel === "high" || riskLevel === "critical";
      if (verdict === "deny" || tier === "T3") return !grave;
      if (verdict === "allow" && tier === "T2") return riskLevel !== "medium";
      return verdict === "allow" && riskLevel !== "low";
    });
    expect(wrong).toEqual([]);
  });

  it("comes from these rules, and each says where it stands", () => {
    const seen = new Map<string, string>();
    for (const [, { rules }] of everything()) for (const { id, source } of rules) seen.set(id, source);
    expect(Object.fromEntries([...seen].toSorted(([a], [b]) => (a < b ? -1 : 1)))).toEqual({
      "command.fatal": "policy",
      "command.folder": "policy",
      "command.grave": "policy",
      "command.harmless": "policy",
      "command.missing": "policy",
      "command.risky": "policy",
      "learning.L1": "learning",
      "memory.persona": "policy",
      "memory.size": "policy",
      "memory.target": "policy",
      "mode.autonomous": "mode",
      "mode.crusader": "mode",
      "mode.safe": "mode",
      "mode.supervised": "mode",
      "network.address": "policy",
      "network.listed": "policy",
      "network.off": "policy",
      "own.data": "policy",
      "path.loop": "policy",
      "path.moved": "policy",
      "path.special": "policy",
      "path.type": "policy",
      "policy.destructive": "policy",
      "policy.untrusted": "policy",
      "protected.git": "policy",
      "repository.branch-delete": "policy",
      "repository.discard": "policy",
      "repository.force-push": "policy",
      "repository.history": "policy",
      "repository.name": "policy",
      "repository.url": "policy",
      "secret.env": "policy",
      "skill.name": "policy",
      "skill.permissions": "policy",
      "soul.memory-ethics.personal": "soul",
      "soul.not-named": "soul",
      "soul.requires-approval": "soul",
      "soul.risk.no-surprises": "soul",
      "soul.scheduling.concurrent": "soul",
      "soul.scheduling.duration": "soul",
      "soul.scheduling.irreversible": "soul",
      "soul.scheduling.not-ready": "soul",
      "tier.T0": "tier",
      "tier.T1": "tier",
      "tier.T2": "tier",
      "tier.T3": "tier",
      "tier.broad-workspace": "tier",
      "tier.no-target": "tier",
      "tier.outside": "tier",
      "tier.unknown": "tier",
      "trust.earned": "trust",
      "trust.lost": "trust",
    });
  });

  it("is refused where the gate itself fails, with a message that says so", () => {
    const { decision, ...rest } = failedEvaluation();
    expect(Decision.parse(decision)).toEqual(decision);
    expect(decision).toMatchObject({ verdict: "deny", tier: "T3", riskLevel: "critical", cached: false });
    expect(decision.rules).toEqual([{ id: "policy.gate-failed", source: "policy", message: expect.stringMatching(sentence) }]);
    expect(decision.alternatives.length).toBe(2);
    for (const alternative of decision.alternatives) expect(alternative).toMatch(sentence);
    expect(rest).toEqual({
      trustKey: { capability: "unknown", action: "unknown", scope: "any" },
      defaultTier: "T3",
      heldBy: decision.rules[0]?.message,
      changesFiles: true,
      learnedRule: null,
    });
  });
});
