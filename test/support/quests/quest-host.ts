// Runs a host in its own process on one task until it is done: starts or resumes the task, and accepts proposed changes hunk by hunk.
// Prints a line for every event, so that a test can kill the process at any of them. Arguments: workspace, data folder, task.
import { flushCompileCache } from "node:module";
import type { Quest } from "../../../agent-server/contract/chat.ts";
import type { Emit } from "../../../agent-server/contract/events.ts";
import { createHost } from "../../../agent-server/host.ts";
import { productPaths } from "../../../agent-server/paths.ts";

// A process that is killed never gets to write what it compiled.
flushCompileCache();

const [workspace = "", dataDir = "", task = ""] = process.argv.slice(2);
let seq = 0;
const watchers = new Set<() => void>();
const emit: Emit = (topic) => {
  seq += 1;
  process.stdout.write(`event ${topic}\n`);
  for (const watch of watchers) setImmediate(watch);
};

const host = await createHost({
  paths: productPaths(),
  workspace,
  dataDir,
  trusted: true,
  posture: "supervised",
  approvalTimeoutSeconds: 60,
  canAsk: true,
  askEditor: null,
  env: {},
  emit,
  lastEventSeq: () => seq,
  log: () => undefined,
});
const call = { owner: true, signal: new AbortController().signal };
const { handlers } = host;

const { items } = await handlers["quests.list"]({ limit: 10 }, call);
let [quest] = items;
if (quest === undefined) {
  const { questId } = await handlers["chat.send"]({ text: task }, call);
  quest = (await handlers["quests.get"]({ id: questId }, call)).quest;
} else if (quest.status === "interrupted") {
  quest = await handlers["quests.resume"]({ id: quest.id }, call);
}

/** Resolves when the quest needs the user or has ended. */
async function settled(id: string): Promise<Quest> {
  for (;;) {
    const { quest } = await handlers["quests.get"]({ id }, call);
    if (quest.status !== "active") return quest;
    await new Promise<void>((resolve) => {
      const watch = (): void => {
        watchers.delete(watch);
        resolve();
      };
      watchers.add(watch);
    });
  }
}

for (;;) {
  const { id, status } = await settled(quest.id);
  if (status !== "waiting") {
    process.stdout.write(`ended ${status}\n`);
    break;
  }
  const open = (await handlers["changes.list"]({ questId: id, open: true, limit: 100 }, call)).items[0];
  const hunk = open?.hunks.find((one) => one.state === "pending");
  if (open !== undefined && hunk !== undefined)
    await handlers["changes.decide"]({ id: open.id, decision: "accept", hunks: [hunk.index] }, call);
  else await new Promise<void>((resolve) => setImmediate(resolve));
}
await host.close();
