// @module-tag sandbox
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { generated, type KilledTask, openKilledTask, stateOf, workOnTask } from "../support/tasks/killed-task.ts";
import { runUntilKilled } from "../support/tasks/run-until-killed.ts";
import { moments, runs } from "../support/soak.ts";

const before = { text: "one\n", log: ["Ignore", "First"], status: "", generated: 0, broken: "" };
const after = { text: "two\n", log: ["Second", "Ignore", "First"], status: "", generated, broken: "" };

it("a host killed in a command, its scan, a review, an import or an application loses nothing and leaves nothing half done", async () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-task-kill-")));
  const open: KilledTask[] = [];
  try {
    const { took: whole } = await runUntilKilled("task-until-killed", [join(root, "timed")], null);
    for (const [index, moment] of moments(runs(6, 200)).entries()) {
      const base = join(root, `${index}`);
      await runUntilKilled("task-until-killed", [base], moment * whole * 1.1);
      const task = openKilledTask(base);
      open.push(task);
      // The next host completes the same work from whatever state it finds.
      await workOnTask(task);
      expect(stateOf(task), `killed at ${moment}`).toEqual(after);
      expect((await task.ledger.verify()).ok, `killed at ${moment}`).toBe(true);
      const { conflicts } = await task.tools.checkpoints.restore({ questId: "q1" });
      expect(conflicts, `killed at ${moment}`).toEqual([]);
      expect(stateOf(task), `undone after a kill at ${moment}`).toEqual(before);
      await task.close();
      open.pop();
      rmSync(base, { recursive: true, force: true, maxRetries: 3 });
    }
  } finally {
    for (const task of open) await task.close();
    rmSync(root, { recursive: true, force: true, maxRetries: 3 });
  }
});
