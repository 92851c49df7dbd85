import { describe, expect, it } from "vitest";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import { type AskIntent, createAskIntent } from "../../../agent-server/plans/routes/intent-question.ts";
import { createRoutedLoop } from "../../../agent-server/plans/routes/routed-loop.ts";
import { runLoop } from "../../../agent-server/turn/turn.ts";
import { eachWithFolders } from "../../support/quests/each-with-folders.ts";
import { type makeFolders, openHost } from "../../support/quests/harness.ts";
import { recordingTools } from "../../support/quests/recording-tools.ts";
import { type Answer, calls, fails, hangs, says, scriptedModels } from "../../support/quests/scripted-models.ts";

let folders: ReturnType<typeof makeFolders>;
const open = eachWithFolders((made) => {
  folders = made;
});

function start(script: Answer[], { isEnabled = true, askIntent }: { isEnabled?: boolean; askIntent?: AskIntent } = {}) {
  const planned: boolean[] = [];
  const recorded = recordingTools({ write_file: { tier: "T1", effect: () => ({ text: "Wrote a.ts." }) } });
  const asked: string[] = [];
  const host = openHost(folders, scriptedModels(script).models, recorded.tools, {
    runLoop: createRoutedLoop({
      runLoop,
      planLoop: async (deps, run, conclude, { thenRun }) => {
        planned.push(thenRun);
        await runLoop(deps, run, conclude);
      },
      store: {
        get: () => {
          throw new LancelotError("not_found", "There is no plan.");
        },
        runningOf: () => null,
      },
      isEnabled: () => isEnabled,
      askIntent: (deps, text, context) => {
        asked.push(text);
        return askIntent === undefined ? Promise.resolve({ told: null, local: null }) : askIntent(deps, text, context);
      },
    }),
  });
  open.push(host);
  const routes = () =>
    host.ledger
      .search({ limit: 50 })
      .items.flatMap(({ actionName, outputs }) => (actionName === "route" ? [outputs["route"]] : []))
      .toReversed();
  return { ...host, planned, asked, routes };
}

describe("a run's loop", () => {
  it.each([
    ["Plan the new importer", [false], ["plan"]],
    ["Design and implement a cache", [true], ["plan-run"]],
    ["Fix the header", [], ["loop"]],
    ["What is this?", [], ["answer"]],
  ])("%j", async (text, planned, routes) => {
    const host = start([says("Done.")]);
    const { questId } = host.orchestrator.send({ text });
    await host.reaches(questId, "done");
    expect([host.planned, host.routes(), host.asked]).toEqual([planned, routes, []]);
  });

  it.each([true, false])("leaves plan mode to the loop, which plans in it (flag: %s)", async (isEnabled) => {
    const host = start([says("A plan.")], { isEnabled });
    const { questId } = host.orchestrator.send({ text: "Fix the header", mode: "plan" });
    await host.reaches(questId, "done");
    expect([host.planned, host.routes()]).toEqual([[], []]);
  });

  it("is not a question's in crusader mode", async () => {
    const host = start([says("Done.")]);
    const { questId } = host.orchestrator.send({ text: "What is this?", mode: "crusader" });
    await host.reaches(questId, "done");
    expect(host.routes()).toEqual([]);
  });

  it("keeps the route after a resume, without deciding again", async () => {
    const refused = calls(["write_file", { path: "a.ts", content: "x" }]);
    const host = start([fails(new LancelotError("unavailable", "The model does not answer.")), refused, says("Nothing to do.")]);
    const { questId } = host.orchestrator.send({ text: "What is this?" });
    await host.reaches(questId, "failed");
    host.orchestrator.resume(questId);
    await host.reaches(questId, "done");
    expect(host.routes()).toEqual(["answer"]);
  });

  it("decides the route after a resume when the run ended before it was decided", async () => {
    const reached = Promise.withResolvers<void>();
    const host = start([], {
      askIntent: (_, __, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(new LancelotError("cancelled", "Stopped.")), { once: true });
          reached.resolve();
        }),
    });
    const { questId } = host.orchestrator.send({ text: "How do I add a route to this app?" });
    await reached.promise;
    await host.close();
    open.splice(0);
    const next = start([says("Like this.")], {
      askIntent: () => Promise.resolve({ told: { intent: "KNOWLEDGE_REQUEST", changes: false }, local: null }),
    });
    next.orchestrator.resume(questId);
    await next.reaches(questId, "done");
    expect([next.asked.length, next.routes().at(-1)]).toEqual([1, "answer"]);
  });

  it("does not decide on a message that joined the run, after that was interrupted", async () => {
    const reached = Promise.withResolvers<void>();
    const host = start([hangs("I begin.", reached.resolve)]);
    const { questId } = host.orchestrator.send({ text: "Fix the header" });
    await reached.promise;
    host.orchestrator.steer(questId, "What is this?");
    await host.close();
    open.splice(0);
    const next = start([says("Done.")]);
    next.orchestrator.resume(questId);
    await next.reaches(questId, "done");
    expect(next.routes()).toEqual(["loop"]);
  });

  it.each([
    [{ intent: "KNOWLEDGE_REQUEST", changes: false, sure: true }, "answer"],
    [{ intent: "KNOWLEDGE_REQUEST", changes: true, sure: true }, "loop"],
    [{ intent: "KNOWLEDGE_REQUEST", changes: false, sure: false }, "loop"],
    ["no JSON at all", "loop"],
  ])("follows a model in what rules cannot decide, with one call: %j", async (told, route) => {
    const script = [says(typeof told === "string" ? told : JSON.stringify(told)), says("Like this.")];
    const host = start(script, { askIntent: createAskIntent({ modelMs: 600_000 }) });
    const { questId } = host.orchestrator.send({ text: "How do I add a route to this app?" });
    await host.reaches(questId, "done");
    expect([host.routes(), host.asked.length]).toEqual([[route], 1]);
    expect(host.orchestrator.get(questId).messages.at(-1)?.parts).toMatchObject([{ type: "text", text: "Like this." }]);
  });

  it("goes on as before when the model that is asked fails", async () => {
    const host = start([says("Done.")], { askIntent: () => Promise.reject(new Error("broken")) });
    const { questId } = host.orchestrator.send({ text: "How do I add a route to this app?" });
    await host.reaches(questId, "done");
    expect(host.asked).toHaveLength(1);
    expect(host.planned).toEqual([]);
  });
});
