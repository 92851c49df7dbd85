import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createClock, openStorage, type Storage } from "../../../agent-server/storage/storage.ts";

const day = 24 * 60 * 60_000;
const year = 365 * day;
let root = "";
let storage: Storage;
let at = 0;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "lancelot-clock-"));
  storage = openStorage({ dataDir: root, migrations: [] });
  at = Date.parse("2026-11-20T12:00:00Z");
});
afterEach(() => {
  storage.close();
  rmSync(root, { recursive: true, force: true });
});
const open = () => createClock({ storage, now: () => at });
/** Uses Lancelot on `days` days, one after the other. */
const use = (days: number): void => {
  for (let count = 0; count < days; count += 1) {
    at += day;
    open().look();
  }
};

it.each([
  ["an hour", day / 24],
  ["a night", day / 2],
  ["a weekend", 2.7 * day],
  ["a correction backwards", -60_000],
  ["the hour of daylight saving", -day / 24],
])("%s is no jump", (_, gap) => {
  open().look();
  at += gap;
  expect(open().look()).toBeNull();
  expect(open().mayRemove(1)).toBe(true);
});

it.each([
  ["a week ahead", 7 * day],
  ["a year ahead", year],
  ["a hundred years ahead", 100 * year],
  ["two hours back", -day / 12],
  ["a year back", -year],
  ["to 1970", -Date.parse("2026-11-20T12:00:00Z")],
])("%s is a jump: nothing may be removed until so many days of use passed", (_, gap) => {
  open().look();
  at += gap;
  // Also in the next host, and however often the clock is read.
  for (let count = 0; count < 200; count += 1) expect(open().mayRemove(14)).toBe(false);
  use(13);
  expect(open().mayRemove(14)).toBe(false);
  use(1);
  expect([open().mayRemove(14), open().mayRemove(90)]).toEqual([true, false]);
});

it("a clock that returns counts anew", () => {
  open().look();
  at += year;
  open().look();
  use(13);
  at -= year;
  expect(open().mayRemove(14)).toBe(false);
  expect(open().look()).toMatchObject({ daysSince: 0 });
});
