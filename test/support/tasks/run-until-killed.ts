import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

/**
 * Runs a program of this folder, which prints a line when it begins, and kills it `after` ms later; never for null.
 * @returns milliseconds that it ran since that line, and whether it was killed
 */
export async function runUntilKilled(
  program: "apply-until-killed" | "task-until-killed",
  args: readonly string[],
  after: number | null,
): Promise<{ took: number; killed: boolean }> {
  const child = spawn(process.execPath, [join(import.meta.dirname, program, "main.ts"), ...args], { stdio: ["ignore", "pipe", "inherit"] });
  let begun = 0;
  child.stdout.on("data", () => {
    begun = performance.now();
    if (after !== null) setTimeout(() => child.kill("SIGKILL"), after);
  });
  const [code, signal] = (await once(child, "exit")) as [number | null, string | null];
  if (signal !== "SIGKILL" && code !== 0) throw new Error(`The program ended with ${String(code ?? signal)}.`);
  return { took: performance.now() - begun, killed: signal === "SIGKILL" };
}
