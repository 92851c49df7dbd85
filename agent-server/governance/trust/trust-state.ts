import type { Tier } from "../../contract/common.ts";
import type { TrustNumbers } from "./trust-config.ts";

/** How one kind of action stands: what was seen of it and the tier it has. */
export interface Standing {
  readonly defaultTier: Tier;
  readonly tier: Tier;
  readonly successes: number;
  readonly failures: number;
  readonly rollbacks: number;
  readonly coolDown: number;
  /** Why soul or policy hold it, as last told. */
  readonly heldBy: string | null;
  /** It was seen to change files, once is enough. */
  readonly changesFiles: boolean;
}

export type TrustResult = "success" | "failure" | "rollback" | "refused";

export interface Seen {
  readonly result: TrustResult;
  /** The tier it was decided at. */
  readonly decidedTier: Tier;
  readonly held: string | null;
  readonly changesFiles: boolean;
}

const tiers: readonly Tier[] = ["T0", "T1", "T2", "T3"];
const rank = (tier: Tier): number => tiers.indexOf(tier);

/** True when `a` is asked and checked more than `b`. */
export function isStricter(a: Tier, b: Tier): boolean {
  return rank(a) > rank(b);
}

function oneStricter(tier: Tier): Tier {
  return tiers[rank(tier) + 1] ?? "T3";
}

function stricterOf(a: Tier, b: Tier): Tier {
  return isStricter(a, b) ? a : b;
}

export function firstStanding(defaultTier: Tier): Standing {
  return { defaultTier, tier: defaultTier, successes: 0, failures: 0, rollbacks: 0, coolDown: 0, heldBy: null, changesFiles: false };
}

/**
 * How it stands after something was seen. Only ever moves to the default tier or a stricter one: every step to a lower tier is the
 * owner's. A failure resets to the default (a tier that is stricter after a rollback stays so), a rollback to one above it.
 * Successes count while nothing holds it, no cool-down runs, and it was done at the tier it has now.
 */
export function after(standing: Standing, seen: Seen, numbers: TrustNumbers | null): Standing {
  const changesFiles = standing.changesFiles || seen.changesFiles;
  const now: Standing = {
    ...standing,
    heldBy: seen.held,
    changesFiles,
    tier: changesFiles ? stricterOf(standing.tier, "T1") : standing.tier,
  };
  const coolDown = Math.max(0, now.coolDown - 1);
  switch (seen.result) {
    case "success": {
      const counts = now.coolDown === 0 && now.heldBy === null && seen.decidedTier === now.tier;
      return { ...now, coolDown, successes: counts ? now.successes + 1 : now.successes };
    }
    case "failure":
      return { ...now, coolDown, successes: 0, failures: now.failures + 1, tier: stricterOf(now.tier, now.defaultTier) };
    case "rollback":
      // It was counted as an action when it was done.
      return { ...now, successes: 0, rollbacks: now.rollbacks + 1, tier: oneStricter(now.defaultTier) };
    case "refused":
      return { ...now, coolDown: Math.max(now.coolDown, numbers?.cool_down.refused ?? 0) };
  }
}

/** The next lower tier and the successes it takes, or why there is none. */
export function nextStep(standing: Standing, numbers: TrustNumbers | null): { to: Tier; needs: number } | { heldBy: string } {
  const { tier } = standing;
  if (standing.heldBy !== null) return { heldBy: standing.heldBy };
  if (numbers === null) return { heldBy: "The numbers of trust (config/trust.yaml) cannot be used, so nothing is lifted." };
  switch (tier) {
    case "T3":
      return { to: "T2", needs: numbers.successes.T3 };
    case "T2":
      return { to: "T1", needs: numbers.successes.T2 };
    case "T1":
      return standing.changesFiles
        ? { heldBy: "What changes files keeps its checkpoint, so it stays at T1." }
        : { to: "T0", needs: numbers.successes.T1 };
    case "T0":
      return { heldBy: "There is no lower tier." };
  }
}

/** The step that is due now; null when none is. */
export function dueStep(standing: Standing, numbers: TrustNumbers | null): { to: Tier; needs: number } | null {
  const next = nextStep(standing, numbers);
  return "to" in next && standing.coolDown === 0 && standing.successes >= next.needs ? next : null;
}
