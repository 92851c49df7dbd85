import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openUpkeepFixture, owner, type UpkeepFixture, type UpkeepOptions } from "../../../support/memory/upkeep-fixture.ts";

let fixture: UpkeepFixture;
const open = (options: UpkeepOptions = {}): UpkeepFixture => (fixture = openUpkeepFixture(options));
beforeEach(() => void open());
afterEach(() => fixture.remove());
const audit = () => fixture.jobs.runJob("memory_integrity_audit", new AbortController().signal);
const sql = (text: string, ...values: unknown[]) => fixture.storage.db.prepare(text).run(...values);

const end = { questId: "q1", title: "t", outcome: "done" as const, actions: [], durationMs: 1_000 };

describe("memory as it should be", () => {
  it("is found well, also after rollbacks, and says what was checked", async () => {
    const { commitId } = fixture.keep({ content: "one" });
    fixture.keep({ content: "two" });
    fixture.commits.rollback({ commitId, reason: "no" }, owner, null);
    fixture.conversation.say("q1", "user", "hello", fixture.clock.now);
    fixture.episodes.questEnded(end);
    const { last } = await audit();
    expect(last).toMatchObject({
      status: "run",
      detail: expect.stringMatching(/^Checked 4 commits .* 3 items .*No problems found\.$/u) as string,
    });
    expect(fixture.jobs.problem()).toBeNull();
    expect(fixture.receipts("memory.index_repaired")).toEqual([]);
  });
});

describe("what must not be", () => {
  it.each<[string, (fixture: UpkeepFixture) => void, RegExp]>([
    [
      "a commit without a receipt",
      () => sql("UPDATE memory_commits SET receipt_id = NULL WHERE seq = 1"),
      /Commit commit_\S+ has no receipt\./u,
    ],
    ["a receipt that is not in the ledger", () => sql("UPDATE memory_commits SET receipt_id = 'x' WHERE seq = 1"), /has no receipt/u],
    [
      "a receipt of another commit",
      () => sql("UPDATE memory_commits SET receipt_id = (SELECT receipt_id FROM memory_commits WHERE seq = 2) WHERE seq = 1"),
      /belongs to another commit/u,
    ],
    [
      "a receipt without its commit",
      () => {
        sql("DELETE FROM memory_images");
        sql("DELETE FROM memory_commits WHERE seq = 1");
      },
      /Receipt \S+ refers to a missing commit/u,
    ],
    ["an image that cannot be read", () => sql("UPDATE memory_images SET after = '{\"id\":1}'"), /unreadable/u],
    ["an image of another item", () => sql("UPDATE memory_images SET item_id = 'other' WHERE rowid = 1"), /unreadable/u],
    [
      "quarantined text among the items",
      (one) => {
        const { commitId } = one.keep({ content: "let me in" });
        const item = one.items().find(({ content }) => content === "let me in");
        one.quarantine.put({
          ...{ commitId, questId: null, author: "agent", itemId: null, itemVersion: null, image: null, why: "core" },
          edit: {
            ...{ op: "insert", target: "archival", namespace: "workspace", selector: null, content: "let me in", kind: "fact", tags: [] },
            ...{ confidence: 0.8, provenance: { source: "agent" }, reason: "r", ttlSeconds: null },
          },
        });
        expect(item).toBeDefined();
      },
      /quarantine_\S+ is already in memory/u,
    ],
  ])("is told: %s", async (_name, harm, message) => {
    fixture.keep({ content: "one" });
    fixture.keep({ content: "two" });
    harm(fixture);
    const { last } = await audit();
    expect(last?.status).toBe("failed");
    expect(last?.detail).toMatch(message);
    expect(fixture.jobs.problem()).toBe(last?.detail);
    expect(fixture.receipts("memory_job_failed")).toMatchObject([
      { status: "failure", errorMessage: last?.detail, inputs: { job: "memory_integrity_audit" } },
    ]);
  });

  it("is told: a block over its cap", async () => {
    fixture.remove();
    open({ blocks: () => [{ block: "human", tokens: 500, cap: 400 }] });
    expect((await audit()).last).toMatchObject({
      status: "failed",
      detail: expect.stringMatching(/human has 500 .* 400\b/u) as string,
    });
  });

  it("is told as long as it is there", async () => {
    fixture.keep({ content: "one" });
    sql("UPDATE memory_commits SET receipt_id = NULL");
    await audit();
    fixture.clock.now += 10 * 86_400_000;
    expect((await audit()).last?.status).toBe("failed");
  });
});

describe("what is derived is put right", () => {
  it.each<[string, string]>([
    ["an entry that is missing", "DELETE FROM memory_fts WHERE rowid = 1"],
    ["an entry too many", "INSERT INTO memory_fts (rowid, words, facets) VALUES (999, 'ghost', '')"],
    ["all of it gone", "DELETE FROM memory_fts"],
  ])("%s", async (_name, harm) => {
    for (const content of ["the zeppelin flies", "the port is 8443"]) fixture.keep({ content });
    sql(harm);
    const { last } = await audit();
    expect(last).toMatchObject({
      status: "run",
      detail: expect.stringMatching(/Repaired: \d entr(?:y|ies) of the index/u) as string,
    });
    expect(fixture.found("zeppelin")).toHaveLength(1);
    expect(fixture.found("ghost")).toEqual([]);
    expect(fixture.receipts("memory.index_repaired")).toHaveLength(1);
    expect((await audit()).last?.detail).not.toContain("Repaired");
  });

  it("an entry that says something else is found by its sample", async () => {
    for (let index = 0; index < 30; index += 1) fixture.keep({ content: `fact number ${String(index)} about walnuts` });
    sql("DELETE FROM memory_fts WHERE rowid = 25");
    sql("INSERT INTO memory_fts (rowid, words, facets) VALUES (25, 'nonsense', '')");
    expect((await audit()).last?.detail).toContain("1 entry of the index");
  });

  it("references to messages that are gone are removed, and what dead windows left open is dropped", async () => {
    fixture.conversation.say("q1", "user", "hello", fixture.clock.now);
    fixture.episodes.keepMessages("q1");
    fixture.conversation.remove(() => true);
    const { commitId } = fixture.commits.begin({ by: "agent", questId: null }, "left");
    sql("UPDATE memory_commits SET host_id = 'dead'");
    const { last } = await audit();
    expect(last?.detail).toMatch(/Repaired: 1 open commit .*, 1 reference /u);
    expect(fixture.items()).toEqual([]);
    expect(fixture.commits.get(commitId).status).toBe("abandoned");
  });
});
