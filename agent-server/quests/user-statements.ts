import type { StoredMessage } from "./stored-quest.ts";

/** A message of the user, or their answer to a question. */
export interface UserStatement {
  /** The question that it answers; null for a message. */
  readonly question: string | null;
  readonly text: string;
}

/**
 * Sentences that state a rule or a decision, or ask to remember something, in the languages that Lancelot recognizes. Deliberately
 * broad: a false positive costs some tokens, and a false negative loses a rule.
 */
const rules: readonly RegExp[] = [
  /\b(?:always|never|must(?:n't| not)?|do not|don't|shall|should(?:n't| not)?|only ever|from now on|remember|keep in mind|important|rule|forbidden|required?|prefer|instead of|rather than|make sure|no longer|without exception)\b/iu,
  /\b(?:we (?:decided|agreed|use|chose)|i (?:decided|want|prefer|chose)|let's (?:use|go with|keep|not)|go with|decision|use \S+ (?:for|not)|stick (?:to|with)|approved?|rejected?)\b/iu,
  /(?:^|\P{L})(?:immer|nie(?:mals)?|muss|müssen|darf|dürfen|soll(?:en|st)?|nicht mehr|ab jetzt|merke?|denk daran|wichtig|regel|entschieden|entscheidung|bevorzug\p{L}*|statt|verboten|wir nehmen|nimm)(?!\p{L})/iu,
  /(?:^|\P{L})(?:toujours|jamais|doit|doivent|ne pas|désormais|souviens|rappelle|important|règle|décid\p{L}+|préfère|plutôt que|au lieu|interdit|il faut)(?!\p{L})/iu,
  /(?:^|\P{L})(?:siempre|nunca|debe[ns]?|no uses|a partir de ahora|recuerda|importante|regla|decid\p{L}+|prefiero|en lugar|en vez|prohibido|hay que)(?!\p{L})/iu,
  /(?:^|\P{L})(?:sempre|mai|deve|devono|non usare|d'ora in poi|ricorda|regola|deciso|preferisco|invece|vietato|bisogna|lembre|decidi\p{L}+|prefiro|em vez|proibido|a partir de agora)(?!\p{L})/iu,
];

/** True when a text states a rule or a decision. */
export function statesRule(text: string): boolean {
  return rules.some((rule) => rule.test(text));
}

/** The sentences and lines of a text that state a rule or a decision, verbatim. */
export function ruleSentences(text: string): string[] {
  return text
    .split(/\n+|(?<=[.!?。])\s+/u)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== "" && statesRule(sentence));
}

/** The messages and answers of the user in order, without attachments. */
export function userStatements(messages: readonly StoredMessage[]): UserStatement[] {
  return messages.flatMap(({ message, turn }): UserStatement[] => {
    if (turn?.kind === "user" && message.role === "user" && message.parts.some((part) => part.type === "text")) {
      const text = turn.content
        .map((item) => (item.type === "text" && item.attached !== true ? item.text : ""))
        .join("\n")
        .trim();
      return text === "" ? [] : [{ question: null, text }];
    }
    return message.parts.flatMap((part): UserStatement[] => {
      if (part.type !== "tool" || part.tool !== "ask_owner" || part.status !== "success" || part.output === null) return [];
      const question = part.args["question"];
      return [{ question: typeof question === "string" ? question : "", text: part.output }];
    });
  });
}
