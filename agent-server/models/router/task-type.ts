import type { IntentResult } from "../../contract/intent.ts";
import { withoutCode } from "./request-features.ts";

/** The type of a user's request. Local tasks are not among them: only the host starts those. */
export type TaskType =
  | "plan"
  | "analyze"
  | "architect"
  | "review"
  | "debug"
  | "decide"
  | "strategy"
  | "evaluate"
  | "diagnose"
  | "test"
  | "edit"
  | "explain"
  | "commit"
  | "question"
  | "chat";

/** The types of slash commands. */
const commands: Readonly<Record<string, TaskType>> = {
  plan: "plan",
  review: "review",
  fix: "debug",
  debug: "debug",
  test: "test",
  explain: "explain",
  ask: "question",
  commit: "commit",
  analyze: "analyze",
  architect: "architect",
  decide: "decide",
  strategy: "strategy",
  evaluate: "evaluate",
  diagnose: "diagnose",
};

/** The first type whose words occur in the request decides. Words of its subject do not count: they are elsewhere in the sentence. */
const signs: readonly (readonly [TaskType, RegExp])[] = [
  [
    "review",
    /\b(?:code |security )?review(?: of)? (?:my|the|this|these|our|all|what|pr|pull)\b|^\W*(?:please |can you |could you )?review\b|\baudit\b/i,
  ],
  ["diagnose", /(?:^|[.!?;,]|\band )\W{0,20}(?:please |can you |could you |help me |let'?s )*diagnos(?:e|ing)\b|\bdiagnosis of\b/i],
  [
    "debug",
    /\bdebug\b|\broot cause\b|\bstack ?trace\b|\b(?:find|fix|track down|hunt)\b[^.\n]{0,60}\b(?:bugs?|crash(?:es)?|errors?|failures?|failing|fails?|broken|regressions?|leaks?|exceptions?|flaky)\b|\bwhy\b[^.?\n]{0,80}\b(?:fail(?:s|ing|ed)?|crash(?:es|ing|ed)?|hangs?|broken|breaks?|throws?|wrong|errors?|not work\w*|slow)\b|\b(?:does not|doesn't|do not|don't|is not|isn't) work(?:ing)?\b/i,
  ],
  [
    "architect",
    /\barchitect(?:ure)?\b|\b(?:design|redesign)\b[^.\n]{0,40}\b(?:system|service|api|schema|module|database|data ?model|interface|structure|component|protocol)s?\b|\bhow should (?:we|i) (?:structure|organi[sz]e|design|split)\b/i,
  ],
  [
    "plan",
    /^\W*(?:please |can you |could you |let'?s )?(?:plan|outline)\b|\b(?:make|write|draw up|give me|propose|create|come up with|prepare) (?:me )?(?:a |an |the )?(?:[\w-]+ )?(?:plan|roadmap|proposal|strategy)\b|\broadmap\b|\bbreak (?:it|this|that) (?:down )?into (?:steps|tasks)\b|\bstep[- ]by[- ]step plan\b/i,
  ],
  [
    "strategy",
    /\b(?:suggest|need|want|define|develop|devise|work out|choose|pick|propose|recommend)\b[^.?\n]{0,40}\bstrateg(?:y|ies)\b|\bwhat(?: is|'s|’s)? (?:our|the best|a good) [\w -]{0,30}strategy\b|^\W*strategy\b/i,
  ],
  [
    "decide",
    /(?:^|[.!?;,]|\band )\W{0,20}(?:please |can you |could you |let'?s )*(?:decide|choose between)\b|\bhelp (?:me|us) (?:to )?(?:decide|choose)\b|\bwhich (?:one |of (?:these|the two) )?should (?:we|i) (?:use|choose|pick|take)\b/i,
  ],
  ["evaluate", /(?:^|[.!?;,]|\band )\W{0,20}(?:please |can you |could you |let'?s )*evaluat(?:e|ing)\b|\bevaluation of\b/i],
  [
    "analyze",
    /\banaly[sz](?:e|is|ing)\b|\binvestigat(?:e|ion)\b|\btrade-?offs?\b|\bcompare\b[^.\n]{0,80}\b(?:with|to|and|versus|vs)\b|\bassess\b|\bprofile\b[^.\n]{0,40}\b(?:performance|memory|cpu)\b|\bimpact of\b/i,
  ],
  ["test", /\b(?:write|add|create|extend|improve)\b[^.\n]{0,60}\b(?:unit |integration )?tests?\b/i],
  ["commit", /^\W*(?:please )?commit\b|\bcommit message\b/i],
  ["explain", /^\W*(?:please |can you |could you )?(?:explain|describe|walk me through|summari[sz]e)\b|\bhow does\b[^?\n]{0,80}\bwork\b/i],
  [
    "edit",
    /\b(?:add|implement|create|write|build|change|update|modify|edit|rename|remove|delete|refactor|replace|move|extract|convert|port|make|fix|extend|rewrite|simplify|format|use)\b/i,
  ],
  ["question", /\?\s*$|^\W*(?:what|which|where|when|who|why|how|is|are|does|do|can|could|should|would)\b/i],
];

/** A follow-up that means nothing without the request before it. */
const continuation =
  /^\W*(?:(?:yes|yep|yeah|ok|okay|sure|fine|good|great|right|please|go on|go ahead|go for it|continue|proceed|do (?:it|that|so)|carry on|next|and now|now|ja|weiter|mach weiter|oui|continue[rz]?|sí|si|sigue|adelante)[\s,.!]*){1,4}$/i;

/** Verbs that make a question a request. */
const askedForIntents: Readonly<Partial<Record<IntentResult["intent"], TaskType>>> = { PLAN_REQUEST: "plan", MIXED_REQUEST: "plan" };
/** Below this confidence, the rules decide. */
const sureEnough = 0.6;

/**
 * The type of work that a message requests: by its slash command, otherwise by rules, otherwise by the intent classifier. Deterministic.
 * @param before the type of the user's previous message, for follow-ups
 */
export function taskTypeOf(message: { text: string; before?: TaskType | null; intent?: IntentResult | null }): TaskType {
  const text = message.text.trim();
  const command = /^\/([a-z]+)(?=\s|$)/i.exec(text)?.[1]?.toLowerCase();
  if (command !== undefined && Object.hasOwn(commands, command)) return commands[command] ?? "chat";
  const { before, intent } = message;
  if (before !== undefined && before !== null && (continuation.test(text) || intent?.isContinuation === true)) return before;
  const words = withoutCode(text).slice(0, 4_000);
  const sign = signs.find(([, pattern]) => pattern.test(words))?.[0];
  if (sign !== undefined && sign !== "edit" && sign !== "question") return sign;
  if (intent !== undefined && intent !== null && intent.confidence >= sureEnough) {
    const asked = askedForIntents[intent.intent];
    if (asked !== undefined) return asked;
    if (sign === undefined && intent.intent === "KNOWLEDGE_REQUEST") return "question";
    if (sign === undefined && intent.intent === "EXEC_REQUEST") return "edit";
  }
  return sign ?? "chat";
}
