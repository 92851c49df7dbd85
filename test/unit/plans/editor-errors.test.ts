import { expect, it } from "vitest";
import type { Problem } from "../../../agent-server/context/context.ts";
import { readEvidence } from "../../../agent-server/plans/evidence.ts";
import { eachWithFolders } from "../../support/quests/each-with-folders.ts";
import type { makeFolders } from "../../support/quests/harness.ts";
import { openPlanned, paths } from "../../support/quests/planned-host.ts";

let folders: ReturnType<typeof makeFolders>;
const open = eachWithFolders((made) => {
  folders = made;
});

const error = (path: string, message: string, line = 1): Problem => ({ path, line, severity: "error", message });

/** Runs the plan in an editor that shows these errors, one list per look. */
async function runWith(shown: readonly (Problem[] | null)[]) {
  let looks = 0;
  const host = openPlanned(folders, [], () => undefined, {
    read: () => Promise.resolve(null),
    errors: () => Promise.resolve(shown[Math.min(looks++, shown.length - 1)] ?? null),
  });
  open.push(host);
  const { questId } = host.orchestrator.send({ text: "Design and implement a cache" });
  await host.reaches(questId, "done", "failed");
  const [plan] = host.plansOf(questId);
  return { looks, plan, requests: host.requests };
}

it.each<[string, (Problem[] | null)[]]>([
  ["shows none", [[], []]],
  ["shows the old ones, elsewhere", [[error("two.txt", "old")], [error("two.txt", "old", 9)]]],
  ["shows new ones in files that the plan did not change", [[], [error("other.txt", "new")]]],
  ["cannot be asked", [null]],
  ["answers before the plan alone", [[], null]],
])("a plan is done when the editor %s", async (_, shown) => {
  const { plan, looks } = await runWith(shown);
  expect(plan).toMatchObject({ status: "done", planSteps: paths.map(() => ({ status: "done", attempts: 1 })) });
  expect(looks).toBe(shown[0] === null ? 1 : 2);
});

it("a new error in a changed file speaks against the last step, whose next attempt is told", async () => {
  const { plan } = await runWith([[], [error("two.txt", "No such name", 3)], []]);
  expect(plan).toMatchObject({
    status: "done",
    planSteps: [
      { status: "done", attempts: 1 },
      { status: "done", attempts: 2 },
    ],
  });
  const failed = await runWith([[], [error("two.txt", "No such name", 3)]]);
  expect(failed.plan).toMatchObject({ status: "failed", planSteps: [{ status: "done" }, { status: "failed", attempts: 3 }] });
  expect(failed.plan?.planSteps[1]?.problem).toMatch(/two\.txt.*line 3/);
  expect(JSON.stringify([failed.plan, failed.requests])).not.toContain("No such name");
});

it("of two equal errors one is new when the file had one", () => {
  const part = { type: "tool", tool: "write_file", status: "success", args: { path: "./two.txt" }, changeId: null, receiptId: null };
  const messages = [{ parts: [part] }] as unknown as Parameters<typeof readEvidence>[0];
  const none = () => Promise.resolve(null);
  const [old, more] = [error("two.txt", "same"), error("two.txt", "same", 7)];
  expect(readEvidence(messages, none, { before: [old], after: [old, more] }).newErrors).toEqual([more]);
  expect(readEvidence(messages, none, { before: [old, more], after: [old] }).newErrors).toEqual([]);
  expect(readEvidence(messages, none).newErrors).toEqual([]);
});
