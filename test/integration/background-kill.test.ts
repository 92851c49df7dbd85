// @module-tag sandbox
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { until } from "../support/sandbox/run.ts";
import { openKilledTask } from "../support/tasks/killed-task.ts";

describe("a background command of a host that is killed", () => {
  let base: string;
  beforeEach(() => {
    base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-killed-")));
  });
  afterEach(() => rmSync(base, { recursive: true, force: true }));

  /** Processes that have the task's folder mounted. */
  const processes = (): string[] =>
    readdirSync("/proc").filter((pid) => {
      try {
        return /^\d+$/.test(pid) && pid !== String(process.pid) && readFileSync(`/proc/${pid}/mountinfo`, "utf8").includes(base);
      } catch {
        return false;
      }
    });

  it.each([0, 300, 700])("is gone, and its task continues (%i ms after it was started)", async (afterMs) => {
    const main = join(import.meta.dirname, "../support/tasks/background-until-killed/main.ts");
    const host = spawn(process.execPath, [main, base], { stdio: ["ignore", "pipe", "inherit"] });
    await once(host.stdout, "data");
    expect(processes().length).toBeGreaterThan(0);
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    host.kill("SIGKILL");
    await once(host, "exit");
    await until("its processes are gone", () => processes().length === 0);
    const task = openKilledTask(base);
    try {
      const { isError, text } = await task.run("run_command", { command: "cat ticks.txt; echo on > on.txt" }, { quest: "q1" });
      expect([isError, /^tick$/m.test(text)]).toEqual([false, true]);
      const pending = task.tools.changes.list({ questId: "q1", open: true, limit: 10 }).map(({ path }) => path);
      expect(pending.sort()).toEqual(["on.txt", "ticks.txt"]);
      expect(existsSync(join(base, "proj/ticks.txt"))).toBe(false);
      expect((await task.run("command_output", { id: "bg-1" }, { quest: "q1" })).isError).toBe(true);
    } finally {
      await task.close();
    }
  });
});
