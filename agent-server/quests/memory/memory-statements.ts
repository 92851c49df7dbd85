import type { Language } from "./memory-phrases.ts";
import { memoryOrders, ownWords, saidForThisTask, sentencesOf } from "./memory-orders.ts";

/** A sentence by which the owner lays down something that holds beyond the task, with sentences that show it. */
export interface StatementForm {
  readonly id: string;
  readonly language: Language;
  readonly kind: "preference" | "rule" | "practice" | "setting" | "correction";
  /** A correction names what is right and what is not in the groups `right` and `wrong`. */
  readonly pattern: RegExp;
  readonly match: readonly string[];
  readonly not_match: readonly string[];
}

/** What the owner said in passing that may be worth remembering. */
export interface Statement {
  readonly kind: StatementForm["kind"];
  /** Their sentence, word for word; of a correction what is right and what is not. */
  readonly content: string;
  /** 0 to 1: how sure it is that it was meant to last. */
  readonly confidence: number;
}

const confidences: Record<StatementForm["kind"], number> = { preference: 0.85, rule: 0.8, practice: 0.8, setting: 0.8, correction: 0.7 };
/** Longer sentences tell a story. UTF-16 units. */
const maxSentence = 240;
/** Longer messages were mostly pasted. UTF-16 units. */
const maxMessage = 8_000;

/** A value as it stands in settings: a number, a name with a dot, slash, colon, dash or at sign, or something in quotes. */
const value = String.raw`(?:\x60[^\x60]+\x60|["“'][^"”']+["”']|(?=[^\s]*[\d/:@]|[^\s]+[._-][^\s])[^\s]+)(?:\s.*)?$`;
const named = String.raw`(?<wrong>\x60[^\x60]+\x60|[^\s,.;]+(?:\s[^\s,.;]+){0,2}?)`;
const right = String.raw`(?<right>\x60[^\x60]+\x60|[^\s,;]+?(?:\s[^\s,;]+){0,2}?)`;
const begin = (pattern: string): RegExp => new RegExp(`^(?:${pattern})`, "iu");
const whole = (pattern: string): RegExp => new RegExp(`^(?:${pattern})[.!]*$`, "iu");

export const statementForms: readonly StatementForm[] = [
  {
    id: "en.preference",
    language: "en",
    kind: "preference",
    pattern: begin(
      String.raw`(?:also,?\s+|and\s+)?(?:i\s+(?:(?:always|usually|generally|really|strongly)\s+)?(?:prefer|hate|dislike)\s+\S|i\s+(?:always|never)\s+(?:use|want|write|commit|test)\s+\S|my name is\s+\S|call me\s+(?!back\b|later\b)\S+[.!]*$|i (?:work|live) (?:at|in|on|with)\s+\S)`,
    ),
    match: ["I prefer small commits.", "I really dislike mocks", "My name is Ada.", "I always use tabs"],
    not_match: ["I'd prefer you fix it first.", "I like it", "I want a button here", "Call me back when done"],
  },
  {
    id: "en.rule",
    language: "en",
    kind: "rule",
    pattern: begin(
      String.raw`(?:please\s+)?(?:(?:never|always)\s+(?!\p{L}+(?:ed|[^s\W]s)\b)(?!the\b)\p{L}+\s+\S|from now on,?\s+\S|in (?:the )?future,?\s+(?!we\b|it\b|this\b)\S|(?:do not|don['’]t) ever\s+\S)`,
    ),
    match: [
      "Never touch generated/.",
      "Please always run the linter before you commit.",
      "From now on, write tests first",
      "Always pass the flag",
    ],
    not_match: ["Always returns null here.", "It never works", "Never worked on my machine", "Never mind"],
  },
  {
    id: "en.practice",
    language: "en",
    kind: "practice",
    pattern: begin(
      String.raw`(?:(?:btw|by the way|note that|here|also),?\s+)?(?:we\s+(?:(?:always|never|only|all|generally)\s+)?(?:use|deploy|release|ship|support|target|squash|rebase|host|follow)\s+(?!this\b|it\b|that\b|to\b)\S|we(?:['’]ve| have)?\s+(?:decided|agreed)\s+(?:to|on|that|not|against)\s|(?:this|the|our) (?:project|repo(?:sitory)?|codebase|team)\s+(?:uses|follows|targets|supports)\s+\S|(?:the\s+)?(?:tests|unit tests|docs|migrations|releases)\s+(?:are run with|are built with|live in|are in|go (?:in)?to)\s+\S)`,
    ),
    match: [
      "We use pnpm.",
      "By the way, we deploy on Fridays",
      "We decided to drop Node 18.",
      "This project uses Vitest",
      "Tests live in test/unit",
    ],
    not_match: ["We need to fix it.", "We use it twice here", "Can we use pnpm?", "We used yarn"],
  },
  {
    id: "en.setting",
    language: "en",
    kind: "setting",
    pattern: begin(
      String.raw`(?:the|our)\s+(?:[\p{L}\d-]+\s+){0,3}?(?:port|url|host(?:name)?|address|branch|database|domain|bucket|registry|endpoint|channel|folder|directory|path|region|timezone)\s+(?:is|=)\s+(?:called\s+|named\s+|at\s+)?${value}`,
    ),
    match: ["The staging port is 8443.", "Our release branch is `main-next`", "The docs folder is packages/docs"],
    not_match: ["The port is wrong.", "The path is not found", "The endpoint is slow since 3.2"],
  },
  {
    id: "en.correction",
    language: "en",
    kind: "correction",
    pattern: whole(
      String.raw`(?:no|nope|wrong|actually)[,.:!]*\s+(?:not|don['’]t use|it['’]s not|we don['’]t use)\s+${named}\s*(?:[,;:–-]+\s*|\s+)(?:but\s+|it['’]s\s+|use\s+|we use\s+)?${right}`,
    ),
    match: ["No, not npm, pnpm.", "No, don't use npm, use pnpm"],
    not_match: ["No, not yet.", "No.", "Not now"],
  },
  {
    id: "en.correction-right-first",
    language: "en",
    kind: "correction",
    pattern: whole(
      String.raw`(?:no|nope|wrong|actually)[,.:!]*\s+(?:it['’]s|it is|use|we use|that['’]s)\s+${right}(?:,?\s+not|,?\s+instead of)\s+(?<wrong>[^,;]+?)`,
    ),
    match: ["No, it's pnpm, not npm.", "Actually, we use Vitest, not Jest", "No, use pnpm instead of npm"],
    not_match: ["No, it's fine.", "It's pnpm"],
  },
  {
    id: "de.preference",
    language: "de",
    kind: "preference",
    pattern: begin(
      String.raw`ich\s+(?:bevorzuge|hasse|(?:nutze|benutze|verwende|schreibe)\s+(?:immer|nie|lieber))\s+\S|mein name ist\s+\S`,
    ),
    match: ["Ich bevorzuge kleine Commits.", "Ich nutze immer Tabs", "Mein Name ist Ada"],
    not_match: ["Ich möchte einen Knopf", "Ich mag das nicht"],
  },
  {
    id: "de.rule",
    language: "de",
    kind: "rule",
    pattern: begin(
      String.raw`(?:bitte\s+)?(?:(?:immer|niemals|nie)\s+(?:erst\s+)?\S+\s+\S|(?:ab jetzt|künftig|in zukunft),?\s+\S)|[^\s,]\S*(?:\s\S+){0,5}\s(?:nie|niemals|immer)\s+\p{L}+(?:en|ern|eln)[.!]*$`,
    ),
    match: ["Immer erst die Tests laufen lassen.", "generated/ nie anfassen", "Ab jetzt bitte auf Deutsch antworten"],
    not_match: ["Es geht nie", "Das war immer so."],
  },
  {
    id: "de.practice",
    language: "de",
    kind: "practice",
    pattern: begin(
      String.raw`(?:hier\s+)?wir\s+(?:verwenden|benutzen|nutzen|deployen|veröffentlichen|unterstützen)\s+(?!das\b|es\b|dies\b)\S|wir haben (?:uns\s+)?(?:\S+\s+){0,8}(?:entschieden|beschlossen|geeinigt)`,
    ),
    match: ["Wir nutzen pnpm.", "Wir haben uns für Vitest entschieden"],
    not_match: ["Wir müssen das beheben", "Nutzen wir pnpm?"],
  },
  {
    id: "de.setting",
    language: "de",
    kind: "setting",
    pattern: begin(
      String.raw`(?:der|die|das|unsere?)\s+(?:[\p{L}\d]+[- ]){0,3}?(?:\p{L}*-?port|url|host|branch|datenbank|domain|ordner|pfad|adresse)\s+(?:ist|heißt|lautet)\s+${value}`,
    ),
    match: ["Der Staging-Port ist 8443.", "Unser Branch heißt main-next"],
    not_match: ["Der Port ist falsch.", "Der Pfad fehlt"],
  },
  {
    id: "de.correction",
    language: "de",
    kind: "correction",
    pattern: whole(String.raw`(?:nein|falsch)[,.:!]*\s+nicht\s+${named}\s*[,;:–-]+\s*(?:sondern\s+)?${right}`),
    match: ["Nein, nicht npm, sondern pnpm.", "Nein, nicht npm, pnpm"],
    not_match: ["Nein, noch nicht.", "Nicht jetzt"],
  },
  {
    id: "fr.preference",
    language: "fr",
    kind: "preference",
    pattern: begin(String.raw`je\s+(?:préfère|déteste)\s+\S|j['’]utilise\s+(?:toujours|jamais)\s+\S|mon nom est\s+\S`),
    match: ["Je préfère les petits commits.", "J'utilise toujours des tabulations"],
    not_match: ["J'aime bien", "Je veux un bouton"],
  },
  {
    id: "fr.rule",
    language: "fr",
    kind: "rule",
    pattern: begin(
      String.raw`(?:toujours\s+\p{L}+(?:er|ir|re)\s+\S|ne\s+(?:jamais\s+\p{L}+|\p{L}+\s+jamais)\s+\S|(?:désormais|à partir de maintenant),?\s+\S)`,
    ),
    match: ["Ne touche jamais generated/.", "Toujours lancer les tests avant", "Désormais, réponds en français"],
    not_match: ["Ça ne marche jamais", "Toujours la même erreur"],
  },
  {
    id: "fr.practice",
    language: "fr",
    kind: "practice",
    pattern: begin(
      String.raw`(?:ici,?\s+)?(?:nous\s+(?:utilisons|déployons|livrons)|on\s+(?:utilise|déploie|livre)|nous avons décidé|on a décidé)\s+\S`,
    ),
    match: ["Nous utilisons pnpm.", "On livre le vendredi", "Nous avons décidé de garder Node 24"],
    not_match: ["Nous devons corriger", "Utilisons-nous pnpm ?"],
  },
  {
    id: "fr.setting",
    language: "fr",
    kind: "setting",
    pattern: begin(
      String.raw`(?:le|la|l['’]|notre)\s*(?:\S+\s+){0,2}?(?:port|url|hôte|branche|domaine|dossier|adresse|base)(?:\s+\S+){0,3}?\s+est\s+${value}`,
    ),
    match: ["Le port de préproduction est 8443.", "Notre branche est main-next"],
    not_match: ["Le port est faux.", "La base est lente"],
  },
  {
    id: "fr.correction",
    language: "fr",
    kind: "correction",
    pattern: whole(String.raw`non[,.:!]*\s+pas\s+${named}\s*[,;:–-]+\s*(?:mais\s+)?${right}`),
    match: ["Non, pas npm, mais pnpm."],
    not_match: ["Non, pas encore.", "Pas maintenant"],
  },
  {
    id: "es.preference",
    language: "es",
    kind: "preference",
    pattern: begin(String.raw`(?:yo\s+)?(?:prefiero|odio)\s+\S|(?:yo\s+)?(?:siempre|nunca)\s+uso\s+\S|mi nombre es\s+\S`),
    match: ["Prefiero commits pequeños.", "Siempre uso tabuladores"],
    not_match: ["Preferiría que lo arregles", "Quiero un botón"],
  },
  {
    id: "es.rule",
    language: "es",
    kind: "rule",
    pattern: begin(String.raw`(?:por favor,?\s+)?(?:(?:siempre|nunca)\s+(?!uso\b)\p{L}+(?:es|as|a|e)\s+\S|a partir de ahora,?\s+\S)`),
    match: ["Nunca toques generated/.", "Siempre ejecuta las pruebas", "A partir de ahora responde en español"],
    not_match: ["No funciona nunca", "Siempre uso tabuladores"],
  },
  {
    id: "es.practice",
    language: "es",
    kind: "practice",
    pattern: begin(String.raw`(?:aquí\s+)?(?:usamos|desplegamos|publicamos|hemos decidido|decidimos)\s+(?!esto\b|eso\b)\S`),
    match: ["Usamos pnpm.", "Desplegamos los viernes"],
    not_match: ["¿Usamos pnpm?", "Usaremos pnpm"],
  },
  {
    id: "es.setting",
    language: "es",
    kind: "setting",
    pattern: begin(
      String.raw`(?:el|la|nuestr[oa])\s+(?:\S+\s+){0,2}?(?:puerto|url|host|rama|dominio|carpeta|dirección|base)(?:\s+\S+){0,3}?\s+(?:es|se llama)\s+${value}`,
    ),
    match: ["El puerto de staging es 8443."],
    not_match: ["El puerto es incorrecto."],
  },
  {
    id: "es.correction",
    language: "es",
    kind: "correction",
    pattern: whole(String.raw`no[,.:!]+\s+no\s+(?:uses\s+|es\s+)?${named}\s*[,;:–-]+\s*(?:sino\s+)?${right}`),
    match: ["No, no npm, sino pnpm."],
    not_match: ["No, no funciona.", "No, todavía no"],
  },
  {
    id: "it.preference",
    language: "it",
    kind: "preference",
    pattern: begin(String.raw`(?:io\s+)?(?:preferisco|odio)\s+\S|(?:io\s+)?uso\s+(?:sempre|mai)\s+\S|il mio nome è\s+\S`),
    match: ["Preferisco commit piccoli.", "Uso sempre i tab"],
    not_match: ["Preferirei che lo correggessi", "Voglio un pulsante"],
  },
  {
    id: "it.rule",
    language: "it",
    kind: "rule",
    pattern: begin(String.raw`(?:sempre\s+\p{L}+(?:are|ere|ire)\s+\S|non\s+\p{L}+(?:are|ere|ire)\s+mai\s+\S|d['’]ora in poi,?\s+\S)`),
    match: ["Non toccare mai generated/.", "Sempre lanciare i test", "D'ora in poi rispondi in italiano"],
    not_match: ["Non funziona mai", "Sempre lo stesso errore"],
  },
  {
    id: "it.practice",
    language: "it",
    kind: "practice",
    pattern: begin(String.raw`(?:qui\s+)?(?:usiamo|rilasciamo|distribuiamo|abbiamo deciso)\s+(?!questo\b)\S`),
    match: ["Usiamo pnpm.", "Abbiamo deciso di tenere Node 24"],
    not_match: ["Useremo pnpm", "Dobbiamo correggere"],
  },
  {
    id: "it.setting",
    language: "it",
    kind: "setting",
    pattern: begin(
      String.raw`(?:il|la|l['’]|nostr[oa])\s*(?:\S+\s+){0,2}?(?:porta|url|host|ramo|dominio|cartella|indirizzo|database)(?:\s+\S+){0,3}?\s+(?:è|si chiama)\s+${value}`,
    ),
    match: ["La porta di staging è 8443."],
    not_match: ["La porta è sbagliata."],
  },
  {
    id: "it.correction",
    language: "it",
    kind: "correction",
    pattern: whole(String.raw`no[,.:!]+\s+non\s+${named}\s*[,;:–-]+\s*(?:ma\s+|bensì\s+)?${right}`),
    match: ["No, non npm, ma pnpm."],
    not_match: ["No, non ancora.", "No, non funziona"],
  },
  {
    id: "pt.preference",
    language: "pt",
    kind: "preference",
    pattern: begin(String.raw`(?:eu\s+)?(?:prefiro|odeio)\s+\S|(?:eu\s+)?(?:sempre|nunca)\s+uso\s+\S|meu nome é\s+\S`),
    match: ["Prefiro commits pequenos.", "Eu sempre uso tabulações"],
    not_match: ["Preferiria que corrigisse", "Quero um botão"],
  },
  {
    id: "pt.rule",
    language: "pt",
    kind: "rule",
    pattern: begin(String.raw`(?:por favor,?\s+)?(?:(?:sempre|nunca|jamais)\s+(?!uso\b)\p{L}+(?:e|a)\s+\S|a partir de agora,?\s+\S)`),
    match: ["Nunca toque em generated/.", "Sempre execute os testes", "A partir de agora responda em português"],
    not_match: ["Nunca funciona", "Isso nunca vai dar certo"],
  },
  {
    id: "pt.practice",
    language: "pt",
    kind: "practice",
    pattern: begin(String.raw`(?:aqui\s+)?(?:nós\s+)?(?:usamos|implantamos|publicamos|decidimos)\s+(?!isso\b|isto\b)\S`),
    match: ["Nós usamos pnpm.", "Implantamos às sextas"],
    not_match: ["Vamos usar pnpm", "Precisamos corrigir"],
  },
  {
    id: "pt.setting",
    language: "pt",
    kind: "setting",
    pattern: begin(
      String.raw`(?:o|a|noss[oa])\s+(?:\S+\s+){0,2}?(?:porta|url|host|ramo|branch|domínio|pasta|endereço)(?:\s+\S+){0,3}?\s+(?:é|se chama)\s+${value}`,
    ),
    match: ["A porta de staging é 8443."],
    not_match: ["A porta é errada."],
  },
  {
    id: "pt.correction",
    language: "pt",
    kind: "correction",
    pattern: whole(String.raw`não[,.:!]+\s+não\s+(?:use\s+|é\s+)?${named}\s*[,;:–-]+\s*(?:mas\s+|e sim\s+|sim\s+)?${right}`),
    match: ["Não, não npm, e sim pnpm."],
    not_match: ["Não, não funciona.", "Não, ainda não"],
  },
];

/**
 * What a message of the owner's lays down beyond its task, by its words alone. Questions, what is said for this task, what is pasted or
 * quoted, and what the owner ordered to be remembered themselves are left out.
 */
export function statementsIn(text: string): Statement[] {
  const own = ownWords(text);
  if (own.length > maxMessage) return [];
  return sentencesOf(own).flatMap((line) => {
    const sentence = line.replace(/^(?:[-*•–]|\d{1,2}[.)])\s+/u, "");
    if (sentence.length > maxSentence || /[?？:]\s*$/.test(sentence) || saidForThisTask(sentence) || supposed.test(sentence)) return [];
    if (memoryOrders(sentence).orders.length > 0) return [];
    for (const { kind, pattern } of statementForms) {
      const groups = pattern.exec(sentence);
      if (groups === null) continue;
      const { right: better, wrong } = groups.groups ?? {};
      const content = kind === "correction" ? `${better ?? ""}, not ${wrong ?? ""}` : sentence.replace(/[.!\s]+$/, "");
      return [{ kind, content, confidence: confidences[kind] }];
    }
    return [];
  });
}

/** What is supposed, or asked of somebody else's text, lays nothing down. */
const supposed =
  /(?:^|[\s,])(?:if|unless|suppose|maybe|perhaps|wenn|falls|vielleicht|si|peut-être|quizás|quizá|se|forse|talvez)\s|\b(?:might|could|would|said|says|wrote)\b/iu;
