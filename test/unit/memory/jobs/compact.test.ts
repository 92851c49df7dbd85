import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { condense } from "../../../../agent-server/memory/jobs/compact-working.ts";
import { openUpkeepFixture, owner, type UpkeepFixture, type UpkeepOptions } from "../../../support/memory/upkeep-fixture.ts";

let fixture: UpkeepFixture;
const open = (options: UpkeepOptions = {}): UpkeepFixture => (fixture = openUpkeepFixture(options));
beforeEach(() => void open());
afterEach(() => fixture.remove());
const hour = 3_600_000;
const run = (signal = new AbortController().signal) => fixture.jobs.runJob("memory_compact_working", signal);
const note = (content: string, questId = "q1", ttlSeconds = 7_200): string => {
  const by = { by: "agent" as const, questId };
  return fixture.keep({ content, target: "working", namespace: `quest:${questId}`, kind: "note", ttlSeconds }, by).commitId;
};

describe("working memory past its time", () => {
  it("is removed with its words in the index and a receipt that names it, and takes no snapshot's place", async () => {
    note("the frobnicator is broken", "q1", 3_600);
    note("still true", "q1", 7_200);
    const before = fixture.commits.list({ limit: 10 }).items.length;
    const gone = fixture.items()[0]?.id;
    fixture.clock.now += hour;
    expect((await run()).last).toMatchObject({ status: "run", detail: expect.stringContaining("1 expired item") as string });
    expect(fixture.items().map(({ content }) => content)).toEqual(["still true"]);
    expect(fixture.found("frobnicator")).toEqual([]);
    expect(fixture.receipts("memory.expired")).toMatchObject([{ outputs: { items: [gone] }, questId: null }]);
    expect(fixture.commits.list({ limit: 10 }).items).toHaveLength(before);
  });

  it("of every workspace is removed, in as many batches as it takes", async () => {
    const other = openUpkeepFixture({ dataDir: fixture.dataDir, workspace: "/projects/b" });
    other.keep({ content: "elsewhere", target: "working", ttlSeconds: 60 }, owner);
    other.close();
    fixture.commits.apply(
      Array.from({ length: 450 }, (_, index) => ({
        ...{ op: "insert", target: "working", namespace: "workspace", selector: null, content: `note ${String(index)}`, kind: "note" },
        ...{ tags: [], confidence: 0.8, provenance: { source: "agent" }, reason: "r", ttlSeconds: 60 },
      })),
      owner,
      { reason: "many", parentId: null },
    );
    fixture.clock.now += hour;
    await run();
    expect(fixture.items()).toEqual([]);
    expect(fixture.receipts("memory.expired")).toHaveLength(3);
  });
});

describe("a long thread", () => {
  const fill = (count: number, from = 0): void => {
    for (let index = from; index < from + count; index += 1) {
      fixture.clock.now += 1_000;
      note(`finding ${String(index)}: module ${String(index)} is sound`, "q1", 7 * 24 * 3_600);
    }
  };

  it("becomes one note and its newest ones, as one commit that can be rolled back", async () => {
    fill(20);
    note("another task", "q2", 7 * 24 * 3_600);
    fixture.clock.now += 2 * hour;
    const before = fixture.items().map(({ id }) => id);
    const { last } = await run();
    expect(last?.detail).toContain("12 older notes of 1 task");
    const items = fixture.items();
    expect(items).toHaveLength(10);
    const summary = items.find(({ kind }) => kind === "summary");
    expect(summary).toMatchObject({ tier: "working", namespace: "quest:q1", provenance: { source: "agent" }, questId: "q1" });
    expect(summary?.content).toMatch(/^12 earlier notes:\n- finding 0: module 0 is sound\n/u);
    expect(items.map(({ content }) => content)).toContain("finding 19: module 19 is sound");
    const [commit] = fixture.commits.list({ limit: 1 }).items;
    expect(commit).toMatchObject({ author: "system", changes: 13 });
    fixture.commits.rollback({ commitId: commit?.id ?? "", reason: "no" }, owner, null);
    expect(
      fixture
        .items()
        .map(({ id }) => id)
        .toSorted(),
    ).toEqual(before.toSorted());
  });

  it("is left alone while it is short, or still being written", async () => {
    fill(15);
    fixture.clock.now += 2 * hour;
    await run();
    expect(fixture.items()).toHaveLength(15);
    fill(10, 15);
    await run();
    expect(fixture.items().filter(({ kind }) => kind === "summary")).toHaveLength(1);
    expect(fixture.items().filter(({ kind }) => kind === "note").length).toBeGreaterThanOrEqual(10);
  });

  it("is told by a model where one is given, and not changed where its notes change meanwhile", async () => {
    fixture.remove();
    let meanwhile = (): void => undefined;
    open({
      summarize: async () => {
        meanwhile();
        return "All modules are sound.";
      },
    });
    fill(20);
    fixture.clock.now += 2 * hour;
    const [first] = fixture.items();
    meanwhile = () => {
      meanwhile = () => undefined;
      fixture.keep(
        { op: "replace", selector: first?.id ?? "", content: "finding 0: broken", target: "working", namespace: "quest:q1" },
        { by: "agent", questId: "q1" },
      );
    };
    await run();
    expect(fixture.items().filter(({ kind }) => kind === "summary")).toEqual([]);
    fixture.clock.now += 2 * hour;
    await run();
    expect(fixture.items().filter(({ kind }) => kind === "summary")).toMatchObject([{ content: "All modules are sound." }]);
  });
});

it("many notes fit into one, each shortened", () => {
  const text = condense(
    Array.from({ length: 300 }, (_, index) => `${String(index)} ${"long ".repeat(100)}`),
    2_000,
  );
  expect(text.length).toBeLessThanOrEqual(2_000);
  expect(text).toMatch(/^300 earlier notes:\n- 0 long/u);
});
