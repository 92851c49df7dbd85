import { Cron } from "croner";
import type { MemoryJobName } from "../../contract/memory.ts";

/** What a job does and when, for the owner and for the clock. */
export interface JobPlan {
  readonly name: MemoryJobName;
  /** Minute, hour, day, month, weekday, in local time. */
  readonly cron: string;
  readonly schedule: string;
  readonly what: string;
}

/** In the order in which they run when several are due: what is audited was tidied before. */
export const jobPlans: readonly JobPlan[] = [
  {
    name: "memory_compact_working",
    cron: "0 * * * *",
    schedule: "every hour",
    what: "Removes working memory that is past its time, and makes one note of many old ones of a task.",
  },
  {
    name: "memory_decay_archival",
    cron: "0 3 * * *",
    schedule: "every day at 03:00",
    what: "Lets archival memories that nothing confirmed count less. What the owner said does not decay.",
  },
  {
    name: "memory_summarize_episodic",
    cron: "30 3 * * *",
    schedule: "every day at 03:30",
    what: "Refers to the messages of tasks that ended and summarizes each task.",
  },
  {
    name: "memory_integrity_audit",
    cron: "0 4 * * *",
    schedule: "every day at 04:00",
    what: "Checks that commits and receipts match, blocks keep their caps, the index holds what the rows hold and nothing in quarantine got in.",
  },
];

const clocks = new Map<string, Cron>();

/**
 * The next time a plan asks for after `after`; both in milliseconds since 1970. An hour that the clock skips runs after the gap, one that
 * comes twice runs once.
 * @param timezone name of the zone; the machine's own unless given
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

/** Whether a job is due: it never ran, its time came since, or the clock was set back to before its last run. */
export function isDue(cron: string, last: number | null, now: number, timezone?: string): boolean {
  return last === null || last > now || nextTime(cron, last, timezone) <= now;
}
