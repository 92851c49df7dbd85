import type { Tier } from "../contract/common.ts";
import { capabilities, type Decision, type GovernanceStats, type Intent, type Verdict } from "../contract/governance.ts";
import type { Log } from "../security/security.ts";
import type { Migration, Storage } from "../storage/storage.ts";

export const statsMigrations: readonly Migration[] = [
  {
    name: "governance-stats-1-decisions",
    sql: `
      CREATE TABLE governance_decisions (
        day TEXT NOT NULL,
        capability TEXT NOT NULL,
        tier TEXT NOT NULL,
        verdict TEXT NOT NULL,
        -- The first rule that decided, and its latest message.
        rule TEXT NOT NULL,
        message TEXT NOT NULL,
        count INTEGER NOT NULL,
        PRIMARY KEY (day, capability, tier, verdict, rule)
      ) STRICT, WITHOUT ROWID;`,
  },
];

/** Where the report gets the state of the gate from. */
export interface StatsSources {
  /** Since a time (ISO 8601). */
  readonly approvals: (since: string) => GovernanceStats["approvals"];
  readonly verifications: () => GovernanceStats["verifications"];
  readonly soulVersion: () => string | null;
  readonly policyVersion: () => string | null;
  readonly posture: () => GovernanceStats["posture"];
  readonly safeMode: () => boolean;
  readonly problems: () => readonly string[];
}

/** Counts decisions by UTC day, capability, tier, verdict and first rule. */
export interface Stats {
  /** Counts a decision in memory in under a microsecond; writes it within 250 ms and before the database closes. Never throws. */
  count(intent: Pick<Intent, "capability">, decision: Pick<Decision, "tier" | "verdict" | "rules">): void;
  /** The last `days` UTC days including today; days without a decision are zeros. */
  report(days: number, sources: StatsSources): GovernanceStats;
  /** Writes the counts. */
  flush(): void;
}

interface DecisionCount {
  readonly day: string;
  readonly capability: string;
  readonly tier: Tier;
  readonly verdict: Verdict;
  readonly rule: string;
  message: string;
  count: number;
}

const dayMs = 86_400_000;
const flushDelay = 250;
const keptDays = 90;
const topRules = 10;
const known: ReadonlySet<string> = new Set(capabilities);
/** Maximum number of distinct rows per batch; a full batch is written at once. Rule ids come from tables, so there are few. */
const batchSize = 1000;

export function createStats(deps: { storage: Storage; now?: () => number; log: Log }): Stats {
  const { storage, log } = deps;
  const now = deps.now ?? Date.now;
  const { db } = storage;
  const add = db.prepare(`
    INSERT INTO governance_decisions VALUES (@day, @capability, @tier, @verdict, @rule, @message, @count)
    ON CONFLICT DO UPDATE SET count = count + excluded.count, message = excluded.message`);
  const prune = db.prepare("DELETE FROM governance_decisions WHERE day < ?");
  const byDay = db.prepare<[string], { day: string; tier: Tier; verdict: Verdict; count: number }>(
    "SELECT day, tier, verdict, sum(count) AS count FROM governance_decisions WHERE day >= ? GROUP BY day, tier, verdict",
  );
  const top = db.prepare<[string, number], GovernanceStats["topRules"][number]>(`
    SELECT rule AS id, message, ifnull(sum(count) FILTER (WHERE verdict = 'ask'), 0) AS asked, ifnull(sum(count) FILTER (WHERE verdict = 'deny'), 0) AS denied,
      max(day)
    FROM governance_decisions WHERE day >= ? AND verdict <> 'allow' GROUP BY rule ORDER BY sum(count) DESC, rule LIMIT ?`);

  const batch = new Map<string, DecisionCount>();
  let timer: NodeJS.Timeout | undefined;
  let day = "";
  let dayBegins = Number.NaN;
  let prunedDay = "";

  /** The UTC day, formatted only when it has changed. */
  function dayOf(at: number): string {
    const begins = Math.floor(at / dayMs) * dayMs;
    if (begins !== dayBegins) {
      dayBegins = begins;
      day = new Date(begins).toISOString().slice(0, 10);
    }
    return day;
  }

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    if (batch.size === 0 || !db.open) return;
    if (!storage.isWritable()) return scheduleFlush();
    try {
      storage.transaction(() => {
        for (const counted of batch.values()) add.run(counted);
        const at = now();
        const current = dayOf(at);
        if (current !== prunedDay) {
          prune.run(dayOf(at - (keptDays - 1) * dayMs));
          prunedDay = current;
        }
      });
      batch.clear();
    } catch (error) {
      // The database is locked or full: the batch is kept for the next flush.
      scheduleFlush();
      log("decision counts not written; retrying", error);
    }
  }

  function scheduleFlush(): void {
    timer ??= setTimeout(flush, flushDelay).unref();
  }

  storage.beforeClose(flush);

  return {
    count({ capability }, { tier, verdict, rules }) {
      const first = rules[0];
      const rule = first?.id ?? "none";
      const of = known.has(capability) ? capability : "other";
      const on = dayOf(now());
      const key = `${on}${of}${tier}${verdict}${rule}`;
      const counted = batch.get(key);
      if (counted !== undefined) {
        counted.count += 1;
        return;
      }
      batch.set(key, {
        day: on,
        capability: of,
        tier,
        verdict,
        rule: rule.slice(0, 200),
        message: (first?.message ?? "").slice(0, 500),
        count: 1,
      });
      if (batch.size >= batchSize) flush();
      else scheduleFlush();
    },

    report(days, sources) {
      flush();
      const today = Math.floor(now() / dayMs) * dayMs;
      const begins = today - (days - 1) * dayMs;
      const since = new Date(begins).toISOString();
      const shown = new Map(
        Array.from({ length: days }, (_, index) => {
          const name = new Date(begins + index * dayMs).toISOString().slice(0, 10);
          return [name, { day: name, byTier: noTiers(), byVerdict: noVerdicts() }] as const;
        }),
      );
      const byTier = noTiers();
      const byVerdict = noVerdicts();
      let decisions = 0;
      for (const row of byDay.all(since.slice(0, 10))) {
        const one = shown.get(row.day);
        // The clock was set back, so the row lies in the future.
        if (one === undefined) continue;
        decisions += row.count;
        for (const tiers of [byTier, one.byTier]) tiers[row.tier] += row.count;
        for (const verdicts of [byVerdict, one.byVerdict]) verdicts[row.verdict] += row.count;
      }
      return {
        since,
        decisions,
        byTier,
        byVerdict,
        byDay: [...shown.values()],
        topRules: top.all(since.slice(0, 10), topRules).map(({ id, message, asked, denied }) => ({ id, message, asked, denied })),
        approvals: sources.approvals(since),
        verifications: sources.verifications(),
        soulVersion: sources.soulVersion(),
        policyVersion: sources.policyVersion(),
        posture: sources.posture(),
        safeMode: sources.safeMode(),
        problems: [...sources.problems()],
      };
    },

    flush,
  };
}

function noTiers(): Record<Tier, number> {
  return { T0: 0, T1: 0, T2: 0, T3: 0 };
}

function noVerdicts(): Record<Verdict, number> {
  return { allow: 0, ask: 0, deny: 0 };
}
