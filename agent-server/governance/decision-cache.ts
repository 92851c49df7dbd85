import type { Intent } from "../contract/governance.ts";
import type { Log } from "../security/security.ts";
import { type Facts, failedGate, type Judged, judge, situate } from "./decide.ts";

const cacheSize = 512;

/**
 * The gate's judgement of an intent; never throws: what fails is denied. Decisions at T0 and T1 that nothing earned or learned
 * went into are kept by what they depend on (capability, action, mode, posture, trust in the workspace, each path's scope and rule,
 * the soul). Where a path leads is looked up every time, because a link can be swapped between two calls; so is the soul.
 * What is returned is shared and frozen.
 */
export function createEvaluate(facts: () => Facts, log: Log = () => undefined): (intent: Intent) => Judged {
  const cache = new Map<string, Judged>();
  return (intent) => {
    try {
      const now = facts();
      const situation = situate(intent, now);
      const { key } = situation;
      // What was earned may change at any time, in another window too.
      const keeps = key !== null && (situation.known?.base.tier === "T0" || now.trust.tier(situation.trustKey, "T1") === null);
      const hit = keeps ? cache.get(key) : undefined;
      if (hit !== undefined) return hit;
      const fresh = judge(situation, now);
      const { tier } = fresh.decision;
      if (keeps && (tier === "T0" || tier === "T1") && fresh.learnedRule === null && fresh.decision.verdict !== "ask") {
        // The oldest goes; a hit does not reorder, since keys are few and a miss costs a microsecond.
        if (cache.size >= cacheSize) for (const oldest of cache.keys()) if (cache.delete(oldest)) break;
        cache.set(key, freeze({ ...fresh, decision: { ...fresh.decision, cached: true } }));
      }
      return freeze(fresh);
    } catch (error) {
      log("the gate failed and denies", error);
      return freeze(failedGate());
    }
  };
}

function freeze(judged: Judged): Judged {
  const { decision } = judged;
  for (const rule of decision.rules) Object.freeze(rule);
  Object.freeze(decision.rules);
  Object.freeze(decision.alternatives);
  Object.freeze(decision);
  return Object.freeze(judged);
}
