import { LancelotError } from "../../contract/errors.ts";
import { type MemoryJob, MemoryJobName } from "../../contract/memory.ts";
import type { Log } from "../../security/security.ts";
import { createLease } from "../../storage/storage.ts";
import { type CompactDeps, compactWorking } from "./compact-working.ts";
import { decayArchival } from "./decay-archival.ts";
import type { AuditDeps } from "./audit-deps.ts";
import { auditMemory } from "./integrity-audit.ts";
import { createJobRuns, type JobRun } from "./job-runs.ts";
import { isDue, jobPlans, type JobPlan, nextTime } from "./job-schedule.ts";
import { summarizeEpisodic } from "./summarize-episodic.ts";
import type { Episodes } from "../episodes.ts";
import type { Timeline } from "../item-types.ts";
import { createJobYield, type JobResult, type JobYield } from "./job-yield.ts";

/** Lease duration of the window that runs a workspace's jobs, without renewal (ms). */
const leaseMs = 120_000;

export interface MemoryJobsDeps extends CompactDeps, Omit<AuditDeps, "lastRun" | "commits" | "ledger" | "timeline"> {
  readonly commits: CompactDeps["commits"] & AuditDeps["commits"];
  readonly ledger: AuditDeps["ledger"];
  readonly timeline: Timeline;
  readonly episodes: Episodes;
  readonly enabled: () => boolean;
  /** Called after a job changed something. */
  readonly changed: () => void;
  readonly log: Log;
  /** Time zone name; the machine's by default. */
  readonly timezone?: string | undefined;
}

/** The maintenance of memory. Each run has a receipt: `memory_job_run`, `memory_job_failed` or `memory_job_skipped`. */
export interface MemoryJobs {
  jobs(): MemoryJob[];
  /** Runs a job now, after the running one. It is skipped while another window runs jobs of this workspace. */
  runJob(name: MemoryJobName, signal: AbortSignal): Promise<MemoryJob>;
  /** Runs the jobs that are due until `signal` aborts. It never throws: failures are recorded per job. */
  maintain(signal: AbortSignal): Promise<void>;
  /** The problem that the last audit found, as a message for the user; null without one. */
  problem(): string | null;
}

export function createMemoryJobs(deps: MemoryJobsDeps): MemoryJobs {
  const { storage, now, workspace } = deps;
  const runs = createJobRuns(deps);
  const lease = createLease({ storage, name: `memory jobs ${workspace}`, now });
  /** Jobs of this process run one after the other, because the lease does not protect a process from itself. */
  let running: Promise<unknown> = Promise.resolve();

  const work: Record<MemoryJobName, (jobYield: JobYield) => Promise<JobResult>> = {
    memory_compact_working: (jobYield) => compactWorking(deps, jobYield),
    memory_decay_archival: (jobYield) => decayArchival(deps, jobYield),
    memory_summarize_episodic: (jobYield) =>
      summarizeEpisodic({ ...deps, lastRun: () => runs.lastRun("memory_summarize_episodic") }, jobYield),
    memory_integrity_audit: (jobYield) => auditMemory({ ...deps, lastRun: () => runs.lastRun("memory_integrity_audit") }, jobYield),
  };

  const toJob = (plan: JobPlan): MemoryJob => {
    const ended = runs.lastEnded(plan.name);
    const next = isDue(plan.cron, ended, now(), deps.timezone) ? now() : nextTime(plan.cron, ended ?? now(), deps.timezone);
    return {
      name: plan.name,
      schedule: plan.schedule,
      what: plan.what,
      last: runs.last(plan.name),
      nextAt: deps.enabled() && Number.isFinite(next) ? new Date(next).toISOString() : null,
    };
  };

  const planOf = (name: MemoryJobName): JobPlan => {
    const plan = jobPlans.find((one) => one.name === name);
    if (plan === undefined) throw new LancelotError("not_found", `There is no job ${name}.`);
    return plan;
  };

  /** Writes the run and its receipt in one transaction. */
  const note = (run: Omit<JobRun, "receiptId">, facts: Readonly<Record<string, unknown>>): void => {
    storage.transaction(() => {
      const receiptId = deps.ledger.open({
        actionType: "system",
        actionName: `memory_job_${run.status}`,
        inputs: { job: run.name },
        riskTier: "T1",
        metadata: { workspace },
      });
      const failed = run.status === "failed";
      deps.ledger.close(receiptId, {
        status: failed ? "failure" : run.status === "skipped" ? "cancelled" : "success",
        outputs: { ...facts, detail: run.detail, durationMs: run.durationMs },
        ...(failed ? { errorMessage: run.detail } : {}),
      });
      runs.add({ ...run, receiptId });
    });
  };

  const perform = async (name: MemoryJobName, signal: AbortSignal): Promise<JobRun["status"]> => {
    const at = now();
    const ended = (status: JobRun["status"], detail: string, facts: Readonly<Record<string, unknown>> = {}): JobRun["status"] => {
      note({ name, at, status, detail, durationMs: Math.max(0, now() - at) }, facts);
      return status;
    };
    try {
      const jobYield = createJobYield(signal, () => lease.take(leaseMs));
      await jobYield.pause();
      const { ok, detail, facts } = await work[name](jobYield);
      return ended(ok ? "run" : "failed", detail, facts);
    } catch (error) {
      // The host is closing; the next start runs the job again.
      if (!storage.db.open) throw error;
      if (error instanceof LancelotError && (error.code === "cancelled" || error.code === "conflict"))
        return ended("skipped", error.message);
      deps.log(`the job ${name} failed`, error);
      return ended("failed", error instanceof LancelotError ? error.message : "An internal error stopped it; the log says more.");
    } finally {
      deps.changed();
    }
  };

  const inTurn = <T>(turn: () => Promise<T>): Promise<T> => {
    const next = running.then(turn);
    running = next.catch(() => undefined);
    return next;
  };

  return {
    jobs: () => jobPlans.map(toJob),
    problem: () => {
      const { status, detail } = runs.last("memory_integrity_audit") ?? {};
      return status === "failed" ? (detail ?? null) : null;
    },
    runJob: (name, signal) => {
      const plan = planOf(name);
      return inTurn(async () => {
        try {
          await perform(name, signal);
        } finally {
          lease.release();
        }
        return toJob(plan);
      });
    },
    maintain: (signal) =>
      inTurn(async () => {
        try {
          for (const { name, cron } of jobPlans) {
            if (signal.aborted || !storage.db.open || !deps.enabled()) return;
            if (!isDue(cron, runs.lastEnded(name), now(), deps.timezone)) continue;
            // Another window of this workspace is at it; what it does not get done is due the next time.
            if (!lease.take(leaseMs)) return;
            await perform(name, signal);
          }
        } catch (error) {
          deps.log("memory was not maintained", error);
        } finally {
          lease.release();
        }
      }),
  };
}
