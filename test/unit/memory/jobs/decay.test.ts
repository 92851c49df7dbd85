import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { weightOf } from "../../../../agent-server/memory/jobs/decay-archival.ts";
import { openUpkeepFixture, type UpkeepFixture } from "../../../support/memory/upkeep-fixture.ts";

const day = 86_400_000;
const item = { tier: "archival" as const, confidence: 0.8, provenance: { source: "agent" as const }, reinforcedAt: 0 };

describe("what an item counts", () => {
  it.each([
    ["nothing passed", item, 0, 0.8],
    ["one half-life", item, 90, 0.4],
    ["two", item, 180, 0.2],
    ["a clock that was set back", { ...item, reinforcedAt: 10 * day }, 0, 0.8],
    ["the owner's words", { ...item, provenance: { source: "user" as const } }, 3_650, 0.8],
    ["what is not archival", { ...item, tier: "episodic" as const }, 3_650, 0.8],
  ])("%s", (_name, of, days, weight) => expect(weightOf(of, 90, days * day)).toBe(weight));

  it("never grows with time and stays between nothing and the confidence", () => {
    const anyDays = fc.integer({ min: 0, max: 20_000 });
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1, noNaN: true }),
        anyDays,
        anyDays,
        fc.integer({ min: 1, max: 3_650 }),
        (confidence, a, b, half) => {
          const [early, late] = [Math.min(a, b), Math.max(a, b)].map((days) => weightOf({ ...item, confidence }, half, days * day));
          expect(late).toBeLessThanOrEqual(early ?? 0);
          expect(late).toBeGreaterThanOrEqual(0);
          expect(early).toBeLessThanOrEqual(confidence + 5e-5);
          expect(early).toBeLessThanOrEqual(1);
        },
      ),
    );
  });
});

describe("the job", () => {
  let fixture: UpkeepFixture;
  beforeEach(() => void (fixture = openUpkeepFixture()));
  afterEach(() => fixture.remove());
  const run = () => fixture.jobs.runJob("memory_decay_archival", new AbortController().signal);
  const weights = () => Object.fromEntries(fixture.items().map(({ content, weight }) => [content, weight]));

  it("lets what nobody confirmed count less, without a commit, and once however often it runs", async () => {
    fixture.keep({ content: "agent's" });
    fixture.keep({ content: "owner's", provenance: { source: "user" } });
    fixture.keep({ content: "core", target: "core:mission" });
    const commits = fixture.commits.list({ limit: 10 }).items.length;
    fixture.clock.now += 90 * day;
    const first = await run();
    expect(weights()).toEqual({ "agent's": 0.4, "owner's": 0.8, core: 0.8 });
    expect(first.last).toMatchObject({ status: "run", detail: expect.stringContaining("1 of 2 archival items") as string });
    await run();
    await run();
    expect(weights()["agent's"]).toBe(0.4);
    expect(fixture.commits.list({ limit: 10 }).items).toHaveLength(commits);
    expect(fixture.items().every(({ version }) => version === 1)).toBe(true);
    fixture.clock.now += 90 * day;
    await run();
    expect(weights()["agent's"]).toBe(0.2);
  });

  it("restores the weight of a confirmed item", async () => {
    fixture.keep({ content: "The port is 8443." });
    fixture.clock.now += 900 * day;
    await run();
    fixture.keep({ content: "the port is 8443." });
    await run();
    expect(weights()).toEqual({ "The port is 8443.": 0.8 });
  });
});
