// @module-tag ordinary-user
// @module-tag sandbox
import { expect, it } from "vitest";
import { ordinary } from "../support/sandbox/ordinary-user.ts";
import { overlayCases } from "../support/sandbox/overlay-cases.ts";

it("is an ordinary user who runs this", () => {
  expect(ordinary).toBe(true);
});

overlayCases("as an ordinary user");
