// A host of a data folder that uses the folder of a task until it is killed (`use`), or deletes it and is killed in between (`remove`).
// Arguments: data folder, workspace, quest, what to do.
import { openFoldersHost } from "../folders-fixture.ts";

const [dataDir = "", workspace = "", questId = "", what = ""] = process.argv.slice(2);
const { folders } = openFoldersHost(dataDir, workspace, { max_task_bytes: 1e12, keep_task_days: 30 });
if (what === "use") {
  folders.use(questId);
  process.stdout.write("begun\n");
  setInterval(() => undefined, 1_000);
} else {
  process.stdout.write("begun\n");
  folders.remove(questId);
  await folders.deleted();
}
