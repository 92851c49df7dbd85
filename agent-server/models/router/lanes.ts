import type { Lane } from "../../contract/router.ts";
import { withoutMentions } from "../tasks/request-form.ts";
import type { RouterConfig } from "./router-config.ts";
import type { CallTask, RoutingRule } from "./types.ts";
import { findPhrase, sizeOf, withoutCode } from "./request-features.ts";

/** A lane, the rule that chose it, and the reason for the user. */
export interface LaneChoice {
  readonly lane: Lane;
  readonly rule: RoutingRule;
  readonly rationale: string;
}

/** Only the beginning of longer texts is examined (characters). */
const lookedAt = 100_000;

/**
 * The published algorithm (M1): every task gets one lane, always the same for the same text. A lane that the user's routing_order omits is
 * replaced with the nearest lane in use, and the rationale says so.
 */
export function chooseLane(config: RouterConfig, task: CallTask): LaneChoice {
  return inUse(config, chosenLane(config, task));
}

function chosenLane(config: RouterConfig, task: CallTask): LaneChoice {
  const { override } = task;
  if (override?.lane !== undefined)
    return { lane: override.lane, rule: "override", rationale: `You chose ${named(override.lane)} for this task.` };
  const type = task.type.trim().toLowerCase();
  if (type === "redact") return { lane: "local_redaction", rule: "redact", rationale: "Redaction runs on this machine." };
  if (config.local_utility_tasks.includes(type))
    return { lane: "local_utility", rule: "local_task", rationale: `${quote(type)} is a local task.` };
  if (task.profile === "deep") return { lane: "flagship_deep", rule: "deep_task", rationale: "Deep model: this step requires it." };
  if (task.profile !== undefined)
    return { lane: "flagship_fast", rule: "default", rationale: `Fast model: this step uses the profile ${task.profile}.` };
  if (config.deep_task_types.includes(type))
    return { lane: "flagship_deep", rule: "deep_task", rationale: `Deep model: ${quote(type)} is a complex task type.` };
  const words = withoutCode(task.text.slice(0, lookedAt));
  const risk = trigger(config, "risk");
  const found = risk === undefined ? null : findPhrase(withoutMentions(words), risk.words ?? []);
  if (found !== null)
    return { lane: "flagship_deep", rule: "risk", rationale: `Deep model: ${quote(found)} in the request indicates risk.` };
  const large = isLarge(config, words);
  if (large !== null) return { lane: "flagship_deep", rule: "complexity", rationale: `Deep model: the request ${large}.` };
  return {
    lane: "flagship_fast",
    rule: "default",
    rationale: "Fast model: simple request.",
  };
}

function isLarge(config: RouterConfig, words: string): string | null {
  const limits = trigger(config, "complexity");
  if (limits === undefined) return null;
  const size = sizeOf(words);
  const passes = (is: number, limit: number | undefined): boolean => limit !== undefined && is >= limit;
  if (passes(size.steps, limits.steps_at_least)) return `has ${size.steps} steps`;
  if (passes(size.files, limits.files_at_least)) return `names ${size.files} files`;
  if (passes(size.words, limits.words_at_least)) return `has ${size.words} words`;
  return null;
}

/** The trigger of a type; undefined where the user removed it. */
export function trigger(config: RouterConfig, type: "risk" | "complexity" | "failure") {
  return config.escalation.triggers.find((one) => one.type === type);
}

/** The lanes in use, in the user's order. */
export function lanesInUse(config: RouterConfig): Lane[] {
  const order = config.routing_order.toSorted((one, other) => one.priority - other.priority).map(({ lane }) => lane);
  return [...new Set(order)];
}

const nearest: Record<Lane, readonly Lane[]> = {
  local_redaction: ["local_redaction", "local_utility"],
  local_utility: ["local_utility"],
  flagship_fast: ["flagship_fast", "flagship_deep", "local_utility"],
  flagship_deep: ["flagship_deep", "flagship_fast", "local_utility"],
};

function inUse(config: RouterConfig, choice: LaneChoice): LaneChoice {
  if (choice.rule === "override") return choice;
  const used = lanesInUse(config);
  const lane = nearest[choice.lane].find((one) => used.includes(one));
  // Local tasks have no replacement; without any lane, the local model is used because it sends nothing.
  if (lane === choice.lane || (lane === undefined && choice.lane.startsWith("local"))) return choice;
  const instead = lane ?? "local_utility";
  return {
    ...choice,
    lane: instead,
    rationale: `${choice.rationale} ${choice.lane} is not in your routing_order, so ${named(instead)} is used.`,
  };
}

const names: Record<Lane, string> = {
  local_redaction: "the local model",
  local_utility: "the local model",
  flagship_fast: "the fast model",
  flagship_deep: "the deep model",
};

/** The display name of a lane. */
export function named(lane: Lane): string {
  return names[lane];
}

function quote(text: string): string {
  return `“${text.length > 60 ? `${text.slice(0, 60)}…` : text}”`;
}
