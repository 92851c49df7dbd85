import type { DoctorLine } from "./contract/providers.ts";
import type { Clock } from "./storage/storage.ts";

/** How often (ms) the clock is read while the host runs. */
const everyMs = 60_000;
/** Jumps below this size (ms) are absences, which nobody needs to know of. */
const largeMs = 30 * 24 * 60 * 60_000;
/** Days of use after which a jump is no longer reported. */
const reportedDays = 30;

/** Reports a jump of the machine's clock before anything would be removed by its age. */
export interface ClockNotice {
  /** Reads the clock from time to time; logs a new jump. Call it often. */
  notice(): void;
  /** The latest large jump, for the user; null without one. */
  problem(): string | null;
  /** Its line in Doctor. */
  lines(): DoctorLine[];
}

export function createClockNotice(clock: Clock, log: (message: string) => void): ClockNotice {
  let lookedAt = Number.NEGATIVE_INFINITY;
  let current: string | null = null;

  function notice(): void {
    const at = performance.now();
    if (at - lookedAt < everyMs) return;
    lookedAt = at;
    let jump: ReturnType<Clock["look"]>;
    try {
      jump = clock.look();
    } catch {
      // The database is busy or full. What is removed by age looks at the clock itself.
      return;
    }
    const isLarge = jump !== null && Math.abs(jump.to.getTime() - jump.from.getTime()) > largeMs && jump.daysSince < reportedDays;
    const text =
      jump === null || !isLarge
        ? null
        : `The clock of this machine went from ${dayOf(jump.from)} to ${dayOf(jump.to)}. If that is wrong, correct the clock. ` +
          "Until Lancelot was used on enough further days, nothing is removed because of its age.";
    if (text !== null && text !== current) log(text);
    current = text;
  }
  notice();

  return {
    notice,
    problem: () => current,
    lines: () =>
      current === null
        ? []
        : [{ id: "clock", title: "Clock", status: "warning", message: current, nextStep: "Check the date of this machine.", action: null }],
  };
}

function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}
