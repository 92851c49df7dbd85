import { createHash } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import type { Approval, ApprovalStatus, Decision, Intent } from "../../../agent-server/contract/governance.ts";
import type { Approvals } from "../../../agent-server/governance/approvals.ts";
import { type Authorizer, createAuthorizer, type RefusedAction } from "../../../agent-server/governance/authorize.ts";
import type { Evaluation } from "../../../agent-server/governance/decide.ts";
import { intentHash } from "../../../agent-server/governance/intent-hash.ts";
import type { StoredRule } from "../../../agent-server/governance/workspace-approvals/approval-rule-store.ts";
import { createRedactor } from "../../../agent-server/security/security.ts";
import { intent } from "../../support/governance-fixture.ts";

const remove = intent("file_ops", "delete", { path: "a.ts" }, { questId: "q" });
const question = { title: "Delete a.ts", detail: "a.ts" };

function judged(verdict: Decision["verdict"], more: Partial<Evaluation> & Partial<Decision> = {}): Evaluation {
  const { tier = "T2", rules = [{ id: "command.x", source: "policy", message: "Because of x." }], ...rest } = more;
  return {
    decision: { verdict, tier, riskLevel: "medium", rules, alternatives: ["Ask the owner."], cached: false },
    trustKey: { capability: "file_ops", action: "delete", scope: "workspace" },
    defaultTier: tier,
    heldBy: null,
    changesFiles: true,
    learnedRule: null,
    ...rest,
  };
}

/** What the gate judges, in this order; the last holds on. */
let verdicts: (Evaluation | Error)[];
/** How a question ends. */
let answer: { status: ApprovalStatus; reason?: string } | Error;
let standing: Approval | null;
let uses: boolean[];
let recorded: { opening: Record<string, unknown>; closing: Record<string, unknown> }[];
let reported: unknown[][];
/** The code that the next intents would run, in this order; the last holds on. */
let codes: (string | null)[];
/** A rule for the workspace that covers everything. */
let saved: StoredRule | null;
let kept: Map<string, Approval>;
let gate: Authorizer;

function approval(status: ApprovalStatus, reason: string | null = null): Approval {
  return {
    id: "a1",
    questId: "q",
    intentHash: intentHash(remove),
    capability: "file_ops",
    action: "delete",
    title: question.title,
    detail: question.detail,
    tier: "T2",
    rules: [{ id: "command.x", source: "policy", message: "Because of x." }],
    channels: [],
    scopes: [],
    isRemembered: false,
    status,
    reason,
    createdAt: "2026-11-20T10:00:00.000Z",
    expiresAt: "2026-11-20T10:01:00.000Z",
    decidedAt: null,
  };
}

beforeEach(() => {
  verdicts = [judged("ask")];
  answer = { status: "allowed_once" };
  standing = null;
  uses = [];
  codes = ["code"];
  saved = null;
  recorded = [];
  reported = [];
  kept = new Map();
  const approvals: Pick<Approvals, "existingAnswer" | "ask" | "wait" | "cancel" | "use" | "get"> = {
    existingAnswer: (...about) => {
      reported.push(["existingAnswer", ...about]);
      return standing;
    },
    ask: (asking, deferred) => {
      reported.push(["ask", asking, deferred]);
      return approval("pending");
    },
    async wait() {
      if (answer instanceof Error) throw answer;
      return approval(answer.status, answer.reason ?? null);
    },
    cancel: (id) => void reported.push(["cancel", id]),
    use: (id) => {
      reported.push(["use", id]);
      return uses.shift() ?? false;
    },
    get: (id) => kept.get(id) ?? null,
  };
  gate = createAuthorizer({
    evaluate: () => {
      const next = verdicts.length > 1 ? verdicts.shift() : verdicts[0];
      if (next === undefined || next instanceof Error) throw next ?? new Error("nothing to judge");
      return next;
    },
    escalation: () => "stop_task",
    observer: {
      decided: (_intent, one) => void reported.push(["decided", one]),
      answered: (_judged, one) => void reported.push(["answered", one.status]),
      countLearnedUse: (...of) => {
        reported.push(["countLearnedUse", ...of]);
        return uses.shift() ?? false;
      },
    },
    approvals: approvals as Approvals,
    workspaceApprovals: {
      offer: () => [],
      find: () => saved,
      use: (id) => {
        reported.push(["use", id]);
        return uses.shift() ?? false;
      },
    },
    codeOf: () => {
      const next = codes.length > 1 ? codes.shift() : codes[0];
      return next === undefined || next === null ? null : { exact: next, files: [] };
    },
    basisOf: (_intent, code) => `basis of ${code?.exact ?? "nothing"}`,
    ledger: {
      record: (opening: Record<string, unknown>, closing: Record<string, unknown>) => {
        recorded.push({ opening, closing });
        return "r1";
      },
    } as never,
    redactor: createRedactor(),
    log: (...line) => void reported.push(["log", ...line]),
  });
});

const of = (name: string) => reported.filter(([first]) => first === name);

function authorize(
  what: Intent = remove,
  more: { signal?: AbortSignal; receipt?: RefusedAction; onWaiting?: (one: Approval) => void } = {},
) {
  return gate.authorize(what, question, { quest: "q", parent: "p", signal: new AbortController().signal, ...more });
}

async function refusal(promise: Promise<unknown> | (() => unknown)): Promise<LancelotError> {
  try {
    await (typeof promise === "function" ? promise() : promise);
  } catch (error) {
    if (error instanceof LancelotError) return error;
    throw error;
  }
  throw new Error("It was not refused.");
}

it("an intent's hash is over its canonical JSON, with working folder and quest", () => {
  const over = (cwd: string | null, questId: string | null) =>
    createHash("sha256")
      .update(JSON.stringify({ action: "delete", args: { path: "a.ts" }, capability: "file_ops", cwd, questId }))
      .digest("hex");
  const bare = intent("file_ops", "delete", { path: "a.ts" });
  expect(intentHash(remove)).toBe(over(null, "q"));
  expect(intentHash(bare)).toBe(over(null, null));
  expect(intentHash({ ...bare, cwd: "src" })).toBe(over("src", null));
});

describe("what is decided", () => {
  it("allowed: authorized at once, for exactly this intent, without a request", async () => {
    verdicts = [judged("allow")];
    const authorization = await authorize();
    expect(authorization).toEqual({ decision: judged("allow").decision, intentHash: intentHash(remove), approvalId: null });
    expect(Object.isFrozen(authorization)).toBe(true);
    expect(reported).toEqual([["decided", judged("allow")]]);
    expect(recorded).toEqual([]);
  });

  it("denied: one receipt of the gate, and an error that names it", async () => {
    const denied = judged("deny", {
      tier: "T3",
      rules: [
        { id: "command.x", source: "policy", message: "Because of x." },
        { id: "command.y", source: "policy", message: "Because of y." },
      ],
    });
    verdicts = [denied];
    const error = await refusal(authorize());
    expect(error).toMatchObject({
      code: "denied",
      message: "Because of x. Because of y.",
      data: { decision: denied.decision, receiptId: "r1" },
    });
    const intended = { capability: "file_ops", action: "delete", mode: "normal", args: { path: "a.ts" } };
    expect(recorded).toEqual([
      {
        opening: {
          actionType: "system",
          actionName: "governance.deny",
          inputs: intended,
          riskTier: "T3",
          parentId: "p",
          questId: "q",
          metadata: { gate: {} },
        },
        closing: {
          status: "failure",
          errorMessage: "Because of x. Because of y.",
          outputs: { verdict: "deny", rules: denied.decision.rules, alternatives: ["Ask the owner."] },
        },
      },
    ]);
    expect(of("ask")).toEqual([]);
    expect(of("decided")).toHaveLength(1);
  });

  it("denied: under the name of what was to be done, where it has one", async () => {
    verdicts = [judged("deny")];
    await refusal(
      authorize(remove, { receipt: { actionType: "tool_call", actionName: "delete_file", inputs: { path: "a" }, metadata: { tool: 1 } } }),
    );
    expect(recorded[0]?.opening).toMatchObject({
      actionType: "tool_call",
      actionName: "delete_file",
      inputs: { path: "a" },
      metadata: { tool: 1, gate: { capability: "file_ops", action: "delete", args: { path: "a.ts" } } },
    });
  });

  it("nothing before it has begun when it was stopped already", async () => {
    expect(await refusal(authorize(remove, { signal: AbortSignal.abort() }))).toMatchObject({
      code: "cancelled",
    });
    expect(reported).toEqual([]);
  });

  it.each([
    ["a gate that throws", () => (verdicts = [new Error("disk on fire")]), remove],
    ["arguments that are not JSON", () => (verdicts = [judged("allow")]), intent("file_ops", "delete", { size: 1n })],
    ["an error of another kind", () => (verdicts = [new LancelotError("internal", "The table is broken.") as Error]), remove],
  ])("%s denies, and the log says what failed", async (_name, arrange, what) => {
    arrange();
    const error = await refusal(authorize(what));
    expect(error).toMatchObject({
      code: "denied",
      cause: expect.any(Error),
    });
    expect(of("log")).toEqual([["log", expect.any(String), error.cause]]);
  });
});

describe("what is asked", () => {
  it.each([
    ["allowed_once", undefined, null],
    ["allowed_quest", undefined, null],
    ["allowed_workspace", undefined, null],
    ["denied", undefined, { code: "denied", data: { approvalId: "a1", reason: null } }],
    ["denied", "Keep it.", { code: "denied", data: { approvalId: "a1", reason: "Keep it." } }],
    [
      "expired",
      undefined,
      {
        code: "needs_approval",
        data: { approvalId: "a1", expired: true, escalation: "stop_task" },
      },
    ],
    ["cancelled", undefined, { code: "cancelled", data: { approvalId: "a1" } }],
    ["pending", undefined, { code: "cancelled", data: { approvalId: "a1" } }],
  ] as const)("answered with %s %s", async (status, reason, expected) => {
    answer = { status, ...(reason === undefined ? {} : { reason }) };
    const waiting: string[] = [];
    const promise = authorize(remove, { onWaiting: ({ id }) => void waiting.push(id) });
    if (expected === null) expect(await promise).toMatchObject({ approvalId: "a1", decision: { verdict: "ask" } });
    else {
      const error = await refusal(promise);
      expect(error).toMatchObject(expected);
      expect(error.data).toMatchObject({ decision: judged("ask").decision });
    }
    expect(waiting).toEqual(["a1"]);
    const { decision } = judged("ask");
    expect(of("ask")).toEqual([
      [
        "ask",
        { intent: remove, hash: intentHash(remove), decision, question, questId: "q", parentId: "p", binding: bindingOf("code") },
        false,
      ],
    ]);
    // Trust and learning hear of what the owner said, and of nothing else.
    expect(of("answered")).toEqual(
      ["allowed_once", "allowed_quest", "allowed_workspace", "denied"].includes(status) ? [["answered", status]] : [],
    );
    expect(of("cancel")).toEqual([]);
    expect(recorded).toEqual([]);
  });

  it("was answered before: that answer is used, and nobody is asked again", async () => {
    standing = approval("allowed_quest");
    expect(await authorize()).toMatchObject({ approvalId: "a1" });
    const { code, basis } = bindingOf("code");
    expect(of("existingAnswer")).toEqual([["existingAnswer", intentHash(remove), "q", { code, basis }]]);
    expect(of("ask")).toEqual([]);
    expect(of("answered")).toEqual([["answered", "allowed_quest"]]);
  });

  it("was denied before: that denial is repeated with its reason, and nobody is asked", async () => {
    standing = approval("denied", "Keep it.");
    expect(await refusal(authorize())).toMatchObject({ code: "denied", data: { approvalId: "a1", reason: "Keep it.", remembered: true } });
    expect(of("ask")).toEqual([]);
    expect(of("answered")).toEqual([]);
  });

  it("is allowed for the workspace: authorized in the rule's name, which is used once with each grant", async () => {
    saved = savedRule;
    const authorization = await authorize();
    expect(authorization).toMatchObject({ approvalId: null, decision: { verdict: "allow" } });
    expect(authorization.decision.rules.map(({ id }) => id)).toEqual(["approval.rule.rule-1", "command.x"]);
    expect(of("ask")).toEqual([]);
    uses = [true, false];
    gate.redeem(authorization, remove);
    const late = await authorize();
    // It was revoked meanwhile.
    expect(await refusal(() => gate.redeem(late, remove))).toMatchObject({ code: "denied" });
    expect(of("use")).toEqual([
      ["use", "rule-1"],
      ["use", "rule-1"],
    ]);
  });

  it("is allowed for the workspace, but not what the policy adds before the effect", async () => {
    saved = savedRule;
    for (const now of [judged("deny"), judged("ask", { rules: [rule("x"), rule("y")] })]) {
      verdicts = [judged("ask")];
      const authorization = await authorize();
      verdicts = [now];
      expect(await refusal(() => gate.redeem(authorization, remove))).toMatchObject({ code: "denied", data: { decision: now.decision } });
    }
    expect(of("use")).toEqual([]);
  });

  it.each([
    ["changed", "code", "other"],
    ["became unknown", "code", null],
    ["became known", null, "code"],
  ])("covers the code as it was: not when it %s before the effect", async (_name, before, after) => {
    codes = [before, after];
    uses = [true];
    const authorization = await authorize();
    expect(await refusal(() => gate.redeem(authorization, remove))).toMatchObject({ code: "denied" });
    expect(of("use")).toEqual([]);
  });

  it("where nobody can be asked, waits for later and is refused now", async () => {
    gate.setCanAsk(false);
    expect(await refusal(authorize())).toMatchObject({
      code: "needs_approval",
      data: { approvalId: "a1", decision: judged("ask").decision },
    });
    expect(of("ask")[0]?.[2]).toBe(true);
    gate.setCanAsk(true);
    await authorize();
    expect(of("ask")[1]?.[2]).toBe(false);
  });

  it.each([
    ["waiting fails", () => (answer = new Error("The database is gone.")), "denied"],
    ["waiting is refused", () => (answer = new LancelotError("cancelled", "Stopped.") as Error), "cancelled"],
  ])("is withdrawn when %s", async (_name, arrange, code) => {
    arrange();
    expect(await refusal(authorize())).toMatchObject({ code });
    expect(of("cancel")).toEqual([["cancel", "a1"]]);
  });
});

describe("a learned rule", () => {
  const learned = judged("allow", { learnedRule: "L1" });
  const context = { quest: "q", parent: "p" };

  it("is counted before it authorizes", async () => {
    verdicts = [learned];
    uses = [true];
    expect(await authorize()).toMatchObject({ approvalId: null });
    expect(of("countLearnedUse")).toEqual([["countLearnedUse", "L1", expect.objectContaining(context)]]);
    expect(of("ask")).toEqual([]);
  });

  it("that is used up decides nothing: it is judged again without it", async () => {
    verdicts = [learned, judged("ask")];
    expect(await authorize()).toMatchObject({ approvalId: "a1" });
    expect(of("decided")).toEqual([["decided", judged("ask")]]);
  });

  it("that is used up and still would allow: the owner is asked", async () => {
    verdicts = [learned, learned];
    expect(await authorize()).toMatchObject({ approvalId: "a1" });
    expect(of("ask")).toHaveLength(1);
  });

  it("that is used up where nothing is asked without it: nobody is asked", async () => {
    verdicts = [learned, judged("allow")];
    expect(await authorize()).toMatchObject({ approvalId: null });
    expect(of("ask")).toEqual([]);
  });

  it("may have been used for the last time by this authorization", async () => {
    verdicts = [learned];
    uses = [true];
    const authorization = await authorize();
    verdicts = [judged("ask")];
    gate.redeem(authorization, remove);
  });

  it.each([
    ["denied now", judged("deny")],
    ["held now", judged("ask", { heldBy: "The soul holds it." })],
    ["stricter now", judged("ask", { tier: "T3" })],
  ])("does not authorize what is %s", async (_name, now) => {
    verdicts = [learned];
    uses = [true];
    const authorization = await authorize();
    verdicts = [now];
    expect(await refusal(() => gate.redeem(authorization, remove))).toMatchObject({ code: "denied" });
  });

  it("does not count where the owner approved, or no approval was needed", async () => {
    verdicts = [judged("allow")];
    const authorization = await authorize();
    verdicts = [judged("ask")];
    expect(await refusal(() => gate.redeem(authorization, remove))).toMatchObject({ code: "denied" });
    verdicts = [learned, learned, judged("ask", { rules: [{ id: "other", source: "policy", message: "Another." }] })];
    const asked = await authorize();
    expect(await refusal(() => gate.redeem(asked, remove))).toMatchObject({ code: "denied" });
  });
});

describe("authorization", () => {
  /** The gate names the rules that speak now. */
  const changed = /Because of /;

  it.each([
    ["the same is decided", judged("ask"), null],
    ["it is allowed by now", judged("allow", { rules: [{ id: "other", source: "policy", message: "Another." }] }), null],
    ["it is asked for less", judged("ask", { rules: [] }), null],
    ["it is denied by now", judged("deny"), changed],
    ["it is asked for something else too", judged("ask", { rules: [...judged("ask").decision.rules, rule("y")] }), changed],
    ["it is asked for something else", judged("ask", { rules: [rule("y")] }), changed],
  ])("of the owner where %s", async (_name, now, expectedText) => {
    const authorization = await authorize();
    verdicts = [now];
    uses = [true];
    if (expectedText === null) gate.redeem(authorization, remove);
    else
      expect(await refusal(() => gate.redeem(authorization, remove))).toMatchObject({
        code: "denied",
        message: expect.stringMatching(expectedText),
      });
    expect(of("use")).toEqual(expectedText === null ? [["use", "a1"]] : []);
  });

  it.each([
    ["allowed", judged("allow"), true],
    ["asked for", judged("ask"), false],
    ["denied", judged("deny"), false],
  ])("without a question where it is %s by now", async (_name, now, good) => {
    verdicts = [judged("allow")];
    const authorization = await authorize();
    verdicts = [now];
    if (good) gate.redeem(authorization, remove);
    else {
      const error = await refusal(() => gate.redeem(authorization, remove));
      expect(error.message).toMatch(changed);
      expect(error.data).toEqual({ decision: now.decision });
    }
    expect(of("use")).toEqual([]);
  });

  it("for once uses the answer up, and for the quest does not", async () => {
    uses = [true, false];
    gate.redeem(await authorize(), remove);
    const spent = await authorize();
    expect(await refusal(() => gate.redeem(spent, remove))).toMatchObject({
      code: "denied",
    });
    answer = { status: "allowed_quest" };
    kept.set("a1", approval("allowed_quest"));
    gate.redeem(await authorize(), remove);
    expect(of("use")).toHaveLength(2);
    for (const now of [approval("denied"), null]) {
      kept.clear();
      if (now !== null) kept.set("a1", now);
      const authorization = await authorize();
      expect(await refusal(() => gate.redeem(authorization, remove))).toMatchObject({ code: "denied" });
    }
  });

  it("is tried once, for exactly the intent, and cannot be made up", async () => {
    verdicts = [judged("allow")];
    const authorization = await authorize();
    expect(await refusal(() => gate.redeem({ ...authorization }, remove))).toMatchObject({ code: "denied" });
    expect(await refusal(() => gate.redeem(authorization, { ...remove, args: { path: "b.ts" } }))).toMatchObject({
      code: "denied",
    });
    expect(await refusal(() => gate.redeem(authorization, remove))).toMatchObject({
      code: "denied",
    });
    const other = await authorize();
    expect(await refusal(() => gate.redeem(other, { ...remove, args: { size: 1n } }))).toMatchObject({
      code: "denied",
      cause: expect.any(TypeError),
    });
  });
});

function rule(id: string) {
  return { id: `command.${id}`, source: "policy" as const, message: `Because of ${id}.` };
}

/** What the fake gate binds a request to. */
function bindingOf(code: string) {
  return { scopes: [], code: { exact: code, files: [] }, basis: `basis of ${code}` };
}

const savedRule: StoredRule = {
  id: "rule-1",
  scope: {
    ...{ capability: "file_ops", action: "delete", match: "exact", pattern: "a.ts", folder: null, containment: null, network: null },
    ...{ start: "", rest: "" },
  },
  tier: "T2",
  rules: [],
  codeExact: "code",
  codeFiles: [],
  approvalId: "a0",
  questId: null,
  hostId: "host-1",
  createdAt: "2026-11-20T10:00:00.000Z",
  uses: 0,
  lastUsedAt: null,
};
