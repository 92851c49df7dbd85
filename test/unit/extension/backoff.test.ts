import { expect, test } from "vitest";
import { createBackoff } from "../../../extension/host/backoff.ts";

test("waits longer with each quick failure and gives up after five", () => {
  const backoff = createBackoff();
  expect([0, 0, 100, 0, 0, 0].map((lived) => backoff.next(lived))).toEqual([1000, 2000, 4000, 8000, 16_000, null]);
});

test("a host that ran for a while resets the count", () => {
  const backoff = createBackoff();
  for (let i = 0; i < 5; i++) backoff.next(0);
  expect(backoff.next(120_000)).toBe(1000);
  expect(backoff.next(0)).toBe(2000);
});

test("a restart by the owner resets the count", () => {
  const backoff = createBackoff();
  for (let i = 0; i < 6; i++) backoff.next(0);
  backoff.reset();
  expect(backoff.next(0)).toBe(1000);
});
