import { afterEach, beforeEach, expect, it } from "vitest";
import type { Message } from "../../../agent-server/contract/chat.ts";
import { reviewSummary } from "../../../agent-server/turn/review-wait.ts";
import { makeFolders, openHost } from "../../support/quests/harness.ts";
import { recordingTools } from "../../support/quests/recording-tools.ts";
import { type Answer, calls, says, scriptedModels } from "../../support/quests/scripted-models.ts";

let folders: ReturnType<typeof makeFolders>;
const open: { close(): Promise<void> }[] = [];

beforeEach(() => {
  folders = makeFolders();
});
afterEach(async () => {
  for (const host of open.splice(0)) await host.close();
  folders.remove();
});

function start(script: Answer[]) {
  const scripted = scriptedModels(script);
  const recorded = recordingTools({
    edit_file: {
      tier: "T1",
      effect: (call) => {
        const { id, hunks } = call.args as { id: string; hunks: number };
        return recorded.propose(id, call.quest ?? "", `${id}.ts`, hunks);
      },
    },
  });
  const host = openHost(folders, scripted.models, recorded.tools);
  open.push(host);
  return { ...host, scripted, recorded };
}

const notices = (messages: Message[]): string[] =>
  messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "notice" ? [part.text] : [])));

it("waits for the review of proposed changes, then gives the model the decisions and one more turn", async () => {
  const { orchestrator, reaches, recorded, scripted } = start([
    calls(["edit_file", { id: "a", hunks: 3 }], ["edit_file", { id: "b", hunks: 2 }]),
    says("Proposed both."),
    says("Noted."),
  ]);
  const { questId } = orchestrator.send({ text: "Change a and b." });
  const waiting = await reaches(questId, "waiting");
  expect(waiting.waitingFor).toEqual({ kind: "review", id: questId });
  await recorded.tools.changes.decide("a", "accept");
  expect(orchestrator.get(questId).quest.status).toBe("waiting");
  await recorded.tools.changes.decide("b", "reject");
  const quest = await reaches(questId, "done");
  expect(quest.waitingFor).toBeNull();
  const { messages } = orchestrator.get(questId);
  expect(notices(messages)).toEqual([reviewSummary(3, 2)]);
  const reported = JSON.stringify(scripted.requests.at(-1)?.messages.at(-1));
  expect(reported).toContain("a.ts: accepted");
  expect(reported).toContain("b.ts: rejected");
  expect(reported).toContain("one short sentence");
  expect(scripted.requests).toHaveLength(3);
});

it("reports decisions made during the run, and does not wait when none are pending", async () => {
  const streaming = Promise.withResolvers<void>();
  const decided = Promise.withResolvers<void>();
  const slow: Answer = async function* (request, signal) {
    streaming.resolve();
    await decided.promise;
    yield* says("Proposed.")(request, signal);
  };
  const { orchestrator, reaches, recorded, scripted } = start([calls(["edit_file", { id: "a", hunks: 1 }]), slow, says("Good.")]);
  const { questId } = orchestrator.send({ text: "Change a." });
  await streaming.promise;
  await recorded.tools.changes.decide("a", "accept");
  decided.resolve();
  await reaches(questId, "done");
  expect(JSON.stringify(scripted.requests.at(-1)?.messages)).toContain("a.ts: accepted");
});

it("continues with a new message during a pending review, then waits for the review again", async () => {
  const { orchestrator, reaches, recorded } = start([
    calls(["edit_file", { id: "a", hunks: 1 }]),
    says("Proposed."),
    says("Yes."),
    says("Good."),
  ]);
  const { questId } = orchestrator.send({ text: "Change a." });
  await reaches(questId, "waiting");
  orchestrator.send({ questId, text: "Is it safe?" });
  expect((await reaches(questId, "waiting")).waitingFor?.kind).toBe("review");
  await recorded.tools.changes.decide("a", "accept");
  await reaches(questId, "done");
});

it("keeps the proposals of a stopped quest for review, and gives the decisions to the model after a resume", async () => {
  const { orchestrator, reaches, recorded, scripted } = start([
    calls(["edit_file", { id: "a", hunks: 1 }]),
    says("Proposed."),
    says("I see."),
  ]);
  const { questId } = orchestrator.send({ text: "Change a." });
  await reaches(questId, "waiting");
  await orchestrator.cancel(questId);
  await recorded.tools.changes.decide("a", "accept");
  expect(orchestrator.get(questId).quest.status).toBe("cancelled");
  orchestrator.resume(questId);
  await reaches(questId, "done");
  expect(JSON.stringify(scripted.requests.at(-1)?.messages)).toContain("a.ts: accepted");
});

it("rejects the proposals of the replaced messages and keeps earlier ones", async () => {
  const { orchestrator, reaches, recorded, scripted } = start([
    calls(["edit_file", { id: "a", hunks: 1 }]),
    says("First."),
    calls(["edit_file", { id: "b", hunks: 1 }]),
    says("Second."),
    says("Only a then."),
  ]);
  const { questId } = orchestrator.send({ text: "Change a." });
  await reaches(questId, "waiting");
  const { messageId } = orchestrator.send({ questId, text: "Change b." });
  await reaches(questId, "waiting");
  orchestrator.send({ questId, text: "Leave b.", replaceMessageId: messageId });
  await reaches(questId, "waiting");
  expect(recorded.changes.get("a")?.status).toBe("pending");
  expect(recorded.changes.get("b")?.status).toBe("rejected");
  expect(JSON.stringify(scripted.requests.at(-1)?.messages)).not.toContain("b.ts");
});

it("deletes a quest with its messages and proposals; its receipts stay", async () => {
  const { orchestrator, reaches, recorded, ledger, events } = start([calls(["edit_file", { id: "a", hunks: 1 }]), says("Proposed.")]);
  const { questId } = orchestrator.send({ text: "Change a." });
  await reaches(questId, "waiting");
  orchestrator.rename(questId, "Another name");
  await orchestrator.delete(questId);
  expect(() => orchestrator.get(questId)).toThrow(expect.objectContaining({ code: "not_found" }));
  expect(recorded.changes.get("a")?.status).toBe("rejected");
  // Its receipts stay, those of renaming and deleting too.
  const byHand = ledger
    .search({ questId, actionType: "user_interaction", limit: 50 })
    .items.filter(({ actionName }) => actionName.startsWith("quests."));
  expect(byHand.map(({ actionName, status, inputs }) => [actionName, status, inputs])).toEqual([
    ["quests.delete", "success", {}],
    ["quests.rename", "success", { title: "Another name" }],
  ]);
  expect(events.at(-1)).toMatchObject({ topic: "questDeleted", payload: { id: questId } });
});

it.each([
  [3, 2, ["3", "2"]],
  [1, 0, ["1"]],
  [0, 2, ["2"]],
  [0, 0, []],
])("summarizes %i accepted and %i rejected", (accepted, rejected, figures) => {
  expect(reviewSummary(accepted, rejected).match(/\d+/g) ?? []).toEqual(figures);
});
