// Whether the tasks themselves are right: a hidden check fails before the solution and passes after it, and so do the tests of a bug.
import type { BenchTask } from "./types.ts";
import { repositoryOf } from "./all-tasks.ts";
import { applyEdits, makePlace, passesTests, runHidden } from "./workspace.ts";

/** What is wrong with a task; null when nothing is. */
export async function auditTask(task: BenchTask): Promise<string | null> {
  if (task.says !== null && !task.says.test(task.answer)) return "the good answer does not say it";
  const repository = repositoryOf(task);
  const place = await makePlace(repository, task);
  try {
    if (task.solution.length === 0) return null;
    if ((await runHidden(repository, place.workspace, task.hidden)) === null) return "the hidden check passes before the solution";
    if (task.kind === "bug" && (await passesTests(repository, place.workspace))) return "the repository's tests pass in spite of the bug";
    await applyEdits(place.workspace, task.solution);
    const failed = await runHidden(repository, place.workspace, task.hidden);
    if (failed !== null) return `the hidden check fails after the solution: ${failed}`;
    return (await passesTests(repository, place.workspace)) ? null : "the repository's tests fail after the solution";
  } finally {
    await place.remove();
  }
}
