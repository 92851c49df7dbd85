import type { Decision, Intent, Rule } from "../contract/governance.ts";
import { adviceFor } from "./negotiation-advice.ts";

/** A denied action, the rules behind the denial and the alternatives, for the model and the owner (requirement A6). */
export interface GovernanceFeedback {
  /** The denied action: `delete_file (file_ops.delete)`. */
  readonly action: string;
  readonly rules: readonly Rule[];
  /** Sentences, best first: a less risky tool by name, a smaller step, the owner. Never empty. */
  readonly alternatives: readonly string[];
  /**
   * `never`: it stays denied. `after_approval`: it requires approval. `changed`: the same action with other arguments may pass.
   */
  readonly retry: "never" | "after_approval" | "changed";
}

export interface NegotiationContext {
  /** The called tool; absent when no tool was involved. */
  readonly tool?: string;
  /** Names of the available tools; only these are suggested. */
  readonly tools: readonly string[];
  /** Denied by the rules, by the owner, or because nobody answered. */
  readonly refusal: "rules" | "owner" | "unanswered";
  /** The reason the owner gave with a denial. */
  readonly reason: string | null;
}

const maxAlternatives = 6;

/**
 * The feedback for a denied action. Its texts come from tables and code alone, so that text from a model, a file or a page is never
 * repeated as advice.
 */
export function feedbackFor(
  intent: Pick<Intent, "capability" | "action" | "args">,
  decision: Pick<Decision, "verdict" | "rules" | "alternatives">,
  context: NegotiationContext,
): GovernanceFeedback {
  const name = `${intent.capability}.${intent.action}`;
  const usable = new Set(context.tools);
  const retry = retryOf(decision, context);
  const offered = [...adviceFor(intent, decision.rules, usable), ...decision.alternatives.filter((sentence) => !justAsk.has(sentence))];
  // Leaves room for the owner sentence, which always comes last.
  const alternatives = [...new Set(offered)].slice(0, maxAlternatives - 1);
  return {
    action: context.tool === undefined ? name : `${context.tool} (${name})`,
    rules: decision.rules,
    alternatives: [...alternatives, ownerSentence(context, usable)],
    retry,
  };
}

/** Table sentences that `ownerSentence` replaces. */
const justAsk: ReadonlySet<string> = new Set(["Ask the owner.", "Ask the owner to do it."]);

function ownerSentence({ refusal }: NegotiationContext, usable: ReadonlySet<string>): string {
  const how = usable.has("ask_owner") ? "Ask the owner with ask_owner" : "Tell the owner in your answer";
  switch (refusal) {
    case "owner":
      return `${how} which alternative they would accept.`;
    case "unanswered":
      return `Continue with steps that need no approval; ${usable.has("ask_owner") ? "ask the owner with ask_owner" : "tell the owner in your answer"} what remains and why.`;
    case "rules":
      return `${how} what you wanted to do and why, so that they can do it or change the rule.`;
  }
}

/** Rules about the arguments rather than the kind of action: other arguments may pass. */
const aboutArguments =
  /^(?:path|secret|protected|command|repository|network|memory|skill|connector|vision)\.|^tier\.(?:outside|no-target)$|^policy\.destructive$/;
/** Of these, the rules that apply to all arguments. */
const anyArguments = /^(?:network\.off|network\.table|command\.table|memory\.off|policy\.gate-failed)$/;

function retryOf({ verdict, rules }: Pick<Decision, "verdict" | "rules">, context: NegotiationContext): GovernanceFeedback["retry"] {
  if (context.refusal === "owner") return context.reason === null ? "never" : "changed";
  if (context.refusal === "unanswered" || verdict === "ask") return "after_approval";
  return rules.length > 0 && rules.every(({ id }) => aboutArguments.test(id) && !anyArguments.test(id)) ? "changed" : "never";
}
