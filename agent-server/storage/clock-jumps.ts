import type { Storage } from "./types.ts";

export const clockMigration = {
  name: "storage-3-clock",
  sql: `CREATE TABLE clock (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    seen INTEGER NOT NULL,         -- the latest time that a host read, in ms since 1970
    jumped_from INTEGER,           -- the time before the last jump; null without one
    jumped_to INTEGER,
    day TEXT NOT NULL,             -- the last day that was counted
    days_since INTEGER NOT NULL    -- days of use since the last jump
  ) STRICT`,
};

const dayMs = 24 * 60 * 60_000;
/** A longer gap between two reads of the clock counts as a jump: longer than a weekend, and a real absence only delays removals. */
const maxGapMs = 3 * dayMs;
/** Corrections of the clock up to this size are no jump. */
const maxStepBackMs = 60 * 60_000;

/** The last jump of the machine's clock. */
export interface ClockJump {
  readonly from: Date;
  readonly to: Date;
  /** Days on which Lancelot was used since then. */
  readonly daysSince: number;
}

/** Tells whether stored times may be compared with the machine's clock. */
export interface Clock {
  /** Reads the clock. Call it at the start, regularly, and before anything is removed by its age. Returns the last jump. */
  look(): ClockJump | null;
  /**
   * True when something may be removed after `keepDays`: the clock did not jump, or Lancelot was used on that many days since. A clock that is
   * a year ahead must not remove for good what is a day old.
   */
  mayRemove(keepDays: number): boolean;
}

interface Row {
  seen: number;
  jumped_from: number | null;
  jumped_to: number | null;
  day: string;
  days_since: number;
}

/** `now` is in milliseconds since 1970. The state is in the database, shared by every window and the next hosts. */
export function createClock({ storage, now }: { storage: Pick<Storage, "db" | "transaction">; now: () => number }): Clock {
  const find = storage.db.prepare<[], Row>("SELECT seen, jumped_from, jumped_to, day, days_since FROM clock WHERE id = 1");
  const write = storage.db.prepare(
    "INSERT OR REPLACE INTO clock (id, seen, jumped_from, jumped_to, day, days_since) VALUES (1, @seen, @jumped_from, @jumped_to, @day, @days_since)",
  );

  function look(): ClockJump | null {
    const row = storage.transaction(() => {
      const at = now();
      const day = new Date(at).toISOString().slice(0, 10);
      const known = find.get();
      const next: Row =
        known === undefined ? { seen: at, jumped_from: null, jumped_to: null, day, days_since: 0 } : advance(known, at, day);
      if (known === undefined || next.seen !== known.seen) write.run(next);
      return next;
    });
    if (row.jumped_from === null || row.jumped_to === null) return null;
    return { from: new Date(row.jumped_from), to: new Date(row.jumped_to), daysSince: row.days_since };
  }

  return {
    look,
    mayRemove(keepDays) {
      const jump = look();
      return jump === null || jump.daysSince >= keepDays;
    },
  };
}

function advance(known: Row, at: number, day: string): Row {
  const gap = at - known.seen;
  if (gap > maxGapMs || gap < -maxStepBackMs) return { seen: at, jumped_from: known.seen, jumped_to: at, day, days_since: 0 };
  return { ...known, seen: at, day, days_since: known.days_since + (day === known.day ? 0 : 1) };
}
