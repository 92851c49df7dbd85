import type { JobFacts, Mode } from "./governance.ts";

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
  readonly mode: Mode;
  /** Aborted when the user stops the action. */
  readonly signal: AbortSignal;
}

/** The context alone, out of a value that carries more. */
export function actionContextOf({ quest, parent, actor, job, mode, signal }: ActionContext): ActionContext {
  return { quest, parent, actor, mode, signal, ...(job === undefined ? {} : { job }) };
}
