import { rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Transport } from "../../../agent-server/contract/common.ts";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import type { Approval, ApprovalDecision, ApprovalStatus } from "../../../agent-server/contract/governance.ts";
import type { Authorization } from "../../../agent-server/governance/governance.ts";
import { governanceHandlers } from "../../../agent-server/governance/governance-handlers.ts";
import { createGovernanceFixture, type GovernanceFixture, intent } from "../../support/governance-fixture.ts";

const questId = "quest-1";
const remove = intent("file_ops", "delete", { path: "src/a.ts" }, { questId });
const question = { title: "Delete src/a.ts", detail: "src/a.ts, 1 line" };

let clock: number;
let fixture: GovernanceFixture;
let others: GovernanceFixture[];
/** A host on folders of its own. */
let elsewhere: GovernanceFixture | null = null;
beforeEach(() => {
  clock = Date.parse("2026-11-20T10:00:00Z");
  fixture = createGovernanceFixture({ now: () => clock });
  others = [];
});
afterEach(() => {
  for (const each of others) each.close();
  fixture.dispose();
  elsewhere?.dispose();
  elsewhere = null;
});

function beside(more = {}): GovernanceFixture {
  const other = fixture.beside(more);
  others.push(other);
  return other;
}

function authorize(
  at: GovernanceFixture = fixture,
  what = remove,
  more: { signal?: AbortSignal; onWaiting?: (approval: Approval) => void } = {},
) {
  const promise = at.governance.authorize(what, question, {
    quest: what.questId ?? null,
    parent: null,
    signal: new AbortController().signal,
    ...more,
  });
  // The test looks at how it ended later.
  promise.catch(() => undefined);
  return promise;
}

/** Asks, and answers at once. */
async function answered(decision: ApprovalDecision, reason?: string, what = remove): Promise<Authorization> {
  return authorize(fixture, what, { onWaiting: (approval) => void fixture.governance.approvals.decide(approval.id, decision, reason) });
}

async function refusal(promise: Promise<unknown>): Promise<LancelotError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof LancelotError) return error;
    throw error;
  }
  throw new Error("It was not refused.");
}

const receipts = (name: string, at = fixture) => at.ledger.search({ limit: 500 }).items.filter((receipt) => receipt.actionName === name);

const denied = expect.objectContaining({ code: "denied" }) as Error;
const conflict = (status: ApprovalStatus) => expect.objectContaining({ code: "conflict", data: { status } }) as Error;

describe("authorization", () => {
  it("is given at once where nothing has to be asked, and used once", async () => {
    const read = intent("file_ops", "read", { path: "src/a.ts" });
    const authorization = await authorize(fixture, read);
    expect(authorization).toMatchObject({ approvalId: null, decision: { verdict: "allow", tier: "T0" } });
    expect(fixture.events).toEqual([]);
    fixture.governance.redeem(authorization, read);
    expect(() => fixture.governance.redeem(authorization, read)).toThrow(denied);
  });

  it("is for exactly the intent that was asked about", async () => {
    for (const other of [
      { ...remove, args: { path: "src/b.ts" } },
      { ...remove, args: { path: "src/a.ts", recursive: true } },
      { ...remove, action: "write" },
      { ...remove, capability: "repo_ops" },
      { ...remove, cwd: "src" },
      { ...remove, questId: "quest-2" },
      intent("file_ops", "delete", { path: "src/a.ts" }),
    ]) {
      const authorization = await answered("allow_once");
      expect(() => fixture.governance.redeem(authorization, other)).toThrow(LancelotError);
      // A wrong try uses it up.
      expect(() => fixture.governance.redeem(authorization, remove)).toThrow(denied);
    }
    const authorization = await answered("allow_once");
    fixture.governance.redeem(authorization, { ...remove, args: { path: "src/a.ts" } });
  });

  it("does not depend on the order in which arguments are written", async () => {
    const authorization = await answered(
      "allow_once",
      undefined,
      intent("file_ops", "delete", { path: "src/a.ts", b: { c: 1, d: 2 } }, { questId }),
    );
    fixture.governance.redeem(authorization, intent("file_ops", "delete", { b: { d: 2, c: 1 }, path: "src/a.ts" }, { questId }));
  });

  it("cannot be made up or copied", async () => {
    const authorization = await answered("allow_once");
    expect(() => fixture.governance.redeem({ ...authorization }, remove)).toThrow(denied);
    const other = beside();
    expect(() => other.governance.redeem(authorization, remove)).toThrow(denied);
    fixture.governance.redeem(authorization, remove);
  });

  it("ends when the file has become something else meanwhile", async () => {
    const write = intent("file_ops", "write", { path: "src/new.ts", content: "x" });
    const authorization = await authorize(fixture, write);
    symlinkSync(join(fixture.workspace, ".env"), join(fixture.workspace, "src/new.ts"));
    expect(() => fixture.governance.redeem(authorization, write)).toThrow(denied);
    rmSync(join(fixture.workspace, "src/new.ts"));

    const asked = await answered("allow_once");
    rmSync(join(fixture.workspace, "src/a.ts"));
    symlinkSync("/etc/hosts", join(fixture.workspace, "src/a.ts"));
    expect(() => fixture.governance.redeem(asked, remove)).toThrow(denied);
  });

  it("is refused by policy with a receipt, and the decision reaches the caller", async () => {
    const error = await refusal(
      authorize(fixture, intent("shell_exec", "run", { command: "rm -rf / # API_KEY=sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789" })),
    );
    expect(error).toMatchObject({ code: "denied" });
    expect(error.data?.["decision"]).toMatchObject({ verdict: "deny", rules: [{ id: expect.stringMatching(/^command\./) as unknown }] });
    const [receipt] = receipts("governance.deny");
    expect(receipt).toMatchObject({ status: "failure", riskTier: "T3", errorMessage: error.message, inputs: { capability: "shell_exec" } });
    expect(JSON.stringify(receipt)).not.toContain("abcdefghijklmnopqrstuvwxyz");
  });

  it("is refused when the gate itself fails", async () => {
    const circle: Record<string, unknown> = {};
    circle["self"] = circle;
    for (const args of [
      { path: "src/a.ts", circle },
      { path: "src/a.ts", big: 1n },
    ]) {
      expect(await refusal(authorize(fixture, intent("file_ops", "delete", args)))).toMatchObject({ code: "denied" });
    }
    vi.spyOn(fixture.ledger, "open").mockImplementation(() => {
      throw new Error("The disk is full.");
    });
    expect(await refusal(authorize())).toMatchObject({ code: "denied" });
    expect(fixture.governance.approvals.list({ limit: 10 })).toEqual([]);
  });

  it("is not given when it was stopped before", async () => {
    expect(await refusal(authorize(fixture, remove, { signal: AbortSignal.abort() }))).toMatchObject({ code: "cancelled" });
  });
});

describe("a question", () => {
  it("shows what will happen, waits, and is a receipt; the answer is another under it", async () => {
    const waiting = vi.fn();
    const promise = authorize(fixture, remove, { onWaiting: waiting });
    const [open] = fixture.governance.approvals.list({ limit: 10 });
    expect(open).toMatchObject({
      questId,
      ...question,
      tier: "T3",
      status: "pending",
      rules: [{ id: "soul.requires-approval" }],
      createdAt: "2026-11-20T10:00:00.000Z",
      expiresAt: "2026-11-20T10:01:00.000Z",
      decidedAt: null,
    });
    expect(waiting).toHaveBeenCalledExactlyOnceWith(open);
    clock += 5000;
    const closed = fixture.governance.approvals.decide(open?.id ?? "", "allow_once");
    expect(closed).toMatchObject({ status: "allowed_once", decidedAt: "2026-11-20T10:00:05.000Z" });
    expect(await promise).toMatchObject({ approvalId: open?.id, intentHash: open?.intentHash });
    expect(fixture.events.map((event) => event.status)).toEqual(["pending", "allowed_once"]);
    const [asked] = receipts("approval.ask");
    const [answer] = receipts("approval.answer");
    expect(asked).toMatchObject({ actionType: "user_interaction", riskTier: "T3", questId, status: "success" });
    expect(answer).toMatchObject({ actionType: "user_interaction", parentId: asked?.id, outputs: { answer: "allowed_once" } });
  });

  it.each(Transport.options)("the receipt of an answer names who gave it, and by which way: %s", async (transport) => {
    const handlers = governanceHandlers(fixture.governance, () => ({ passed: 0, failed: 0, skipped: 0 }) as never);
    const call = { owner: true, signal: new AbortController().signal, transport };
    for (const [decision, answer] of [
      ["allow_once", "allowed_once"],
      ["deny", "denied"],
    ] as const) {
      const what = intent("file_ops", "delete", { path: `src/${transport}-${decision}.ts` }, { questId });
      const promise = authorize(fixture, what).catch(() => null);
      const id = fixture.governance.approvals.list({ limit: 1 })[0]?.id ?? "";
      await handlers["approvals.decide"]({ id, decision, reason: "Why." }, call);
      await promise;
      expect(receipts("approval.answer")[0]?.outputs).toEqual({ answer, reason: "Why.", answeredBy: "owner", transport });
    }
  });

  it("a denial reaches the caller with the owner's reason", async () => {
    const error = await refusal(answered("deny", "  Keep it, the tests need it. "));
    expect(error).toMatchObject({ code: "denied", data: { reason: "Keep it, the tests need it." } });
    expect(error.data).toMatchObject({ reason: "Keep it, the tests need it.", decision: { verdict: "ask" } });
    const other = intent("file_ops", "delete", { path: "src/b.ts" }, { questId });
    expect(await refusal(answered("deny", undefined, other))).toMatchObject({ code: "denied", data: { reason: null } });
  });

  it("is answered once", async () => {
    const promise = authorize();
    const id = fixture.governance.approvals.list({ limit: 1 })[0]?.id ?? "";
    fixture.governance.approvals.decide(id, "deny");
    for (const decision of ["allow_once", "allow_quest", "deny"] as const) {
      expect(() => fixture.governance.approvals.decide(id, decision)).toThrow(conflict("denied"));
    }
    expect(await refusal(promise)).toMatchObject({ code: "denied" });
    expect(fixture.events).toHaveLength(2);
    expect(receipts("approval.answer")).toHaveLength(1);
    expect(() => fixture.governance.approvals.decide("nonsense", "deny")).toThrow(expect.objectContaining({ code: "not_found" }));
  });

  it("that nobody answers in time ends in a refusal that says so, and can no longer be answered", async () => {
    const promise = authorize();
    const id = fixture.governance.approvals.list({ limit: 1 })[0]?.id ?? "";
    clock += 60_000;
    const error = await refusal(promise);
    expect(error).toMatchObject({ code: "needs_approval", data: { approvalId: id, expired: true } });
    expect(error).toMatchObject({ code: "needs_approval", data: { expired: true } });
    expect(fixture.governance.approvals.get(id)?.status).toBe("expired");
    expect(() => fixture.governance.approvals.decide(id, "allow_once")).toThrow(conflict("expired"));
    expect(receipts("approval.expire")).toHaveLength(1);
  });

  it("cannot be answered after its time even before anyone noticed that it is over", async () => {
    const promise = authorize();
    const id = fixture.governance.approvals.list({ limit: 1 })[0]?.id ?? "";
    clock += 60_000;
    expect(() => fixture.governance.approvals.decide(id, "allow_once")).toThrow(conflict("expired"));
    expect(await refusal(promise)).toMatchObject({ code: "needs_approval" });
  });

  it("waits as long as the setting says from then on", async () => {
    fixture.governance.setApprovalTimeout(600);
    const promise = authorize();
    expect(fixture.governance.approvals.list({ limit: 1 })[0]?.expiresAt).toBe("2026-11-20T10:10:00.000Z");
    fixture.governance.approvals.cancelQuest(questId);
    await refusal(promise);
  });

  it("is canceled when its task stops", async () => {
    const stop = new AbortController();
    const promise = authorize(fixture, remove, { signal: stop.signal });
    stop.abort();
    expect(await refusal(promise)).toMatchObject({ code: "cancelled" });
    expect(fixture.events.map((event) => event.status)).toEqual(["pending", "cancelled"]);
    expect(() => fixture.governance.approvals.decide(fixture.events[0]?.id ?? "", "allow_once")).toThrow(conflict("cancelled"));
  });

  it("is canceled with its quest, and others stay", async () => {
    const mine = authorize();
    const other = authorize(fixture, { ...remove, questId: "quest-2" });
    fixture.governance.approvals.cancelQuest(questId);
    expect(await refusal(mine)).toMatchObject({ code: "cancelled" });
    expect(fixture.governance.approvals.list({ limit: 10 }).map((approval) => approval.questId)).toEqual(["quest-2"]);
    expect(fixture.governance.approvals.list({ limit: 10, questId })).toEqual([]);
    expect(fixture.governance.approvals.list({ limit: 10, questId, status: "cancelled" })).toHaveLength(1);
    fixture.governance.approvals.cancelQuest("quest-2");
    await refusal(other);
  });

  it("is canceled when reporting it fails", async () => {
    const promise = authorize(fixture, remove, {
      onWaiting: () => {
        throw new Error("The window is gone.");
      },
    });
    expect(await refusal(promise)).toMatchObject({ code: "denied" });
    expect(fixture.governance.approvals.list({ limit: 10 })).toEqual([]);
  });

  it("stores no secret and no endless text, and is bound to the arguments as they are", async () => {
    const key = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
    const ask = (content: string) =>
      fixture.governance
        .authorize(
          intent("file_ops", "write", { path: ".env", content }, { questId }),
          { title: `Write ${content}`, detail: `${content}\n${"x".repeat(200_000)}` },
          { quest: questId, parent: null, signal: new AbortController().signal },
        )
        .catch(() => undefined);
    const both = [ask(`KEY=${key}`), ask(`KEY=${key}0`)];
    const open = fixture.governance.approvals.list({ limit: 10 });
    expect(new Set(open.map((approval) => approval.intentHash)).size).toBe(2);
    expect(JSON.stringify(open)).not.toContain("abcdefghijklmnopqrstuvwxyz");
    expect(JSON.stringify(receipts("approval.ask"))).not.toContain("abcdefghijklmnopqrstuvwxyz");
    for (const approval of open) {
      expect(approval.detail.length).toBeLessThan(110_000);
      expect(approval.detail).toMatch(/more characters$/);
    }
    fixture.governance.approvals.cancelQuest(questId);
    await Promise.all(both);
  });
});

describe("what is kept of a question", () => {
  const ask = (more: { title?: string; detail?: string } = {}) => {
    const promise = fixture.governance.authorize(
      remove,
      { ...question, ...more },
      { quest: questId, parent: null, signal: new AbortController().signal },
    );
    promise.catch(() => undefined);
    const [open] = fixture.governance.approvals.list({ limit: 1 });
    if (open === undefined) throw new Error("Nothing was asked.");
    return { promise, open };
  };

  it("a receipt of the question and one of its end, which say exactly this", async () => {
    const about = (id: string) => ({ approvalId: id, intentHash: expect.any(String) as string, title: question.title });
    const ends: [string, "success" | "cancelled", Record<string, unknown>, (id: string) => void][] = [
      ["approval.answer", "success", { answer: "allowed_once" }, (id) => void fixture.governance.approvals.decide(id, "allow_once", "  ")],
      ["approval.answer", "success", { answer: "allowed_quest" }, (id) => void fixture.governance.approvals.decide(id, "allow_quest")],
      [
        "approval.answer",
        "success",
        { answer: "denied", reason: "No." },
        (id) => {
          fixture.governance.approvals.decide(id, "deny", " No. ");
          fixture.governance.approvals.askAgain(id);
        },
      ],
      ["approval.cancel", "cancelled", { answer: "cancelled" }, () => fixture.governance.approvals.cancelQuest(questId)],
      [
        "approval.expire",
        "cancelled",
        { answer: "expired" },
        () => {
          clock += 60_000;
          expect(fixture.governance.approvals.list({ limit: 1 })).toEqual([]);
        },
      ],
    ];
    // Leave for the task comes last: it would answer what follows.
    for (const [name, status, outputs, end] of ends.toSorted(
      ([, , a], [, , b]) => Number(a["answer"] === "allowed_quest") - Number(b["answer"] === "allowed_quest"),
    )) {
      const { promise, open } = ask();
      end(open.id);
      await promise.catch(() => undefined);
      const asked = receipts("approval.ask").find(({ inputs }) => inputs["approvalId"] === open.id);
      expect(asked).toMatchObject({ status: "success", parentId: null, questId, riskTier: "T3" });
      expect(asked?.inputs).toEqual({ ...about(open.id), capability: "file_ops", action: "delete", detail: question.detail });
      expect(asked?.outputs).toEqual({ expiresAt: open.expiresAt, waits: true, rules: ["soul.requires-approval"] });
      const ended = receipts(name).find(({ inputs }) => inputs["approvalId"] === open.id);
      expect(ended, name).toMatchObject({ actionType: "user_interaction", status, parentId: asked?.id, questId, riskTier: "T3" });
      expect(ended?.inputs).toEqual(about(open.id));
      expect(ended?.outputs).toEqual(outputs);
    }
  });

  it("its words, as long as they may be", async () => {
    const { promise, open } = ask({ title: "t".repeat(500), detail: "d".repeat(100_001) });
    expect(open.title).toBe("t".repeat(500));
    expect(open.detail).toBe(`${"d".repeat(100_000)}\n… 1 more characters`);
    expect(String(receipts("approval.ask")[0]?.inputs["detail"])).toHaveLength(4000);
    expect(open.channels).toEqual(fixture.governance.soul.active()?.document.approval_rules.channels);
    fixture.governance.approvals.decide(open.id, "deny", "r".repeat(4001));
    expect((await refusal(promise)).data?.["reason"]).toBe(`${"r".repeat(4000)}\n… 1 more characters`);
  });

  it("how many were answered, and how", async () => {
    const counts = () => fixture.governance.stats(1, { waiting: 0, failed: 0 }).approvals;
    expect(counts()).toEqual({ pending: 0, allowed: 0, denied: 0, expired: 0 });
    await answered("allow_once");
    for (const path of ["src/x.ts", "src/y.ts"])
      await refusal(answered("deny", undefined, intent("file_ops", "delete", { path }, { questId })));
    const late = ask();
    clock += 60_000;
    expect(counts()).toEqual({ pending: 0, allowed: 1, denied: 2, expired: 1 });
    await refusal(late.promise);
    await answered("allow_quest");
    const waits = authorize(fixture, { ...remove, args: { path: "src/b.ts" } });
    expect(counts()).toEqual({ pending: 1, allowed: 2, denied: 2, expired: 1 });
    fixture.governance.approvals.cancelQuest(questId);
    await refusal(waits);
    expect(counts().pending).toBe(0);
  });

  it("nothing of one that was never asked", () => {
    expect(fixture.governance.approvals.get("none")).toBeNull();
    expect(() => fixture.governance.approvals.decide("none", "deny")).toThrow(expect.objectContaining({ code: "not_found" }) as Error);
  });

  it("how it ended, for whoever answers it again", async () => {
    const { promise, open } = ask();
    fixture.governance.approvals.decide(open.id, "allow_quest");
    await promise;
    expect(() => fixture.governance.approvals.decide(open.id, "deny")).toThrow(
      expect.objectContaining({
        code: "conflict",
        data: { status: "allowed_quest" },
      }) as Error,
    );
  });
});

describe("approval for the whole task", () => {
  it("is requested again when the same arguments have come to mean more", async () => {
    const script = (ship: string) => writeFileSync(join(fixture.workspace, "package.json"), JSON.stringify({ scripts: { ship } }));
    const ship = intent("shell_exec", "run", { command: "npm run ship" }, { questId });
    const allowed = async () => {
      const asked = authorize(fixture, ship);
      const [open] = fixture.governance.approvals.list({ limit: 10 });
      fixture.governance.approvals.decide(open?.id ?? "", "allow_quest");
      return asked;
    };
    script("npm install left-pad");
    fixture.governance.redeem(await allowed(), ship);
    fixture.governance.redeem(await authorize(fixture, ship), ship);
    expect(receipts("approval.ask")).toHaveLength(1);
    script("npm install left-pad && git push");
    fixture.governance.redeem(await allowed(), ship);
    expect(receipts("approval.ask")).toHaveLength(2);
  });

  it("covers the identical intent for the rest of the quest, and nothing else", async () => {
    fixture.governance.redeem(await answered("allow_quest"), remove);
    const again = await authorize();
    fixture.governance.redeem(again, remove);
    expect(receipts("approval.ask")).toHaveLength(1);
    for (const other of [
      { ...remove, args: { path: "src/b.ts" } },
      { ...remove, questId: "quest-2" },
    ]) {
      const stop = new AbortController();
      const promise = authorize(fixture, other, { signal: stop.signal });
      expect(fixture.governance.approvals.list({ limit: 10 })).toHaveLength(1);
      stop.abort();
      expect(await refusal(promise)).toMatchObject({ code: "cancelled" });
    }
  });

  it("survives a restart of the host; a one-time approval does not", async () => {
    await answered("allow_quest");
    const once = intent("file_ops", "delete", { path: "src/b.ts" }, { questId });
    await answered("allow_once", undefined, once);
    fixture.close();
    fixture = fixture.beside();
    expect(await authorize()).toMatchObject({ decision: { verdict: "ask" }, approvalId: expect.any(String) });
    const promise = authorize(fixture, once);
    expect(fixture.governance.approvals.list({ limit: 10 })).toHaveLength(1);
    fixture.governance.approvals.cancelQuest(questId);
    expect(await refusal(promise)).toMatchObject({ code: "cancelled" });
  });

  it("needs a task", async () => {
    const stop = new AbortController();
    const promise = authorize(fixture, intent("file_ops", "delete", { path: "src/a.ts" }), { signal: stop.signal });
    const id = fixture.governance.approvals.list({ limit: 1 })[0]?.id ?? "";
    expect(() => fixture.governance.approvals.decide(id, "allow_quest")).toThrow(expect.objectContaining({ code: "conflict" }));
    expect(fixture.governance.approvals.get(id)?.status).toBe("pending");
    stop.abort();
    await refusal(promise);
  });

  it("does not outlive a stricter policy", async () => {
    await answered("allow_quest");
    const authorization = await authorize();
    rmSync(join(fixture.workspace, "src/a.ts"));
    symlinkSync("/etc/hosts", join(fixture.workspace, "src/a.ts"));
    expect(() => fixture.governance.redeem(authorization, remove)).toThrow(denied);
  });
});

describe("several windows on one data folder", () => {
  it("an answer in one reaches the other, which waits", async () => {
    const other = beside();
    const promise = authorize();
    const [open] = other.governance.approvals.list({ limit: 10 });
    other.governance.approvals.decide(open?.id ?? "", "deny", "From the other window.");
    expect(await refusal(promise)).toMatchObject({ code: "denied", data: { reason: "From the other window." } });
    expect(fixture.events.map((event) => event.status)).toEqual(["pending", "denied"]);
  });

  it("an answer is noticed however late it comes, and nothing looks any more after it", async () => {
    const other = beside();
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    try {
      const promise = authorize();
      vi.advanceTimersByTime(20_000);
      expect(vi.getTimerCount()).toBe(1);
      other.governance.approvals.decide(fixture.events[0]?.id ?? "", "allow_once");
      vi.advanceTimersByTime(500);
      fixture.governance.redeem(await promise, remove);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it("answer a question once, whoever is first", async () => {
    const other = beside();
    const promise = authorize();
    const id = fixture.governance.approvals.list({ limit: 10 })[0]?.id ?? "";
    other.governance.approvals.decide(id, "allow_once");
    expect(() => fixture.governance.approvals.decide(id, "deny")).toThrow(conflict("allowed_once"));
    const authorization = await promise;
    expect(authorization.approvalId).toBe(id);
    fixture.governance.redeem(authorization, remove);
    expect(receipts("approval.answer")).toHaveLength(1);
  });

  it("do not show each other's questions of another workspace", async () => {
    const other = beside({ workspace: fixture.dataDir });
    const promise = authorize();
    expect(other.governance.approvals.list({ limit: 10 })).toEqual([]);
    fixture.governance.approvals.cancelQuest(questId);
    await refusal(promise);
  });

  it("a question that outlived its host is asked again under the same id", async () => {
    const gone = createGovernanceFixture({ now: () => clock });
    elsewhere = gone;
    void authorize(gone);
    const [open] = gone.governance.approvals.list({ limit: 10 });
    gone.close();
    const next = gone.beside();
    others.push(next);
    expect(next.governance.approvals.list({ limit: 10 })).toEqual([open]);
    clock += 10_000;
    const promise = authorize(next);
    const [again] = next.governance.approvals.list({ limit: 10 });
    expect(again).toMatchObject({ id: open?.id, expiresAt: "2026-11-20T10:01:10.000Z" });
    next.governance.approvals.decide(again?.id ?? "", "allow_once");
    next.governance.redeem(await promise, remove);
  });

  it("the same question of two calls is two questions", async () => {
    const promises = [authorize(), authorize()];
    const open = fixture.governance.approvals.list({ limit: 10 });
    expect(new Set(open.map((approval) => approval.id)).size).toBe(2);
    for (const approval of open) fixture.governance.approvals.decide(approval.id, "allow_once");
    const leaves = await Promise.all(promises);
    for (const authorization of leaves) fixture.governance.redeem(authorization, remove);
  });
});

describe("where nobody can be asked", () => {
  beforeEach(() => fixture.governance.setCanAsk(false));

  it("what needs an answer is refused at once, naming the question", async () => {
    const error = await refusal(authorize());
    expect(error).toMatchObject({
      code: "needs_approval",
    });
    expect(fixture.governance.approvals.get(String(error.data?.["approvalId"]))).toMatchObject({
      status: "pending",
      title: question.title,
    });
  });

  it("the same question is not piled up", async () => {
    const first = await refusal(authorize());
    const second = await refusal(authorize());
    expect(second.data?.["approvalId"]).toBe(first.data?.["approvalId"]);
    expect(fixture.governance.approvals.list({ limit: 10 })).toHaveLength(1);
  });

  it("an answer given later serves the identical intent, once", async () => {
    const id = String((await refusal(authorize())).data?.["approvalId"]);
    fixture.governance.approvals.decide(id, "allow_once");
    expect(await refusal(authorize(fixture, { ...remove, args: { path: "src/b.ts" } }))).toMatchObject({ code: "needs_approval" });
    const next = beside();
    next.governance.setCanAsk(false);
    const authorization = await authorize(next);
    expect(authorization.approvalId).toBe(id);
    const twin = await authorize(fixture);
    next.governance.redeem(authorization, remove);
    expect(() => fixture.governance.redeem(twin, remove)).toThrow(denied);
    expect(await refusal(authorize())).toMatchObject({ code: "needs_approval" });
  });

  it("an answer given later does not serve for ever", async () => {
    const id = String((await refusal(authorize())).data?.["approvalId"]);
    clock += 30_000;
    fixture.governance.approvals.decide(id, "allow_once");
    clock += 60_000;
    expect(await refusal(authorize())).toMatchObject({ code: "needs_approval" });
  });

  it("an answer given later does not serve another workspace", async () => {
    const push = intent("repo_ops", "push", { remote: "origin", branch: "main" });
    const id = String((await refusal(authorize(fixture, push))).data?.["approvalId"]);
    fixture.governance.approvals.decide(id, "allow_once");
    const other = beside({ workspace: fixture.dataDir });
    other.governance.setCanAsk(false);
    expect(await refusal(authorize(other, push))).toMatchObject({ code: "needs_approval" });
    expect((await authorize(fixture, push)).approvalId).toBe(id);
  });

  it("what is allowed or denied anyway is not affected", async () => {
    expect(await authorize(fixture, intent("file_ops", "write", { path: "src/a.ts" }))).toMatchObject({ decision: { verdict: "allow" } });
    expect(await refusal(authorize(fixture, intent("file_ops", "read", { path: ".env" })))).toMatchObject({ code: "denied" });
  });
});
