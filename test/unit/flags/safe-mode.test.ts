import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createSafeMode, flagsMigrations, safeModeHandlers } from "../../../agent-server/flags/flags.ts";
import { openStorage, type Storage } from "../../../agent-server/storage/storage.ts";

let dataDir: string;
let open: Storage[];
let clock: number;
let reported: [boolean, boolean][];

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "lancelot-safe-"));
  open = [];
  clock = 1_000_000;
  reported = [];
});
afterEach(() => {
  for (const storage of open) storage.close();
  rmSync(dataDir, { recursive: true, force: true });
});

function fixture() {
  const storage = openStorage({ dataDir, migrations: flagsMigrations });
  open.push(storage);
  return { storage, safeMode: createSafeMode({ storage, now: () => clock, onChange: (...change) => reported.push(change) }) };
}

describe("safe mode", () => {
  it("is off at first, and outlives a restart once it is on", () => {
    const first = fixture();
    expect(first.safeMode.enabled()).toBe(false);
    first.safeMode.set(true);
    expect(first.safeMode.enabled()).toBe(true);
    first.storage.close();
    expect(fixture().safeMode.enabled()).toBe(true);
  });

  it("of another window holds here within a quarter of a second", () => {
    const here = fixture().safeMode;
    fixture().safeMode.set(true);
    clock += 251;
    expect(here.enabled()).toBe(true);
    expect(reported).toEqual([
      [true, true],
      [true, false],
    ]);
  });

  it("is on while it cannot be read", () => {
    const { storage, safeMode } = fixture();
    storage.db.exec("DELETE FROM safe_mode");
    clock += 1_000;
    expect(safeMode.enabled()).toBe(true);
    storage.db.exec("DROP TABLE safe_mode");
    clock += 1_000;
    expect(safeMode.enabled()).toBe(true);
  });

  it("sends one event per change and is returned by its method", async () => {
    const handlers = safeModeHandlers(fixture().safeMode);
    const call = { owner: true, signal: new AbortController().signal };
    expect(await handlers["tools.safeMode"]({ enabled: true }, call)).toEqual({ enabled: true });
    await handlers["tools.safeMode"]({ enabled: true }, call);
    expect(await handlers["tools.safeMode"]({ enabled: false }, call)).toEqual({ enabled: false });
    expect(reported).toEqual([
      [true, true],
      [false, true],
    ]);
  });
});
