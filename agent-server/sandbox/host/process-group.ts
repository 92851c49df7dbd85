import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import type { GatedProcess } from "../gated-process.ts";
import { markName, startProcessGuard } from "./process-guard.ts";
import { killProcessTree, signalQuietly } from "./process-tree.ts";

/** Ends a command where the system has no process namespaces: its processes are found by group, parent and a mark in their environment. */
export function createProcessGroup(): {
  /** For the command's environment. */
  readonly mark: Readonly<Record<string, string>>;
  readonly life: Pick<GatedProcess, "detached" | "onReady" | "kill" | "gone">;
} {
  const value = randomBytes(16).toString("hex");
  const marked = `${markName}=${value}`;
  const guards: ChildProcess[] = [];
  return {
    mark: { [markName]: value },
    life: {
      detached: true,
      async onReady(child) {
        guards.push(await startProcessGuard(child.pid ?? 0, marked));
      },
      kill(child) {
        if (child.pid !== undefined) signalQuietly(-child.pid, "SIGKILL");
      },
      async gone(child) {
        const killedOrphans = child.pid === undefined ? false : await killProcessTree(child.pid, marked);
        for (const guard of guards) guard.stdin?.end("over\n");
        return { killedOrphans };
      },
    },
  };
}
