import { ask } from "./engine-call.ts";
import { killAllScript, killMarkedScript } from "./container-scripts.ts";
import { commandsOwn, type WarmContainer } from "./warm-container.ts";

/** How long what was killed may take to be gone, ms. */
const goneWithin = 1_500;
const killWithin = 3_000;

/**
 * Makes sure that nothing of the command with this mark is left in the container.
 * @returns whether something was
 */
export async function killOrphanedProcesses(warm: WarmContainer, mark: string): Promise<boolean> {
  try {
    let left = await leftOf(warm, mark);
    // What is just ending takes a moment to be noticed.
    for (let again = 0; left > 0 && again < 3; again += 1) {
      await pause(10);
      left = await leftOf(warm, mark);
    }
    if (left === 0) return false;
    await killCommand(warm, mark, () => Promise.resolve(true));
    return true;
  } catch {
    // It cannot be asked: it is taken down, and what is in it with it.
    await warm.remove();
    return true;
  }
}

/**
 * Ends the command with this mark and everything it started: alone in the container everything of its user at once, beside others what
 * bears the mark; and where that does not help, because not one process more can be started, the container. Never throws.
 * @param over whether the command's own process is over
 * @returns false when nobody says that it is over
 */
export async function killCommand(warm: WarmContainer, mark: string, over: () => Promise<boolean>): Promise<boolean> {
  try {
    for (let round = 0; round < 3; round += 1) {
      const done = await warm.alone(mark, async () => {
        await shell(warm, killAllScript, []);
        return gone(warm, mark, over);
      });
      if (done === true) return true;
      if (done === null) {
        await shell(warm, killMarkedScript, [mark]);
        if (await gone(warm, mark, over)) return true;
      }
    }
  } catch {
    // The engine refuses or is silent; the last step is the same.
  }
  return warm.remove();
}

async function gone(warm: WarmContainer, mark: string, over: () => Promise<boolean>): Promise<boolean> {
  const end = performance.now() + goneWithin;
  for (;;) {
    if ((await leftOf(warm, mark)) === 0 && (await over())) return true;
    if (performance.now() > end) return false;
    await pause(20);
  }
}

/**
 * Processes that may be the command's. Beside others only those count that lost their parent, or bear the mark by their parents: the
 * container's own process sees neither the others' environment nor what began them.
 */
async function leftOf(warm: WarmContainer, mark: string): Promise<number> {
  const processes = commandsOwn(await warm.supervisor.processes());
  if (warm.active.size === 0 || (warm.active.size === 1 && warm.active.has(mark))) return processes.length;
  return processes.filter(({ parent }) => parent === 1).length;
}

/** Runs built-ins of the shell as the commands' user, and waits for their end. */
async function shell(warm: WarmContainer, script: string, args: readonly string[]): Promise<void> {
  const { docker } = warm.engine;
  const exec = await ask(
    (abortSignal) =>
      docker
        .getContainer(warm.id)
        .exec({ Cmd: ["sh", "-c", script, ...args], User: warm.user, AttachStdout: true, AttachStderr: true, abortSignal }),
    killWithin,
  );
  const stream = await ask(() => exec.start({ hijack: true, stdin: false }), killWithin);
  const { promise, resolve } = Promise.withResolvers<void>();
  for (const event of ["end", "close", "error"]) stream.on(event, () => resolve());
  stream.resume();
  try {
    await ask(() => promise, killWithin);
  } finally {
    stream.destroy();
  }
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
