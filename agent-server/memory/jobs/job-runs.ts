import type { MemoryJob, MemoryJobName } from "../../contract/memory.ts";
import type { Storage } from "../../storage/storage.ts";

/** Runs kept per job and workspace. */
const kept = 50;

export interface JobRun {
  readonly name: MemoryJobName;
  /** Start time, in milliseconds since 1970. */
  readonly at: number;
  readonly status: "run" | "failed" | "skipped";
  readonly detail: string;
  readonly receiptId: string | null;
  readonly durationMs: number;
}

interface Row {
  at: number;
  status: JobRun["status"];
  detail: string;
  receipt_id: string | null;
  duration_ms: number;
}

/** The job runs of this workspace. */
export interface JobRuns {
  add(run: JobRun): void;
  last(name: MemoryJobName): MemoryJob["last"];
  /** Time of the last finished run, successful or not; null without one. */
  lastEnded(name: MemoryJobName): number | null;
  /** Time of the last successful run; null without one. */
  lastRun(name: MemoryJobName): number | null;
}

export function createJobRuns({ storage, workspace }: { storage: Storage; workspace: string }): JobRuns {
  const { db, hostId } = storage;
  const insert = db.prepare(
    `INSERT OR REPLACE INTO memory_job_runs (name, workspace, at, status, detail, receipt_id, duration_ms, host_id)
     VALUES (@name, @workspace, @at, @status, @detail, @receiptId, @durationMs, @hostId)`,
  );
  const prune = db.prepare(
    `DELETE FROM memory_job_runs WHERE name = @name AND workspace = @workspace AND at NOT IN
       (SELECT at FROM memory_job_runs WHERE name = @name AND workspace = @workspace ORDER BY at DESC LIMIT ${String(kept)})`,
  );
  const newest = db.prepare<[string, string], Row>(
    "SELECT * FROM memory_job_runs WHERE name = ? AND workspace = ? ORDER BY at DESC LIMIT 1",
  );
  const newestOf = db.prepare<[string, string, string], number | null>(
    "SELECT max(at) FROM memory_job_runs WHERE name = ? AND workspace = ? AND status IN (SELECT value FROM json_each(?))",
  );
  const ended = newestOf.pluck();
  return {
    add: (run) => {
      insert.run({ ...run, workspace, hostId });
      prune.run({ name: run.name, workspace });
    },
    last: (name) => {
      const row = newest.get(name, workspace);
      return row === undefined
        ? null
        : {
            at: new Date(row.at).toISOString(),
            status: row.status,
            detail: row.detail,
            receiptId: row.receipt_id,
            durationMs: row.duration_ms,
          };
    },
    lastEnded: (name) => ended.get(name, workspace, '["run","failed"]') ?? null,
    lastRun: (name) => ended.get(name, workspace, '["run"]') ?? null,
  };
}
