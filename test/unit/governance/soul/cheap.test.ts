import { afterEach, expect, it, vi } from "vitest";
import { createSoulTestFixture, type SoulTestFixture } from "../../../support/soul-fixture.ts";

/** Calls into the file system, by name. */
const calls = vi.hoisted(() => ({ names: [] as string[] }));
vi.mock("node:fs", async (original) => {
  const real = await original<typeof import("node:fs")>();
  const counted = Object.fromEntries(
    Object.entries(real).map(([name, value]) => [
      name,
      typeof value === "function" && name.endsWith("Sync")
        ? (...args: unknown[]) => {
            calls.names.push(name);
            return (value as (...args: unknown[]) => unknown)(...args);
          }
        : value,
    ]),
  );
  return { ...counted, default: counted };
});

let room: SoulTestFixture;
afterEach(() => room.dispose());

it("a decision looks once at ACTIVE and reads nothing, neither file nor database, while nothing changed", () => {
  let at = 1_000_000;
  room = createSoulTestFixture({ now: () => at });
  const soul = room.soul.active();
  const prepare = vi.spyOn(room.storage, "transaction");
  calls.names.length = 0;
  for (let index = 0; index < 100; index += 1) expect(room.soul.active()).toBe(soul);
  expect(calls.names).toEqual(Array.from({ length: 100 }, () => "lstatSync"));
  // The version's own file is looked at once a second: what it says has no effect, only that it changed is told.
  at += 1000;
  calls.names.length = 0;
  for (let index = 0; index < 100; index += 1) room.soul.active();
  expect(calls.names).toEqual(Array.from({ length: 101 }, () => "lstatSync"));
  expect(prepare).not.toHaveBeenCalled();
});

it("the prompt is composed once for a soul", () => {
  room = createSoulTestFixture();
  const { prompt } = room.soul;
  expect(prompt()).toBe(prompt());
  expect(prompt()?.version).toBe("v1");
});
