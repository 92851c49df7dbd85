import { rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import type { Approval, ApprovalDecision } from "../../../agent-server/contract/governance.ts";
import type { Authorization } from "../../../agent-server/governance/governance.ts";
import { createGovernanceFixture, type GovernanceFixture, intent } from "../../support/governance-fixture.ts";

const questId = "quest-1";
const remove = intent("file_ops", "delete", { path: "src/a.ts" }, { questId });
const question = { title: "Delete src/a.ts", detail: "src/a.ts, 1 line" };

let clock: number;
let room: GovernanceFixture;
let others: GovernanceFixture[];
/** A host on folders of its own. */
let elsewhere: GovernanceFixture | null = null;
beforeEach(() => {
  clock = Date.parse("2026-11-20T10:00:00Z");
  room = createGovernanceFixture({ now: () => clock });
  others = [];
});
afterEach(() => {
  for (const each of others) each.close();
  room.dispose();
  elsewhere?.dispose();
  elsewhere = null;
});

function beside(more = {}): GovernanceFixture {
  const other = room.beside(more);
  others.push(other);
  return other;
}

function authorize(
  at: GovernanceFixture = room,
  what = remove,
  more: { signal?: AbortSignal; onWaiting?: (approval: Approval) => void } = {},
) {
  const promise = at.governance.authorize(what, question, {
    questId: what.questId ?? null,
    parentId: null,
    signal: new AbortController().signal,
    ...more,
  });
  // The test looks at how it ended later.
  promise.catch(() => undefined);
  return promise;
}

/** Asks, and answers at once. */
async function answered(decision: ApprovalDecision, reason?: string, what = remove): Promise<Authorization> {
  return authorize(room, what, { onWaiting: (approval) => void room.governance.approvals.decide(approval.id, decision, reason) });
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

const receipts = (name: string, at = room) => at.ledger.search({ limit: 500 }).items.filter((receipt) => receipt.actionName === name);

describe("leave", () => {
  it("is given at once where nothing has to be asked, and used once", async () => {
    const read = intent("file_ops", "read", { path: "src/a.ts" });
    const leave = await authorize(room, read);
    expect(leave).toMatchObject({ approvalId: null, decision: { verdict: "allow", tier: "T0" } });
    expect(room.events).toEqual([]);
    room.governance.redeem(leave, read);
    expect(() => room.governance.redeem(leave, read)).toThrow(/already used/);
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
      const leave = await answered("allow_once");
      expect(() => room.governance.redeem(leave, other)).toThrow(LancelotError);
      // A wrong try uses it up.
      expect(() => room.governance.redeem(leave, remove)).toThrow(/already used/);
    }
    const leave = await answered("allow_once");
    room.governance.redeem(leave, { ...remove, args: { path: "src/a.ts" } });
  });

  it("does not depend on the order in which arguments are written", async () => {
    const leave = await answered(
      "allow_once",
      undefined,
      intent("file_ops", "delete", { path: "src/a.ts", b: { c: 1, d: 2 } }, { questId }),
    );
    room.governance.redeem(leave, intent("file_ops", "delete", { b: { d: 2, c: 1 }, path: "src/a.ts" }, { questId }));
  });

  it("cannot be made up or copied", async () => {
    const leave = await answered("allow_once");
    expect(() => room.governance.redeem({ ...leave }, remove)).toThrow(/not authorized/);
    const other = beside();
    expect(() => other.governance.redeem(leave, remove)).toThrow(/not authorized/);
    room.governance.redeem(leave, remove);
  });

  it("ends when the file has become something else meanwhile", async () => {
    const write = intent("file_ops", "write", { path: "src/new.ts", content: "x" });
    const leave = await authorize(room, write);
    symlinkSync(join(room.workspace, ".env"), join(room.workspace, "src/new.ts"));
    expect(() => room.governance.redeem(leave, write)).toThrow(/things have changed/);
    rmSync(join(room.workspace, "src/new.ts"));

    const asked = await answered("allow_once");
    rmSync(join(room.workspace, "src/a.ts"));
    symlinkSync("/etc/hosts", join(room.workspace, "src/a.ts"));
    expect(() => room.governance.redeem(asked, remove)).toThrow(/outside the workspace/);
  });

  it("is refused by policy with a receipt, and the decision reaches the caller", async () => {
    const error = await refusal(
      authorize(room, intent("shell_exec", "run", { command: "rm -rf / # API_KEY=sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789" })),
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
      expect(await refusal(authorize(room, intent("file_ops", "delete", args)))).toMatchObject({ code: "denied" });
    }
    vi.spyOn(room.ledger, "open").mockImplementation(() => {
      throw new Error("The disk is full.");
    });
    expect(await refusal(authorize())).toMatchObject({ code: "denied" });
    expect(room.governance.approvals.list({ limit: 10 })).toEqual([]);
  });

  it("is not given when it was stopped before", async () => {
    expect(await refusal(authorize(room, remove, { signal: AbortSignal.abort() }))).toMatchObject({ code: "cancelled" });
  });
});

describe("a question", () => {
  it("shows what will happen, waits, and is a receipt; the answer is another under it", async () => {
    const waiting = vi.fn();
    const promise = authorize(room, remove, { onWaiting: waiting });
    const [open] = room.governance.approvals.list({ limit: 10 });
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
    const closed = room.governance.approvals.decide(open?.id ?? "", "allow_once");
    expect(closed).toMatchObject({ status: "allowed_once", decidedAt: "2026-11-20T10:00:05.000Z" });
    expect(await promise).toMatchObject({ approvalId: open?.id, intentHash: open?.intentHash });
    expect(room.events.map((event) => event.status)).toEqual(["pending", "allowed_once"]);
    const [asked] = receipts("approval.ask");
    const [answer] = receipts("approval.answer");
    expect(asked).toMatchObject({ actionType: "user_interaction", riskTier: "T3", questId, status: "success" });
    expect(answer).toMatchObject({ actionType: "user_interaction", parentId: asked?.id, outputs: { answer: "allowed_once" } });
  });

  it("answered with no says so to the caller, with the owner's words", async () => {
    const error = await refusal(answered("deny", "  Keep it, the tests need it. "));
    expect(error).toMatchObject({ code: "denied", message: "The owner said no: Keep it, the tests need it." });
    expect(error.data).toMatchObject({ reason: "Keep it, the tests need it.", decision: { verdict: "ask" } });
    expect(await refusal(answered("deny"))).toMatchObject({ code: "denied", message: "The owner said no." });
  });

  it("is answered once", async () => {
    const promise = authorize();
    const id = room.governance.approvals.list({ limit: 1 })[0]?.id ?? "";
    room.governance.approvals.decide(id, "deny");
    for (const decision of ["allow_once", "allow_quest", "deny"] as const) {
      expect(() => room.governance.approvals.decide(id, decision)).toThrow("This question was already denied.");
    }
    expect(await refusal(promise)).toMatchObject({ code: "denied" });
    expect(room.events).toHaveLength(2);
    expect(receipts("approval.answer")).toHaveLength(1);
    expect(() => room.governance.approvals.decide("nonsense", "deny")).toThrow(expect.objectContaining({ code: "not_found" }));
  });

  it("that nobody answers in time ends in a refusal that says so, and can no longer be answered", async () => {
    const promise = authorize();
    const id = room.governance.approvals.list({ limit: 1 })[0]?.id ?? "";
    clock += 60_000;
    const error = await refusal(promise);
    expect(error).toMatchObject({ code: "needs_approval", data: { approvalId: id, expired: true } });
    expect(error.message).toBe("Nobody answered in time, so this was not done: Delete src/a.ts");
    expect(room.governance.approvals.get(id)?.status).toBe("expired");
    expect(() => room.governance.approvals.decide(id, "allow_once")).toThrow(/expired/);
    expect(receipts("approval.expire")).toHaveLength(1);
  });

  it("cannot be answered after its time even before anyone noticed that it is over", async () => {
    const promise = authorize();
    const id = room.governance.approvals.list({ limit: 1 })[0]?.id ?? "";
    clock += 60_000;
    expect(() => room.governance.approvals.decide(id, "allow_once")).toThrow(/expired/);
    expect(await refusal(promise)).toMatchObject({ code: "needs_approval" });
  });

  it("waits as long as the setting says from then on", async () => {
    room.governance.setApprovalTimeout(600);
    const promise = authorize();
    expect(room.governance.approvals.list({ limit: 1 })[0]?.expiresAt).toBe("2026-11-20T10:10:00.000Z");
    room.governance.approvals.cancelQuest(questId);
    await refusal(promise);
  });

  it("is withdrawn when what asked for it stops", async () => {
    const stop = new AbortController();
    const promise = authorize(room, remove, { signal: stop.signal });
    stop.abort();
    expect(await refusal(promise)).toMatchObject({ code: "cancelled" });
    expect(room.events.map((event) => event.status)).toEqual(["pending", "cancelled"]);
    expect(() => room.governance.approvals.decide(room.events[0]?.id ?? "", "allow_once")).toThrow(/withdrawn/);
  });

  it("is withdrawn with its quest, and others stay", async () => {
    const mine = authorize();
    const other = authorize(room, { ...remove, questId: "quest-2" });
    room.governance.approvals.cancelQuest(questId);
    expect(await refusal(mine)).toMatchObject({ code: "cancelled" });
    expect(room.governance.approvals.list({ limit: 10 }).map((approval) => approval.questId)).toEqual(["quest-2"]);
    expect(room.governance.approvals.list({ limit: 10, questId })).toEqual([]);
    expect(room.governance.approvals.list({ limit: 10, questId, status: "cancelled" })).toHaveLength(1);
    room.governance.approvals.cancelQuest("quest-2");
    await refusal(other);
  });

  it("is withdrawn when showing it fails", async () => {
    const promise = authorize(room, remove, {
      onWaiting: () => {
        throw new Error("The window is gone.");
      },
    });
    expect(await refusal(promise)).toMatchObject({ code: "denied" });
    expect(room.governance.approvals.list({ limit: 10 })).toEqual([]);
  });

  it("stores no secret and no endless text, and is bound to the arguments as they are", async () => {
    const key = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
    const ask = (content: string) =>
      room.governance
        .authorize(
          intent("file_ops", "write", { path: ".env", content }, { questId }),
          { title: `Write ${content}`, detail: `${content}\n${"x".repeat(200_000)}` },
          { questId, parentId: null, signal: new AbortController().signal },
        )
        .catch(() => undefined);
    const both = [ask(`KEY=${key}`), ask(`KEY=${key}0`)];
    const open = room.governance.approvals.list({ limit: 10 });
    expect(new Set(open.map((approval) => approval.intentHash)).size).toBe(2);
    expect(JSON.stringify(open)).not.toContain("abcdefghijklmnopqrstuvwxyz");
    expect(JSON.stringify(receipts("approval.ask"))).not.toContain("abcdefghijklmnopqrstuvwxyz");
    for (const approval of open) {
      expect(approval.detail.length).toBeLessThan(110_000);
      expect(approval.detail).toMatch(/more characters$/);
    }
    room.governance.approvals.cancelQuest(questId);
    await Promise.all(both);
  });
});

describe("what is kept of a question", () => {
  const ask = (more: { title?: string; detail?: string } = {}) => {
    const promise = room.governance.authorize(
      remove,
      { ...question, ...more },
      { questId, parentId: null, signal: new AbortController().signal },
    );
    promise.catch(() => undefined);
    const [open] = room.governance.approvals.list({ limit: 1 });
    if (open === undefined) throw new Error("Nothing was asked.");
    return { promise, open };
  };

  it("a receipt of the question and one of its end, which say exactly this", async () => {
    const about = (id: string) => ({ approvalId: id, intentHash: expect.any(String) as string, title: question.title });
    const ends: [string, "success" | "cancelled", Record<string, unknown>, (id: string) => void][] = [
      ["approval.answer", "success", { answer: "allowed_once" }, (id) => void room.governance.approvals.decide(id, "allow_once", "  ")],
      ["approval.answer", "success", { answer: "allowed_quest" }, (id) => void room.governance.approvals.decide(id, "allow_quest")],
      [
        "approval.answer",
        "success",
        { answer: "denied", reason: "No." },
        (id) => void room.governance.approvals.decide(id, "deny", " No. "),
      ],
      ["approval.cancel", "cancelled", { answer: "cancelled" }, () => room.governance.approvals.cancelQuest(questId)],
      [
        "approval.expire",
        "cancelled",
        { answer: "expired" },
        () => {
          clock += 60_000;
          expect(room.governance.approvals.list({ limit: 1 })).toEqual([]);
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
    expect(open.channels).toEqual(room.governance.soul.active()?.document.approval_rules.channels);
    room.governance.approvals.decide(open.id, "deny", "r".repeat(4001));
    expect((await refusal(promise)).data?.["reason"]).toBe(`${"r".repeat(4000)}\n… 1 more characters`);
  });

  it("how many were answered, and how", async () => {
    const counts = () => room.governance.stats(1, { waiting: 0, failed: 0 }).approvals;
    expect(counts()).toEqual({ pending: 0, allowed: 0, denied: 0, expired: 0 });
    await answered("allow_once");
    await refusal(answered("deny"));
    await refusal(answered("deny"));
    const late = ask();
    clock += 60_000;
    expect(counts()).toEqual({ pending: 0, allowed: 1, denied: 2, expired: 1 });
    await refusal(late.promise);
    await answered("allow_quest");
    const waits = authorize(room, { ...remove, args: { path: "src/b.ts" } });
    expect(counts()).toEqual({ pending: 1, allowed: 2, denied: 2, expired: 1 });
    room.governance.approvals.cancelQuest(questId);
    await refusal(waits);
    expect(counts().pending).toBe(0);
  });

  it("nothing of one that was never asked", () => {
    expect(room.governance.approvals.get("none")).toBeNull();
    expect(() => room.governance.approvals.decide("none", "deny")).toThrow(
      expect.objectContaining({ code: "not_found", message: "There is no approval none." }) as Error,
    );
  });

  it("how it ended, for whoever answers it again", async () => {
    const { promise, open } = ask();
    room.governance.approvals.decide(open.id, "allow_quest");
    await promise;
    expect(() => room.governance.approvals.decide(open.id, "deny")).toThrow(
      expect.objectContaining({
        code: "conflict",
        message: "This question was already allowed for this task.",
        data: { status: "allowed_quest" },
      }) as Error,
    );
  });
});

describe("leave for the task", () => {
  it("is asked for anew when the same words have come to mean more", async () => {
    const script = (ship: string) => writeFileSync(join(room.workspace, "package.json"), JSON.stringify({ scripts: { ship } }));
    const ship = intent("shell_exec", "run", { command: "npm run ship" }, { questId });
    const allowed = async () => {
      const asked = authorize(room, ship);
      const [open] = room.governance.approvals.list({ limit: 10 });
      room.governance.approvals.decide(open?.id ?? "", "allow_quest");
      return asked;
    };
    script("npm install left-pad");
    room.governance.redeem(await allowed(), ship);
    room.governance.redeem(await authorize(room, ship), ship);
    expect(receipts("approval.ask")).toHaveLength(1);
    script("npm install left-pad && git push");
    room.governance.redeem(await allowed(), ship);
    expect(receipts("approval.ask")).toHaveLength(2);
  });

  it("covers the identical intent for the rest of the quest, and nothing else", async () => {
    room.governance.redeem(await answered("allow_quest"), remove);
    const again = await authorize();
    room.governance.redeem(again, remove);
    expect(receipts("approval.ask")).toHaveLength(1);
    for (const other of [
      { ...remove, args: { path: "src/b.ts" } },
      { ...remove, questId: "quest-2" },
    ]) {
      const stop = new AbortController();
      const promise = authorize(room, other, { signal: stop.signal });
      expect(room.governance.approvals.list({ limit: 10 })).toHaveLength(1);
      stop.abort();
      expect(await refusal(promise)).toMatchObject({ code: "cancelled" });
    }
  });

  it("survives a restart of the host; leave for once does not", async () => {
    await answered("allow_quest");
    const once = intent("file_ops", "delete", { path: "src/b.ts" }, { questId });
    await answered("allow_once", undefined, once);
    room.close();
    room = room.beside();
    expect(await authorize()).toMatchObject({ decision: { verdict: "ask" }, approvalId: expect.any(String) });
    const promise = authorize(room, once);
    expect(room.governance.approvals.list({ limit: 10 })).toHaveLength(1);
    room.governance.approvals.cancelQuest(questId);
    expect(await refusal(promise)).toMatchObject({ code: "cancelled" });
  });

  it("needs a task", async () => {
    const stop = new AbortController();
    const promise = authorize(room, intent("file_ops", "delete", { path: "src/a.ts" }), { signal: stop.signal });
    const id = room.governance.approvals.list({ limit: 1 })[0]?.id ?? "";
    expect(() => room.governance.approvals.decide(id, "allow_quest")).toThrow(/belongs to no task/);
    expect(room.governance.approvals.get(id)?.status).toBe("pending");
    stop.abort();
    await refusal(promise);
  });

  it("does not outlive a stricter policy", async () => {
    await answered("allow_quest");
    const leave = await authorize();
    rmSync(join(room.workspace, "src/a.ts"));
    symlinkSync("/etc/hosts", join(room.workspace, "src/a.ts"));
    expect(() => room.governance.redeem(leave, remove)).toThrow(/outside/);
  });
});

describe("several windows on one data folder", () => {
  it("an answer in one reaches the other, which waits", async () => {
    const other = beside();
    const promise = authorize();
    const [open] = other.governance.approvals.list({ limit: 10 });
    other.governance.approvals.decide(open?.id ?? "", "deny", "From the other window.");
    expect(await refusal(promise)).toMatchObject({ code: "denied", message: "The owner said no: From the other window." });
    expect(room.events.map((event) => event.status)).toEqual(["pending", "denied"]);
  });

  it("an answer is noticed however late it comes, and nothing looks any more after it", async () => {
    const other = beside();
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    try {
      const promise = authorize();
      vi.advanceTimersByTime(20_000);
      expect(vi.getTimerCount()).toBe(1);
      other.governance.approvals.decide(room.events[0]?.id ?? "", "allow_once");
      vi.advanceTimersByTime(500);
      room.governance.redeem(await promise, remove);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it("answer a question once, whoever is first", async () => {
    const other = beside();
    const promise = authorize();
    const id = room.governance.approvals.list({ limit: 10 })[0]?.id ?? "";
    other.governance.approvals.decide(id, "allow_once");
    expect(() => room.governance.approvals.decide(id, "deny")).toThrow(/already allowed/);
    const leave = await promise;
    expect(leave.approvalId).toBe(id);
    room.governance.redeem(leave, remove);
    expect(receipts("approval.answer")).toHaveLength(1);
  });

  it("do not show each other's questions of another workspace", async () => {
    const other = beside({ workspace: room.dataDir });
    const promise = authorize();
    expect(other.governance.approvals.list({ limit: 10 })).toEqual([]);
    room.governance.approvals.cancelQuest(questId);
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
    const open = room.governance.approvals.list({ limit: 10 });
    expect(new Set(open.map((approval) => approval.id)).size).toBe(2);
    for (const approval of open) room.governance.approvals.decide(approval.id, "allow_once");
    const leaves = await Promise.all(promises);
    for (const leave of leaves) room.governance.redeem(leave, remove);
  });
});

describe("where nobody can be asked", () => {
  beforeEach(() => room.governance.setCanAsk(false));

  it("what needs an answer is refused at once, naming the question", async () => {
    const error = await refusal(authorize());
    expect(error).toMatchObject({
      code: "needs_approval",
      message: "This needs the owner's approval, and nobody can be asked here: Delete src/a.ts",
    });
    expect(room.governance.approvals.get(String(error.data?.["approvalId"]))).toMatchObject({ status: "pending", title: question.title });
  });

  it("the same question is not piled up", async () => {
    const first = await refusal(authorize());
    const second = await refusal(authorize());
    expect(second.data?.["approvalId"]).toBe(first.data?.["approvalId"]);
    expect(room.governance.approvals.list({ limit: 10 })).toHaveLength(1);
  });

  it("an answer given later serves the identical intent, once", async () => {
    const id = String((await refusal(authorize())).data?.["approvalId"]);
    room.governance.approvals.decide(id, "allow_once");
    expect(await refusal(authorize(room, { ...remove, args: { path: "src/b.ts" } }))).toMatchObject({ code: "needs_approval" });
    const next = beside();
    next.governance.setCanAsk(false);
    const leave = await authorize(next);
    expect(leave.approvalId).toBe(id);
    const twin = await authorize(room);
    next.governance.redeem(leave, remove);
    expect(() => room.governance.redeem(twin, remove)).toThrow(/already used/);
    expect(await refusal(authorize())).toMatchObject({ code: "needs_approval" });
  });

  it("an answer given later does not serve for ever", async () => {
    const id = String((await refusal(authorize())).data?.["approvalId"]);
    clock += 30_000;
    room.governance.approvals.decide(id, "allow_once");
    clock += 60_000;
    expect(await refusal(authorize())).toMatchObject({ code: "needs_approval" });
  });

  it("what is allowed or denied anyway is not affected", async () => {
    expect(await authorize(room, intent("file_ops", "write", { path: "src/a.ts" }))).toMatchObject({ decision: { verdict: "allow" } });
    expect(await refusal(authorize(room, intent("file_ops", "read", { path: ".env" })))).toMatchObject({ code: "denied" });
  });
});
