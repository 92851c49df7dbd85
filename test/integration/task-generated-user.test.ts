// @module-tag sandbox
// @module-tag ordinary-user
import { ordinary } from "../support/sandbox/ordinary-user.ts";
import { expect, it } from "vitest";
import { describeGeneratedFiles } from "../support/tasks/generated-cases.ts";

it("runs as an ordinary user", () => expect(ordinary).toBe(true));
describeGeneratedFiles();
