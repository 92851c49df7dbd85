import { afterEach } from "vitest";
import { whatIsOpen } from "./workbench.ts";

// Adds to the report of a failed test what its windows showed, because they are closed when the report is read.
afterEach(async ({ task }) => {
  if (task.result?.state !== "fail") return;
  throw new Error(`At the end of the failed test:\n${await whatIsOpen()}`);
});
