import { subtaskPaths, subtaskTool } from "../tools/tools.ts";

/** Maximum number of concurrent sub-tasks of one answer. */
const parallelSubtasks = 3;

interface Call {
  readonly name: string;
  readonly args: Record<string, unknown>;
}

/**
 * Makes calls in the order of the model, one after the other. Sub-tasks that follow one another run side by side where the paths that they
 * may change differ; one that may change everything runs alone.
 */
export async function runInOrder<C extends Call>(calls: readonly C[], once: (call: C) => Promise<void>): Promise<void> {
  const running = new Map<Promise<unknown>, string[] | null>();
  const failures: unknown[] = [];
  for (const call of calls) {
    const isSubtask = call.name === subtaskTool;
    const paths = subtaskPaths(call.args);
    const mustWait = (): boolean =>
      !isSubtask || running.size >= parallelSubtasks || [...running.values()].some((other) => overlaps(paths, other));
    while (running.size > 0 && mustWait()) await Promise.race(running.keys());
    if (failures.length > 0) break;
    if (!isSubtask) {
      await once(call);
      continue;
    }
    const ended: Promise<unknown> = once(call)
      .catch((error: unknown) => failures.push(error))
      .then(() => running.delete(ended));
    running.set(ended, paths);
  }
  // Nothing outlives the answer, also when one failed.
  await Promise.all(running.keys());
  if (failures.length > 0) throw failures[0];
}

function overlaps(one: string[] | null, other: string[] | null): boolean {
  if (one === null || other === null) return true;
  const isWithin = (path: string, folder: string): boolean => folder === "." || path === folder || path.startsWith(`${folder}/`);
  return one.some((path) => other.some((folder) => isWithin(path, folder) || isWithin(folder, path)));
}
