import type { ProposedEdit } from "./item-types.ts";

type Placement = Pick<ProposedEdit, "target" | "kind" | "namespace">;

/** How a statement begins that is a rule for the work, a preference of the owner or another fact about them. One row per language. */
const languages = [
  {
    rule: String.raw`(?:please )?(?:always|never|do not|don['’]t|use|avoid|make sure|from now on|i want you to|you (?:must|should)|.{1,60} (?:must|always|never))\s`,
    preference: String.raw`i (?:\w+ )?(?:prefer|like|love|hate|dislike|don['’]t like)\s`,
    person: String.raw`(?:i|i['’]m|call me|my (?!project|repo|code|app|server|build|tests?))\s*\b`,
  },
  {
    rule: String.raw`(?:bitte )?(?:immer|nie|niemals|ab jetzt|verwende|benutze|nutze|vermeide|du (?:sollst|musst)|.{1,60} (?:immer|niemals|nie|muss|müssen))(?:\s|$)`,
    preference: String.raw`(?:ich .*(?:bevorzuge|mag|hasse|liebe)|mir .*lieber)\b`,
    person: String.raw`(?:ich|mir|mein(?:e|en)?)\s(?!projekt|repo|code|server)`,
  },
  {
    rule: String.raw`(?:toujours|jamais|ne \S+ (?:jamais|pas)|utilise|évite|désormais|il faut|tu dois|je veux que tu)\s`,
    preference: String.raw`(?:je (?:préfère|déteste|n['’]aime|aime)|j['’]aime)\s`,
    person: String.raw`(?:je\s|j['’]|m(?:on|a|es)\s(?!projet|dépôt|code|serveur))`,
  },
  {
    rule: String.raw`(?:siempre|nunca|usa|utiliza|evita|hay que|debes|quiero que|.{1,60} (?:debe|deben))\s`,
    preference: String.raw`(?:prefiero|me gustan?|odio)\s`,
    person: String.raw`(?:soy|me llamo|vivo|trabajo en|mis?(?! proyecto| repo| código| servidor))\s`,
  },
  {
    rule: String.raw`(?:sempre|mai|non \S+are|usa|utilizza|evita|bisogna|devi|voglio che|.{1,60} (?:deve|devono))\s`,
    preference: String.raw`(?:preferisco|mi piac(?:e|ciono)|odio)\s`,
    person: String.raw`(?:mi chiamo|vivo|lavoro a|(?:il mio|la mia)(?! progetto| codice| server))\s`,
  },
  {
    rule: String.raw`(?:sempre|nunca|use|utilize|evite|é preciso|você deve|quero que|.{1,60} (?:deve|devem))\s`,
    preference: String.raw`(?:prefiro|gosto|odeio)\s`,
    person: String.raw`(?:sou|me chamo|moro|trabalho em|(?:meus?|minhas?)(?! projeto| código| servidor))\s`,
  },
];
const starts = (key: "rule" | "preference" | "person"): RegExp =>
  new RegExp(`^(?:that |dass |que |qu['’]|che )?(?:${languages.map((row) => row[key]).join("|")})`, "iu");
const patterns = { rule: starts("rule"), preference: starts("preference"), person: starts("person") };
/** Something of the project: a path, a file, or the project by name. */
const ofWorkspace = /[\w.-]\/|[\w-]\.[a-z]{1,4}\b|\b(?:this|the) (?:project|repo(?:sitory)?|workspace|codebase)\b/iu;
const decision = /\b(?:we|the team) (?:decided|agreed|chose)\b/iu;

/**
 * Where a statement by the owner belongs, by how it begins: a preference or a fact about them, a rule for the work, or a fact about the
 * project. Rules apply in every workspace unless they name a path or the project.
 */
export function placeOf(statement: string): Placement {
  const text = statement.trim();
  if (patterns.preference.test(text)) return { target: "core:human", kind: "preference", namespace: "global" };
  if (patterns.rule.test(text))
    return { target: "core:operating_rules", kind: "rule", namespace: ofWorkspace.test(text) ? "workspace" : "global" };
  if (patterns.person.test(text)) return { target: "core:human", kind: "fact", namespace: "global" };
  return { target: "archival", kind: decision.test(text) ? "decision" : "fact", namespace: "workspace" };
}
