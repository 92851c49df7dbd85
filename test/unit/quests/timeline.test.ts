import { describe, expect, it } from "vitest";
import { createEvidence, createTimeline } from "../../../agent-server/quests/timeline.ts";
import { eachWithFolders } from "../../support/quests/each-with-folders.ts";
import { type makeFolders, openHost } from "../../support/quests/harness.ts";
import { recordingTools } from "../../support/quests/recording-tools.ts";
import { calls, fails, says, scriptedModels } from "../../support/quests/scripted-models.ts";

let folders: ReturnType<typeof makeFolders>;
const open = eachWithFolders((made) => {
  folders = made;
});

function start(...script: Parameters<typeof scriptedModels>[0]) {
  const tools = recordingTools({ read_file: { tier: "T0", effect: () => ({ text: "the file's text" }) } });
  let at = 0;
  const host = openHost(folders, scriptedModels(script).models, tools.tools, { now: () => new Date(1_000 * (at += 1)) });
  open.push(host);
  const timeline = createTimeline({ storage: host.storage, workspace: folders.workspace });
  return { ...host, timeline, evidence: createEvidence({ timeline, ledger: host.ledger }) };
}

describe("the timeline", () => {
  it("returns the text of messages, without tool cards, notices and attachments", async () => {
    const { orchestrator, reaches, timeline } = start(calls(["read_file", { path: "a.txt" }]), says("It is fine."));
    const { questId, messageId } = orchestrator.send({
      text: "Is it fine?",
      attachments: [{ type: "selection", path: "a.txt", startLine: 1, endLine: 1, text: "attached words" }],
    });
    await reaches(questId, "done");
    const reported = timeline.quest(questId);
    expect(reported.map(({ role, text }) => [role, text])).toEqual([
      ["user", "Is it fine?"],
      ["assistant", "Let me look."],
      ["assistant", "It is fine."],
    ]);
    expect(timeline.message(messageId)).toEqual(reported[0]);
    expect(reported[0]).toMatchObject({ id: messageId, questId, workspace: folders.workspace });
    expect(timeline.message("none")).toBeNull();
    expect(timeline.quest("none")).toEqual([]);
  });

  it("returns the messages of ended tasks of this workspace since a time, oldest first", async () => {
    const { orchestrator, reaches, timeline, storage } = start(says("One."), says("Two."), fails(new Error("gone")));
    const first = orchestrator.send({ text: "First" });
    await reaches(first.questId, "done");
    const second = orchestrator.send({ text: "Second" });
    await reaches(second.questId, "done");
    expect(timeline.since(0, 10).map(({ text }) => text)).toEqual(["First", "One.", "Second", "Two."]);
    expect(timeline.since(0, 3).map(({ text }) => text)).toEqual(["First", "One.", "Second"]);
    const last = timeline.message(first.messageId)?.createdAt ?? 0;
    expect(timeline.since(last, 10).map(({ text }) => text)).toEqual(["One.", "Second", "Two."]);
    expect(timeline.since(0, 0)).toEqual([]);
    expect(createTimeline({ storage, workspace: "/elsewhere" }).since(0, 10)).toEqual([]);
    storage.db.prepare("UPDATE quests SET status = 'active' WHERE id = ?").run(first.questId);
    expect(timeline.since(0, 10).map(({ text }) => text)).toEqual(["Second", "Two."]);
    await orchestrator.delete(second.questId);
    expect(timeline.message(second.messageId)).toBeNull();
  });
});

describe("evidence", () => {
  it("is a message of the user or the model, or a successful receipt", async () => {
    const { orchestrator, reaches, evidence, timeline, ledger } = start(says("Noted."), says("Sure."));
    const { questId, messageId } = orchestrator.send({ text: "We use pnpm.\n```\nWe use yarn.\n```\n> We use npm." });
    await reaches(questId, "done");
    expect(evidence(`message:${messageId}`)).toEqual({ source: "user", text: "We use pnpm." });
    const answer = timeline.quest(questId).at(-1);
    expect(evidence(`message:${answer?.id ?? ""}`)).toEqual({ source: "agent", text: "Noted." });
    const opening = { actionType: "tool_call", actionName: "run_command", inputs: { command: "npm test" }, riskTier: "T0" } as const;
    const worked = ledger.record(opening, { status: "success", outputs: { exitCode: 0 } });
    const failed = ledger.record(opening, { status: "failure", outputs: { exitCode: 1 } });
    const other = orchestrator.send({ questId, text: "We use yarn." }, false);
    await reaches(questId, "done");
    expect(evidence(`message:${other.messageId}`)).toEqual({ source: "agent", text: "We use yarn." });
    expect(evidence(`receipt:${worked}`)).toEqual({ source: "tool", text: 'run_command\n{"command":"npm test"}\n{"exitCode":0}' });
    expect(evidence(`receipt:${failed}`)).toBeNull();
  });

  it.each(["message:none", "receipt:none", "none", "", "file:a.txt", "message:", "message:a b"])("is none for %j", (ref) => {
    expect(start().evidence(ref)).toBeNull();
  });
});
