import { type ChildProcess, spawn } from "node:child_process";

/** In the environment of all that a command starts, so that it is found again. */
export const markName = "LANCELOT_COMMAND";

/** Ends what a command started when this process is gone: then nobody says that it is over, and the pipe ends. */
const guardScript = `
read -r word
[ "$word" = over ] && exit
for round in 1 2 3 4 5 6 7 8 9 10; do
  kill -KILL -- "-$1"
  for at in /proc/[0-9]*; do grep -qs "$2" "$at/environ" && kill -KILL "\${at#/proc/}"; done
done`;

/** Starts the guard over a group of processes, in a group of its own. */
export async function startProcessGuard(group: number, mark: string): Promise<ChildProcess> {
  const guard = spawn("/bin/sh", ["-c", guardScript, "lancelot-guard", String(group), mark], {
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  guard.stdin.on("error", () => {});
  await new Promise((resolve, reject) => {
    guard.once("spawn", resolve);
    guard.once("error", reject);
  });
  return guard;
}
