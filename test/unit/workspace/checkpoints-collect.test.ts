import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createClock } from "../../../agent-server/storage/storage.ts";
import { createEffectsFixture, type EffectsFixture, type EffectsFixtureOptions } from "../../support/tools/effects-fixture.ts";

const hour = 60 * 60_000;
const day = 24 * hour;

describe("the store of before-images", () => {
  let base = "";
  let fixtures: EffectsFixture[] = [];
  let later = 0;
  beforeEach(() => {
    base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-collect-")));
    fixtures = [];
    later = 0;
  });
  afterEach(() => {
    for (const fixture of fixtures) fixture.close();
    rmSync(base, { recursive: true, force: true });
  });

  const open = (options: EffectsFixtureOptions = {}): EffectsFixture => {
    const fixture = createEffectsFixture({
      base,
      settings: { max_total_bytes: 1_000_000, keep_days: 30 },
      isQuestOpen: (questId) => questId.startsWith("open"),
      now: () => new Date(Date.now() + later),
      ...options,
    });
    fixtures.push(fixture);
    return fixture;
  };
  const bytes = (): number => {
    const objects = join(base, "data/objects");
    return readdirSync(objects, { recursive: true, encoding: "utf8" })
      .map((name) => statSync(join(objects, name)))
      .filter((stats) => stats.isFile())
      .reduce((sum, stats) => sum + stats.size, 0);
  };
  const rewrite = async (fixture: EffectsFixture, questId: string, names: readonly string[]) => {
    const { touched } = await fixture.sh("", {
      questId,
      run: () => {
        for (const name of names) fixture.write(name, randomBytes(100_000));
        return Promise.resolve();
      },
    });
    return touched.checkpointId ?? "";
  };
  const names = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}${index}.bin`);

  it.each([
    ["a year ahead", [365]],
    ["a year ahead and back", [365, 0]],
    ["a year back", [-365]],
    ["a year back and ahead", [-365, 0]],
    ["two years ahead in two steps", [365, 730]],
  ])("removes nothing with a clock that goes %s, in the next host either", async (_, jumps) => {
    const fixture = open();
    fixture.write("a.txt", "one\n");
    const { touched } = await fixture.sh("echo two > a.txt", { questId: "ended" });
    // The host reads the clock when it starts.
    createClock({ storage: fixture.storage, now: () => Date.now() + later }).look();
    for (const days of jumps) {
      later = days * day;
      for (const host of [fixture, open()])
        expect([days, await host.collector.collect()]).toEqual([days, { checkpoints: 0, objects: 0, bytes: 0 }]);
    }
    later = 0;
    expect((await fixture.restore.restore({ id: touched.checkpointId ?? "" })).conflicts).toEqual([]);
    expect(fixture.read("a.txt")).toBe("one\n");
  });

  it("removes by age after a jump when Lancelot was used on as many days", async () => {
    const fixture = open();
    fixture.write("a.txt", "one\n");
    await fixture.sh("echo two > a.txt", { questId: "ended" });
    const clock = createClock({ storage: fixture.storage, now: () => Date.now() + later });
    clock.look();
    later = 365 * day;
    expect((await fixture.collector.collect()).checkpoints).toBe(0);
    for (let used = 0; used < 30; used += 1) {
      later += day;
      clock.look();
    }
    expect((await fixture.collector.collect()).checkpoints).toBe(1);
  });

  it.each(["keep_days: [", "keep_days: soon", "keep_days: 400\nunknown: 1"])(
    "removes nothing while config/checkpoints.yaml is broken: %j",
    async (text) => {
      const fixture = open();
      writeFileSync(join(base, "data/config/checkpoints.yaml"), `${text}\n`);
      fixture.write("a.txt", "one\n");
      await fixture.sh("echo two > a.txt", { questId: "ended" });
      later = 300 * day;
      for (const space of [false, true])
        expect(await fixture.collector.collect({ space })).toEqual({ checkpoints: 0, objects: 0, bytes: 0 });
      writeFileSync(join(base, "data/config/checkpoints.yaml"), "keep_days: 30\n");
      expect((await fixture.collector.collect()).checkpoints).toBe(1);
    },
  );

  it("removes the oldest checkpoints of ended quests above the limit, with a receipt, and reports them as removed", async () => {
    const fixture = open();
    for (const name of names("a", 5)) fixture.write(name, randomBytes(100_000));
    const ids: string[] = [];
    for (let index = 0; index < 4; index += 1) ids.push(await rewrite(fixture, `ended${index}`, names("a", 5)));
    expect(bytes()).toBeGreaterThan(2_000_000);
    // Used a moment ago: another window might be about to need it.
    expect(await fixture.collector.collect()).toEqual({ checkpoints: 0, objects: 0, bytes: 0 });
    later = 3 * hour;
    const collected = await fixture.collector.collect();
    expect(collected.checkpoints).toBeGreaterThan(0);
    expect(bytes()).toBeLessThanOrEqual(1_000_000);
    const receipt = fixture.ledger.search({ query: "checkpoints.collect", limit: 1 }).items[0];
    expect(receipt).toMatchObject({ actionType: "system", status: "success", outputs: { checkpoints: collected.checkpoints } });
    await expect(fixture.restore.restore({ id: ids[0] ?? "" })).rejects.toMatchObject({
      code: "not_found",
      message: expect.stringContaining("removed on"),
    });
    const { conflicts } = await fixture.restore.restore({ questId: "ended0" });
    expect(conflicts).toEqual([{ path: "(earlier steps)", message: expect.stringContaining("checkpoints.yaml") }]);
    expect(fixture.checkpoints.list({ limit: 50 }).map(({ id }) => id)).not.toContain(ids[0]);
    // What is left works.
    const { touched } = await fixture.sh("echo x > a0.bin", { questId: "open" });
    expect((await fixture.restore.restore({ id: touched.checkpointId ?? "" })).conflicts).toEqual([]);
  });

  it("keeps the checkpoints of an open quest at any size", async () => {
    const fixture = open();
    for (const name of names("a", 10)) fixture.write(name, randomBytes(100_000));
    const before = names("a", 10).map((name) => fixture.read(name));
    await rewrite(fixture, "open1", names("a", 10));
    await rewrite(fixture, "open1", names("a", 10));
    later = 300 * day;
    expect((await fixture.collector.collect({ space: true })).checkpoints).toBe(0);
    expect((await fixture.restore.restore({ questId: "open1" })).conflicts).toEqual([]);
    expect(names("a", 10).map((name) => fixture.read(name))).toEqual(before);
  });

  it("keeps the contents of undecided changes and pending verifications", async () => {
    const fixture = open();
    fixture.write("a.txt", "a\n");
    const change = await rewrite(fixture, "ended1", ["a.txt"]);
    const verification = await rewrite(fixture, "ended2", ["a.txt"]);
    const neither = await rewrite(fixture, "ended3", ["a.txt"]);
    fixture.storage.db
      .prepare(
        `INSERT INTO changes (id, workspace, quest_id, absolute, path, kind, status, encoding, hunks, created_at, updated_at)
         VALUES ('c', ?, 'ended1', ?, 'a.txt', 'modify', 'pending', '{}', '[]', '', '')`,
      )
      .run(fixture.workspace, fixture.path("a.txt"));
    fixture.storage.db
      .prepare(
        `INSERT INTO verifications (receipt_id, workspace, quest_id, host_id, checkpoint_id, status, job, created_at)
         VALUES ('v', ?, 'ended2', ?, ?, 'waiting', '{}', '')`,
      )
      .run(fixture.workspace, fixture.storage.hostId, verification);
    later = 300 * day;
    expect((await fixture.collector.collect()).checkpoints).toBe(1);
    const left = fixture.checkpoints.list({ limit: 10 }).map(({ id }) => id);
    expect(left.toSorted()).toEqual([change, verification].toSorted());
    expect(left).not.toContain(neither);
  });

  it("removes expired checkpoints even when there is space", async () => {
    const fixture = open({ settings: { keep_days: 2 } });
    fixture.write("a.txt", "a\n");
    await rewrite(fixture, "ended", ["a.txt"]);
    later = day;
    expect((await fixture.collector.collect()).checkpoints).toBe(0);
    later = 3 * day;
    expect((await fixture.collector.collect()).checkpoints).toBe(1);
  });

  it("keeps the data of commands in another window", async () => {
    const one = open();
    const other = open({ workspace: join(base, "other") });
    for (const name of names("o", 5)) other.write(name, randomBytes(100_000));
    const before = names("o", 5).map((name) => other.read(name));
    for (const name of names("a", 5)) one.write(name, randomBytes(100_000));
    for (let index = 0; index < 3; index += 1) await rewrite(one, `ended${index}`, names("a", 5));
    const { touched } = await other.sh("", {
      questId: "open",
      run: async () => {
        later = 3 * hour;
        await one.collector.collect({ space: true });
        for (const name of names("o", 5)) other.write(name, "changed\n");
      },
    });
    await one.collector.collect({ space: true });
    expect((await other.restore.restore({ id: touched.checkpointId ?? "" })).conflicts).toEqual([]);
    expect(names("o", 5).map((name) => other.read(name))).toEqual(before);
  });

  it("removes trees of unused workspaces and scans them again later", async () => {
    const fixture = open({ settings: { keep_days: 1 } });
    fixture.write("a.txt", "a\n");
    await rewrite(fixture, "ended", ["a.txt"]);
    later = 3 * day;
    await fixture.collector.collect();
    expect(bytes()).toBe(0);
    const now = fixture.read("a.txt");
    await rewrite(fixture, "open", ["a.txt"]);
    expect((await fixture.restore.restore({ questId: "open" })).conflicts).toEqual([]);
    expect(fixture.read("a.txt")).toBe(now);
  });
});
