import { LancelotError } from "../contract/errors.ts";
import type { Storage } from "../storage/storage.ts";

/** Why Lancelot sleeps, and since when. */
export interface Sleeping {
  /** The owner's words; empty without any. */
  readonly reason: string;
  /** ISO time. */
  readonly since: string;
}

/**
 * The state ACTIVE or SLEEPING of a data folder (requirement A9). A host that sleeps completes what runs and what was accepted, and starts no
 * other tasks and no jobs.
 */
export interface Sleep {
  /** Null while awake. A change by another window shows within 250 ms. */
  current(): Sleeping | null;
  /** Persists across restarts and applies to every window. */
  sleep(reason: string): void;
  wake(): void;
  /** @throws LancelotError `unavailable` while Lancelot sleeps, with how to wake it */
  requireAwake(): void;
}

export interface SleepDeps {
  readonly storage: Pick<Storage, "db" | "transaction">;
  /** Called when the state changed, here or in another window. */
  readonly onChange?: (now: Sleeping | null) => void;
  /** Milliseconds. */
  readonly now?: () => number;
}

/** How long (ms) a read stays valid. */
const validMs = 250;

export function createSleep({ storage, onChange, now = Date.now }: SleepDeps): Sleep {
  const select = storage.db.prepare<[], Sleeping>("SELECT reason, since FROM sleep WHERE only_row = 1");
  const insert = storage.db.prepare("INSERT OR REPLACE INTO sleep (only_row, reason, since) VALUES (1, ?, ?)");
  const remove = storage.db.prepare("DELETE FROM sleep");
  let known = select.get() ?? null;
  let readAt = now();

  function note(next: Sleeping | null): void {
    const before = known;
    known = next;
    readAt = now();
    if (before?.since !== next?.since || before?.reason !== next?.reason) onChange?.(next);
  }

  const sleep: Sleep = {
    current() {
      if (Math.abs(now() - readAt) > validMs) note(select.get() ?? null);
      return known;
    },
    sleep(reason) {
      const next: Sleeping = { reason, since: new Date(now()).toISOString() };
      storage.transaction(() => insert.run(next.reason, next.since));
      note(next);
    },
    wake() {
      storage.transaction(() => remove.run());
      note(null);
    },
    requireAwake() {
      const sleeping = sleep.current();
      if (sleeping === null) return;
      throw new LancelotError("unavailable", sleepingText(sleeping), {
        data: { what: "tasks", nextStep: "Run “Lancelot: Wake” from the Command Palette." },
      });
    },
  };
  return sleep;
}

/** The state for the user, with how to end it. */
export function sleepingText({ reason }: Sleeping): string {
  const why = reason === "" ? "" : ` (${reason})`;
  return `Lancelot is asleep${why}. It starts no tasks until you wake it with “Lancelot: Wake” or the method host.wake.`;
}
