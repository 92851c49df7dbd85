import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createSleep, flagsMigrations } from "../../../agent-server/flags/flags.ts";
import { openStorage, type Storage } from "../../../agent-server/storage/storage.ts";

let dataDir: string;
let open: Storage[];
let clock: number;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "lancelot-sleep-"));
  open = [];
  clock = 1_000_000;
});
afterEach(() => {
  for (const storage of open) storage.close();
  rmSync(dataDir, { recursive: true, force: true });
});

function fixture() {
  const storage = openStorage({ dataDir, migrations: flagsMigrations });
  open.push(storage);
  const changes: (string | null)[] = [];
  const sleep = createSleep({ storage, now: () => clock, onChange: (now) => changes.push(now?.reason ?? null) });
  return { storage, sleep, changes };
}

describe("sleep", () => {
  it("is off at first, and outlives a restart with its reason", () => {
    const first = fixture();
    expect(first.sleep.current()).toBeNull();
    first.sleep.sleep("A backup");
    first.storage.close();
    expect(fixture().sleep.current()).toEqual({ reason: "A backup", since: new Date(clock).toISOString() });
  });

  it("starts nothing until it is woken", () => {
    const { sleep } = fixture();
    sleep.requireAwake();
    sleep.sleep("");
    expect(() => sleep.requireAwake()).toThrow(expect.objectContaining({ code: "unavailable" }));
    sleep.wake();
    sleep.requireAwake();
  });

  it("of another window holds here within a quarter of a second", () => {
    const [one, other] = [fixture(), fixture()];
    one.sleep.sleep("A backup");
    clock += 251;
    expect(other.sleep.current()?.reason).toBe("A backup");
    other.sleep.wake();
    clock += 251;
    expect(one.sleep.current()).toBeNull();
    expect([one.changes, other.changes]).toEqual([
      ["A backup", null],
      ["A backup", null],
    ]);
  });
});
