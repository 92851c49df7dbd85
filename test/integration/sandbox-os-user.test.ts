// @module-tag ordinary-user
// @module-tag sandbox
import { expect, it } from "vitest";
import { ordinary } from "../support/sandbox/ordinary-user.ts";
import { isolationCases } from "../support/sandbox/isolation.ts";
import { openOsShell } from "../support/sandbox/os-shell.ts";

it("is an ordinary user who runs this", () => {
  expect(ordinary).toBe(true);
});

isolationCases("bubblewrap as an ordinary user", {
  // The program is refused more, or is found to have too much, whichever comes first.
  memoryEnds: "either",
  endsElsewhere: true,
  open: (fixture, limits) => Promise.resolve(openOsShell(fixture, { limits: () => limits })),
});
