import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Message, ToolPart } from "../../../agent-server/contract/chat.ts";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import type { Intent } from "../../../agent-server/contract/governance.ts";
import { interruptedOutput } from "../../../agent-server/quests/settle-quest.ts";
import { makeFolders, type HostTools, openHost } from "../../support/quests/harness.ts";
import { recordingTools } from "../../support/quests/recording-tools.ts";
import { type Answer, calls, hangs, says, scriptedModels } from "../../support/quests/scripted-models.ts";

let folders: ReturnType<typeof makeFolders>;
const open: { close(): Promise<void> }[] = [];

beforeEach(() => {
  folders = makeFolders();
});
afterEach(async () => {
  for (const host of open.splice(0)) await host.close();
  folders.remove();
});

function host(script: Answer[], tools: HostTools) {
  const scripted = scriptedModels(script);
  const opened = openHost(folders, scripted.models, tools);
  open.push(opened);
  return { ...opened, scripted };
}

/** Changes the rows of `questId` as if a crashed host had written them. */
function orphan(opened: ReturnType<typeof host>, questId: string): void {
  opened.storage.db.prepare("UPDATE quests SET host_id = 'gone' WHERE id = ?").run(questId);
}

const cards = (messages: Message[]): ToolPart[] =>
  messages.flatMap(({ parts }) => parts.filter((part): part is ToolPart => part.type === "tool"));

describe("after the host stopped", () => {
  it("reports a running tool to the model as interrupted and does not run it again", async () => {
    const running = Promise.withResolvers<void>();
    const stuck = recordingTools({
      write_file: {
        tier: "T1",
        effect: (call) =>
          new Promise((_resolve, reject) => {
            call.signal.addEventListener("abort", () => reject(new LancelotError("cancelled", "Stopped.")), { once: true });
            running.resolve();
          }),
      },
    });
    const first = host([calls(["write_file", { path: "a" }], ["write_file", { path: "b" }])], stuck.tools);
    const { questId } = first.orchestrator.send({ text: "Write." });
    await running.promise;
    await first.close();
    open.length = 0;

    const fresh = recordingTools({ write_file: { tier: "T1", effect: () => ({}) } });
    const second = host([says("It was cut off.")], fresh.tools);
    expect(second.orchestrator.get(questId).quest).toMatchObject({ status: "interrupted" });
    expect(cards(second.orchestrator.get(questId).messages).map(({ status, output }) => [status, output])).toEqual([
      ["cancelled", interruptedOutput],
      ["cancelled", expect.stringMatching(/^not run/)],
    ]);
    second.orchestrator.resume(questId);
    await second.reaches(questId, "done");
    expect(fresh.invoked).toHaveLength(0);
    expect(JSON.stringify(second.scripted.requests[0]?.messages)).toContain(interruptedOutput);
  });

  it("asks again for a pending approval, then runs the call once and the queued ones", async () => {
    const intent: Intent = { capability: "file_ops", action: "delete", args: { path: "a" }, mode: "normal" };
    const gated = (opened: () => ReturnType<typeof host>) =>
      recordingTools({
        delete_file: {
          tier: "T3",
          effect: async (call, note) => {
            const { governance } = opened();
            const authorization = await governance.authorize(
              intent,
              { title: "Delete a", detail: "a" },
              {
                quest: call.quest,
                parent: call.parent,
                signal: call.signal,
                onWaiting: (approval) => call.onUpdate?.({ status: "waiting", approvalId: approval.id, tier: "T3" }),
              },
            );
            call.onUpdate?.({ status: "running" });
            governance.redeem(authorization, intent);
            note("deleted");
            return { text: "deleted" };
          },
        },
        read_file: { tier: "T0", effect: (_call, note) => (note("read"), {}) },
      });
    const before = gated(() => first);
    const first: ReturnType<typeof host> = host([calls(["delete_file", { path: "a" }], ["read_file", { path: "b" }])], before.tools);
    const { questId } = first.orchestrator.send({ text: "Delete." });
    expect((await first.reaches(questId, "waiting")).waitingFor?.kind).toBe("approval");
    await first.close();
    open.length = 0;

    const after = gated(() => second);
    const second: ReturnType<typeof host> = host([says("Deleted.")], after.tools);
    expect(second.orchestrator.get(questId).quest).toMatchObject({ status: "interrupted", waitingFor: { kind: "approval" } });
    second.orchestrator.resume(questId);
    const { waitingFor } = await second.reaches(questId, "waiting");
    second.governance.approvals.decide(waitingFor?.id ?? "", "allow_once");
    await second.reaches(questId, "done");
    expect([...before.log, ...after.log]).toEqual(["deleted", "read"]);
  });

  it("asks an unanswered question again, and uses an answer from just before the stop", async () => {
    const asking = () =>
      recordingTools({
        ask_owner: {
          tier: "T0",
          capability: "quest",
          effect: async (call) => ({ text: (await call.askOwner?.("Which?", undefined, call.signal)) ?? "" }),
        },
      });
    const first = host([calls(["ask_owner", { question: "Which?" }]), calls(["ask_owner", { question: "Which?" }])], asking().tools);
    const { questId } = first.orchestrator.send({ text: "Go." });
    const callId = (await first.reaches(questId, "waiting")).waitingFor?.id ?? "";
    await first.close();
    open.length = 0;

    const second = host([says("Left it is.")], asking().tools);
    expect(second.orchestrator.get(questId).quest).toMatchObject({
      status: "interrupted",
      waitingFor: { kind: "answer", question: "Which?" },
    });
    second.orchestrator.answer(questId, callId, "left");
    await second.reaches(questId, "done");
    expect(JSON.stringify(second.scripted.requests[0]?.messages)).toContain("left");
  });

  it("keeps the streamed text and tells the model that it was cut off", async () => {
    const hanging = Promise.withResolvers<void>();
    const none = recordingTools({});
    const first = host([hangs("The answer is", () => hanging.resolve())], none.tools);
    const { questId } = first.orchestrator.send({ text: "Go." });
    await hanging.promise;
    await first.close();
    open.length = 0;
    const second = host([says("forty-two.")], none.tools);
    second.orchestrator.resume(questId);
    await second.reaches(questId, "done");
    const asked = JSON.stringify(second.scripted.requests[0]?.messages);
    expect(asked).toContain("The answer is");
    expect(asked).toContain("Your last message was cut off");
  });

  it("continues when the pending review is complete, or earlier by a resume", async () => {
    const recorded = recordingTools({ edit_file: { tier: "T1", effect: (call) => recorded.propose("c", call.quest ?? "") } });
    const first = host([calls(["edit_file", {}]), says("Proposed.")], recorded.tools);
    const { questId } = first.orchestrator.send({ text: "Go." });
    await first.reaches(questId, "waiting");
    await first.close();
    open.length = 0;
    const second = host([says("Good.")], recorded.tools);
    orphan(second, questId);
    expect(second.orchestrator.reconcile()).toBe(1);
    expect(second.orchestrator.get(questId).quest).toMatchObject({ status: "interrupted", waitingFor: { kind: "review" } });
    second.orchestrator.resume(questId);
    expect((await second.reaches(questId, "waiting")).waitingFor?.kind).toBe("review");
    orphan(second, questId);
    second.orchestrator.reconcile();
    await recorded.tools.changes.decide("c", "accept");
    await second.reaches(questId, "done");
  });

  it("marks the quests of crashed hosts once, and ignores finished ones", async () => {
    const none = recordingTools({});
    const first = host([says("Done."), hangs("Half", () => undefined)], none.tools);
    const finished = first.orchestrator.send({ text: "One." }).questId;
    await first.reaches(finished, "done");
    expect(first.orchestrator.reconcile()).toBe(0);
    first.storage.db
      .prepare(
        "INSERT INTO quests (id, workspace, title, status, mode, created_at, updated_at, usage, plan, token_limit, reviewed, host_id) SELECT 'q', workspace, 'Lost', 'active', mode, created_at, updated_at, usage, plan, token_limit, reviewed, 'gone' FROM quests WHERE id = ?",
      )
      .run(finished);
    expect(first.orchestrator.reconcile()).toBe(1);
    expect(first.orchestrator.reconcile()).toBe(0);
    expect(first.orchestrator.get("q").quest).toMatchObject({ status: "interrupted" });
    expect(first.orchestrator.get("q").messages[0]?.parts[0]).toMatchObject({ type: "notice", action: "resume" });
  });
});

describe("two windows on one data folder", () => {
  it("allow only one of them to run a quest", async () => {
    const hanging = Promise.withResolvers<void>();
    const none = recordingTools({});
    const first = host([hangs("Working", () => hanging.resolve())], none.tools);
    const { questId } = first.orchestrator.send({ text: "Go." });
    await hanging.promise;
    const second = host([says("Never.")], none.tools);
    expect(second.orchestrator.reconcile()).toBe(0);
    for (const attempt of [
      () => second.orchestrator.send({ questId, text: "x" }),
      () => second.orchestrator.steer(questId, "x"),
      () => second.orchestrator.resume(questId),
    ]) {
      expect(attempt).toThrow(/another window/);
    }
    // The other window started it between the first check and the transaction.
    vi.spyOn(second.storage, "hostAlive").mockReturnValueOnce(false);
    expect(() => second.orchestrator.send({ questId, text: "x" })).toThrow(expect.objectContaining({ code: "conflict" }));
    await expect(second.orchestrator.cancel(questId)).rejects.toThrow(/another window/);
    await expect(second.orchestrator.delete(questId)).rejects.toThrow(/another window/);
    await first.orchestrator.cancel(questId);
    second.orchestrator.resume(questId);
    await second.reaches(questId, "done");
  });
});
