import type { Episodes } from "../episodes.ts";
import type { Timeline } from "../item-types.ts";
import type { JobResult, JobTurns } from "./turns.ts";

/** Messages that are read at a time. */
const page = 500;
/** How far before its last run the job looks again (ms): a task may end long after its messages were written. */
const overlap = 7 * 86_400_000;

/** Refers to the messages of tasks that ended since the last run, and summarizes those without a summary, or with one that is too old. */
export async function summarizeEpisodic(
  deps: { timeline: Timeline; episodes: Episodes; lastRun: () => number | null },
  turns: JobTurns,
): Promise<JobResult> {
  const last = deps.lastRun();
  const quests = new Set<string>();
  let after = last === null ? 0 : Math.max(0, last - overlap);
  for (;;) {
    const messages = deps.timeline.since(after, page);
    for (const { questId } of messages) quests.add(questId);
    const newest = messages.at(-1)?.createdAt;
    if (newest === undefined || messages.length < page) break;
    // Others of the same millisecond may be on the next page, unless they fill a page by themselves.
    after = Math.max(newest - 1, after + 1);
    await turns.turn();
  }
  let summaries = 0;
  for (const questId of [...quests].toSorted()) {
    if (await deps.episodes.summarize(questId, turns.signal)) summaries += 1;
    await turns.turn();
  }
  const detail =
    quests.size === 0
      ? "No task ended since the last time."
      : `Looked at ${String(quests.size)} ${quests.size === 1 ? "task" : "tasks"} that ended; wrote ${String(summaries)} ${summaries === 1 ? "summary" : "summaries"}.`;
  return { ok: true, detail, facts: { tasks: quests.size, summaries } };
}
