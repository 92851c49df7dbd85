// @module-tag processes
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createPlans, createRoutedLoop } from "../../../agent-server/plans/plans.ts";
import { runLoop } from "../../../agent-server/turn/turn.ts";
import { makeFolders, openHost } from "../../support/quests/harness.ts";
import { recordingTools } from "../../support/quests/recording-tools.ts";
import { type Answer, calls, says, scriptedModels } from "../../support/quests/scripted-models.ts";
import { soak } from "../../support/soak.ts";

const paths = ["one.txt", "two.txt"];
const proposal = {
  goal: "Make two files",
  context: "There are none.",
  steps: paths.map((path) => ({
    title: `Make ${path}`,
    doneWhen: [`\`${path}\` exists`],
    actions: [{ tool: "write_file", target: path }],
  })),
  doneWhen: ["`two.txt` exists"],
};

/** Proposes the plan while one is asked for, and writes the file of each attempt at a step once. */
const model: Answer = (request, signal) => {
  if (request.tools.some(({ name }) => name === "propose_plan")) return calls(["propose_plan", proposal])(request, signal);
  const shown = request.messages.map((message) => JSON.stringify(message));
  const at = shown.findLastIndex((text) => text.includes("of the approved plan: "));
  const path = paths.find((one) => shown[at]?.includes(`of the approved plan: Make ${one}`) === true);
  const called = shown.slice(at + 1).some((text) => text.includes(`"write_file"`));
  return (path === undefined || called ? says("Finished.") : calls(["write_file", { path }]))(request, signal);
};

let folders: ReturnType<typeof makeFolders>;
beforeEach(() => {
  folders = makeFolders();
});
afterEach(() => folders.remove());

/** A host whose files are the paths in `effects`; calls `look` before and after each effect. */
function openPlanned(at: ReturnType<typeof makeFolders>, effects: string[], look: () => void) {
  const pathOf = (args: unknown): string => (args as { path: string }).path;
  const recorded = recordingTools({
    read_file: {
      tier: "T0",
      effect: ({ args }) => (effects.includes(pathOf(args)) ? { text: "1\tmade" } : { text: "There is no such file.", isError: true }),
    },
    write_file: {
      tier: "T1",
      effect: ({ args }) => {
        look();
        effects.push(pathOf(args));
        look();
        return { text: "Written." };
      },
    },
    propose_plan: {
      tier: "T0",
      capability: "quest",
      effect: ({ args, proposePlan }) => {
        const { text = "No plan is asked for.", accepted = false } = proposePlan?.(args as typeof proposal) ?? {};
        return { text, isError: !accepted };
      },
    },
  });
  const scripted = scriptedModels(Array.from({ length: 40 }, () => model));
  let list: ReturnType<typeof createPlans>["store"]["list"] = () => [];
  const host = openHost(at, scripted.models, recorded.tools, ({ storage, emit }) => {
    const plans = createPlans({ storage, emit, workspace: at.workspace, runLoop });
    list = plans.store.list;
    const askIntent = () => Promise.resolve({ told: null, local: null });
    return { runLoop: createRoutedLoop({ ...plans, isEnabled: () => true, askIntent }) };
  });
  return { ...host, plansOf: (questId: string) => list({ questId, limit: 50 }) };
}

it("a plan is made and its steps take effect once, whichever step the host stops at", async () => {
  const snapshots: { database: Buffer; effects: string[] }[] = [];
  const effects: string[] = [];
  let questId = "";
  const take = (): void => {
    const { count } = first.storage.db.prepare<[], { count: number }>("SELECT count(*) AS count FROM messages").get() ?? { count: 0 };
    if (count > 0) snapshots.push({ database: first.storage.db.serialize(), effects: [...effects] });
  };
  const first = openPlanned(folders, effects, take);
  let seen = 0;
  // Every committed step emits exactly one event.
  const finished = first.when(() => {
    if (first.events.length > seen) take();
    seen = first.events.length;
    return questId !== "" && first.orchestrator.get(questId).quest.status === "done";
  });
  questId = first.orchestrator.send({ text: "Design and implement a cache" }).questId;
  await finished;
  await first.close();
  expect(effects).toEqual(paths);
  expect(snapshots.length).toBeGreaterThan(20);

  for (const [index, snapshot] of snapshots.entries()) {
    if (!soak && index % 3 !== 0) continue;
    const at = makeFolders();
    try {
      writeFileSync(join(at.dataDir, "lancelot.sqlite"), snapshot.database);
      const after = [...snapshot.effects];
      const second = openPlanned(at, after, () => undefined);
      second.storage.db.prepare("UPDATE quests SET host_id = 'gone', workspace = ?").run(at.workspace);
      second.ledger.reconcile();
      second.orchestrator.reconcile();
      if (second.orchestrator.get(questId).quest.status !== "done") {
        second.orchestrator.resume(questId);
        await second.reaches(questId, "done", "failed");
      }
      const { status } = second.orchestrator.get(questId).quest;
      const plans = second.plansOf(questId);
      const receipts = second.ledger.search({ query: "plan.step", status: "success", limit: 50 }).items;
      const steps = receipts.filter(({ actionName }) => actionName === "plan.step").map(({ inputs }) => inputs["step"]);
      await second.close();
      expect(steps.toSorted(), `step ${String(index)}`).toEqual(proposal.steps.map(({ title }) => title));
      expect([status, after], `step ${String(index)}`).toEqual(["done", paths]);
      expect(plans, `step ${String(index)}`).toMatchObject([{ status: "done", planSteps: paths.map(() => ({ status: "done" })) }]);
      expect(Math.max(...plans.flatMap(({ planSteps }) => planSteps.map(({ attempts }) => attempts)))).toBeLessThanOrEqual(2);
    } finally {
      at.remove();
    }
  }
});
