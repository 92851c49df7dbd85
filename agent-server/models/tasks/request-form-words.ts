/**
 * The words that negate, mention and interrupt, in English, German, French, Spanish, Italian and Portuguese. Patterns of texts in lower
 * case with straight apostrophes.
 */

/** What may stand before the verb of a clause. */
export const lead = String.raw`(?:(?:please|pls|ok|okay|so|and|but|also|just|now|then|you|must|should|want you|make sure(?: you| to)?|bitte|aber|und|doch|mais|surtout|s'il te plaît|pero|y|por favor|ma|e|per favore|mas)\s+)*`;

/** A negation that asks for the action after it: "don't forget to push". The rest of the clause is asked. */
export const asksAnyway: readonly RegExp[] = [
  /^(?:do not|don't|dont|never)\s+(?:forget|hesitate|fail|neglect|be (?:afraid|shy)|mind)\s+to\s+/u,
  /^(?:do not|don't|dont|never)\s+(?:stop|rest|quit|give up)\s+(?:until|before|till)\s+/u,
  /^why (?:don't|do not|dont) (?:you|we)\s+/u,
  /^(?:vergiss|vergesst|vergessen sie) nicht,?\s+/u,
  /^(?:n'oublie pas|n'oubliez pas|n'hésite pas) (?:de |d'|à )/u,
  /^no (?:te )?olvides (?:de )?/u,
  /^non dimenticare di /u,
  /^não (?:se )?esqueça de /u,
];

/** The beginning of a clause that forbids its action, or limits another clause ("don't just list them"). */
export const forbids: readonly RegExp[] = [
  /^(?:do not|don't|dont|do n't|never|not|mustn't|must not|should not|shouldn't|no need to|i (?:don't|do not) want (?:you )?to|avoid|without)(?!\S)/u,
  /^no\s+(?!idea|problem|worries|matter|thanks|doubt)\p{L}+/u,
  /^(?:nicht|nichts|kein\p{L}*|niemals|nie|ohne)(?!\S)/u,
  /^(?:ne|n')\s?(?=\p{L}).*\b(?:pas|rien|jamais|plus|aucun\p{L}*|personne)(?!\S)/u,
  /^(?:pas|sans|aucun\p{L}*|jamais|rien) (?:de |d')?\p{L}/u,
  /^(?:no|nunca) (?!worries(?!\S))(?:(?:me|te|lo|la|los|las|le|les) )?\p{L}{3,}(?:es|as|éis|áis)(?!\S)/u,
  /^(?:nada de|sin)(?!\S)/u,
  /^(?:non|mai) (?:(?:lo|la|li|le|mi) )?\p{L}+(?:are|ere|ire|ar|er|ir)(?:l[oaie]|n[eo])?(?!\S)/u,
  /^(?:senza|niente)(?!\S)/u,
  /^(?:não|nunca) (?:(?:o|a|os|as|me) )?(?!pode|sabe|deve|existe|consegue|parece|quero|tem)\p{L}+(?:e|es|a|as|em)(?!\S)/u,
  /^sem(?!\S)/u,
];
/** A German negation may stand behind its verb: "starte den Server nicht neu". */
export const forbidsBehind = /(?<!\S)(?:nicht|nichts|niemals|kein(?:e[nmrs]?)?)(?!\S)/u;

/** From here on, a clause names what shall not happen: "list them without running anything". */
export const forbiddenTail = /\s(?:without|instead of|rather than|ohne|sans|sin|senza|sem)\s+(?=\S)(?!any (?:doubt|problem)).*$/u;

/** What is said before a question that is meant: "tell me what …". */
export const reported =
  /^(?:(?:tell|let) (?:me|us)(?: know)?|say|just say|i (?:only |just )?(?:want|wanted|need|would like|'d like)(?: you)? to (?:know|tell me|say)|i'd (?:only |just )?like to know|i wonder|sag mir|sage mir|ich (?:will|möchte) (?:nur )?wissen|dis-moi|je veux (?:juste |seulement )?savoir|dime|(?:solo )?quiero saber|dimmi|voglio (?:solo )?sapere|diga-me|me diga|(?:só )?quero saber)(?:,|:)?\s+(?=(?:what|why|how|which|who|whose|where|when|whether|if|was|warum|wie|welche\p{L}*|wer|wo|wann|ob|ce que|ce qui|pourquoi|comment|quel\p{L}*|qué|por qué|cómo|cuál\p{L}*|cosa|perché|come|quale|quali|o que|por que|como|qual)(?![\p{L}]))/u;

/** The beginning of a sentence that asks about a word. */
export const asksAboutWord: readonly RegExp[] = [
  /^(?:so )?what(?:'s| is| are| was| were| do| does| did)(?: (?:people|they|you) mean by)?(?= )/u,
  /^(?:define|definition of|(?:what's |what is )?(?:the )?(?:meaning of|difference between)|(?:is|are) there (?:a|any) difference between|explain (?:the )?(?:terms?|words?|concepts?|meaning|difference)(?: of| between)?)(?= )/u,
  /^why (?:is|are|do|does) (?:it|they|people|\p{L}+)(?: they)? call(?:ed)?(?: it)?(?= )/u,
  /^(?:was (?:ist|sind|bedeutet|heißt|meint)|unterschied zwischen|was ist der unterschied zwischen)(?= )/u,
  /^(?:que (?:signifie|veut dire)|qu'est-ce que(?: c'est que)?|c'est quoi|différence entre)(?= )/u,
  /^¿?(?:qué (?:es|son|significa|quiere decir)|diferencia entre)(?= )/u,
  /^(?:(?:che )?cos'è|(?:che )?cosa (?:è|sono|significa|vuol dire)|differenza tra)(?= )/u,
  /^(?:o que (?:é|são|significa|quer dizer)|diferença entre)(?= )/u,
  /^(?=\S+ (?:vs\.?|versus) \S+)/u,
];
/** What a sentence asks about, where it is no word but the work: an earlier message, or a plan for it. */
export const asksAboutWork =
  /^\s*(?:(?:it|this|that|they|these|those|he|she|there|das|es|dies|ça|cela|eso|esto|questo|quello|isso|isto)(?:\s+(?:mean|means|do|does|exactly|again|for|about|genau|exactamente))*\s*$|(?:the |your |our |my |a good |a better |the best |best |good |le |la |el |il |o |der |die |das )*(?:next |first |best |right |good |migration |rollout )?(?:plan|plans|approach|strategy|strategies|steps?|options?|way|roadmap|proposal|vorgehen|schritte|approche|étapes|enfoque|pasos|approccio|passi|abordagem|passos)(?:$|\s+(?:to|for|here|forward|of action|für|um|pour|para|per)(?!\S)))/u;

/** Takes back or interrupts what was asked before. Whole clauses. */
export const interrupts =
  /^(?:(?:no|ok|okay|oh|hm+|well|nein|non|não),?\s+)?(?:wait(?: a (?:moment|minute|second|sec|bit))?|hold (?:on|it|off)|hang on|stop|halt|pause|scratch (?:that|it)|strike that|never ?mind|nvm|forget (?:it|that|about it)|cancel(?: (?:it|that))?|abort|leave (?:it|that)|drop (?:it|that)|skip (?:it|that)|not (?:now|yet|that one|this one|so fast)|one (?:moment|second|sec|minute)|just a (?:moment|second|sec|minute)|warte(?: mal)?|moment(?: mal)?|halt(?: mal)?|stopp|lass (?:das|es|gut sein)|vergiss (?:es|das)|einen moment|abbrechen|attends|attendez|une seconde|un instant|laisse tomber|oublie(?: ça)?|stoppe|annule|arrête|espera|espere|un momento|olvídalo|déjalo|olvida eso|para|cancela|aspetta|un attimo|un momento|lascia (?:stare|perdere)|lascialo|fermati|annulla|dimenticalo|um momento|deixa (?:pra lá|para lá|isso)|esquece(?: isso)?|pare|calma|stop it|hold that thought)[\s.!]*$/u;

/** Words with no subject of their own. A request of these alone, and of verbs, goes on with what was said before. */
export const withoutSubject: ReadonlySet<string> = new Set(
  `a an the about into than this that these those it its them they both all one ones two three of in on at up down off out back over with for to from by please pls
  first second third last next other others option options step same again once more time times further too also as well still so then now not no
  nope yes yep yeah y ok okay k sure fine good great looks sounds right perfect nice cool i me my you your we us is are was be do does did doing
  don't dont and but or if let's lets let it's that's that'd here there go ahead keep going continue carry proceed like way
  das es dies dieses den die der dem ein eine einen einmal noch mal nochmal wieder ab bitte ja nein ok gut jetzt dann und aber auch so genau alles alle
  ich du mir dir nicht weiter andere anderen nächste zweite erste
  le la les l un une ça cela ce ceci en y lui encore fois de nouveau s'il te plaît svp oui non bien alors maintenant et mais aussi tout tous je tu vas
  lo los las el ella eso esto otra otro vez veces de nuevo por favor sí si no bien vale ahora y pero también todo todos la segunda
  il lo gli i ancora una volta di nuovo per favore sì no bene ora adesso e ma anche tutto tutti questo quello così
  o os as isso isto mais uma vez de novo novamente por favor sim não bem agora e mas também tudo todos`.split(/\s+/),
);
