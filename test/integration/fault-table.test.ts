import { randomInt } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../support/host/built-host.ts";
import { type EditorHost, startEditorHost } from "../support/host/editor-host.ts";
import { startModelServer } from "../support/model-server/server.ts";
import { skippedWithout } from "../support/setup/machine.mjs";
import { soak } from "../support/soak.ts";
import {
  complete,
  expireApprovals,
  faultScript,
  planOf,
  processesNaming,
  reach,
  type State,
  stepFiles,
} from "../support/tasks/fault-table.ts";
import { useModelServer } from "../support/tasks/two-file-change.ts";

/**
 * What goes wrong. `offline`: the model server is gone for a moment; `outage`: for longer than anything is retried. `expired`: nobody
 * answers a request for approval in time; `expired away`: in the time in which the host is gone.
 */
type Fault = "kill" | "stop" | "reload" | "offline" | "outage" | "expired" | "expired away";

const all: Fault[] = ["kill", "stop", "reload", "offline"];
/** The faults of each state: all of them in `npm run soak`, otherwise those of `usual`. */
const table: Record<State, { usual: Fault[]; more: Fault[] }> = {
  streaming: { usual: ["kill", "stop", "outage"], more: all },
  approval: { usual: ["kill", "stop", "expired", "expired away"], more: all },
  question: { usual: ["kill", "stop"], more: all },
  review: { usual: ["kill", "stop"], more: all },
  queued: { usual: ["kill", "stop"], more: all },
  command: { usual: ["kill", "stop"], more: ["kill", "stop", "reload"] },
  plan: { usual: ["kill"], more: ["kill", "reload", "offline"] },
  step: { usual: ["kill", "stop", "outage"], more: all },
};
const noSandbox = skippedWithout("sandbox") !== null;
const cases = (Object.keys(table) as State[])
  .filter((state) => state !== "command" || !noSandbox)
  .flatMap((state) => {
    const { usual, more } = table[state];
    return [...new Set([...usual, ...(soak ? more : [])])].map((fault) => [state, fault] as const);
  });

/** How often the effect of the task takes place in the end. A denied, withdrawn or expired request for approval is not repeated by the model. */
function effects(state: State, fault: Fault): number {
  if (state === "approval") return fault === "stop" || fault === "expired" ? 0 : 1;
  return state === "plan" || state === "step" ? stepFiles.length : 1;
}

it.each(cases)("a task in the state %s resumes after %s, and does nothing twice", async (state, fault) => {
  using workspace = temporaryFolder("fault");
  using data = temporaryFolder("fault-data");
  writeFileSync(join(workspace.path, "old.txt"), "old\n");
  const held = Promise.withResolvers<void>();
  const marker = `${randomInt(100_000, 1_000_000_000)}.${randomInt(1_000_000)}`;
  const script = faultScript(state, held.promise, marker);
  let server = await startModelServer({ script });
  const port = Number(new URL(server.url("openai_compatible")).port);
  useModelServer(data.path, server.url("openai_compatible"));
  const start = () => startEditorHost({ workspace: workspace.path, dataDir: data.path, maxRunningTasks: 1 });
  let host = await start();
  try {
    const questId = await reach(host, state, marker);
    const quest = async () => (await host.call("quests.get", { id: questId })).quest;
    switch (fault) {
      case "kill":
      case "reload":
      case "expired away":
        await (fault === "reload" ? host.close() : host.kill());
        if (fault === "expired away") expireApprovals(data.path);
        host = await start();
        // A plan that waits for its approval is not worked on.
        expect(state === "plan" ? ["done"] : ["interrupted", "waiting"]).toContain((await quest()).status);
        break;
      case "stop":
        expect((await host.call("chat.cancel", { questId })).status).toBe("cancelled");
        // What the command had done by then is proposed like the result of any other.
        if (state === "command") await host.until(async () => (await proposed(host, questId)).includes("log.txt"));
        break;
      case "offline":
        await server.close();
        server = await startModelServer({ script, port });
        break;
      case "outage":
        await server.close();
        await host.until(async () => (await quest()).status !== "active");
        expect(await quest()).toMatchObject({ status: "failed", problem: expect.stringMatching(/./) });
        server = await startModelServer({ script, port });
        break;
      case "expired":
        expireApprovals(data.path);
        await host.until(async () => (await host.call("approvals.list", { questId, status: "expired", limit: 10 })).items.length === 1);
        break;
    }
    expect(existsSync(join(workspace.path, "made.txt"))).toBe(false);
    if (state === "command") await expect.poll(() => processesNaming(marker)).toBe(0);
    if (state === "plan") expect(await planOf(host, questId)).toMatchObject({ status: "draft" });
    if (state === "step" && fault !== "offline")
      expect(await planOf(host, questId)).toMatchObject({ status: "running", planSteps: [{ status: "done" }, { status: "active" }] });
    held.resolve();
    await complete(host, questId);

    const { items } = await host.call("receipts.search", { questId, limit: 500 });
    const done = items
      .filter(({ actionName, status }) => ["file_write", "file_delete", "delete_file"].includes(actionName) && status === "success")
      .map(({ inputs }) => inputs["path"])
      .filter((path) => path !== "log.txt");
    expect(done).toHaveLength(effects(state, fault));
    if (state === "approval") expect(existsSync(join(workspace.path, "old.txt"))).toBe(effects(state, fault) === 0);
    else expect(readFileSync(join(workspace.path, "made.txt"), "utf8")).toBe("once\n");
    if (state === "command") {
      const commands = items.filter(({ actionName }) => actionName === "run_command");
      expect(commands.map(({ status }) => status)).toEqual([expect.stringMatching(/^(?:cancelled|failure)$/)]);
      // After a stop its result was proposed; after a crash it stays with the task.
      const log = join(workspace.path, "log.txt");
      expect(existsSync(log) ? readFileSync(log, "utf8") : "once\n").toBe("once\n");
    }
    if (state === "plan" || state === "step") {
      expect(readFileSync(join(workspace.path, stepFiles[1]), "utf8")).toBe("once\n");
      expect(await planOf(host, questId)).toMatchObject({
        status: "done",
        planSteps: stepFiles.map(() => ({ status: "done", attempts: 1 })),
      });
    }
    expect(items.filter(({ status }) => status === "pending")).toEqual([]);
    expect(await host.call("receipts.verify", {})).toMatchObject({ ok: true });
  } finally {
    held.resolve();
    await host.kill();
    await server.close();
  }
});

/** The files of all changes that the task has proposed. */
async function proposed(host: EditorHost, questId: string): Promise<string[]> {
  return (await host.call("changes.list", { questId, limit: 100 })).items.map(({ path }) => path);
}
