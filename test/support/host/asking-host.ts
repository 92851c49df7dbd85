// A host of its own process that works on one task until it has a question to the owner, says `asks <id>`, and waits for its
// end. Arguments: workspace, data folder, task.
import { flushCompileCache } from "node:module";
import { openWindow } from "./window.ts";

// A process that is killed never gets to write what it compiled.
flushCompileCache();

const [workspace = "", dataDir = "", task = ""] = process.argv.slice(2);
const window = await openWindow({ workspace, dataDir });
window.events.listen((event) => {
  // When the task is stored as waiting: a moment before, its call counts as one that may have run.
  if (event.topic === "quest" && event.payload.waitingFor?.kind === "approval")
    process.stdout.write(`asks ${event.payload.waitingFor.id}\n`);
});
await window.call("chat.send", { text: task });
// Until it is killed: a question that waits holds no process.
setInterval(() => undefined, 60_000);
