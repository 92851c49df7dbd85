import { beforeEach, describe, expect, it } from "vitest";
import type { Approval } from "../../../agent-server/contract/governance.ts";
import type { Evaluation } from "../../../agent-server/governance/decide.ts";
import { createOutcomeRecorder, recordOutcome } from "../../../agent-server/governance/outcome-recorder.ts";
import { intent } from "../../support/governance-fixture.ts";

const judged: Evaluation = {
  decision: { verdict: "ask", tier: "T2", riskLevel: "medium", rules: [], alternatives: [], cached: false },
  trustKey: { capability: "skill", action: "run", scope: "formatter" },
  defaultTier: "T3",
  heldBy: "The soul holds it.",
  changesFiles: true,
  learnedRule: null,
};
const approval: Approval = {
  id: "a1",
  questId: "q",
  intentHash: "h",
  capability: "skill",
  action: "run",
  title: "Run it",
  detail: "",
  tier: "T2",
  rules: [],
  channels: [],
  scopes: [],
  isRemembered: false,
  status: "allowed_once",
  reason: null,
  createdAt: "2026-11-20T10:00:00.000Z",
  expiresAt: "2026-11-20T10:01:00.000Z",
  decidedAt: "2026-11-20T10:00:30.000Z",
};
const run = intent("skill", "run", { name: "formatter" });

let reported: unknown[][];
const tell =
  (name: string) =>
  (...about: unknown[]) =>
    void reported.push([name, ...about]);
const learners = {
  stats: { count: tell("stats.count") },
  trust: { outcome: tell("trust.outcome") },
  learning: {
    observe: tell("learning.observe"),
    outcome: tell("learning.outcome"),
    used: (...about: unknown[]) => {
      reported.push(["learning.used", ...about]);
      return true;
    },
  },
};
beforeEach(() => {
  reported = [];
});

describe("the outcome recorder", () => {
  const observed = {
    key: judged.trustKey,
    verdict: "allow",
    tier: "T2",
    riskLevel: "medium",
    heldBy: judged.heldBy,
    questId: "q",
    approvalId: "a1",
    at: "2026-11-20T10:00:30.000Z",
  };

  it("counts what was decided", () => {
    createOutcomeRecorder(learners).decided(run, judged);
    expect(reported).toEqual([["stats.count", run, judged.decision]]);
  });

  it.each(["allowed_once", "allowed_quest"] as const)("of a yes (%s) tells learning alone", (status) => {
    createOutcomeRecorder(learners).answered(judged, { ...approval, status });
    expect(reported).toEqual([["learning.observe", observed]]);
  });

  it("of a no tells trust too, as a refusal", () => {
    createOutcomeRecorder(learners).answered(judged, { ...approval, status: "denied" });
    expect(reported).toEqual([
      ["learning.observe", { ...observed, verdict: "deny" }],
      [
        "trust.outcome",
        {
          key: judged.trustKey,
          defaultTier: "T3",
          decidedTier: "T2",
          heldBy: judged.heldBy,
          changesFiles: true,
          result: "refused",
          questId: "q",
          receiptId: "a1",
        },
      ],
    ]);
  });

  it("takes the time of the question where the answer has none", () => {
    createOutcomeRecorder(learners).answered(judged, { ...approval, decidedAt: null });
    expect(reported).toEqual([["learning.observe", { ...observed, at: approval.createdAt }]]);
  });

  it("counts a use of a learned rule under the receipt it stands under, and says whether it may decide", () => {
    expect(createOutcomeRecorder(learners).countLearnedUse("L1", { quest: "q", parent: "p" })).toBe(true);
    expect(reported).toEqual([["learning.used", "L1", { questId: "q", receiptId: "p" }]]);
  });
});

describe("what came of it", () => {
  const steps = [
    { intent: run, decision: { ...judged.decision, tier: "T1" as const }, approvalId: null },
    { intent: intent("file_ops", "write"), decision: judged.decision, approvalId: "a1" },
  ];
  const report = { receiptId: "r1", questId: "q", steps };

  it.each(["success", "failure"] as const)("is told to trust for each step, and to the learned rule that decided one: %s", (result) => {
    recordOutcome(
      { ...report, result },
      ({ intent: { capability } }) => ({ ...judged, learnedRule: capability === "skill" ? "L1" : null }),
      learners,
    );
    const { trustKey: key, defaultTier, heldBy, changesFiles } = judged;
    const common = { key, defaultTier, heldBy, changesFiles, result, questId: "q", receiptId: "r1" };
    expect(reported).toEqual([
      ["trust.outcome", { ...common, decidedTier: "T1" }],
      ["learning.outcome", { receiptId: "r1", ruleId: "L1", result }],
      ["trust.outcome", { ...common, decidedTier: "T2" }],
    ]);
  });

  it("is not told of a refusal: the owner's was told when it was given, and that of the rules teaches nothing", () => {
    recordOutcome({ ...report, result: "refused" }, () => ({ ...judged, learnedRule: "L1" }), learners);
    expect(reported).toEqual([]);
  });
});
