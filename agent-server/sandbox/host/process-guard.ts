import { type ChildProcess, spawn } from "node:child_process";

/** Environment variable that marks all processes of a command, so that they can be found. */
export const markName = "LANCELOT_COMMAND";

/** Kills a command's processes when this process dies without releasing the guard, which it detects by the end of the pipe. */
const guardScript = `
read -r word
[ "$word" = over ] && exit
for round in 1 2 3 4 5 6 7 8 9 10; do
  kill -KILL -- "-$1"
  for at in /proc/[0-9]*; do grep -qs "$2" "$at/environ" && kill -KILL "\${at#/proc/}"; done
done`;

/** Starts the guard of a process group, in a group of its own. */
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
