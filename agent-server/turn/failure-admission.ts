/** A step that failed or was denied, as its card shows it. */
export interface FailedStep {
  readonly title: string;
  /** Its path, command or URL. */
  readonly subject: string;
}

/** So much of an answer is read, from its end, where it sums up (characters). */
const readCharacters = 50_000;
/** Longer parts are no sentences, and are cut (characters). */
const clauseCharacters = 500;

/** The parts of an answer in a common form: straight apostrophes, lower case, no code blocks. */
function clausesOf(answer: string): string[] {
  return answer
    .slice(-readCharacters)
    .normalize("NFKC")
    .replaceAll(/[’‘ʼ´]/g, "'")
    .replaceAll(/```[\s\S]*?(?:```|$)/g, "\n")
    .toLowerCase()
    .split(
      /(?<=[.!?:;])\s+|\n|[。！？；]|,\s+(?=(?:but|aber|mais|pero|ma|mas|though|although|so|since|because|as|and)\s)|\s(?:but|aber|mais|pero|although|doch)\s/u,
    )
    .flatMap((clause) => (clause.length <= clauseCharacters ? [clause] : (clause.match(cut) ?? [])))
    .filter((clause) => /[\p{L}\p{N}]/u.test(clause));
}

const cut = new RegExp(`[^]{1,${String(clauseCharacters)}}`, "gu");

/**
 * Words of failure that report none: what was repaired, handled or written about, and what did not happen. They are removed before a
 * clause is read.
 */
const harmless: readonly RegExp[] = [
  // Not a failure: "no errors", "0 failed", "without a single failure", "not blocked".
  /\b(?:no|not (?:a |an |any )?(?:single )?|never|none|nothing|nobody|without (?:a |an |any )?(?:single )?|0|zero) (?:\p{L}+ )?(?:is |was |are |were )?(?:errors?|fail(?:s|ed|ures?|ing)?|problems?|issues?|conflicts?|broken|blocked|denied|refused|rejected|difficult\w*)\b/gu,
  /\b(?:no longer|can(?:no|')t|cannot|won't|will not|doesn't|does not|don't|do not) (?:\p{L}+ )?(?:fail|throw|break|happen|crash)\w*/gu,
  /(?<!\p{L})(?:kein\p{L}*|ohne|nichts|sans|aucun\p{L}*|sin|ning\p{L}*|no hay|senza|nessun\p{L}*|sem|nenhum\p{L}*|pas d'|não há|non ci sono)(?: \p{L}+)? (?:fehler\p{L}*|problem\p{L}*|erreurs?|conflits?|error\p{L}*|conflictos?|erros?|falh\p{L}*|rot)(?!\p{L})/gu,
  /(?<!\p{L})no falla(?!\p{L})/gu,
  // Attributes: "the failing test", "error handling", "denied requests", "rejected payments".
  /\b(?:error|failure|exception)s?[- ](?:handling|handler|message|page|code|case|path|boundary|state|text|log)s?\b/gu,
  /\b(?:the|a|an|of|for|all|these|those|your|my|any|every|about|on|and) (?:\p{L}+ )?(?:failing|failed|broken|denied|refused|rejected|blocked|denied-\p{L}+) \p{L}+/gu,
  // Repaired: "fixed the error", "the failure is fixed", "the tests that failed before are green".
  /\b(?:fix|repair|solv|resolv|handl|catch|correct)\p{L}*\b(?: \p{L}+){0,4} (?:errors?|failures?|exceptions?|failing|bugs?)\b/gu,
  /\b(?:errors?|failures?|bugs?|falha|erro|error|erreur|errore|fehler)\b(?: \p{L}+(?:\.ts)?){0,5} (?:(?:is|are|was|were|ist|est|está|è|foi) )?(?:now )?(?:fixed|repaired|solved|gone|handled|behoben|corrigé\p{L}*|corrigid\p{L}*|arreglad\p{L}*|risolt\p{L}*)/gu,
  /\bthat (?:had )?(?:failed|fails|broke) before\b/gu,
  /\b(?:catches|shows|handles|throws|returns|rejects|refuses|blocks|denies) (?:the |an |a |all )?(?:\p{L}+ )?(?:errors?|orders?|requests?|amounts?|users?)?/gu,
  // Orders to the reader: "do not forget to restart".
  /\b(?:don't|do not) (?:forget|hesitate|worry|need)\b/gu,
];

const done = String.raw`(?:(?:been|be|get|being) )?(?:\p{L}+(?:ed|en)|done|made|run|pushed|sent|found|built|cut|put|set|written|through)`;

/** What reports a failure by itself, whatever it is about. */
const reports: readonly RegExp[] = [
  // The writer could not, was not able or allowed to.
  /\b(?:i|we) (?:also |still |unfortunately |therefore |just )?(?:could|can|cannot|may|might|must)(?:n't| ?not)?(?<=n't|not)\b/u,
  /\b(?:i|we)(?: was| were| am| are|'m|'re)(?:n't| not) (?:able|allowed|permitted|authori[sz]ed|supposed)\b/u,
  /\b(?:i|we) (?:(?:was|were|am|are) )?(?:unable|prevented|blocked|denied|refused|stopped|forbidden)\b/u,
  /\b(?:i|we) (?:did(?:n't| not)|have(?:n't| not)|never) (?:manage|succeed|get|finish|complete|delet|remov|chang|edit|push|run|appl|do\b|done|made)/u,
  /\b(?:i|we) (?:had to|have to) (?:stop|skip|leave|give up|omit)\b|\b(?:i|we) (?:skipped|gave up)\b|\b(?:i|we)(?:'ve| have)? left (?:it|\S+) (?:in place|untouched|unchanged|as it)/u,
  /\b(?:unable|failed) to\b|\bwithout success\b|\bunsuccessful(?:ly)?\b|\bto no avail\b|\bran into (?:an? )?(?:error|problem|issue|trouble)/u,
  // Something did not happen, or ended badly.
  new RegExp(
    String.raw`\b(?:could(?:n't| not)|was(?:n't| not)|were(?:n't| not)|has(?:n't| not)|have(?:n't| not)|had(?:n't| not)) be(?:en)? \p{L}+`,
    "u",
  ),
  /\b(?:did(?:n't| not)) (?:work|succeed|go through|happen|complete|finish|pass|apply|run|allow|let|permit|approve|take effect|go well)\b/u,
  /\b(?:is|are|was|were)(?:n't| not) (?:allowed|permitted|possible|approved|authori[sz]ed|successful|granted|applied|executed|completed|finished|pushed|deleted|removed|changed|done)\b/u,
  /\bnothing (?:was|has been|is) (?:pushed|deleted|removed|changed|done|applied|run|written|saved)\b/u,
  /\b(?:end(?:s|ed)|exit(?:s|ed)|finish(?:es|ed)|broke off|stopped|came back|return(?:s|ed)) (?:with )?(?:an? |some )?(?:errors?|code [1-9]|failures?|exit code [1-9]|non-?zero)/u,
  /\b(?:is|are|was|were|been|got|gets|being) (?:\p{L}+ly )?(?:denied|declined|rejected|refused|blocked|prevented|skipped|aborted|interrupted|cancell?ed|forbidden|turned down|timed out)\b/u,
  /\b(?:you|policy|governance|soul|rules?|request|server|system|approval)\b.{0,30}\b(?:declin|den(?:y|ied|ies)|reject|refus|block|prevent|forb|disallow|turned)\p{L}*/u,
  /\byou (?:did(?:n't| not)|have(?:n't| not)) (?:allow|approve|permit|confirm|accept|answer|grant)/u,
  /\b(?:need|needs|requires?|awaits?|waits? for|waiting for|without) (?:your |the owner's )?(?:approval|permission|consent|confirmation)\b/u,
  /\byou(?:'ll| will| would| must| need| have| can)?(?: have)?(?: to)? \p{L}+ (?:it|them|this|that|\S+) (?:yourself|manually|by hand)\b/u,
  /\bpermission denied\b|\bnot permitted\b|\baccess denied\b|❌|✗|✘|\[ \]/u,
  /\b(?:[1-9]\d*|one|two|three|four|five|some|several|many) (?:tests? |checks? )?(?:still )?(?:fail(?:ed|s|ing)?|errors?|are red)\b/u,
  // A predicate: "the edit failed", "`npm test` fails".
  /(?:^|[\p{L}\p{N}`)"'*_] )(?:still |also |then |just |unfortunately )?(?:failed|fails|errored)(?=$|[\s.,:;!)])/u,
  /\b(?:is|are|keeps?|still) (?:still )?(?:failing|fail|broken|red|missing)\b/u,
  // German
  /\b(?:konnte\p{L}*|kann|darf|durfte\p{L}*|ließ\p{L}*|wurde\p{L}*|ist|sind|hat|haben|war\p{L}*) (?:.{0,60} )?nicht (?:.{0,20} )?(?:\p{L}+(?:en|t|eln)|möglich|erlaubt)(?!\p{L})/u,
  /(?<!\p{L})(?:fehlgeschlagen|schl(?:ug|ägt|ugen) .{0,20}fehl|gescheitert|misslungen|abgelehnt|verweigert|blockiert|untersagt|abgebrochen|scheiter\p{L}+|nicht (?:möglich|erlaubt|gelungen|geklappt|erfolgreich))(?!\p{L})|end(?:et|eten?|ete) mit (?:einem )?fehler/u,
  // French
  /\b(?:n'ai|n'a|n'ont|n'avons|n'est|n'était|ne peux|ne peut|ne pouvais) pas (?:été |pu |réussi |fonctionné|abouti|marché|autoris|permis|possible|\p{L}+é)/u,
  /(?<!\p{L})(?:échou\p{L}*|a été (?:refus|bloqu|rejet|interrom)\p{L}*|ont été (?:refus|bloqu|rejet)\p{L}*|refusé\p{L}* (?:par|de)|impossible de|sans succès)/u,
  // Spanish
  /(?<!\p{L})(?:no (?:he |ha |se )?(?:pude|pudo|podido|puedo|puede|logré|logró|conseguí|funcionó|fue posible|está permitido|me dejó|se ejecutó|se aplicó)|fall(?:ó|aron|aba)|ha(?:n)? fallado|fue(?:ron)? (?:rechazad|denegad|bloquead|cancelad)\p{L}*|rechazaste|denegaste|sin éxito)(?!\p{L})/u,
  // Italian
  /(?<!\p{L})(?:non (?:sono|è|siamo) (?:stat\p{L}+ )?(?:riuscit\p{L}*|possibile|permess\p{L}*|consentit\p{L}*|andat\p{L}*|\p{L}+at[oaie])|non (?:ho|ha|hanno) (?:potuto|funzionato|\p{L}+ato)|non posso|fallit[oaie]|è stat[oa] (?:rifiutat|negat|bloccat|respint)\p{L}*|sono stat[ie] (?:rifiutat|negat|bloccat|respint)\p{L}*|hai rifiutato|senza successo)(?!\p{L})/u,
  // Portuguese
  /(?<!\p{L})(?:não (?:consegui\p{L}*|pude|pôde|posso|foi possível|foram|funcionou|deu certo|é permitido|foi \p{L}+d[oa])|falh(?:ou|aram)|(?:foi|foram) (?:recusad|negad|bloquead|rejeitad)\p{L}*|você (?:recusou|negou|rejeitou)|sem sucesso)(?!\p{L})/u,
  // Chinese, Japanese, Russian
  /失败|无法|拒绝|できません|できなかった|失敗|拒否|не удалось|не смог|отказ|ошибк\p{L}+ при|не получилось/u,
];

/** Negations that report a failure only of what they name: "cart.ts was not changed". */
const reportsOfSubject: readonly RegExp[] = [
  new RegExp(String.raw`\b(?:could|can|was|were|is|are|has|have|had|did)(?:n't| ?not) ${done}`, "u"),
  /\b(?:remains?|is still|are still|still exists?|left|untouched|unchanged|as it was|in place|pending|open|undone|skipped)\b/u,
];

/**
 * Whether an answer says that a step did not work. It reads clause by clause: a failure that is only repaired, handled or ruled out does not
 * count. It looks for the forms in which failures are reported, in six languages, and for negations of what the steps are about.
 */
export function admitsFailure(answer: string, steps: readonly FailedStep[]): boolean {
  const names = new Set(steps.flatMap(({ title, subject }) => namesIn(`${title} ${subject}`)));
  return clausesOf(answer).some((written) => {
    const clause = harmless.reduce((text, pattern) => text.replaceAll(pattern, " … "), written);
    if (reports.some((pattern) => pattern.test(clause))) return true;
    return [...names].some((name) => clause.includes(name)) && reportsOfSubject.some((pattern) => pattern.test(clause));
  });
}

/** Names of files and longer words of a step. */
function namesIn(text: string): string[] {
  const words = text.toLowerCase().match(/[\p{L}\p{N}_.-]+/gu) ?? [];
  return words.filter((word) => word.length >= 4 || word.includes("."));
}
