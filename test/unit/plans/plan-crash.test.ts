// @module-tag processes
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { makeFolders } from "../../support/quests/harness.ts";
import { openPlanned, paths, proposal } from "../../support/quests/planned-host.ts";
import { soak } from "../../support/soak.ts";

let folders: ReturnType<typeof makeFolders>;
beforeEach(() => {
  folders = makeFolders();
});
afterEach(() => folders.remove());

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
      expect(steps.toReversed(), `step ${String(index)}`).toEqual(proposal.steps.map(({ title }) => title));
      expect([status, after], `step ${String(index)}`).toEqual(["done", paths]);
      expect(plans, `step ${String(index)}`).toMatchObject([{ status: "done", planSteps: paths.map(() => ({ status: "done" })) }]);
      expect(Math.max(...plans.flatMap(({ planSteps }) => planSteps.map(({ attempts }) => attempts)))).toBeLessThanOrEqual(2);
    } finally {
      at.remove();
    }
  }
});
