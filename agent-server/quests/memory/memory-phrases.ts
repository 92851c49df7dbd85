export type Language = "en" | "de" | "fr" | "es" | "it" | "pt";

/**
 * A way to order something of memory in words, at the beginning of a sentence. `what` is the group that holds what is meant.
 * `vague`: it is said in passing as well ("forget the tests"), so that it counts only as a whole message that names something remembered.
 */
export interface MemoryForm {
  readonly id: string;
  readonly language: Language;
  readonly kind: "remember" | "forget";
  readonly vague?: true;
  readonly pattern: RegExp;
  /** Sentences, with what is meant in each. */
  readonly match: readonly (readonly [sentence: string, what: string])[];
  readonly not_match: readonly string[];
}

/** Courtesies and joining words in front. */
const polite: Record<Language, string> = {
  en: String.raw`(?:(?:ok(?:ay)?|and|also|so|hey|hi|lancelot|please|btw|by the way|oh|one more thing)[,:]?\s+)*(?:(?:can|could|will|would) you\s+(?:please\s+)?(?:also\s+)?)?(?:please\s+)?(?:always\s+)?`,
  de: String.raw`(?:(?:ok(?:ay)?|und|auch|also|bitte|hey|hallo|lancelot|übrigens|ach ja)[,:]?\s+)*`,
  fr: String.raw`(?:(?:ok|et|aussi|salut|lancelot|s['’]il te plaît|s['’]il vous plaît|stp|svp|au fait)[,:]?\s+)*`,
  es: String.raw`(?:(?:ok|y|también|hola|lancelot|por favor|por cierto)[,:]?\s+)*`,
  it: String.raw`(?:(?:ok|e|anche|ciao|lancelot|per favore|per piacere|a proposito)[,:]?\s+)*`,
  pt: String.raw`(?:(?:ok|e|também|olá|oi|lancelot|por favor|aliás)[,:]?\s+)*`,
};
/** "that bug", "that idea we had": no clause follows but a thing. */
const noClause = String.raw`(?!(?:and|or|but|for|please|now|then|one|thing|stuff|also|if|as|time|day)\b)(?!(?!(?:i|we|you|he|she|it|they|there|this|these|those|the|a|an|my|our|your|all|every|each|no|in|on|at|to|when)\b)[\p{L}-]+(?:\s*[.!,]?\s*$|\s+(?:that|which|who|where|we|you|i|they|he|she|from|last|yesterday|earlier)\b))`;

function form(language: Language, pattern: string): RegExp {
  return new RegExp(`^${polite[language]}${pattern}[.!\\s]*$`, "iu");
}
const what = String.raw`(?<what>\S.*?)`;

/** How the owner says that something is to be remembered or forgotten. The first form that holds counts. */
export const memoryForms: readonly MemoryForm[] = [
  {
    id: "en.remember-that",
    language: "en",
    kind: "remember",
    pattern: form("en", String.raw`remember\s+that\s+${noClause}${what}`),
    match: [
      ["Remember that we use pnpm.", "we use pnpm"],
      ["please remember that the staging port is 8443", "the staging port is 8443"],
      ["Also, remember that tests live in test/unit", "tests live in test/unit"],
      ["Could you please remember that I prefer tabs", "I prefer tabs"],
      ["Remember that pnpm is our package manager!", "pnpm is our package manager"],
    ],
    not_match: [
      "Do you remember that bug?",
      "Remember that bug we fixed last week",
      "Remember that time",
      "Make the form remember that the user is logged in.",
      "I remember that we used yarn.",
      '"Remember that you are mortal" belongs into the header.',
      "Don't remember that the test failed.",
    ],
  },
  {
    id: "en.remember-colon",
    language: "en",
    kind: "remember",
    pattern: form("en", String.raw`remember(?:\s+(?:this|the following|for (?:later|the future)|from now on))?\s*:\s*${what}`),
    match: [
      ["Please remember: we deploy on Fridays.", "we deploy on Fridays"],
      ["Remember this: the API key belongs to Ops", "the API key belongs to Ops"],
    ],
    not_match: ["remember(me: true)", "Things to remember: tests", "Rename remember: to keep:"],
  },
  {
    id: "en.remember-mine",
    language: "en",
    kind: "remember",
    pattern: form(
      "en",
      String.raw`remember[,]?\s+(?<what>(?:(?:i|we)\s+(?:\w+\s+){0,2}?(?:prefer|like|use|want|need|work|live|deploy|hate|always|never|have|am|are|do(?:n['’]t)?)\b|i['’]m\s|we['’]re\s|(?:my|our)\s+(?:[\w-]+\s+){1,5}?(?:is|are|was|has|have|=)\s).*?)`,
    ),
    match: [
      ["Remember I prefer tabs.", "I prefer tabs"],
      ["remember my name is Ada", "my name is Ada"],
      ["Please remember our staging port is 8443.", "our staging port is 8443"],
    ],
    not_match: ["Remember my changes.", "remember the milk", "Remember to run the tests", "Remember we talked about the parser"],
  },
  {
    id: "en.remember-to-always",
    language: "en",
    kind: "remember",
    pattern: form("en", String.raw`remember\s+(?:(?:from now on|in (?:the )?future),?\s+)?(?:to\s+)?(?<what>(?:always|never)\s.*?)`),
    match: [
      ["Remember to always run the linter.", "always run the linter"],
      ["remember to never push to main", "never push to main"],
    ],
    not_match: ["Remember to run the tests after each edit in this task.", "Remember the rule: always ask"],
  },
  {
    id: "en.into-memory",
    language: "en",
    kind: "remember",
    pattern: form(
      "en",
      String.raw`(?:save|store|put|add|keep|note)\s+(?:this\s+)?(?:to|in|into)\s+(?:your\s+)?memory(?:\s+that\s|\s*:)\s*${what}`,
    ),
    match: [
      ["Save to memory: releases are tagged v1.2.3", "releases are tagged v1.2.3"],
      ["Keep in your memory that Ada reviews migrations.", "Ada reviews migrations"],
    ],
    not_match: ["Save the table in memory: it is faster", "Add to memory usage", "Put this into memory.ts: a counter"],
  },
  {
    id: "en.forget-that",
    language: "en",
    kind: "forget",
    pattern: form("en", String.raw`forget\s+that\s+${noClause}${what}`),
    match: [
      ["Forget that we use pnpm.", "we use pnpm"],
      ["please forget that I prefer tabs", "I prefer tabs"],
    ],
    not_match: [
      "Forget that.",
      "Forget that idea.",
      "Forget that and start over.",
      "Don't forget that we use pnpm",
      "Forget that approach we tried",
    ],
  },
  {
    id: "en.forget-known",
    language: "en",
    kind: "forget",
    pattern: form(
      "en",
      String.raw`forget\s+(?:what|everything|anything|all)\s+(?:that\s+)?(?:i\s+(?:told|said)(?:\s+to)?(?:\s+you)?|you\s+(?:know|remember|noted|saved|learned|stored))\s+(?:about|of|on)\s+${what}`,
    ),
    match: [
      ["Forget what I told you about the staging port.", "the staging port"],
      ["forget everything you know about Ada", "Ada"],
    ],
    not_match: ["Forget what I said.", "Forget everything above."],
  },
  {
    id: "en.from-memory",
    language: "en",
    kind: "forget",
    pattern: form("en", String.raw`(?:remove|delete|erase|drop)\s+${what}\s+from\s+(?:your\s+|the\s+)?memory`),
    match: [["Remove the staging port from your memory.", "the staging port"]],
    not_match: ["Remove the buffer from memory.ts", "Delete the file."],
  },
  {
    id: "en.forget-thing",
    language: "en",
    kind: "forget",
    vague: true,
    pattern: form(
      "en",
      String.raw`forget\s+(?:about\s+)?(?<what>(?:the|my|our)\s+(?!(?:above|previous|last|rest|whole|idea|question|task|request)\b)[^,;:]{2,80}?)`,
    ),
    match: [
      ["Forget the staging port.", "the staging port"],
      ["Forget about my editor", "my editor"],
    ],
    not_match: ["Forget the last message", "Forget the tests, just fix the build", "Forget it", "Never mind"],
  },
  {
    id: "de.merken",
    language: "de",
    kind: "remember",
    pattern: form("de", String.raw`merke?\s+dir(?:\s+(?:bitte|auch|noch|mal))*\s*(?:[,:]\s*(?:dass\s+)?|\s+dass\s+)${what}`),
    match: [
      ["Merke dir, dass wir pnpm nutzen.", "wir pnpm nutzen"],
      ["Merk dir bitte: der Port ist 8443", "der Port ist 8443"],
      ["Bitte merke dir, dass ich Tabs bevorzuge!", "ich Tabs bevorzuge"],
    ],
    not_match: [
      "Merkst du dir das?",
      "Merk dir das",
      "Das Formular soll sich merken, dass der Nutzer da war.",
      "Ich merke mir, dass es klemmt.",
    ],
  },
  {
    id: "de.gedaechtnis",
    language: "de",
    kind: "remember",
    pattern: form("de", String.raw`(?:behalte?|speicher[en]?|notiere?)\s+(?:bitte\s+)?im\s+gedächtnis\s*[,:]\s*(?:dass\s+)?${what}`),
    match: [["Behalte im Gedächtnis, dass Ada Migrationen prüft.", "Ada Migrationen prüft"]],
    not_match: ["Behalte die Tabelle im Speicher: das ist schneller"],
  },
  {
    id: "de.vergessen",
    language: "de",
    kind: "forget",
    pattern: form("de", String.raw`vergiss(?:\s+bitte)?\s*(?:,\s*(?:dass|was ich dir über)\s+|:\s*)${what}(?:\s+(?:gesagt|erzählt) habe)?`),
    match: [
      ["Vergiss, dass wir pnpm nutzen.", "wir pnpm nutzen"],
      ["Vergiss bitte, was ich dir über den Port gesagt habe.", "den Port"],
    ],
    not_match: ["Vergiss nicht, dass wir pnpm nutzen.", "Vergiss es.", "Vergiss das, mach es anders."],
  },
  {
    id: "de.vergessen-thing",
    language: "de",
    kind: "forget",
    vague: true,
    pattern: form(
      "de",
      String.raw`vergiss\s+(?:bitte\s+)?(?<what>(?:den|die|das|meine?n?|unsere?n?)\s+(?!(?:letzten?|vorige\p{L}*|idee|frage|aufgabe)\b)[^,;:]{2,80}?)`,
    ),
    match: [["Vergiss den Staging-Port.", "den Staging-Port"]],
    not_match: ["Vergiss die letzte Nachricht", "Vergiss das.", "Vergiss nicht den Port"],
  },
  {
    id: "fr.retenir",
    language: "fr",
    kind: "remember",
    pattern: form(
      "fr",
      String.raw`(?:souviens-toi|rappelle-toi|retiens|souvenez-vous|retenez)(?:\s+bien)?(?:\s+que\s+|\s+qu['’]|\s*:\s*)${what}`,
    ),
    match: [
      ["Souviens-toi que nous utilisons pnpm.", "nous utilisons pnpm"],
      ["S'il te plaît, retiens qu'on livre le vendredi", "on livre le vendredi"],
      ["Retiens : le port est 8443", "le port est 8443"],
    ],
    not_match: ["Te souviens-tu que nous utilisions yarn ?", "Je me souviens que c'était lent.", "Souviens-toi de ce bug"],
  },
  {
    id: "fr.oublier",
    language: "fr",
    kind: "forget",
    pattern: form("fr", String.raw`oublie[sz]?(?:\s+que\s+|\s+qu['’]|\s+ce que je t['’]ai dit (?:sur|de)\s+|\s*:\s*)${what}`),
    match: [
      ["Oublie que nous utilisons pnpm.", "nous utilisons pnpm"],
      ["oublie ce que je t'ai dit sur le port", "le port"],
    ],
    not_match: ["N'oublie pas que nous utilisons pnpm.", "Oublie ça."],
  },
  {
    id: "fr.oublier-thing",
    language: "fr",
    kind: "forget",
    vague: true,
    pattern: form(
      "fr",
      String.raw`oublie[sz]?\s+(?<what>(?:(?:le|la|les|mon|ma|mes|notre|nos)\s+|l['’])(?!(?:dernière?|idée|question|tâche)\b)[^,;:]{2,80}?)`,
    ),
    match: [["Oublie le port de préproduction.", "le port de préproduction"]],
    not_match: ["Oublie la dernière question", "Oublie ça"],
  },
  {
    id: "es.recordar",
    language: "es",
    kind: "remember",
    pattern: form("es", String.raw`(?:recuerd[ae](?:\s+(?:esto|bien))?|acu[ée]rdate(?:\s+de)?)(?:\s+que\s+|\s*:\s*)${what}`),
    match: [
      ["Recuerda que usamos pnpm.", "usamos pnpm"],
      ["Por favor, recuerda: el puerto es 8443", "el puerto es 8443"],
      ["Acuérdate de que prefiero tabuladores", "prefiero tabuladores"],
    ],
    not_match: ["¿Recuerdas que usábamos yarn?", "Recuerda ejecutar las pruebas", "No recuerdo que fallara"],
  },
  {
    id: "es.olvidar",
    language: "es",
    kind: "forget",
    pattern: form("es", String.raw`olv[ií]da(?:te)?(?:\s+de)?(?:\s+que\s+|\s+lo que te dije (?:sobre|de)\s+|\s*:\s*)${what}`),
    match: [
      ["Olvida que usamos pnpm.", "usamos pnpm"],
      ["Olvídate de que prefiero tabuladores", "prefiero tabuladores"],
    ],
    not_match: ["No olvides que usamos pnpm.", "Olvídalo."],
  },
  {
    id: "es.olvidar-thing",
    language: "es",
    kind: "forget",
    vague: true,
    pattern: form(
      "es",
      String.raw`olvida\s+(?<what>(?:el|la|los|las|mis?|nuestr[oa]s?)\s+(?!(?:últim[oa]|idea|pregunta|tarea)\b)[^,;:]{2,80}?)`,
    ),
    match: [["Olvida el puerto de staging.", "el puerto de staging"]],
    not_match: ["Olvida la pregunta", "Olvídalo"],
  },
  {
    id: "it.ricordare",
    language: "it",
    kind: "remember",
    pattern: form("it", String.raw`ricorda(?:ti)?(?:\s+(?:bene|questo))?(?:\s+che\s+|\s*:\s*)${what}`),
    match: [
      ["Ricorda che usiamo pnpm.", "usiamo pnpm"],
      ["Per favore ricordati che la porta è 8443", "la porta è 8443"],
    ],
    not_match: ["Ti ricordi che usavamo yarn?", "Ricorda di lanciare i test", "Ricordo che era lento"],
  },
  {
    id: "it.dimenticare",
    language: "it",
    kind: "forget",
    pattern: form("it", String.raw`dimentica(?:ti)?(?:\s+che\s+|\s+quello che ti ho detto (?:su|di|del|della)\s+|\s*:\s*)${what}`),
    match: [["Dimentica che usiamo pnpm.", "usiamo pnpm"]],
    not_match: ["Non dimenticare che usiamo pnpm.", "Dimenticalo."],
  },
  {
    id: "it.dimenticare-thing",
    language: "it",
    kind: "forget",
    vague: true,
    pattern: form(
      "it",
      String.raw`dimentica\s+(?<what>(?:(?:il|lo|la|i|gli|le|mio|mia|nostro|nostra)\s+|l['’])(?!(?:ultim[oa]|idea|domanda|compito)\b)[^,;:]{2,80}?)`,
    ),
    match: [["Dimentica la porta di staging.", "la porta di staging"]],
    not_match: ["Dimentica la domanda", "Dimenticalo"],
  },
  {
    id: "pt.lembrar",
    language: "pt",
    kind: "remember",
    pattern: form("pt", String.raw`(?:lembr[ae](?:-se|-te)?(?:\s+de)?|memorize|guarde(?:\s+na\s+memória)?)(?:\s+que\s+|\s*:\s*)${what}`),
    match: [
      ["Lembre-se de que usamos pnpm.", "usamos pnpm"],
      ["Por favor, lembre que a porta é 8443", "a porta é 8443"],
      ["Memorize: prefiro tabulações", "prefiro tabulações"],
    ],
    not_match: ["Você lembra que usávamos yarn?", "Lembre-se de rodar os testes", "Lembro que era lento"],
  },
  {
    id: "pt.esquecer",
    language: "pt",
    kind: "forget",
    pattern: form(
      "pt",
      String.raw`esque(?:ça|ce)(?:-se|-te)?(?:\s+de)?(?:\s+que\s+|\s+o que (?:eu )?(?:te )?disse sobre\s+|\s*:\s*)${what}`,
    ),
    match: [["Esqueça que usamos pnpm.", "usamos pnpm"]],
    not_match: ["Não esqueça que usamos pnpm.", "Esqueça isso."],
  },
  {
    id: "pt.esquecer-thing",
    language: "pt",
    kind: "forget",
    vague: true,
    pattern: form(
      "pt",
      String.raw`esque(?:ça|ce)\s+(?<what>(?:o|a|os|as|meus?|minhas?|noss[oa]s?)\s+(?!(?:últim[oa]|ideia|pergunta|tarefa|que)\b)[^,;:]{2,80}?)`,
    ),
    match: [["Esqueça a porta de staging.", "a porta de staging"]],
    not_match: ["Esqueça a pergunta", "Esqueça isso"],
  },
];
