import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MemoryJobName } from "../../../../agent-server/contract/memory.ts";
import { isDue, jobPlans, nextTime } from "../../../../agent-server/memory/jobs/job-schedule.ts";

const at = (text: string): number => Date.parse(text);

it("there is a plan for each job, once", () => {
  expect(jobPlans.map(({ name }) => name).toSorted()).toEqual([...MemoryJobName.options].toSorted());
});

describe("three in the morning", () => {
  it.each([
    ["in winter", "2026-01-10T12:00:00Z", "2026-01-11T02:00:00.000Z"],
    ["in summer", "2026-07-10T12:00:00Z", "2026-07-11T01:00:00.000Z"],
    ["after the clock went forward", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00.000Z"],
    ["after the clock went back", "2026-10-24T12:00:00Z", "2026-10-25T02:00:00.000Z"],
  ])("%s is three on the clock of the wall", (_name, after, next) => {
    expect(new Date(nextTime("0 3 * * *", at(after), "Europe/Berlin")).toISOString()).toBe(next);
  });

  it.each([
    ["an hour that is skipped", "30 2 * * *", "2026-03-28T12:00:00Z", "2026-03-30T00:00:00Z"],
    ["an hour that comes twice", "30 2 * * *", "2026-10-24T12:00:00Z", "2026-10-25T23:00:00Z"],
  ])("comes once in %s", (_name, cron, from, until) => {
    const times: number[] = [];
    for (let time = nextTime(cron, at(from), "Europe/Berlin"); time < at(until); time = nextTime(cron, time, "Europe/Berlin"))
      times.push(time);
    expect(times).toHaveLength(1);
  });
});

describe("a job is due", () => {
  it.each([
    ["when it never ran", null, "2026-11-20T12:00:00Z", true],
    ["not within its hour", "2026-11-20T12:00:01Z", "2026-11-20T12:59:59Z", false],
    ["when its hour came", "2026-11-20T12:00:01Z", "2026-11-20T13:00:00Z", true],
    ["once after a long sleep", "2026-11-01T12:00:00Z", "2026-11-20T12:00:00Z", true],
    ["when the clock was set back", "2026-12-20T12:00:00Z", "2026-11-20T12:00:00Z", true],
  ])("%s", (_name, last, now, due) => {
    expect(isDue("0 * * * *", last === null ? null : at(last), at(now), "UTC")).toBe(due);
  });

  it("never twice for one time, whenever it is looked", () => {
    const looks = fc.array(fc.integer({ min: 1, max: 8 * 3_600_000 }), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(
        fc.constantFrom("0 3 * * *", "0 * * * *"),
        looks,
        fc.constantFrom("UTC", "Europe/Berlin", "America/St_Johns"),
        (cron, gaps, zone) => {
          let now = at("2026-10-20T00:00:00Z");
          let last: number | null = null;
          const runs: number[] = [];
          for (const gap of gaps) {
            now += gap;
            if (!isDue(cron, last, now, zone)) continue;
            last = now;
            runs.push(now);
          }
          for (const [index, run] of runs.entries()) {
            const before = runs[index - 1];
            if (before !== undefined) expect(nextTime(cron, before, zone)).toBeLessThanOrEqual(run);
          }
          expect(runs[0]).toBeDefined();
        },
      ),
    );
  });
});
