import type { Lane, ModelOverride, RouterDecision } from "../../contract/router.ts";
import type { ActiveModel } from "../request.ts";

/** The purpose of a model call. */
export interface CallTask {
  /** `plan`, `review`, `debug`, `edit`, `chat`, … or a local task such as `summarize`. */
  readonly type: string;
  /** The user's request, which is examined for risk and size. */
  readonly text: string;
  /** The user's choice for this task. */
  readonly override?: ModelOverride | undefined;
  /** A profile that the caller requires. */
  readonly profile?: "fast" | "deep" | "cache" | undefined;
}

export type RoutingRule = RouterDecision["rule"];

/** Where a call goes, and why. Nothing is sent yet. */
export interface Route {
  readonly task: CallTask;
  readonly lane: Lane;
  readonly rule: RoutingRule;
  /** The reason, in sentences for the user. */
  readonly rationale: string;
  /** The model that answers. */
  readonly model: ActiveModel;
  readonly alternatives: RouterDecision["alternatives"];
  /** A message for the user about a failover or escalation: the failure, and the model used instead. */
  readonly notice: string | null;
  /** Routes that failed for this call, as `provider lane`. */
  readonly tried: readonly string[];
  /** Duration of the decision (ms). */
  readonly decidedMs: number;
}

/**
 * The routes of one task's calls, in order. Every failover and escalation of the product goes through it: the agentic loop holds one for
 * a run, and a call that was given no route makes its own.
 */
export interface RouteSequence {
  /**
   * The route of the next call: the one a failover or escalation chose, otherwise a new decision that keeps a tool loop on its lane.
   * @throws LancelotError `unavailable` with the next step when nothing can answer
   */
  next(task: CallTask): Promise<Route>;
  /**
   * Chooses the next route after the last one failed: the deep model, the user's failover list, or without a network the local model.
   * @throws the given error when there is no other route, or LancelotError `unavailable` without a network and a local model
   */
  failover(error: unknown): Promise<Route>;
  /**
   * Chooses the deep model after an unusable answer. Null: there is none, and the last route stays.
   * @param problem completes a sentence that begins with the model's name, such as "returned no answer"
   */
  escalate(problem: string): Promise<Route | null>;
  /** Whether the next route was chosen by a failover or escalation. */
  isRerouted(): boolean;
}
