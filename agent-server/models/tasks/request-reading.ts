import type { IntentResult } from "../../contract/intent.ts";
import { estimateTokens } from "./estimate.ts";
import { cuesOf, type Cues } from "./intent-cues.ts";
import { intentByRules } from "./intent-rules.ts";
import { clausesOf } from "./intent-text.ts";
import { listsAt, tokensOf } from "./vocabulary-index.ts";

/** What the form of a request says about it, without a model. */
export interface RequestReading {
  /** The kind where the form leaves no doubt; null otherwise. A request for an action is never read as a question. */
  readonly certain: "conversation" | "question" | "plan" | "change" | "look" | null;
  /** It has the form of a question, which may be a polite or implied request. */
  readonly isQuestion: boolean;
  /** The intent by rules, also where it is uncertain. */
  readonly intent: IntentResult;
  /** Estimated length of the user's own words. */
  readonly tokens: number;
  /** Its first verb is one of planning or makes a plan, or it speaks of a plan and forbids something. Other words of planning may name what is to be changed ("add an option"). */
  readonly asksForPlan: boolean;
  /** It asks for several actions in order. */
  readonly isMultiStep: boolean;
  /** It names an action whose damage is hard to undo. */
  readonly isRisky: boolean;
}

const interrogative =
  /^[^\p{L}]*(?:(?:and|but|so|ok|okay|hey|hi|please|now|und|aber|et|mais|y|pero)[\s,]+)*(?:(?:just\s+)?tell me\s+|do you know\s+|sage? mir\s+(?:nur\s+|bitte\s+)?|dis-moi\s+|dime\s+(?:solo\s+)?)?(?:what|what's|whats|which|who|whom|whose|where|where's|when|why|how|explain|describe|was|welche\p{L}*|wer|wo|wann|warum|wieso|wie|erkläre?|que|qu'est-ce|quoi|quel\p{L}*|qui|où|quand|pourquoi|comment|explique\p{L}*|qué|cuál\p{L}*|quién|dónde|cuándo|cómo|por qué|explica)(?![\p{L}])/iu;
/** Questions that propose something. */
const proposal =
  /^[^\p{L}]*(?:how about|what about|what if|why not|why don't|why do not|how hard|how long|wie wäre|warum nicht|et si|pourquoi pas|y si|por qué no|qué tal)(?![\p{L}])/iu;
/** "Make a plan for …": a verb that makes something, and a plan as its object. */
const planObject =
  /^\W*(?:(?:please|bitte|can you|could you|would you|let's|por favor|then|now)\W+)*(?:(?:make|create|write(?: up)?|draft|prepare|draw up|put together|work out|develop|produce|give|erstelle?|mache?|schreibe?|entwickle|fais|crée|écris|prépare|élabore|haz|crea|escribe|prepara|fai|scrivi|faça|crie|escreva|создай|напиши|составь|сделай)\s+(?:\S+\s+){0,4}?(?:plans?|roadmap|strategy|outline|proposal|concept|approach|checklist|blueprint|design(?: doc)?|konzept|fahrplan|strategie|stratégie|estrategia|strategia|piano|plano|план)(?=\W*$|\s*[,.:;]|\s+(?:for|to|of|on|how|that|which|with|and|then|before|first|in|für|zum|zur|wie|um|und|pour|de|et|para|con|y|per|di|e|com|для|и)(?!\p{L}))|(?:请)?(?:做|写|制定|创建|作成)[^。，]{0,12}(?:计划|方案|計画))/iu;
const risky =
  /\b(?:deploy\p{L}*|production|migrat\p{L}*|force[- ]push|rotat\p{L}* .{0,30}(?:key|secret|credential)s?|drop (?:the )?(?:table|database|schema)|rewrite history|payments?|produktion|veröffentlich\p{L}*|producción|despliega|déploie\p{L}*)(?![\p{L}])/iu;
const listItem = /^[ \t]*(?:[-*•]|\d{1,3}[.)])[ \t]+\S/gmu;
const sequence =
  /(?:^|[.;,\n]\s{0,3}|\band )(?:then|next|after that|afterwards|finally|danach|anschließend|ensuite|después|luego)(?![\p{L}])/giu;

/** Words of greetings, thanks and goodbyes. A message of these alone asks for nothing. */
const courtesies = new Set(
  `hi hello hey hiya howdy there lancelot good morning afternoon evening night day thanks thank you thx ty cheers so much very many a lot bye goodbye see later for the
  help everyone all again how are is it going what's up nice to meet
  hallo moin servus guten morgen tag abend danke dankeschön vielen dank schön sehr tschüss wie geht's geht dir es
  bonjour bonsoir salut merci beaucoup ça va au revoir
  hola buenos buenas días dias tardes noches gracias muchas adiós qué tal ciao grazie obrigado obrigada olá`.split(/\s+/),
);
const greeting =
  /^[^\p{L}]*(?:hi|hello|hey|hiya|howdy|good (?:morning|afternoon|evening|night)|thanks|thank you|thx|ty|cheers|bye|goodbye|see you|how are you|hallo|moin|servus|guten (?:morgen|tag|abend)|danke\p{L}*|vielen dank|tschüss|bonjour|bonsoir|salut|merci|au revoir|hola|buenos días|buenas (?:tardes|noches)|gracias|muchas gracias|adiós|ciao|grazie|obrigad[oa]|olá)(?![\p{L}])/iu;

/** Reads a request by its form: deterministic, in bounded time for long texts. */
export function readRequest(text: string): RequestReading {
  const cues = cuesOf(text);
  const bounded = text.slice(0, 20_000);
  return {
    certain: certainKind(cues),
    isQuestion: cues.isQuestion || cues.opens.question,
    intent: intentByRules(text),
    tokens: estimateTokens(cues.words),
    asksForPlan: cues.opens.plan || (cues.has.plan && (cues.has.hold || cues.forbids)) || planObject.test(cues.words),
    isMultiStep: stepsOf(bounded, cues.words) >= 3,
    isRisky: risky.test(cues.words),
  };
}

/** True for a message after which a run that only looks must go on only looking. */
export function staysQuestion(text: string): boolean {
  const { certain } = readRequest(text);
  return certain === "question" || certain === "conversation" || /^\W*(?:no|nope|nein|non|não)\W*$/iu.test(text);
}

function certainKind(cues: Cues): RequestReading["certain"] {
  const { has, leads, opens, words, forbids } = cues;
  if (cues.interrupts) return "conversation";
  if (isCourtesy(cues)) return "conversation";
  const asksForAction = has.change || has.write || has.need || has.assent;
  const asks = opens.question || interrogative.test(words);
  const isOrder = leads.change || leads.write || opens.assent;
  // Nothing but looking and telling is asked, and changing something is forbidden.
  if (forbids && !isOrder && !has.need && (asks || (!asksForAction && (leads.read || (has.hold && cues.length > 0))))) return "question";
  if (opens.plan && !/^\W*think(?![\p{L}])/iu.test(words) && !has.act && !leads.change && !leads.write && !has.hold) return "plan";
  if (isOrder) return "change";
  if (asksForAction || has.plan || has.act || proposal.test(words)) return null;
  if (leads.read) return has.question && cues.isQuestion ? null : "look";
  if (interrogative.test(words) && opens.question && (cues.isQuestion || cues.length >= 3))
    return everySentenceAsks(words) ? "question" : null;
  return null;
}

/** A statement beside a question may imply a request: "Why is it blue? It was meant to be red." */
function everySentenceAsks(words: string): boolean {
  const sentences = words.split(/(?<=[.?!;？！])\s+/u).filter((sentence) => /\p{L}/u.test(sentence));
  return sentences.every((sentence) => sentence.includes("?") || interrogative.test(sentence));
}

function isCourtesy({ words, length, namesCode, has, forbids }: Cues): boolean {
  if (length === 0 || length > 8 || namesCode || forbids || has.assent || !greeting.test(words)) return false;
  const tokens = words.toLowerCase().match(/[\p{L}\p{N}'’]+/gu) ?? [];
  return tokens.every((token) => courtesies.has(token.replaceAll("’", "'")));
}

/** Items of a list, steps of a sequence, or clauses that each begin with an action, whichever are more. */
function stepsOf(text: string, words: string): number {
  const told = words.match(sequence)?.length ?? 0;
  const actions = clausesOf(words).filter((clause) => {
    const found = listsAt(tokensOf(clause), 0);
    return found.has("change") || found.has("write");
  }).length;
  return Math.max(text.match(listItem)?.length ?? 0, told === 0 ? 0 : told + 1, actions);
}
