import type { Decision, Intent } from "../contract/governance.ts";
import type { Log } from "../security/security.ts";
import { type Facts, failedGate, judge, situate } from "./decide.ts";

const cacheSize = 512;

/**
 * The gate's decision for an intent; never throws: what fails is denied. Decisions at T0 and T1 are kept by what they depend
 * on (capability, action, mode, posture, trust, and each path's scope and rule). Where a path leads is looked up every time,
 * because a link can be swapped between two calls. Returned decisions are shared and frozen.
 */
export function createEvaluate(facts: () => Facts, log: Log = () => undefined): (intent: Intent) => Decision {
  const cache = new Map<string, Decision>();
  return (intent) => {
    try {
      const now = facts();
      const situation = situate(intent, now);
      // What the table does not know is never kept: its names could be made to look like another key.
      const hit = situation.base === null ? undefined : cache.get(situation.key);
      if (hit !== undefined) return hit;
      const fresh = judge(situation, now);
      if (fresh.tier === "T0" || fresh.tier === "T1") {
        // The oldest goes; a hit does not reorder, since keys are few and a miss costs a microsecond.
        if (cache.size >= cacheSize) for (const oldest of cache.keys()) if (cache.delete(oldest)) break;
        cache.set(situation.key, freeze({ ...fresh, cached: true }));
      }
      return freeze(fresh);
    } catch (error) {
      log("the gate failed and denies", error);
      return freeze(failedGate());
    }
  };
}

function freeze(decision: Decision): Decision {
  for (const rule of decision.rules) Object.freeze(rule);
  Object.freeze(decision.rules);
  Object.freeze(decision.alternatives);
  return Object.freeze(decision);
}
