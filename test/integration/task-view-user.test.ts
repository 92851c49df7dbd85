// @module-tag sandbox
// @module-tag ordinary-user
import { ordinary } from "../support/sandbox/ordinary-user.ts";
import { expect, it } from "vitest";
import { describeTaskViews } from "../support/tasks/view-cases.ts";

it("runs as an ordinary user", () => expect(ordinary).toBe(true));
describeTaskViews();
