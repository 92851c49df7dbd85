import type { Tier } from "../../contract/common.ts";
import type { TrustConfig } from "./trust-config.ts";

/** The trust in one kind of action: its counted outcomes and current tier. */
export interface TrustState {
  readonly defaultTier: Tier;
  readonly tier: Tier;
  readonly successes: number;
  readonly failures: number;
  readonly rollbacks: number;
  readonly coolDown: number;
  /** Why soul or policy require approval, from the last outcome. */
  readonly heldBy: string | null;
  /** True once any call changed files. */
  readonly changesFiles: boolean;
}

export type TrustResult = "success" | "failure" | "rollback" | "refused";

export interface ObservedOutcome {
  readonly result: TrustResult;
  /** The tier of the decision. */
  readonly decidedTier: Tier;
  readonly heldBy: string | null;
  readonly changesFiles: boolean;
}

const tiers: readonly Tier[] = ["T0", "T1", "T2", "T3"];
const rank = (tier: Tier): number => tiers.indexOf(tier);

/** True when `a` requires more approval and verification than `b`. */
export function isStricter(a: Tier, b: Tier): boolean {
  return rank(a) > rank(b);
}

function oneStricter(tier: Tier): Tier {
  return tiers[rank(tier) + 1] ?? "T3";
}

function stricterOf(a: Tier, b: Tier): Tier {
  return isStricter(a, b) ? a : b;
}

export function initialTrustState(defaultTier: Tier): TrustState {
  return { defaultTier, tier: defaultTier, successes: 0, failures: 0, rollbacks: 0, coolDown: 0, heldBy: null, changesFiles: false };
}

/**
 * The state after an outcome. Moves only to the default tier or a stricter one: every step to a lower tier is the owner's
 * decision. A failure resets to the default tier (one that a rollback made stricter stays), a rollback to one tier above it.
 * Successes count while soul and policy do not require approval, no cool-down runs, and the call ran at the current tier.
 */
export function applyOutcome(state: TrustState, seen: ObservedOutcome, config: TrustConfig | null): TrustState {
  const changesFiles = state.changesFiles || seen.changesFiles;
  const now: TrustState = {
    ...state,
    heldBy: seen.heldBy,
    changesFiles,
    tier: changesFiles ? stricterOf(state.tier, "T1") : state.tier,
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
      // The cool-down counted this action when it was executed.
      return { ...now, successes: 0, rollbacks: now.rollbacks + 1, tier: oneStricter(now.defaultTier) };
    case "refused":
      return { ...now, coolDown: Math.max(now.coolDown, config?.cool_down.refused ?? 0) };
  }
}

/** The next lower tier and the successes it needs, or why there is none. */
export function nextStep(state: TrustState, config: TrustConfig | null): { to: Tier; needs: number } | { heldBy: string } {
  const { tier } = state;
  if (state.heldBy !== null) return { heldBy: state.heldBy };
  if (config === null) return { heldBy: "config/trust.yaml cannot be used, so no tier can be lowered. Restore the file." };
  switch (tier) {
    case "T3":
      return { to: "T2", needs: config.successes.T3 };
    case "T2":
      return { to: "T1", needs: config.successes.T2 };
    case "T1":
      return state.changesFiles
        ? { heldBy: "Actions that change files keep their checkpoint, so this stays at T1." }
        : { to: "T0", needs: config.successes.T1 };
    case "T0":
      return { heldBy: "There is no lower tier." };
  }
}

/** The step that can be proposed now, or null. */
export function dueStep(state: TrustState, config: TrustConfig | null): { to: Tier; needs: number } | null {
  const next = nextStep(state, config);
  return "to" in next && state.coolDown === 0 && state.successes >= next.needs ? next : null;
}
