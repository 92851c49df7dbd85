import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../support/host/built-host.ts";
import { startEditorHost } from "../support/host/editor-host.ts";
import { startModelServer } from "../support/model-server/server.ts";
import { soak } from "../support/soak.ts";
import { complete, faultScript, reach, type State, states } from "../support/tasks/fault-table.ts";
import { useModelServer } from "../support/tasks/two-file-change.ts";

type Fault = "kill" | "stop" | "reload" | "offline";

// What goes wrong in each state of a task: all faults in `npm run soak`, otherwise the two that no window survives or no task does.
const faults: Fault[] = soak ? ["kill", "stop", "reload", "offline"] : ["kill", "stop"];

/** How often the effect of the task takes place in the end. A denied or withdrawn request for approval is not repeated by the model. */
const effects = (state: State, fault: Fault): number => (state === "approval" && fault === "stop" ? 0 : 1);

it.each(states.flatMap((state) => faults.map((fault) => [state, fault] as const)))(
  "a task that is %s resumes after %s, and does nothing twice",
  async (state, fault) => {
    using workspace = temporaryFolder("fault");
    using data = temporaryFolder("fault-data");
    writeFileSync(join(workspace.path, "old.txt"), "old\n");
    const held = Promise.withResolvers<void>();
    const script = faultScript(held.promise);
    let server = await startModelServer({ script });
    const port = Number(new URL(server.url("openai_compatible")).port);
    useModelServer(data.path, server.url("openai_compatible"));
    const start = () => startEditorHost({ workspace: workspace.path, dataDir: data.path, maxRunningTasks: 1 });
    let host = await start();
    try {
      const questId = await reach(host, state);
      const statusOf = async () => (await host.call("quests.get", { id: questId })).quest.status;
      if (fault === "kill" || fault === "reload") {
        await (fault === "kill" ? host.kill() : host.close());
        host = await start();
        expect(["interrupted", "waiting"]).toContain(await statusOf());
      } else if (fault === "stop") {
        expect((await host.call("chat.cancel", { questId })).status).toBe("cancelled");
      } else {
        await server.close();
        server = await startModelServer({ script, port });
      }
      expect(existsSync(join(workspace.path, "made.txt"))).toBe(false);
      held.resolve();
      await complete(host, questId);

      const { items } = await host.call("receipts.search", { questId, limit: 500 });
      const done = items.filter(
        ({ actionName, status }) => ["file_write", "file_delete", "delete_file"].includes(actionName) && status === "success",
      );
      expect(done).toHaveLength(effects(state, fault));
      if (state === "approval") expect(existsSync(join(workspace.path, "old.txt"))).toBe(effects(state, fault) === 0);
      else expect(readFileSync(join(workspace.path, "made.txt"), "utf8")).toBe("once\n");
      expect(await host.call("receipts.verify", {})).toMatchObject({ ok: true });
    } finally {
      held.resolve();
      await host.kill();
      await server.close();
    }
  },
);
