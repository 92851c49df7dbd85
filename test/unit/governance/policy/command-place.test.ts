import { describe, expect, it } from "vitest";
import type { DecisionFacts } from "../../../../agent-server/governance/decision-facts.ts";
import { decide, decideAssessed, assessIntent } from "../../../../agent-server/governance/decide.ts";
import { gateFacts, soul } from "../../../support/gate-facts.ts";
import { intent } from "../../../support/governance-fixture.ts";

const run = (args: Record<string, unknown>, facts: Partial<DecisionFacts> = {}, mode: "normal" | "crusader" = "normal") =>
  decideAssessed(assessIntent(intent("shell_exec", "run", { command: "harmless", ...args }, { mode }), gateFacts(facts)), gateFacts(facts));

describe("a command on this machine itself", () => {
  const everythingEarned: Partial<DecisionFacts> = {
    posture: "autonomous",
    soul: soul(),
    trust: { tier: () => "T0" },
    learned: { find: () => ({ id: "rule", verdict: "allow", message: "You allowed this." }) },
  };

  it.each(["normal", "crusader"] as const)("is T3 and asked each time in %s mode, whatever was earned or learned", (mode) => {
    for (const facts of [{}, everythingEarned]) {
      const { decision, heldBy, learnedRule, trustKey } = run({ place: "host" }, facts, mode);
      expect(decision).toMatchObject({ verdict: "ask", tier: "T3", riskLevel: "high", cached: false });
      expect(decision.rules.map(({ id }) => id)).toContain("command.host");
      expect(heldBy).not.toBeNull();
      expect(learnedRule).toBeNull();
      // Nothing is earned for the same command in a sandbox.
      expect(trustKey.scope).toBe("host.harmless");
    }
  });

  it("is never kept for the next time", () => {
    const facts = gateFacts();
    expect(assessIntent(intent("shell_exec", "run", { command: "harmless", place: "host" }), facts).key).toBeNull();
  });

  it("keeps the reasons there are beside it, and a denial stays one", () => {
    expect(run({ command: "risky", place: "host" }).decision.rules.map(({ id }) => id)).toEqual(["command.host", "command.risky"]);
    expect(run({ command: "fatal", place: "host" }).decision.verdict).toBe("deny");
    expect(run({ place: "host" }, { trusted: false }).decision.verdict).toBe("deny");
  });
});

describe("a command elsewhere", () => {
  it.each([undefined, "container", "os_sandbox"])("is judged by what it does: %s", (place) => {
    const { decision, trustKey } = run(place === undefined ? {} : { place });
    expect(decision).toMatchObject({ verdict: "allow", tier: "T2" });
    expect(trustKey.scope).toBe("harmless");
  });

  it.each(["Host", "HOST", " host", "", "moon", null, 1, true, ["host"], { place: "host" }])("is refused where it is none: %j", (place) => {
    expect(run({ place }).decision).toMatchObject({ verdict: "deny", rules: [{ id: "command.place" }] });
  });
});

describe("a command with the network", () => {
  it("is asked, and trusted apart from the same without", () => {
    const { decision, trustKey } = run({ network: true });
    expect(decision).toMatchObject({ verdict: "ask", tier: "T2", rules: [{ id: "command.network" }] });
    expect(trustKey.scope).toBe("network.harmless");
    expect(run({ network: false }).decision.verdict).toBe("allow");
  });

  it.each([1, "yes", "false", null, {}])("counts as one whatever is written but no: %j", (network) => {
    expect(run({ network }).decision.verdict).toBe("ask");
  });

  it.each([{}, { containment: "transactional" }])(
    "may reach hosts beyond the allowlist only when it is asked each time, whatever was learned: %j",
    (more) => {
      const facts: Partial<DecisionFacts> = {
        soul: soul(),
        trust: { tier: () => "T1" },
        learned: { find: () => ({ id: "rule", verdict: "allow", message: "You allowed this." }) },
        network: (url) => ({
          verdict: url === "https://listed.example/" ? "allow" : "deny",
          host: "",
          rule: { id: "network.x", source: "policy", message: "" },
          alternatives: [],
        }),
      };
      const listed = run({ network: ["listed.example"], ...more }, facts);
      expect(listed.decision.verdict).toBe("allow");
      const unlisted = run({ network: ["listed.example", "other.example"], ...more }, facts);
      expect(unlisted.decision).toMatchObject({ verdict: "ask", tier: "T3" });
      expect(unlisted.decision.rules.map(({ id }) => id)).toContain("command.network-unlisted");
      expect(unlisted.learnedRule).toBeNull();
    },
  );

  it("falls under what the soul says of the network", () => {
    const holding = soul({ requiresApproval: ({ tags }) => (tags.includes("network") ? "network" : null) });
    expect(run({ network: true }, { soul: holding }).decision).toMatchObject({ verdict: "ask", tier: "T3" });
    expect(run({}, { soul: holding }).decision).toMatchObject({ verdict: "allow" });
  });

  it("keeps T3 and denials", () => {
    expect(run({ command: "grave", network: true }).decision).toMatchObject({ verdict: "ask", tier: "T3" });
    expect(decide(intent("shell_exec", "run", { command: "fatal", network: true }), gateFacts()).verdict).toBe("deny");
  });
});
