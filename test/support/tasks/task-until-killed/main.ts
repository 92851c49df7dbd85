import { openKilledTask, workOnTask } from "../killed-task.ts";

// Runs a command in a task's view, accepts what it proposed, imports its commit and applies its generated files; killed in between.
const [base = ""] = process.argv.slice(2);
const task = openKilledTask(base);
process.stdout.write("begun\n");
await workOnTask(task);
await task.close();
