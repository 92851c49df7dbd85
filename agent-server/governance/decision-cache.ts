import type { Intent } from "../contract/governance.ts";
import type { Log } from "../security/security.ts";
import { type DecisionFacts, failedEvaluation, type Evaluation, decideAssessed, assessIntent } from "./decide.ts";

const cacheSize = 512;

/**
 * Evaluates intents with a cache. Never throws: a failure denies. Caches T0 and T1 decisions that depend on neither trust nor
 * learned rules, by everything they depend on (capability, action, mode, posture, workspace trust, each path's scope and rule,
 * the soul). Paths are resolved on every call, because a link can be swapped between two calls; the soul is read on every call too.
 * The returned object is shared and frozen.
 */
export function createCachedEvaluator(
  facts: (intent: Intent) => DecisionFacts,
  log: Log = () => undefined,
): (intent: Intent) => Evaluation {
  const cache = new Map<string, Evaluation>();
  return (intent) => {
    try {
      const now = facts(intent);
      const assessed = assessIntent(intent, now);
      const { key } = assessed;
      // Trust may change at any time, in another window too.
      const isCacheable = key !== null && (assessed.known?.base.tier === "T0" || now.trust.tier(assessed.trustKey, "T1") === null);
      const hit = isCacheable ? cache.get(key) : undefined;
      if (hit !== undefined) return hit;
      const fresh = decideAssessed(assessed, now);
      const { tier } = fresh.decision;
      if (isCacheable && (tier === "T0" || tier === "T1") && fresh.learnedRule === null && fresh.decision.verdict !== "ask") {
        // Evicts the oldest entry. A hit does not reorder: keys are few and a miss costs a microsecond.
        if (cache.size >= cacheSize) for (const oldest of cache.keys()) if (cache.delete(oldest)) break;
        cache.set(key, freeze({ ...fresh, decision: { ...fresh.decision, cached: true } }));
      }
      return freeze(fresh);
    } catch (error) {
      log("policy check failed; denying", error);
      return freeze(failedEvaluation());
    }
  };
}

function freeze(evaluation: Evaluation): Evaluation {
  const { decision } = evaluation;
  for (const rule of decision.rules) Object.freeze(rule);
  Object.freeze(decision.rules);
  Object.freeze(decision.alternatives);
  Object.freeze(decision);
  return Object.freeze(evaluation);
}
