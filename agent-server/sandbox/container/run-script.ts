import { ask } from "./engine-call.ts";
import { createFrames } from "./stream-frames.ts";
import type { WarmContainer } from "./warm-container.ts";

/** Longest output that is kept, in characters. */
const maxOutput = 1_000_000;

/**
 * Runs shell built-ins as the commands' user, and waits for their end.
 * @returns what they printed. Commands of the same user could have tampered with it
 * @throws EngineSilent; dockerode's error when the engine rejects the call
 */
export async function runScript(warm: WarmContainer, script: string, args: readonly string[], withinMs: number): Promise<string> {
  const exec = await ask(
    (abortSignal) =>
      warm.engine.docker
        .getContainer(warm.id)
        .exec({ Cmd: ["sh", "-c", script, ...args], User: warm.user, AttachStdout: true, AttachStderr: true, abortSignal }),
    withinMs,
  );
  const stream = await ask(() => exec.start({ hijack: true, stdin: false }), withinMs);
  const { promise, resolve } = Promise.withResolvers<void>();
  let text = "";
  const frames = createFrames((name, bytes) => {
    if (name === "stdout" && text.length < maxOutput) text += Buffer.from(bytes).toString("latin1");
  });
  stream.on("data", (chunk: Buffer) => {
    try {
      frames(chunk);
    } catch {
      stream.destroy();
    }
  });
  for (const event of ["end", "close", "error"]) stream.on(event, () => resolve());
  try {
    await ask(() => promise, withinMs);
  } finally {
    stream.destroy();
  }
  return text;
}
