import { Cron } from "croner";
import type { MemoryJobName } from "../../contract/memory.ts";

/** The description and schedule of a job. */
export interface JobPlan {
  readonly name: MemoryJobName;
  /** Minute, hour, day, month and weekday, in local time. */
  readonly cron: string;
  readonly schedule: string;
  readonly what: string;
}

/** In run order when several are due: the audit runs last, on tidy data. */
export const jobPlans: readonly JobPlan[] = [
  {
    name: "memory_compact_working",
    cron: "0 * * * *",
    schedule: "every hour",
    what: "Deletes expired working memory, and merges the older notes of a task.",
  },
  {
    name: "memory_decay_archival",
    cron: "0 3 * * *",
    schedule: "every day at 03:00",
    what: "Decays the weight of unconfirmed archival items. Your own statements do not decay.",
  },
  {
    name: "memory_summarize_episodic",
    cron: "30 3 * * *",
    schedule: "every day at 03:30",
    what: "Indexes the messages of ended tasks and summarizes each task.",
  },
  {
    name: "memory_integrity_audit",
    cron: "0 4 * * *",
    schedule: "every day at 04:00",
    what: "Checks that commits match receipts, blocks fit their limits, the index matches the items, and quarantined edits are not in memory.",
  },
];

const clocks = new Map<string, Cron>();

/**
 * The next scheduled time after `after`, in milliseconds since 1970. In a skipped hour a job runs after the gap; in a repeated
 * hour it runs once.
 * @param timezone time zone name; the machine's by default
 */
export function nextTime(cron: string, after: number, timezone?: string): number {
  const key = `${cron} ${timezone ?? ""}`;
  let clock = clocks.get(key);
  if (clock === undefined) {
    clock = new Cron(cron, { paused: true, ...(timezone === undefined ? {} : { timezone }) });
    clocks.set(key, clock);
  }
  return clock.nextRun(new Date(after))?.getTime() ?? Number.POSITIVE_INFINITY;
}

/** Whether a job is due: it never ran, its time has come, or the clock was set back to before its last run. */
export function isDue(cron: string, last: number | null, now: number, timezone?: string): boolean {
  return last === null || last > now || nextTime(cron, last, timezone) <= now;
}
