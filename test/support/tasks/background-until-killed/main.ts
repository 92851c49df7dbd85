import { openKilledTask } from "../killed-task.ts";

// Starts a command in the background that writes all the time, says so, and waits to be killed.
const [base = ""] = process.argv.slice(2);
const task = openKilledTask(base);
await task.run(
  "run_command",
  { command: "while sleep 0.02; do echo tick >> ticks.txt; (sleep 100 &); done", background: true, wait_ms: 300 },
  { quest: "q1" },
);
process.stdout.write("running\n");
// Looks at its files all the time, so that the kill often comes while it is paused.
for (;;) await task.run("run_command", { command: "true" }, { quest: "q1" });
