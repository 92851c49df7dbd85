import { afterEach } from "vitest";
import { whatIsOpen } from "./workbench.ts";

// A window that belongs to a failed test says what it shows: the page is gone when someone reads of the failure.
afterEach(async ({ task }) => {
  if (task.result?.state !== "fail") return;
  throw new Error(`At the end of the failed test:\n${await whatIsOpen()}`);
});
