import type { RouterDecision, RouterStats } from "../../contract/router.ts";
import type { Storage } from "../../storage/storage.ts";

/** Number of stored decisions. */
export const keptDecisions = 200;
/** A decision is written to disk within this time (ms). No call waits for it, and its receipt is written separately. */
const writeMs = 250;

/** The last decisions of the router, across windows and restarts. */
export interface Decisions {
  /** Stores a decision, or its result. */
  keep(decision: RouterDecision): void;
  /** Newest first. */
  list(limit: number, questId?: string): RouterDecision[];
  stats(): RouterStats;
}

interface Row {
  id: string;
  host_id: string;
  running: number;
  decision: string;
}

const endedWords = "The agent host ended during the call.";

export function createDecisions(storage: Storage): Decisions {
  const { db } = storage;
  const save = db.prepare(
    `INSERT INTO router_decisions (id, quest_id, host_id, running, decision) VALUES (@id, @questId, @hostId, @running, @decision)
     ON CONFLICT (id) DO UPDATE SET running = @running, decision = @decision`,
  );
  const trim = db.prepare(
    `DELETE FROM router_decisions WHERE seq <= (SELECT seq FROM router_decisions ORDER BY seq DESC LIMIT 1 OFFSET ${keptDecisions})`,
  );
  const newest = db.prepare<[Record<string, unknown>], Row>(
    "SELECT * FROM router_decisions WHERE @questId IS NULL OR quest_id = @questId ORDER BY seq DESC LIMIT @limit",
  );
  const waiting = new Map<string, RouterDecision>();
  let timer: NodeJS.Timeout | null = null;

  function write(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (waiting.size === 0) return;
    const due = [...waiting.values()];
    storage.transaction(() => {
      for (const decision of due) {
        const { id, questId } = decision;
        const running = decision.success === null ? 1 : 0;
        save.run({ id, questId, running, hostId: storage.hostId, decision: JSON.stringify(decision) });
      }
      trim.run();
    });
    for (const decision of due) if (waiting.get(decision.id) === decision) waiting.delete(decision.id);
  }

  /** After a failed write (a full or locked disk), the next decision or query retries it. */
  const writeQuietly = (): void => {
    if (!storage.isWritable()) {
      timer = setTimeout(writeQuietly, writeMs).unref();
      return;
    }
    try {
      write();
    } catch {
      timer = null;
    }
  };
  storage.beforeClose(writeQuietly);

  function read(limit: number, questId: string | null): RouterDecision[] {
    write();
    return newest.all({ limit, questId }).map((row) => {
      const decision = JSON.parse(row.decision) as RouterDecision;
      const lost = row.running === 1 && row.host_id !== storage.hostId && !storage.hostAlive(row.host_id);
      return lost ? { ...decision, success: false, error: endedWords } : decision;
    });
  }

  return {
    keep(decision) {
      waiting.set(decision.id, decision);
      timer ??= setTimeout(writeQuietly, writeMs).unref();
    },
    list: (limit, questId) => read(limit, questId ?? null),
    stats: () => statsOf(read(keptDecisions, null)),
  };
}

function statsOf(decisions: readonly RouterDecision[]): RouterStats {
  const ended = decisions.filter(({ success }) => success !== null);
  const times = ended.map(({ elapsedMs }) => elapsedMs).toSorted((one, other) => one - other);
  const local = decisions.filter(({ lane }) => lane.startsWith("local")).length;
  return {
    total: decisions.length,
    succeeded: ended.filter(({ success }) => success === true).length,
    failed: ended.filter(({ success }) => success === false).length,
    byLane: count(decisions.map(({ lane }) => lane)),
    byRule: count(decisions.map(({ rule }) => rule)),
    byProvider: count(decisions.map(({ provider }) => provider)),
    localShare: decisions.length === 0 ? 0 : local / decisions.length,
    medianMs: times.length === 0 ? null : ((times[(times.length - 1) >> 1] ?? 0) + (times[times.length >> 1] ?? 0)) / 2,
  };
}

function count(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
