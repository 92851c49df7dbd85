import type { ActionMode, Intent, JobFacts } from "./governance.ts";
import type { SoulScope } from "./soul.ts";

/** Who wants an action: the model in a quest, the user by hand, or the host by its own rules. */
export type Actor = "agent" | "owner" | "system";

/**
 * Accompanies every action from its request to its receipt, whether a chat turn, a scheduled job, a skill or a sub-task
 * requested it. Nothing else says where an action belongs.
 */
export interface ActionContext {
  /** The quest the action belongs to; null outside of one. */
  readonly quest: string | null;
  /** The receipt that the action's receipt is filed under; null for a root. */
  readonly parent: string | null;
  readonly actor: Actor;
  /** The state of the scheduled job that requested the action; absent otherwise. */
  readonly job?: JobFacts;
  /** A stricter soul for this action than the active one. It can only restrict: a scope that would widen the soul denies everything. */
  readonly soulScope?: SoulScope;
  readonly mode: ActionMode;
  /** Aborted when the user stops the action. */
  readonly signal: AbortSignal;
}

/** The context alone, out of a value that carries more. */
export function actionContextOf({ quest, parent, actor, job, soulScope, mode, signal }: ActionContext): ActionContext {
  return { quest, parent, actor, mode, signal, ...(job === undefined ? {} : { job }), ...(soulScope === undefined ? {} : { soulScope }) };
}

/** What governance decides about: a step of an action, with the parts of its context that a decision depends on. */
export function intentOf(
  step: Pick<Intent, "capability" | "action" | "args" | "cwd">,
  { quest, job, soulScope, mode }: Pick<ActionContext, "quest" | "job" | "soulScope" | "mode">,
): Intent {
  return {
    ...step,
    mode,
    ...(quest === null ? {} : { questId: quest }),
    ...(job === undefined ? {} : { job }),
    ...(soulScope === undefined ? {} : { soulScope }),
  };
}
