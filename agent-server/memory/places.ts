import type { ProposedEdit } from "./item-types.ts";

type Place = Pick<ProposedEdit, "target" | "kind" | "namespace">;
type Language = "en" | "de" | "fr" | "es" | "it" | "pt";

/** Words by which a text says where it belongs, with texts that show it. */
export interface PlaceRule {
  readonly id: string;
  readonly language: Language;
  readonly place: "rule" | "preference" | "person" | "project";
  readonly pattern: RegExp;
  readonly match: readonly string[];
  readonly not_match: readonly string[];
}

const start = String.raw`^\s*(?:that\s+|dass\s+|que\s+|qu['’]|che\s+)?`;
const at = (pattern: string): RegExp => new RegExp(start + pattern, "iu");

/** In this order: the first that holds says the place. What none of them knows is a fact of the project. */
export const placeRules: readonly PlaceRule[] = [
  {
    id: "en.project",
    language: "en",
    place: "project",
    pattern: at(
      String.raw`(?:my|our|the|this)\s+(?:[\w-]+\s+){0,2}(?:project|repo(?:sitory)?|app(?:lication)?|code(?:base)?|workspace|tests?|build|server|database|branch|service|api|package|module|port|staging|production|deployment)\b(?!.*\b(?:always|never|must(?: not)?|don['’]t|do not)\b)`,
    ),
    match: ["my project uses pnpm", "our staging port is 8443", "the tests are in test/"],
    not_match: ["my name is Ada", "the tests must never touch the network", "I prefer tabs"],
  },
  {
    id: "en.rule",
    language: "en",
    place: "rule",
    pattern: at(
      String.raw`(?:please\s+)?(?:always|never|do not|don['’]t|only (?:ever )?use|use|avoid|make sure|from now on|in (?:the )?future|whenever|you (?:must|should|may|can|are to|have to|need to)|i want you to|i(?:['’]d| would) like you to|(?:.{1,60}\s)?(?:must(?: not)?|always|never)\s)`,
    ),
    match: ["always run the tests", "never touch generated/", "use tabs", "I want you to answer in German", "commits must be signed"],
    not_match: ["I prefer tabs", "we used pnpm until May", "the user table has 12 columns"],
  },
  {
    id: "en.preference",
    language: "en",
    place: "preference",
    pattern: at(
      String.raw`(?:i\s+(?:\w+\s+)?(?:prefer|like|love|hate|dislike|favou?r|would rather|don['’]t like|do not like)\b|my (?:favou?rite|preferred)\b)`,
    ),
    match: ["I prefer tabs", "I really like short answers", "my favourite editor is vim", "I don't like mocks"],
    not_match: ["we prefer tabs", "my name is Ada"],
  },
  {
    id: "en.person",
    language: "en",
    place: "person",
    pattern: at(String.raw`(?:i\b|i['’](?:m|ve|d|ll)\b|me\b|my\b|call me\b|address me\b)`),
    match: ["I work in Berlin", "my name is Ada", "call me Ada", "I'm new to Rust"],
    not_match: ["we deploy on Fridays", "it is slow", "meetings are on Monday"],
  },
  {
    id: "de.rule",
    language: "de",
    place: "rule",
    pattern: at(
      String.raw`(?:bitte\s+)?(?:immer|nie(?:mals)?|ab jetzt|künftig|in zukunft|verwende|benutze|nutze|nimm|vermeide|du (?:sollst|musst|darfst)|ich (?:will|möchte),? dass du|(?:.{1,60}\s)?(?:immer|niemals|nie|muss|müssen|darf nicht|dürfen nicht)(?:\s|$))`,
    ),
    match: ["immer die Tests laufen lassen", "generated/ nie angefasst wird", "verwende Tabs", "ich möchte, dass du knapp antwortest"],
    not_match: ["ich Tabs bevorzuge", "wir pnpm nutzen", "der Port 8443 ist"],
  },
  {
    id: "de.preference",
    language: "de",
    place: "preference",
    pattern: at(
      String.raw`(?:ich\b.*\b(?:bevorzuge|lieber|mag|hasse|liebe)\b|mir\b.*\b(?:gefällt|lieber)\b|mein(?:e|en|em|er)? (?:lieblings\p{L}*|bevorzugte\p{L}*)\b)`,
    ),
    match: ["ich Tabs bevorzuge", "ich mag kurze Antworten", "mir Tabs lieber sind"],
    not_match: ["wir Tabs bevorzugen", "ich in Berlin arbeite"],
  },
  {
    id: "de.person",
    language: "de",
    place: "person",
    pattern: at(String.raw`(?:ich|mich|mir|mein(?:e|en|em|er|es)?|nenne? mich)\b(?!\s+(?:projekt|repo|code|server|build)\b)`),
    match: ["ich in Berlin arbeite", "mein Name Ada ist"],
    not_match: ["wir am Freitag ausliefern", "mein Projekt pnpm nutzt"],
  },
  {
    id: "fr.rule",
    language: "fr",
    place: "rule",
    pattern: at(
      String.raw`(?:toujours|jamais|ne\s+\S+\s+(?:jamais|pas)|n['’]\S+\s+(?:jamais|pas)|utilise[sz]?|évite[sz]?|désormais|à partir de maintenant|tu (?:dois|ne dois)|il (?:faut|ne faut)|je veux que tu|(?:.{1,60}\s)?(?:doit|doivent)\s(?:toujours|ne)?)`,
    ),
    match: ["ne touche jamais generated/", "utilise des tabulations", "il faut lancer les tests", "tu dois répondre en français"],
    not_match: ["je préfère les tabulations", "nous utilisons pnpm", "le port est 8443"],
  },
  {
    id: "fr.preference",
    language: "fr",
    place: "preference",
    pattern: at(String.raw`(?:je (?:préfère|n['’]aime|déteste|aime)|j['’](?:aime|adore)|mon \p{L}+ préféré)(?!\p{L})`),
    match: ["je préfère les tabulations", "j'aime les réponses courtes"],
    not_match: ["nous préférons les tabulations", "je travaille à Lyon"],
  },
  {
    id: "fr.person",
    language: "fr",
    place: "person",
    pattern: at(String.raw`(?:je\s|j['’]|mon\s|ma\s|mes\s|appelle[- ]moi)(?!(?:projet|dépôt|code|serveur)\b)`),
    match: ["je travaille à Lyon", "j'habite à Lyon", "mon nom est Ada"],
    not_match: ["jean utilise vim", "mon projet utilise pnpm", "nous livrons le vendredi"],
  },
  {
    id: "es.rule",
    language: "es",
    place: "rule",
    pattern: at(
      String.raw`(?:siempre|nunca|no (?:uses|toques|hagas|cambies|borres)|usa|utiliza|evita|a partir de ahora|debes|tienes que|hay que|quiero que|(?:.{1,60}\s)?(?:debe|deben|nunca|siempre))\s`,
    ),
    match: ["nunca toques generated/", "usa tabuladores", "hay que ejecutar las pruebas", "los commits deben ir firmados"],
    not_match: ["prefiero tabuladores", "usamos pnpm", "el puerto es 8443"],
  },
  {
    id: "es.preference",
    language: "es",
    place: "preference",
    pattern: at(String.raw`(?:yo\s+)?(?:prefiero|(?:no\s+)?me gustan?|odio|mi \p{L}+ (?:favorit|preferid)[oa])(?!\p{L})`),
    match: ["prefiero tabuladores", "me gustan las respuestas cortas"],
    not_match: ["preferimos tabuladores", "trabajo en Madrid"],
  },
  {
    id: "es.person",
    language: "es",
    place: "person",
    pattern: at(
      String.raw`(?:yo\s|soy\s|me llamo\s|vivo\s|trabajo\s(?:en|con|para|como)\s|mis?\s(?!proyecto|repo|código|servidor)|llámame\s)`,
    ),
    match: ["trabajo en Madrid", "mi nombre es Ada", "soy nueva en Rust"],
    not_match: ["mi proyecto usa pnpm", "desplegamos los viernes"],
  },
  {
    id: "it.rule",
    language: "it",
    place: "rule",
    pattern: at(
      String.raw`(?:sempre|mai|non (?:usare|toccare|cambiare|cancellare)|usa|utilizza|evita|d['’]ora in poi|devi|bisogna|voglio che|(?:.{1,60}\s)?(?:deve|devono|mai|sempre))\s`,
    ),
    match: ["non toccare mai generated/", "usa le tabulazioni", "bisogna lanciare i test", "i commit devono essere firmati"],
    not_match: ["preferisco le tabulazioni", "usiamo pnpm", "la porta è 8443"],
  },
  {
    id: "it.preference",
    language: "it",
    place: "preference",
    pattern: at(String.raw`(?:io\s+)?(?:preferisco|(?:non\s+)?mi piac(?:e|ciono)|odio|(?:il mio|la mia) \p{L}+ preferit[oa])(?!\p{L})`),
    match: ["preferisco le tabulazioni", "mi piacciono le risposte brevi"],
    not_match: ["preferiamo le tabulazioni", "lavoro a Roma"],
  },
  {
    id: "it.person",
    language: "it",
    place: "person",
    pattern: at(
      String.raw`(?:io\s|sono\s(?!\p{L}+t[ei]\s)|mi chiamo\s|vivo\s|lavoro\s(?:a|in|con|per|come)\s|(?:il mio|la mia|i miei|le mie)\s(?!progetto|codice|server)|chiamami\s)`,
    ),
    match: ["lavoro a Roma", "il mio nome è Ada", "mi chiamo Ada"],
    not_match: ["il mio progetto usa pnpm", "rilasciamo il venerdì"],
  },
  {
    id: "pt.rule",
    language: "pt",
    place: "rule",
    pattern: at(
      String.raw`(?:sempre|nunca|jamais|não (?:use|toque|mude|altere|apague)|use|utilize|evite|a partir de agora|você (?:deve|precisa)|é preciso|quero que|(?:.{1,60}\s)?(?:deve|devem|nunca|sempre))\s`,
    ),
    match: ["nunca toque em generated/", "use tabulações", "é preciso rodar os testes", "os commits devem ser assinados"],
    not_match: ["prefiro tabulações", "usamos pnpm", "a porta é 8443"],
  },
  {
    id: "pt.preference",
    language: "pt",
    place: "preference",
    pattern: at(String.raw`(?:eu\s+)?(?:prefiro|(?:não\s+)?gosto|odeio|(?:meu|minha) \p{L}+ (?:favorit|preferid)[oa])(?!\p{L})`),
    match: ["prefiro tabulações", "eu gosto de respostas curtas"],
    not_match: ["preferimos tabulações", "trabalho em Lisboa"],
  },
  {
    id: "pt.person",
    language: "pt",
    place: "person",
    pattern: at(
      String.raw`(?:eu\s|sou\s|me chamo\s|chamo-me\s|moro\s|trabalho\s(?:em|com|para|como|na|no)\s|(?:meus?|minhas?)\s(?!projeto|código|servidor|repositório)|me chame\s)`,
    ),
    match: ["trabalho em Lisboa", "meu nome é Ada"],
    not_match: ["meu projeto usa pnpm", "lançamos às sextas"],
  },
];

/** A rule that names a path or the project holds there alone. */
const ofThisPlace =
  /[\w.-]+\/|\b[\w-]+\.(?:[cm]?[jt]sx?|py|go|rs|rb|java|json|ya?ml|toml|md|sql|sh|css|html)\b|\b(?:this|the) (?:project|repo(?:sitory)?|workspace|codebase)\b|\b(?:diese[mnrs]? (?:projekt|repo\p{L}*))\b|\b(?:ce|este|questo|neste|deste) (?:projet|proyecto|progetto|projeto|dépôt|repo\p{L}*)/iu;

const decided =
  /\b(?:we|the team) (?:decided|agreed|chose)\b|\bwir haben\b.*\b(?:entschieden|beschlossen)\b|\b(?:nous avons|on a) (?:décidé|choisi)|\b(?:decidimos|acordamos|abbiamo deciso)\b/iu;

/**
 * Where the owner's words belong, by the words alone: what is said of the owner, a rule for the work, or a fact of the project. Rules
 * hold everywhere, but for those that name a path or the project.
 */
export function placeOf(text: string): Place {
  const rule = placeRules.find(({ pattern }) => pattern.test(text));
  switch (rule?.place) {
    case "rule":
      return ofThisPlace.test(text)
        ? { target: "core:operating_rules", kind: "rule", namespace: "workspace" }
        : { target: "core:operating_rules", kind: "rule", namespace: "global" };
    case "preference":
      return { target: "core:human", kind: "preference", namespace: "global" };
    case "person":
      return { target: "core:human", kind: "fact", namespace: "global" };
    case "project":
    case undefined:
      return { target: "archival", kind: decided.test(text) ? "decision" : "fact", namespace: "workspace" };
  }
}
