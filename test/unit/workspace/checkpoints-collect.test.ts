import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, realpathSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createEffectsFixture, type EffectsFixture, type EffectsFixtureOptions } from "../../support/tools/effects-fixture.ts";

const hour = 60 * 60_000;
const day = 24 * hour;

describe("the store of before-images", () => {
  let base = "";
  let rooms: EffectsFixture[] = [];
  let later = 0;
  beforeEach(() => {
    base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-collect-")));
    rooms = [];
    later = 0;
  });
  afterEach(() => {
    for (const room of rooms) room.close();
    rmSync(base, { recursive: true, force: true });
  });

  const open = (options: EffectsFixtureOptions = {}): EffectsFixture => {
    const room = createEffectsFixture({
      base,
      settings: { max_total_bytes: 1_000_000, keep_days: 30 },
      isQuestOpen: (questId) => questId.startsWith("open"),
      now: () => new Date(Date.now() + later),
      ...options,
    });
    rooms.push(room);
    return room;
  };
  const bytes = (): number => {
    const objects = join(base, "data/objects");
    return readdirSync(objects, { recursive: true, encoding: "utf8" })
      .map((name) => statSync(join(objects, name)))
      .filter((stats) => stats.isFile())
      .reduce((sum, stats) => sum + stats.size, 0);
  };
  const rewrite = async (room: EffectsFixture, questId: string, names: readonly string[]) => {
    const { touched } = await room.sh("", {
      questId,
      run: () => {
        for (const name of names) room.write(name, randomBytes(100_000));
        return Promise.resolve();
      },
    });
    return touched.checkpointId ?? "";
  };
  const names = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}${index}.bin`);

  it("removes the oldest checkpoints of ended quests above the limit, with a receipt, and reports them as removed", async () => {
    const room = open();
    for (const name of names("a", 5)) room.write(name, randomBytes(100_000));
    const ids: string[] = [];
    for (let index = 0; index < 4; index += 1) ids.push(await rewrite(room, `ended${index}`, names("a", 5)));
    expect(bytes()).toBeGreaterThan(2_000_000);
    // Used a moment ago: another window might be about to need it.
    expect(await room.collector.collect()).toEqual({ checkpoints: 0, objects: 0, bytes: 0 });
    later = 3 * hour;
    const collected = await room.collector.collect();
    expect(collected.checkpoints).toBeGreaterThan(0);
    expect(bytes()).toBeLessThanOrEqual(1_000_000);
    const receipt = room.ledger.search({ query: "checkpoints.collect", limit: 1 }).items[0];
    expect(receipt).toMatchObject({ actionType: "system", status: "success", outputs: { checkpoints: collected.checkpoints } });
    await expect(room.restore.restore({ id: ids[0] ?? "" })).rejects.toMatchObject({
      code: "not_found",
      message: expect.stringContaining("removed on"),
    });
    const { conflicts } = await room.restore.restore({ questId: "ended0" });
    expect(conflicts).toEqual([{ path: "(earlier steps)", message: expect.stringContaining("checkpoints.yaml") }]);
    expect(room.checkpoints.list({ limit: 50 }).map(({ id }) => id)).not.toContain(ids[0]);
    // What is left works.
    const { touched } = await room.sh("echo x > a0.bin", { questId: "open" });
    expect((await room.restore.restore({ id: touched.checkpointId ?? "" })).conflicts).toEqual([]);
  });

  it("keeps the checkpoints of an open quest at any size", async () => {
    const room = open();
    for (const name of names("a", 10)) room.write(name, randomBytes(100_000));
    const before = names("a", 10).map((name) => room.read(name));
    await rewrite(room, "open1", names("a", 10));
    await rewrite(room, "open1", names("a", 10));
    later = 300 * day;
    expect((await room.collector.collect({ space: true })).checkpoints).toBe(0);
    expect((await room.restore.restore({ questId: "open1" })).conflicts).toEqual([]);
    expect(names("a", 10).map((name) => room.read(name))).toEqual(before);
  });

  it("keeps the contents of undecided changes and pending verifications", async () => {
    const room = open();
    room.write("a.txt", "a\n");
    const change = await rewrite(room, "ended1", ["a.txt"]);
    const verification = await rewrite(room, "ended2", ["a.txt"]);
    const neither = await rewrite(room, "ended3", ["a.txt"]);
    room.storage.db
      .prepare(
        `INSERT INTO changes (id, workspace, quest_id, absolute, path, kind, status, encoding, hunks, created_at, updated_at)
         VALUES ('c', ?, 'ended1', ?, 'a.txt', 'modify', 'pending', '{}', '[]', '', '')`,
      )
      .run(room.workspace, room.path("a.txt"));
    room.storage.db
      .prepare(
        `INSERT INTO verifications (receipt_id, workspace, quest_id, host_id, checkpoint_id, status, job, created_at)
         VALUES ('v', ?, 'ended2', ?, ?, 'waiting', '{}', '')`,
      )
      .run(room.workspace, room.storage.hostId, verification);
    later = 300 * day;
    expect((await room.collector.collect()).checkpoints).toBe(1);
    const left = room.checkpoints.list({ limit: 10 }).map(({ id }) => id);
    expect(left.toSorted()).toEqual([change, verification].toSorted());
    expect(left).not.toContain(neither);
  });

  it("removes expired checkpoints even when there is space", async () => {
    const room = open({ settings: { keep_days: 2 } });
    room.write("a.txt", "a\n");
    await rewrite(room, "ended", ["a.txt"]);
    later = day;
    expect((await room.collector.collect()).checkpoints).toBe(0);
    later = 3 * day;
    expect((await room.collector.collect()).checkpoints).toBe(1);
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
    const room = open({ settings: { keep_days: 1 } });
    room.write("a.txt", "a\n");
    await rewrite(room, "ended", ["a.txt"]);
    later = 3 * day;
    await room.collector.collect();
    expect(bytes()).toBe(0);
    const now = room.read("a.txt");
    await rewrite(room, "open", ["a.txt"]);
    expect((await room.restore.restore({ questId: "open" })).conflicts).toEqual([]);
    expect(room.read("a.txt")).toBe(now);
  });
});
