import { afterEach, beforeEach, expect, it } from "vitest";
import { createLease } from "../../../agent-server/storage/storage.ts";
import { LedgerFolder } from "../../support/receipts/ledger-folder.ts";

let folder: LedgerFolder;
let time = 1_000_000;
const now = () => time;

beforeEach(() => {
  folder = new LedgerFolder();
});
afterEach(() => folder.remove());

const lease = (name = "work") => {
  const { storage } = folder.host();
  return { ...createLease({ storage, name, now }), storage };
};

it("is held by one host at a time, which may renew it", () => {
  const [first, second] = [lease(), lease()];
  expect(first.take(1_000)).toBe(true);
  expect(second.take(1_000)).toBe(false);
  time += 900;
  expect(first.take(1_000)).toBe(true);
  time += 900;
  expect(second.take(1_000)).toBe(false);
});

it("of another name is another one", () => {
  expect(lease("a").take(1_000)).toBe(true);
  expect(lease("b").take(1_000)).toBe(true);
});

it("is over when it was released, by its holder alone", () => {
  const [first, second] = [lease(), lease()];
  first.take(1_000);
  second.release();
  expect(second.take(1_000)).toBe(false);
  first.release();
  expect(second.take(1_000)).toBe(true);
});

it("is over after its time", () => {
  const [first, second] = [lease(), lease()];
  first.take(1_000);
  time += 999;
  expect(second.take(1_000)).toBe(false);
  time += 1;
  expect(second.take(1_000)).toBe(true);
  expect(first.take(1_000)).toBe(false);
});

it("is over when its holder is gone", () => {
  const [first, second] = [lease(), lease()];
  first.take(1_000_000);
  first.storage.close();
  expect(second.take(1_000)).toBe(true);
});

it("is released without a word when the data folder is closed", () => {
  const first = lease();
  first.take(1_000);
  first.storage.close();
  expect(() => first.release()).not.toThrow();
});
