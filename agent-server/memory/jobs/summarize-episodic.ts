import type { Episodes } from "../episodes.ts";
import type { MemoryStore, Timeline } from "../item-types.ts";
import type { JobResult, JobYield } from "./job-yield.ts";

/** Messages or items per read. */
const page = 500;
/** Messages are read from so long before the last run (ms), because a task may end long after they were written. */
const overlap = 7 * 86_400_000;

/** References the messages of tasks that ended since the last run, and writes missing or outdated summaries. */
export async function summarizeEpisodic(
  deps: { timeline: Timeline; episodes: Episodes; store: Pick<MemoryStore, "moveExperiences">; lastRun: () => number | null },
  jobYield: JobYield,
): Promise<JobResult> {
  while (deps.store.moveExperiences(page) > 0) await jobYield.pause();
  const last = deps.lastRun();
  const quests = new Set<string>();
  let after = last === null ? 0 : Math.max(0, last - overlap);
  for (;;) {
    const messages = deps.timeline.since(after, page);
    for (const { questId } of messages) quests.add(questId);
    const newest = messages.at(-1)?.createdAt;
    if (newest === undefined || messages.length < page) break;
    // The next page may start in the same millisecond, unless one page holds only that millisecond.
    after = Math.max(newest - 1, after + 1);
    await jobYield.pause();
  }
  let summaries = 0;
  for (const questId of [...quests].toSorted()) {
    if (await deps.episodes.summarize(questId, jobYield.signal)) summaries += 1;
    await jobYield.pause();
  }
  const detail =
    quests.size === 0
      ? "No task ended since the last run."
      : `Checked ${String(quests.size)} ended ${quests.size === 1 ? "task" : "tasks"}; wrote ${String(summaries)} ${summaries === 1 ? "summary" : "summaries"}.`;
  return { ok: true, detail, facts: { tasks: quests.size, summaries } };
}
