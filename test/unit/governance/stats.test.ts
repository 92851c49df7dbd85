import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Tier } from "../../../agent-server/contract/common.ts";
import { GovernanceStats, type Verdict } from "../../../agent-server/contract/governance.ts";
import type { StatsSources } from "../../../agent-server/governance/stats.ts";
import { createEarningFixture, type EarningHost, type EarningFixture } from "../../support/earning-fixture.ts";

const dayMs = 86_400_000;
const sources: StatsSources = {
  approvals: () => ({ pending: 1, allowed: 2, denied: 3, expired: 4 }),
  verifications: () => ({ waiting: 5, failed: 6 }),
  soulVersion: () => "v2",
  policyVersion: () => "abc",
  posture: () => "supervised",
  safeMode: () => false,
  problems: () => ["Something is wrong."],
};

let room: EarningFixture;
let host: EarningHost;
beforeEach(() => {
  room = createEarningFixture();
  host = room.open();
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
  room.dispose();
});

function count(tier: Tier, verdict: Verdict, rule: string, times = 1, at = host, capability = "file_ops"): void {
  const rules = [
    { id: rule, source: "policy" as const, message: `Because of ${rule}.` },
    { id: "second", source: "policy" as const, message: "Not counted." },
  ];
  for (let index = 0; index < times; index += 1) at.stats.count({ capability }, { tier, verdict, rules });
}

const rows = (at = host): unknown[] =>
  at.storage.db.prepare("SELECT day, capability, tier, verdict, rule, count FROM governance_decisions").all();

describe("statistics of the gate", () => {
  it("count decisions by tier and verdict, and tell the rules that asked or refused most", () => {
    count("T0", "allow", "tier.T0", 5);
    count("T2", "ask", "soul.not-named", 3);
    count("T2", "deny", "command.rm", 2);
    count("T3", "ask", "command.rm", 2);
    const report = GovernanceStats.parse(host.stats.report(7, sources));
    expect(report).toMatchObject({
      since: "2026-11-14T00:00:00.000Z",
      decisions: 12,
      byTier: { T0: 5, T1: 0, T2: 5, T3: 2 },
      byVerdict: { allow: 5, ask: 5, deny: 2 },
      topRules: [
        { id: "command.rm", message: "Because of command.rm.", asked: 2, denied: 2 },
        { id: "soul.not-named", asked: 3, denied: 0 },
      ],
      approvals: { pending: 1, allowed: 2, denied: 3, expired: 4 },
      verifications: { waiting: 5, failed: 6 },
      soulVersion: "v2",
      policyVersion: "abc",
      posture: "supervised",
      safeMode: false,
      problems: ["Something is wrong."],
    });
    expect(report.byDay.map(({ day }) => day)).toEqual([14, 15, 16, 17, 18, 19, 20].map((day) => `2026-11-${day}`));
    expect(report.byDay.at(-1)?.byTier).toEqual(report.byTier);
    expect(report.byDay[0]).toMatchObject({ byVerdict: { allow: 0, ask: 0, deny: 0 } });
  });

  it.each(["UTC", "Europe/Berlin", "America/New_York", "Pacific/Kiritimati"])(
    "change the day at midnight UTC, whatever %s says of summer time",
    (zone) => {
      vi.stubEnv("TZ", zone);
      // The night clocks go back in Europe, and forward in America.
      for (const [moment, day] of [
        ["2026-10-24T23:59:59.999Z", "2026-10-24"],
        ["2026-10-25T00:00:00.000Z", "2026-10-25"],
        ["2026-10-25T00:59:59.000Z", "2026-10-25"],
        ["2026-10-25T01:30:00.000Z", "2026-10-25"],
        ["2026-10-25T23:59:59.999Z", "2026-10-25"],
        ["2026-10-26T00:00:00.000Z", "2026-10-26"],
      ] as const) {
        room.clock = Date.parse(moment);
        count("T0", "allow", `at.${day}`);
      }
      const report = host.stats.report(3, sources);
      expect(report.byDay.map(({ day, byTier }) => [day, byTier["T0"]])).toEqual([
        ["2026-10-24", 1],
        ["2026-10-25", 4],
        ["2026-10-26", 1],
      ]);
      expect(rows().every((row) => (row as { rule: string; day: string }).rule === `at.${(row as { day: string }).day}`)).toBe(true);
    },
  );

  it("are written within 250 ms, and before the database closes", () => {
    vi.useFakeTimers();
    count("T0", "allow", "tier.T0", 3);
    vi.advanceTimersByTime(249);
    expect(rows()).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(rows()).toEqual([{ day: "2026-11-20", capability: "file_ops", tier: "T0", verdict: "allow", rule: "tier.T0", count: 3 }]);
    count("T0", "allow", "tier.T0", 2);
    host.close();
    const again = room.open();
    expect(rows(again)).toMatchObject([{ count: 5 }]);
    expect(again.stats.report(1, sources).decisions).toBe(5);
  });

  it("wake nothing once they are written, and write nothing when there are none", () => {
    vi.useFakeTimers();
    count("T0", "allow", "tier.T0");
    expect(vi.getTimerCount()).toBe(1);
    host.stats.flush();
    expect(vi.getTimerCount()).toBe(0);
    const write = vi.spyOn(host.storage, "transaction");
    host.stats.flush();
    expect(write).not.toHaveBeenCalled();
  });

  it("of a closed database are left alone", () => {
    host.close();
    count("T0", "allow", "tier.T0");
    host.stats.flush();
    expect(host.logged).toEqual([]);
  });

  it("are written at once when a thousand kinds have come together", () => {
    for (let index = 1; index < 1000; index += 1) count("T3", "ask", `rule.${index}`);
    expect(rows()).toEqual([]);
    count("T3", "ask", "rule.1000");
    expect(rows()).toHaveLength(1000);
  });

  it("keep names and sentences short, and a decision without a rule too", () => {
    host.stats.count({ capability: "memory" }, { tier: "T1", verdict: "deny", rules: [] });
    count("T3", "ask", "r".repeat(600));
    const [none, long] = host.stats.report(1, sources).topRules;
    expect(none).toEqual({ id: "none", message: "", asked: 0, denied: 1 });
    expect(long?.id).toBe("r".repeat(200));
    expect(long?.message).toHaveLength(500);
  });

  it("tell of every day asked for, and of no other, whichever way the clock was set", () => {
    const first = room.clock;
    for (const day of [-1, 0, 2, 3]) {
      room.clock = first + day * dayMs;
      count("T2", "ask", `day.${day}`);
      host.stats.flush();
    }
    room.clock = first + 2 * dayMs;
    const report = host.stats.report(3, sources);
    expect(report.decisions).toBe(2);
    expect(report.byDay.map(({ byTier }) => byTier["T2"])).toEqual([1, 0, 1]);
    expect(report.topRules.map(({ id }) => id)).toContain("day.0");
  });

  it("of several windows are added up", () => {
    const other = room.open();
    count("T0", "allow", "tier.T0", 3);
    count("T0", "allow", "tier.T0", 4, other);
    host.stats.flush();
    expect(other.stats.report(1, sources).decisions).toBe(7);
    expect(host.stats.report(1, sources).decisions).toBe(7);
  });

  it("are kept 90 days", () => {
    const first = room.clock;
    for (const day of [0, 1, 90]) {
      room.clock = first + day * dayMs;
      count("T0", "allow", `day.${day}`);
      host.stats.flush();
    }
    expect(rows().map((row) => (row as { rule: string }).rule)).toEqual(["day.1", "day.90"]);
    const report = host.stats.report(90, sources);
    expect(report.byDay).toHaveLength(90);
    expect(report.byDay[0]).toMatchObject({ day: "2026-11-21", byTier: { T0: 1 } });
    expect(report.decisions).toBe(2);
  });

  it("that could not be written are tried again by themselves", () => {
    vi.useFakeTimers();
    count("T0", "allow", "tier.T0", 3);
    vi.spyOn(host.storage, "transaction").mockImplementationOnce(() => {
      throw new Error("locked");
    });
    vi.advanceTimersByTime(250);
    expect(rows()).toEqual([]);
    vi.advanceTimersByTime(250);
    expect(rows()).toMatchObject([{ count: 3 }]);
  });

  it("are kept when they cannot be written, and come with the next ones", () => {
    count("T0", "allow", "tier.T0", 3);
    vi.spyOn(host.storage, "transaction").mockImplementationOnce(() => {
      throw new Error("locked");
    });
    host.stats.flush();
    count("T0", "allow", "tier.T0", 1);
    expect(host.stats.report(1, sources).decisions).toBe(4);
    expect(host.logged).toEqual(["decisions could not be counted in the database yet"]);
  });

  it("do not grow with names a model makes up", () => {
    for (let index = 0; index < 5000; index += 1) count("T3", "ask", "tier.unknown", 1, host, `made-up-${index}`);
    host.stats.flush();
    expect(rows()).toEqual([{ day: "2026-11-20", capability: "other", tier: "T3", verdict: "ask", rule: "tier.unknown", count: 5000 }]);
  });
});
