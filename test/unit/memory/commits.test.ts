import { afterEach, beforeEach, expect, it } from "vitest";
import { agent, MemoryFolder, owner, wish } from "../../support/memory/memory-folder.ts";

let folder: MemoryFolder;
beforeEach(() => {
  folder = new MemoryFolder();
});
afterEach(() => folder.remove());

it("changes nothing before it is finished, and everything then, with one receipt", () => {
  const { commits, store, ledger } = folder.host();
  const { commitId } = commits.begin(agent, "what was learned");
  commits.edit(commitId, wish({ op: "insert", target: "archival", content: "The tests run with npm test." }), agent, null);
  commits.edit(
    commitId,
    wish({ op: "replace", target: "archival", selector: "npm test", content: "The tests run with npm run check." }),
    agent,
    null,
  );
  expect(store.list({ tiers: ["archival"], now: Date.now(), limit: 10 })).toEqual([]);

  const finished = commits.finish(commitId, agent, null);

  expect(finished.diff).toMatchObject([{ op: "insert", before: null, after: "The tests run with npm run check." }]);
  expect(store.list({ tiers: ["archival"], now: Date.now(), limit: 10 })).toMatchObject([
    { content: "The tests run with npm run check.", version: 1, commitId },
  ]);
  expect(ledger.get(finished.receiptId ?? "")).toMatchObject({
    actionName: "memory.commit",
    status: "success",
    outputs: { diff: [{ after: "The tests run with npm run check." }] },
    metadata: { rollback: commitId },
  });

  const back = commits.rollback({ commitId, reason: "wrong" }, owner, null);
  expect(back.diff).toMatchObject([{ op: "restore", before: "The tests run with npm run check.", after: null }]);
  expect(store.list({ tiers: ["archival"], now: Date.now(), limit: 10 })).toEqual([]);
  expect(commits.get(commitId)).toMatchObject({ status: "rolled_back", rolledBackBy: back.commitId });
  commits.rollback({ commitId: back.commitId ?? "", reason: "right after all" }, owner, null);
  expect(store.list({ tiers: ["archival"], now: Date.now(), limit: 10 })).toMatchObject([{ version: 1, commitId }]);
  expect(commits.get(commitId)).toMatchObject({ status: "committed", rolledBackBy: null, problem: null });
});
