import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

export interface Ended {
  /** False when it was killed. */
  readonly done: boolean;
  /** Milliseconds from `begun` to the end. */
  readonly took: number;
}

/** Runs `effects-host/main.ts`, and kills it `after` ms (never unless said) after it has said `word`. */
export async function runHost(args: readonly string[], kill: { word: string; after: number } | null): Promise<Ended> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "effects-host/main.ts"), ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  let begun = 0;
  let armed = false;
  child.stdout.on("data", (chunk: Buffer) => {
    said += chunk.toString();
    if (begun === 0 && said.includes("begun\n")) begun = performance.now();
    if (armed || kill === null || !said.includes(`${kill.word}\n`)) return;
    armed = true;
    setTimeout(() => child.kill("SIGKILL"), kill.after);
  });
  const [code, signal] = (await once(child, "exit")) as [number | null, string | null];
  if (signal !== "SIGKILL" && code !== 0) throw new Error(`The host ended with ${String(code ?? signal)}.`);
  return { done: signal === null, took: performance.now() - begun };
}
