import type { Decision, Intent } from "../contract/governance.ts";
import type { ScopeLimits } from "../contract/soul.ts";
import type { BaseTier } from "./base-tiers.ts";
import type { DecisionFacts } from "./decision-facts.ts";
import { rule } from "./policy/policy-finding.ts";
import { namedPaths } from "./policy/file-rules.ts";
import { isContained } from "./policy/shell-rules.ts";

const inMainTask = "Do this part without it, and name it in your answer: the main task can do it.";

/**
 * The denial of an action that goes beyond the limits of its scope; null when it stays within them, or has none. Applied to a finished
 * evaluation and only ever denies, so no limits can widen what the soul permits (requirement A11).
 */
export function beyondLimits(
  intent: Intent,
  base: BaseTier | null,
  { decision, defaultTier }: { readonly decision: Decision; readonly defaultTier: Decision["tier"] },
  resolve: DecisionFacts["resolve"],
): Decision | null {
  const limits = intent.soulScope?.limits;
  if (limits === undefined || decision.verdict === "deny") return null;
  const deny = (id: string, message: string, alternative: string = inMainTask): Decision => ({
    ...{ verdict: "deny", tier: decision.tier, riskLevel: decision.riskLevel, cached: false },
    rules: [rule(`scope.${id}`, message, "soul")],
    alternatives: [alternative],
  });
  const { capability, action } = intent;
  if (base === null || !permitsAction(limits, { capability, action, isLook: base.tier === "T0" }))
    return deny("capability", `${capability}.${action} is not among what this sub-task may do.`);
  // Trust that the owner gave to tasks does not reach a sub-task.
  if (decision.tier > limits.max_tier || defaultTier > limits.max_tier)
    return deny("tier", `A sub-task takes no actions above tier ${limits.max_tier}.`);
  if (capability === "shell_exec" && action !== "output" && action !== "stop" && !isContained(intent.args["containment"]))
    return deny("containment", "A sub-task runs commands only in its own copy of the workspace, which is not available here.");
  const outside = pathBeyond(intent, base, limits, resolve);
  if (outside !== null) return deny("path", `${outside} is not among the paths that this sub-task may change.`);
  if (decision.verdict === "ask") return deny("question", "This needs an approval, and a sub-task does not ask.", inMainTask);
  return null;
}

/** Whether limits permit an action at all. @param isLook true for an action of tier T0 */
export function permitsAction(
  { capabilities }: Pick<ScopeLimits, "capabilities">,
  { capability, action, isLook }: { readonly capability: string; readonly action: string; readonly isLook: boolean },
): boolean {
  if (capability === "quest") return action === "plan";
  if (isLook && capability !== "shell_exec") return true;
  return capabilities.includes(capability) || capabilities.includes(`${capability}.${action}`);
}

/** The first path that an action would change beyond the permitted ones. What a command changes is judged when its result is merged. */
function pathBeyond(intent: Intent, base: BaseTier, { paths }: ScopeLimits, resolve: DecisionFacts["resolve"]): string | null {
  if (paths === undefined || (base.effect !== "write" && base.effect !== "delete")) return null;
  const named = namedPaths(intent);
  if (named.length === 0) return ".";
  for (const path of named) {
    const resolved = typeof path === "string" ? resolve(path) : null;
    if (resolved?.ok !== true) return String(path);
    if (!resolved.inside || !isAmongPaths(resolved.display, paths)) return resolved.display;
  }
  return null;
}

/** Whether a path, relative to the workspace, is one of these or below one. */
export function isAmongPaths(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => folder === "." || path === folder || path.startsWith(`${folder}/`));
}
