// @module-tag ordinary-user
// @module-tag sandbox
import { expect, it } from "vitest";
import { ordinary } from "../support/sandbox/ordinary-user.ts";
import { backgroundCases } from "../support/sandbox/background-cases.ts";

it("is an ordinary user who runs this", () => {
  expect(ordinary).toBe(true);
});

backgroundCases("as an ordinary user");
