import { describe, expect, it } from "vitest";
import type { IntentResult } from "../../../agent-server/contract/intent.ts";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import type { Classify } from "../../../agent-server/quests/turn-deps.ts";
import { eachWithFolders } from "../../support/quests/each-with-folders.ts";
import { type makeFolders, openHost } from "../../support/quests/harness.ts";
import { recordingTools } from "../../support/quests/recording-tools.ts";
import { type Answer, calls, says, scriptedModels } from "../../support/quests/scripted-models.ts";

let folders: ReturnType<typeof makeFolders>;
const open = eachWithFolders((made) => {
  folders = made;
});

const planned: IntentResult = {
  intent: "PLAN_REQUEST",
  confidence: 0.9,
  isContinuation: false,
  requiresTools: false,
  risk: "low",
  method: "embedding",
};

function start(script: Answer[], classify?: Classify) {
  const scripted = scriptedModels(script);
  const asked: string[] = [];
  const reported: Classify | undefined =
    classify === undefined
      ? undefined
      : (request, context) => {
          asked.push(request.text);
          return classify(request, context);
        };
  const tools = recordingTools({ read_file: { tier: "T0", effect: () => ({ text: "text" }) } });
  const host = openHost(folders, scripted.models, tools.tools, reported === undefined ? {} : { classify: reported });
  open.push(host);
  const run = async (text: string, questId?: string): Promise<string> => {
    const sent = host.orchestrator.send({ text, ...(questId === undefined ? {} : { questId }) });
    await host.reaches(sent.questId, "done");
    return sent.questId;
  };
  return { ...host, run, asked, types: () => scripted.tasks.map(({ type }) => type) };
}

describe("the task type", () => {
  it("is classified once per message, and only when rules are not specific", async () => {
    const host = start([calls(["read_file", { path: "a" }]), says("a"), says("b"), says("c")], () => Promise.resolve(planned));
    const questId = await host.run("Wir bauen den Parser um, wie gehen wir vor");
    await host.run("/fix the parser", questId);
    await host.run("Review my changes", questId);
    expect(host.types()).toEqual(["plan", "plan", "debug", "review"]);
    expect(host.asked).toEqual(["Wir bauen den Parser um, wie gehen wir vor"]);
  });

  it.each<[string, Classify]>([
    ["fails", () => Promise.reject(new LancelotError("unavailable", "Gone."))],
    ["is switched off", () => Promise.resolve(null)],
    [
      "takes too long",
      (_, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new LancelotError("cancelled", "Stopped.")))),
    ],
  ])("is told by words where the intent lane %s", async (_, classify) => {
    const host = start([says("ok")], classify);
    await host.run("Add a flag");
    expect(host.types()).toEqual(["edit"]);
  });

  it("is kept for a follow-up message", async () => {
    const host = start([says("a"), says("b")]);
    const questId = await host.run("Plan the new login");
    await host.run("yes, go ahead", questId);
    expect(host.types()).toEqual(["plan", "plan"]);
  });

  it("is aborted when the user stops the task", async () => {
    const host = start(
      [],
      (_, { signal }) => new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("stopped")))),
    );
    const { questId } = host.orchestrator.send({ text: "Add a flag" });
    await host.orchestrator.cancel(questId);
    await host.reaches(questId, "cancelled");
    expect(host.types()).toEqual([]);
  });
});
