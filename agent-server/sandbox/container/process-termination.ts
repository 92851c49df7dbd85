import * as z from "zod";
import { ask, statusOf } from "./engine-call.ts";
import { runScript } from "./run-script.ts";
import { killAllScript, killMarkedScript } from "./container-scripts.ts";
import { commandsOwn, type WarmContainer } from "./warm-container.ts";

/** Timeout for killed processes to disappear, ms. */
const goneWithin = 1_500;
const killWithin = 3_000;
const inspectWithin = 2_000;
const Inspected = z.object({ State: z.object({ Running: z.boolean() }) });

/**
 * Kills the remaining processes of a command with this marker.
 * @returns whether there were any, and whether their end is confirmed
 */
export async function killOrphanedProcesses(warm: WarmContainer, mark: string): Promise<{ killed: boolean; isOver: boolean }> {
  try {
    let left = await leftOf(warm, mark);
    // Processes that are just exiting need a moment to disappear.
    for (let again = 0; left > 0 && again < 3; again += 1) {
      await pause(10);
      left = await leftOf(warm, mark);
    }
    if (left === 0) return { killed: false, isOver: true };
    return { killed: true, isOver: await killCommand(warm, mark, () => Promise.resolve(true)) };
  } catch {
    // Without a response, the container is removed with all its processes.
    return { killed: true, isOver: await warm.remove() };
  }
}

/**
 * Kills the command with this marker and everything it started. When the command is alone in the container, kills all processes of its
 * user;
 * otherwise those with the marker. When that fails, because no new process can start, removes the container. Never throws.
 * @param over whether the command's own process has ended
 * @returns false when its end could not be confirmed
 */
export async function killCommand(warm: WarmContainer, mark: string, over: () => Promise<boolean>): Promise<boolean> {
  try {
    for (let round = 0; round < 3; round += 1) {
      const done = await warm.alone(mark, async () => {
        await runScript(warm, killAllScript, [], killWithin);
        return gone(warm, mark, over);
      });
      if (done === true) return true;
      if (done === null) {
        await runScript(warm, killMarkedScript, [mark], killWithin);
        if (await gone(warm, mark, over)) return true;
      }
    }
  } catch {
    // The engine rejects the call or does not respond. The last step is the same.
  }
  return warm.remove();
}

/** True when the engine confirms that the container no longer runs. An engine that was killed leaves its containers running. */
export async function hasEnded(warm: WarmContainer): Promise<boolean> {
  try {
    const container = warm.engine.docker.getContainer(warm.id);
    return !Inspected.parse(await ask((abortSignal) => container.inspect({ abortSignal }), inspectWithin)).State.Running;
  } catch (error) {
    return statusOf(error) === 404;
  }
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
 * Counts the processes that may belong to the command. With other commands in the container, only orphaned processes count: the
 * container's
 * own process cannot see which command started the others.
 */
async function leftOf(warm: WarmContainer, mark: string): Promise<number> {
  const processes = commandsOwn(await warm.supervisor.processes());
  if (warm.active.size === 0 || (warm.active.size === 1 && warm.active.has(mark))) return processes.length;
  return processes.filter(({ parent }) => parent === 1).length;
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
