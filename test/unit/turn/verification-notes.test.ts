import { describe, expect, it } from "vitest";
import type { Message } from "../../../agent-server/contract/chat.ts";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import { eachWithFolders } from "../../support/quests/each-with-folders.ts";
import { type makeFolders, openHost } from "../../support/quests/harness.ts";
import { recordingTools } from "../../support/quests/recording-tools.ts";
import { type Answer, calls, says, scriptedModels } from "../../support/quests/scripted-models.ts";

let folders: ReturnType<typeof makeFolders>;
const open = eachWithFolders((made) => {
  folders = made;
});

function start(script: Answer[], recorded: ReturnType<typeof recordingTools>) {
  const scripted = scriptedModels(script);
  const host = openHost(folders, scripted.models, recorded.tools);
  open.push(host);
  return { ...host, scripted };
}

const notices = (messages: Message[]): string[] =>
  messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "notice" ? [part.text] : [])));

describe("verification failures", () => {
  it("are awaited at the end, and given to the model and the user before the task is done", async () => {
    const recorded = recordingTools({ write_file: { tier: "T1", effect: () => ({ text: "Wrote a.ts." }) } });
    const listeners = new Set<(failure: { questId: string | null; receiptId: string; message: string }) => void>();
    let content = "";
    recorded.tools.verifications = {
      ...recorded.tools.verifications,
      settle: async (questId) => {
        if (content !== "" || recorded.invoked.length !== 1) return true;
        content = "a.ts was not written. Put back as before: a.ts.";
        for (const listener of listeners) listener({ questId, receiptId: "r", message: content });
        return true;
      },
      takeFailures: () => {
        const due = content;
        if (content !== "told") content = content === "" ? "" : "told";
        return due === "told" ? "" : due;
      },
      onFailure: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    };
    const { orchestrator, reaches, scripted } = start(
      [calls(["write_file", { path: "a.ts" }]), says("All is written."), says("It was not written after all.")],
      recorded,
    );
    const { questId } = orchestrator.send({ text: "Write it." });
    await reaches(questId, "done");
    const { messages } = orchestrator.get(questId);
    expect(notices(messages)).toHaveLength(2);
    expect(JSON.stringify(scripted.requests.at(-1)?.messages)).toContain(": a.ts was not written.");
    expect(scripted.requests).toHaveLength(3);
  });

  it("adds a notice when verification times out", async () => {
    const recorded = recordingTools({});
    recorded.tools.verifications = { ...recorded.tools.verifications, settle: () => Promise.resolve(false) };
    const { orchestrator, reaches } = start([says("Done.")], recorded);
    const { questId } = orchestrator.send({ text: "Do it." });
    await reaches(questId, "done");
    expect(notices(orchestrator.get(questId).messages)).toHaveLength(1);
  });
});

describe("an approval request that expires", () => {
  const unanswered = (escalation: string) =>
    recordingTools({
      delete_file: {
        tier: "T3",
        effect: () => ({
          text: "Not done: delete_file needs the owner's approval. Nobody answered in time.",
          isError: true,
          card: { title: "Delete a.ts", status: "denied" },
          error: new LancelotError("needs_approval", "Nobody answered in time.", { data: { expired: true, escalation } }),
        }),
      },
      read_file: { tier: "T0", effect: () => ({ text: "text" }) },
    });

  it("stops the task when the soul says so, without further calls", async () => {
    const recorded = unanswered("stop_task");
    const { orchestrator, reaches, scripted } = start(
      [calls(["delete_file", { path: "a.ts" }], ["read_file", { path: "b.ts" }])],
      recorded,
    );
    const { questId } = orchestrator.send({ text: "Delete it." });
    const quest = await reaches(questId, "failed");
    expect(quest.problem).toMatch(/delete a\.ts/i);
    expect(recorded.invoked.map(({ tool }) => tool)).toEqual(["delete_file"]);
    expect(scripted.requests).toHaveLength(1);
  });

  it("is skipped when the soul says so, and the model continues", async () => {
    const recorded = unanswered("skip_and_log");
    const { orchestrator, reaches, scripted } = start(
      [calls(["delete_file", { path: "a.ts" }], ["read_file", { path: "b.ts" }]), says("I left it.")],
      recorded,
    );
    const { questId } = orchestrator.send({ text: "Delete it." });
    await reaches(questId, "done");
    expect(recorded.invoked.map(({ tool }) => tool)).toEqual(["delete_file", "read_file"]);
    expect(JSON.stringify(scripted.requests[1]?.messages)).toContain("Nobody answered in time");
  });
});
