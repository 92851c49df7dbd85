import type { Intent, IntentResult } from "../../contract/intent.ts";
import { cuesOf, type Cues } from "./intent-cues.ts";

/** The intent by rules (A1), the fallback without a model. The confidence is the measured accuracy of each rule. */
export function intentByRules(text: string): IntentResult {
  const cues = cuesOf(text);
  const { intent, confidence } = kindOf(cues);
  return { intent, confidence, ...factsOf(intent, cues), method: "rules" };
}

function kindOf(cues: Cues): { intent: Intent; confidence: number } {
  const { has, leads, opens, length } = cues;
  const changes = leads.change || leads.write;
  const decided = (intent: Intent, confidence: number) => ({ intent, confidence });

  if (cues.interrupts) return decided("CONVERSATIONAL", 0.9);
  // Only forbidden: words about the conversation, which ask for nothing.
  if (length === 0) return decided(cues.pasted ? "KNOWLEDGE_REQUEST" : "CONVERSATIONAL", cues.forbids ? 0.8 : 0.5);
  // "Don't deploy, just tell me": an answer is wanted instead.
  if (cues.forbids && has.hold && !changes && !has.plan) return decided("KNOWLEDGE_REQUEST", 0.8);
  // A few words without a subject of their own.
  if (length <= 6 && !cues.namesCode) {
    if (opens.assent && !has.thanks) return decided("EXEC_REQUEST", 0.9);
    if ((has.thanks || (has.chat && (opens.chat || !has.change))) && !changes && !leads.read && !has.plan && !(opens.question && has.here))
      return decided("CONVERSATIONAL", 0.9);
  }
  if (has.chat && !has.here && !changes && !leads.read && !has.plan && length <= 10) return decided("CONVERSATIONAL", 0.8);

  const asksForPlan = opens.plan || leads.plan || (has.plan && (changes || has.need || cues.isQuestion || has.hold || length <= 6));
  if (asksForPlan || has.hold) {
    if (has.plan && !has.hold && has.act) return decided("MIXED_REQUEST", 0.85);
    if (has.plan && actsBesides(cues)) return decided("MIXED_REQUEST", 0.7);
    if (has.plan) return decided("PLAN_REQUEST", 0.85);
  }
  if ((opens.change || opens.write) && has.whole && !cues.isQuestion && length <= 25 && isLarge(cues))
    return decided("MIXED_REQUEST", 0.65);
  if (opens.question && (cues.closes.change || cues.closes.write || cues.closes.assent)) return decided("EXEC_REQUEST", 0.7);
  if (opens.question && !opens.change && !opens.read)
    return decided(changes && !cues.isQuestion ? "EXEC_REQUEST" : "KNOWLEDGE_REQUEST", 0.85);
  if (changes || leads.read) return decided("EXEC_REQUEST", 0.85);
  if (cues.isQuestion) return decided(has.change || has.write ? "EXEC_REQUEST" : "KNOWLEDGE_REQUEST", 0.7);
  if (has.need || has.change || has.write || has.read) return decided("EXEC_REQUEST", 0.7);
  if (has.question) return decided("KNOWLEDGE_REQUEST", 0.65);
  if (length <= 3 && !cues.namesCode) return decided("CONVERSATIONAL", 0.5);
  return decided("EXEC_REQUEST", 0.5);
}

/** Besides the clause that requests the plan, another one begins with an action. */
function actsBesides({ words, leads, has }: Cues): boolean {
  if (has.hold || !(leads.change || leads.write)) return false;
  const first =
    /^\S+\s+(?:\S+\s+){0,2}(?:plan|plano|piano|план|design|strateg\w*|roadmap|concept|konzept|outline|checklist|approach|proposal|architect\w*)/iu.test(
      words,
    );
  const rest = words.replace(/^.*?(?:\bthen\b|\band\b|&|;|,|\.\s|\bund\b|\bdann\b|\bpuis\b|\bet\b|\bluego\b|\by\b|\bpoi\b|\be\b|и)/iu, "");
  return rest !== words && (!first || /\b(?:then|and|dann|puis|luego|poi)\b/iu.test(words));
}

function isLarge({ words }: Cues): boolean {
  return /\b(?:whole|entire|complete|full|from scratch|ganze\w*|komplett\w*|complet\w*|toute?|entier|intero|inteiro)\b|整个|весь|всю/iu.test(
    words,
  );
}

/** Features of a request besides its intent, whoever classified that. */
export function factsOf(intent: Intent, cues: Cues): Pick<IntentResult, "isContinuation" | "requiresTools" | "risk"> {
  return {
    isContinuation: continues(intent, cues),
    requiresTools: requiresTools(intent, cues),
    risk: riskOf(intent, cues),
  };
}

/** A follow-up, which means nothing without the message before it. */
export function continues(intent: Intent, { has, length, pasted, interrupts, followsUp }: Cues): boolean {
  if (pasted) return false;
  if (interrupts) return true;
  return intent === "CONVERSATIONAL" ? (has.thanks && length <= 8) || (followsUp && !has.chat) : followsUp;
}

function requiresTools(intent: Intent, { has, leads, namesCode, pasted }: Cues): boolean {
  switch (intent) {
    case "CONVERSATIONAL":
      return false;
    case "EXEC_REQUEST":
      return !has.prose || has.here || namesCode;
    case "MIXED_REQUEST":
      return true;
    case "KNOWLEDGE_REQUEST":
      return has.here || (namesCode && !pasted);
    case "PLAN_REQUEST":
      return namesCode || (has.here && leads.read);
  }
}

/**
 * Write verbs are never low risk (A1), and neither is a clause that asks for a change, whatever the rest of the request is. Anything but
 * a clear request to look counts as a change.
 */
export function riskOf(intent: Intent, { has, leads, closes, namesWriting, interrupts }: Cues): "low" | "high" {
  if (namesWriting || intent === "MIXED_REQUEST") return "high";
  if (interrupts) return "low";
  if (intent === "PLAN_REQUEST") return closes.change ? "high" : "low";
  if (leads.change) return "high";
  if (intent !== "EXEC_REQUEST") return "low";
  return leads.read || (has.prose && !has.change) ? "low" : "high";
}
