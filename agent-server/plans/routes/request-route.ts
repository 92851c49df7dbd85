import type { Intent } from "../../contract/intent.ts";
import { readRequest, type RequestReading } from "../../models/models.ts";
import type { RouteName } from "../../quests/quests.ts";

export interface RequestRoute {
  readonly route: RouteName;
  readonly intent: Intent;
  /** The reason, for the receipt. */
  readonly why: string;
}

/** A route by rules. Uncertain ones may be refined by a model. */
export interface RuledRoute extends RequestRoute {
  readonly isCertain: boolean;
}

/** Longer requests get a plan (estimated tokens of the user's own words). */
const longRequest = 50;
/** Shorter texts are not worth a model call: too little to judge (estimated tokens). */
const shortRequest = 5;

/** The routes of slash commands. The others are prompts for the loop. */
const commandRoutes: Readonly<Record<string, RequestRoute>> = {
  plan: { route: "plan", intent: "PLAN_REQUEST", why: "The command /plan." },
  explain: { route: "answer", intent: "KNOWLEDGE_REQUEST", why: "The command /explain changes nothing." },
  review: { route: "answer", intent: "KNOWLEDGE_REQUEST", why: "The command /review changes nothing." },
};

/** Requests to the memory, whose text may name anything. */
const remembers =
  /^\W*(?:please |bitte )?(?:remember|forget that|keep in mind|merke? dir|denk daran|retiens|souviens-toi|recuerda)(?![\p{L}])/iu;

/** The route of a message by rules, deterministic. @param text as the user wrote it */
export function routeByRules(text: string): RuledRoute {
  const command = /^\/([a-z][\w-]*)(?=\s|$)/i.exec(text.trim())?.[1]?.toLowerCase();
  if (command !== undefined) {
    const known = Object.hasOwn(commandRoutes, command) ? commandRoutes[command] : undefined;
    return { ...(known ?? { route: "loop", intent: "EXEC_REQUEST", why: `The command /${command}.` }), isCertain: true };
  }
  if (remembers.test(text)) return { route: "loop", intent: "EXEC_REQUEST", why: "It is about memory.", isCertain: true };
  const reading = readRequest(text);
  switch (reading.certain) {
    case "conversation":
      return { route: "answer", intent: "CONVERSATIONAL", why: "It asks for nothing.", isCertain: true };
    case "question":
      return { route: "answer", intent: "KNOWLEDGE_REQUEST", why: "A question, and no request beside it.", isCertain: true };
    case "plan":
      return { route: "plan", intent: "PLAN_REQUEST", why: "It asks for a plan.", isCertain: true };
    case "look":
      return { route: "direct", intent: "EXEC_REQUEST", why: "It asks to look, and for no change.", isCertain: true };
    case "change":
      return { ...routeOf(actingIntent(reading), reading), isCertain: true };
    case null:
      return uncertain(reading);
  }
}

/** The route of an intent that a model told with confidence. `changes`: the request asks for a change or an effect. */
export function routeByModel(text: string, told: { intent: Intent; changes: boolean }): RequestRoute {
  const reading = readRequest(text);
  const asksOnly = told.intent === "KNOWLEDGE_REQUEST" || told.intent === "CONVERSATIONAL";
  return asksOnly && told.changes ? routeOf("EXEC_REQUEST", reading) : routeOf(told.intent, reading);
}

/** What is unclear goes to the loop, so that nothing that is wanted is denied. */
function uncertain({ intent: { intent }, tokens, isQuestion }: RequestReading): RuledRoute {
  const isWorthAsking = tokens > shortRequest && (isQuestion || intent === "PLAN_REQUEST" || intent === "MIXED_REQUEST");
  return { route: "loop", intent, why: "It is unclear, so everything is possible.", isCertain: !isWorthAsking };
}

/** "Make a plan for …" begins with the verb of a request, but asks for a plan. */
function actingIntent({ intent: { intent }, asksForPlan }: RequestReading): Intent {
  return asksForPlan && (intent === "PLAN_REQUEST" || intent === "MIXED_REQUEST") ? intent : "EXEC_REQUEST";
}

function routeOf(intent: Intent, reading: RequestReading): RequestRoute {
  switch (intent) {
    case "PLAN_REQUEST":
      return { route: "plan", intent, why: "It asks for a plan." };
    case "MIXED_REQUEST":
      return { route: "plan-run", intent, why: "It asks for a plan and its execution." };
    case "KNOWLEDGE_REQUEST":
    case "CONVERSATIONAL":
      return { route: "answer", intent, why: "It asks for an answer only." };
    case "EXEC_REQUEST":
      break;
  }
  if (reading.isMultiStep) return { route: "plan-run", intent, why: "It has several steps." };
  if (reading.isRisky) return { route: "plan-run", intent, why: "It names an action that is hard to undo." };
  if (reading.tokens > longRequest) return { route: "plan-run", intent, why: `It is longer than ${longRequest} tokens.` };
  return { route: "loop", intent, why: "A request for a change." };
}
