import type { Decision, Intent, Rule } from "../contract/governance.ts";
import { advice } from "./negotiation-advice.ts";

/** What was blocked, by which rules, and what can be done instead: for the model and for the owner (requirement A6). */
export interface GovernanceFeedback {
  /** What was not done: `delete_file (file_ops.delete)`. */
  readonly action: string;
  readonly rules: readonly Rule[];
  /** Sentences, best first: a tool with less risk by its name, a smaller step, the owner. Never empty. */
  readonly alternatives: readonly string[];
  /**
   * `never`: it stays refused. `after_approval`: it waits for the owner's yes. `changed`: something else of the same kind may pass.
   */
  readonly retry: "never" | "after_approval" | "changed";
}

export interface NegotiationContext {
  /** The tool that was called; absent for what no tool did. */
  readonly tool?: string;
  /** Names of the tools that can be used now: nothing else is advised. */
  readonly tools: readonly string[];
  /** The rules refused; the owner said no; or nobody said yes. */
  readonly refusal: "rules" | "owner" | "unanswered";
  /** The owner's words with a no. */
  readonly reason: string | null;
}

const most = 6;

/**
 * The answer to something that was not done. Its texts come from tables and code alone, so that nothing a model, a file or a page wrote
 * is repeated as advice.
 */
export function feedbackFor(
  intent: Pick<Intent, "capability" | "action" | "args">,
  decision: Pick<Decision, "verdict" | "rules" | "alternatives">,
  context: NegotiationContext,
): GovernanceFeedback {
  const name = `${intent.capability}.${intent.action}`;
  const usable = new Set(context.tools);
  const retry = retryOf(decision, context);
  const offered = [...advice(intent, decision.rules, usable), ...decision.alternatives.filter((sentence) => !justAsk.has(sentence))];
  // The last resort has its place, however much else there is.
  const alternatives = [...new Set(offered)].slice(0, most - 1);
  return {
    action: context.tool === undefined ? name : `${context.tool} (${name})`,
    rules: decision.rules,
    alternatives: [...alternatives, ownerSentence(context, usable)],
    retry,
  };
}

/** What tables say where nothing is left but the owner; `ownerSentence` says it better. */
const justAsk: ReadonlySet<string> = new Set(["Ask the owner.", "Ask the owner to do it."]);

function ownerSentence({ refusal }: NegotiationContext, usable: ReadonlySet<string>): string {
  const how = usable.has("ask_owner") ? "Ask the owner with ask_owner" : "Tell the owner in your answer";
  switch (refusal) {
    case "owner":
      return `${how} what they would accept instead.`;
    case "unanswered":
      return `Go on with what needs no approval; ${usable.has("ask_owner") ? "ask the owner with ask_owner" : "tell the owner in your answer"} what is left and why.`;
    case "rules":
      return `${how} what you wanted to do and why, so that they can do it themselves or change the rule.`;
  }
}

/** Rules about what was named, not about the kind of action: with another name the same may pass. */
const aboutArguments =
  /^(?:path|secret|protected|command|repository|network|memory|skill|connector|vision)\.|^tier\.(?:outside|no-target)$|^policy\.destructive$/;
/** Of these, the ones no change of the arguments gets around. */
const whatever = /^(?:network\.off|network\.table|command\.table|memory\.off|policy\.gate-failed)$/;

function retryOf({ verdict, rules }: Pick<Decision, "verdict" | "rules">, context: NegotiationContext): GovernanceFeedback["retry"] {
  if (context.refusal === "owner") return context.reason === null ? "never" : "changed";
  if (context.refusal === "unanswered" || verdict === "ask") return "after_approval";
  return rules.length > 0 && rules.every(({ id }) => aboutArguments.test(id) && !whatever.test(id)) ? "changed" : "never";
}
