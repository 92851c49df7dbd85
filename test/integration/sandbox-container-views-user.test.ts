// @module-tag serial
// @module-tag ordinary-user
import { engineOfRoot } from "../support/engine/engine-of-root.ts";
import { ordinary } from "../support/sandbox/ordinary-user.ts";
import { describe, expect, it } from "vitest";
import { describeViewsIn } from "../support/engine/view-cases.ts";

it("runs as an ordinary user", () => expect(ordinary).toBe(true));

describe.skipIf(engineOfRoot === null)("views of an ordinary user's tasks in Docker (needs a start as root)", () => {
  describeViewsIn("Docker", () => engineOfRoot ?? "", false);
});
