import { type Report, weights } from "./candidate.ts";
import type { NameCueKind } from "./cues.ts";
import { givenName } from "./first-names.ts";
import { isNotName, knownGivenName, type NameToken, readName, countWords } from "./name-tokens.ts";

/** Weight of a name that needs other personal data nearby as evidence (a table row, a form, a signature). */
export const needsEvidence = 0.5;

/** A person has a few titles; without a limit, each of a long list of them would be read to its end. */
const titles =
  "(?:(?:Dr|Prof|Dipl|Ing|Mr|Mrs|Ms|Herr|Herrn|Frau|Fr|Hr|M|Mme|Mlle|Monsieur|Madame|Sr|Sra|Srta|Señor|Señora|señor|señora|Don|Doña|don|doña|D|Dña|Sig|Signor|Signora|signor|signora|Dott|Dott\\.ssa|Sig\\.ra|Avv|Senhor|Senhora|senhor|senhora|Sr\\.ª|Exmo|Exma|Maître|Docteur|Professor|Doctor|med|rer|nat|phil|jur)\\.? ){0,6}";
const afterTitle = new RegExp(`\\.?[ \\u00a0]{1,2}${titles}`, "yu");
const afterGreeting = new RegExp(`[ \\u00a0]{1,2}${titles}`, "yu");
const separator = /["'`\])*_]{0,3}\s{0,3}(?::|=>|=|->|→|–|-(?= )|\||>)\s{0,4}["'`*_([|]{0,4}\s{0,2}/y;
const spaced = /[ \t]{1,4}/y;
const letterOrDigit = /[\p{L}\p{N}_]/u;

/** Finds a person's name after a cue. @param at end of the cue; @param start its start */
export function findNameAfterCue(text: string, kind: NameCueKind, start: number, at: number, report: Report): void {
  switch (kind) {
    case "title":
      return nameAfterTitle(text, start, at, report);
    case "greeting":
      return nameAfterGreeting(text, start, at, report);
    case "closing":
      return nameAfterClosing(text, start, at, report);
    case "introduction":
      return nameAfterIntroduction(text, start, at, report);
    case "mention":
      return nameAfterMention(text, start, at, report);
    case "given_name":
    case "full_name":
    case "weak_name":
      return nameAfterLabel(text, kind, start, at, report);
  }
}

function skip(text: string, at: number, pattern: RegExp): number | null {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : null;
}

/** False for parts of a path, a call, an address or an identifier. */
function standsAlone(text: string, tokens: readonly NameToken[]): boolean {
  const start = tokens[0]?.start ?? 0;
  const end = tokens.at(-1)?.end ?? 0;
  return (
    !/(?:[\w#/\\.$-]|[^\s]@)$/.test(text.slice(Math.max(0, start - 2), start)) &&
    !/^(?:[\w@(/\\=$[{]|\.[\p{L}\d_]|-[\p{L}\d]|::|<[A-Z])/u.test(text.slice(end, end + 2))
  );
}

function reportName(text: string, tokens: readonly NameToken[], weight: number, report: Report): void {
  const start = tokens[0]?.start;
  const end = tokens.at(-1)?.end;
  if (start !== undefined && end !== undefined && standsAlone(text, tokens)) report(start, end, "person", weight);
}

function isWordStart(text: string, start: number): boolean {
  return start === 0 || !letterOrDigit.test(text.charAt(start - 1));
}

const isUpper = (char: string): boolean => char !== char.toLowerCase();

function nameAfterTitle(text: string, start: number, at: number, report: Report): void {
  const word = text.slice(start, at);
  if (!isWordStart(text, start) || /[-./\\@#]$/.test(text.charAt(start - 1))) return;
  if (
    !isUpper(word) &&
    !/^(?:señora?|señorita|don|doña|monsieur|madame|mademoiselle|signora?|signorina|senhora?|docteur|maître|meneer|mevrouw|dott|dra?|sra?|srta|sig|sig\.ra|avv)$/.test(
      word,
    )
  )
    return;
  // A single letter or short word is a title only with a period.
  if (/^(?:M|MM|Fr|Hr|Ing|Avv|fr|sr|sra|dr|dra|sig|dott|avv|ing)$/.test(word) && text.charAt(at) !== ".") return;
  const from = skip(text, at, afterTitle);
  if (from === null) return;
  const tokens = readName(text, from);
  if (tokens.length === 0 || /^(?:Sr|Jr|Sc|Pepper|Who|Watson)$/.test(tokens[0]?.text ?? "")) return;
  if (word === "MS") return;
  // `Don Draper` (a given name) and `Cache Miss Ratio` (not a title).
  if (/^(?:Miss|Sir|Madam|Don|don)$/.test(word) && knownGivenName(tokens) === null) return;
  reportName(text, tokens, weights.tight, report);
}

const formalGreeting =
  /^(?:dear|sehr geehrter?|lieber?|chère?|estimad[oa]|querid[oa]|apreciad[oa]|gentile|egregi[oa]|gentilissim[oa]|car[oa]|prezad[oa]|geachte|szanown[ya])$/i;

function nameAfterGreeting(text: string, start: number, at: number, report: Report): void {
  if (!isWordStart(text, start)) return;
  const word = text.slice(start, at);
  const comma = text.charAt(at) === ",";
  const from = skip(text, comma ? at + 1 : at, afterGreeting);
  if (from === null) return;
  const tokens = readName(text, from);
  const after = text.slice(tokens.at(-1)?.end ?? 0).charAt(0);
  if (
    tokens.length === 0 ||
    countWords(tokens) > 4 ||
    !(
      after === "" ||
      /[,!.:;?\n\r)"'<\\—–-]/.test(after) ||
      /^ (?:[,!\u2013\u2014(-]|\p{Extended_Pictographic}|and|und|et|y|e|i'm|i|just|can|could|here|how|please|wie|wir|ich|je)/iu.test(
        text.slice(tokens.at(-1)?.end ?? 0, (tokens.at(-1)?.end ?? 0) + 12),
      )
    )
  )
    return;
  const known = knownGivenName(tokens);
  if (known === "sure" || (known !== null && !comma)) return reportName(text, tokens, weights.tight, report);
  if (comma || !isUpper(word.charAt(0))) return;
  if (
    formalGreeting.test(word) ||
    (/^(?:hi|hello|hey|hallo|hola|ciao|olá|oi|bonjour|salut|moin|hoi|buongiorno)$/i.test(word) &&
      /[,!]/.test(after) &&
      countWords(tokens) <= 2)
  )
    reportName(text, tokens, weights.loose + 0.5, report);
}

const signatureGap = /[ \t]{0,2}[,!.]?[ \t]{0,2}(?:\r?\n|\\n|<br ?\/?>){1,3}[ \t>*#/]{0,6}(?:[-–—~] ?)?/y;
const signatureInLine = /,[ \t]{1,2}/y;

function nameAfterClosing(text: string, start: number, at: number, report: Report): void {
  if (!isWordStart(text, start)) return;
  const below = skip(text, at, signatureGap);
  const from = below ?? skip(text, at, signatureInLine);
  if (from === null) return;
  const tokens = readName(text, skip(text, from, new RegExp(titles, "yu")) ?? from);
  const end = tokens.at(-1)?.end;
  if (end === undefined || !/^(?:$|[\s,.<|("\\]*(?:$|[\n\r]|\\n|[,|<("(]))/.test(text.slice(end, end + 4))) return;
  const known = knownGivenName(tokens);
  if (known !== null || (below !== null && countWords(tokens) >= 1 && countWords(tokens) <= 4))
    reportName(text, tokens, known === null ? weights.loose : weights.tight, report);
}

const strongIntroduction =
  /^(?:my name|name is|i am called|mein name|name ist|ich hei|je m|mon nom|me llamo|mi nombre|mi chiamo|il mio nome|meu nome|o meu nome|chamo|me chamo|il s|elle s|se llama|si chiama|chama se|se chama|named|namens|nommée?|nome è|di nome)/i;

function nameAfterIntroduction(text: string, start: number, at: number, report: Report): void {
  if (!isWordStart(text, start)) return;
  const gap = skip(text, at, afterGreeting);
  if (gap === null) return;
  const strong = strongIntroduction.test(text.slice(start, at));
  const tokens = readName(text, gap);
  if (tokens.length === 0) {
    const lower = /^\p{Ll}{3,20}(?![\p{L}\d_./(=-])/u.exec(text.slice(gap, gap + 24))?.[0];
    if (strong && lower !== undefined && givenName(lower) === "sure") report(gap, gap + lower.length, "person", weights.loose);
    return;
  }
  const known = knownGivenName(tokens);
  if (strong ? known !== null || countWords(tokens) >= 1 : known === "sure" || (known !== null && countWords(tokens) >= 2)) {
    // `class named Foo` and `namens Foo` refer to things.
    if (
      known === null &&
      (/^(?:named|namens|nommée?|di nome|name is|nome è|name ist)/i.test(text.slice(start, at)) || countWords(tokens) > 4)
    )
      return;
    reportName(text, tokens, known === null ? weights.loose + 0.5 : weights.tight, report);
  }
}

function nameAfterMention(text: string, start: number, at: number, report: Report): void {
  if (!isWordStart(text, start) || /[.@#/\\$]$/.test(text.charAt(start - 1))) return;
  const from = skip(text, at, spaced);
  if (from === null) return;
  const tokens = readName(text, from);
  const known = knownGivenName(tokens);
  const begins = givenName(tokens[0]?.text ?? "");
  if ((known === "sure" && begins !== null) || (known !== null && countWords(tokens) >= 2 && begins !== null && at - start > 4))
    reportName(text, tokens, weights.loose, report);
}

const explicitName = /name|nom|patient|passagier|contact person/i;

function nameAfterLabel(text: string, kind: NameCueKind, start: number, at: number, report: Report): void {
  const separated = skip(text, at, separator);
  const tag = text.charAt(start - 1) === "@" || /(?:by|von|par|por|da)$/i.test(text.slice(start, at));
  const from = separated ?? (tag ? skip(text, at, spaced) : null);
  if (from === null) return isWordStart(text, start) ? nameAfterMention(text, start, at, report) : undefined;
  const begin = skip(text, from, new RegExp(titles, "yu")) ?? from;
  let tokens = readName(text, begin);
  if (tokens.length === 0) {
    // Names in forms and addresses may be in lower case.
    const lower = /^\p{Ll}{3,20}(?![\p{L}\d_./(=-])/u.exec(text.slice(from, from + 24))?.[0];
    if (kind !== "weak_name" && lower !== undefined && givenName(lower) === "sure")
      report(from, from + lower.length, "person", weights.loose);
    return;
  }
  // `Müller, Anna` and `DUPONT, Jean`.
  const end = tokens.at(-1)?.end ?? begin;
  if (countWords(tokens) <= 2 && /^, \p{Lu}/u.test(text.slice(end, end + 3))) {
    const given = readName(text, end + 2);
    if (given.length > 0 && given.length <= 2 && knownGivenName(given) !== null && knownGivenName(tokens) === null)
      tokens = [...tokens, ...given];
  }
  const known = knownGivenName(tokens);
  const words = countWords(tokens);
  const allUpper = tokens.every(({ text: word }) => word.length > 1 && word === word.toUpperCase());
  if (allUpper && known === null && kind !== "given_name") return;
  const isName = explicitName.test(text.slice(start, at));
  if (kind === "given_name") {
    if (words <= 2 && !(allUpper && words === 1 && (tokens[0]?.text.length ?? 0) < 3) && endsValue(text, tokens))
      reportName(text, tokens, weights.tight, report);
  } else if (known === "sure" ? words >= 2 || isName || kind === "full_name" || tag : known !== null && words >= 2)
    reportName(text, tokens, weights.tight, report);
  else if (!endsValue(text, tokens) || words > 4) return;
  else if (kind === "full_name" && words >= 2) reportName(text, tokens, weights.loose + 0.5, report);
  else if (
    /^(?:authors?|auteure?|autor|autora|autore|(?:written|created|reviewed|approved|requested|submitted) by|(?:erstellt|geschrieben|bearbeitet) von|(?:créé|écrit|rédigé) par|(?:creado|escrito|criado) por|(?:creato|scritto) da)$/i.test(
      text.slice(start, at),
    ) &&
    words >= 2 &&
    words <= 3
  )
    reportName(text, tokens, weights.loose, report);
  else if (words >= 2 || (isName && kind === "full_name")) reportName(text, tokens, needsEvidence, report);
}

/** True when the value ends after the tokens: a quote, a comma, a line break. */
function endsValue(text: string, tokens: readonly NameToken[]): boolean {
  const end = tokens.at(-1)?.end ?? 0;
  return /^(?:$|["'`,;|)\]}<\n\r*\\]|\.?\s*(?:$|[\n\r<(|,;&]|\\n)|\.\s|\s[-–—<(/]|\s(?:and|und|et|y|e|lives|is|was|has|wohnt|hat|ist|née?|born|geb|tel|phone)\b)/i.test(
    text.slice(end, end + 10),
  );
}

const beforeAddress =
  /(?:^|[\s"'(:,;>[*|=])((?:\p{Lu}[\p{L}'’.-]{0,30}[ \u00a0]){0,3}\p{Lu}[\p{L}'’-]{1,30})["']?\s{0,2}(?:[<(]|&lt;|\\u003[cC])(?:mailto:)?$/u;

/** Finds the name before an e-mail address: `Jane Doe <jane@…>`. */
export function findNameBeforeEmail(text: string, email: number, report: Report): void {
  const window = text.slice(Math.max(0, email - 140), email);
  const match = beforeAddress.exec(window);
  const name = match?.[1];
  if (name === undefined || match === null) return;
  const at = Math.max(0, email - 140) + match.index + match[0].indexOf(name);
  const tokens = readName(text, at);
  if (countWords(tokens) >= 2 || knownGivenName(tokens) !== null) reportName(text, tokens, weights.tight, report);
}

/** Finds an unambiguous given name followed by a family name, without a cue. */
export function findNameByItself(text: string, start: number, report: Report): void {
  if (start > 0 && /(?:[\p{L}\p{N}_#/\\.$-]|[^\s]@)$/u.test(text.slice(Math.max(0, start - 2), start))) return;
  // San Francisco, Port Louis, Santa Cristina.
  if (
    /(?:^|[^\p{L}])(?:San|Santa|Santo|São|Saint|Sainte|St\.?|Sankt|Mount|Port|Fort|Lake|Los|Las|Cape|Sant|Sint|Villa|Rue|rue|Via|via|Calle|Rua|Avenue|Place|Piazza|Plaza|Praça)[ -]$/u.test(
      text.slice(Math.max(0, start - 12), start),
    )
  )
    return;
  const tokens = readName(text, start);
  const [given, family] = tokens.filter(({ particle }) => !particle);
  if (given === undefined || family === undefined || given.start !== start || family.text.length < 3) return;
  if (
    given.text === given.text.toUpperCase() ||
    isNotName(family.text) ||
    /[\p{Ll}]\p{Lu}/u.test(family.text.replace(/^(?:Mc|Mac|De|Di|Le|La|Van|Fitz)/, ""))
  )
    return;
  if (family.text === family.text.toUpperCase() && family.text.length < 4) return;
  reportName(text, tokens, weights.loose, report);
}

/** Finds a capitalized word before an unambiguous family name: `Khalil Hernández`. @param start of the family name */
export function findNameByFamily(text: string, start: number, report: Report): void {
  const before = /(?<![\p{L}\p{N}_@#/\\.$'’-])(\p{Lu}[\p{L}'’-]{1,20})[ \u00a0](?:(?:de|da|do|dos|von|van|del|della|di|du|le|la) )?$/u.exec(
    text.slice(Math.max(0, start - 32), start),
  );
  const given = before?.[1];
  if (before === null || given === undefined || isNotName(given) || given === given.toUpperCase()) return;
  const tokens = readName(text, Math.max(0, start - 32) + before.index);
  if (tokens.some((token) => token.start === start)) reportName(text, tokens, weights.loose, report);
}

/** Verbs in the third person whose subject is usually a person. */
const personVerb = new RegExp(
  String.raw`[ \u00a0]{1,2}(?:(?:also|just|then|has|had|hat|habe|a|ha|já|ya) )?(?:` +
    "called|wrote|writes|said|says|asked|asks|told|tells|mentioned|replied|answered|reported|joined|left|works|worked|lives|lived|moved|agreed|suggested|complained|confirmed|explained|signed|paid|owes|wants|wanted|needs|thinks|died|married|arrived|" +
    "angerufen|schrieb|schreibt|sagte|sagt|fragte|fragt|meinte|meint|antwortete|wohnt|wohnte|arbeitet|arbeitete|berichtete|kommt|kam|ging|geht|möchte|bat|bittet|kündigte|zahlte|bezahlte|erklärte|wurde geboren|hat|ist krank|" +
    "appelé|rappelé|écrit|dit|demandé|répondu|habite|habitait|travaille|travaillait|arrive|souhaite|veut|signé|payé|expliqué|quitté|est malade|pense|vit|" +
    "llamó|volvió a llamar|llama|escribió|escribe|dijo|dice|preguntó|pregunta|respondió|vive|vivía|trabaja|trabajaba|quiere|firmó|pagó|explicó|llegó|pidió|piensa|está de baja|" +
    "chiamato|richiamato|chiama|scritto|scrive|detto|dice|chiesto|chiede|risposto|abita|abitava|lavora|lavorava|vuole|firmato|pagato|spiegato|arriva|pensa|è malato|è malata|" +
    "ligou|liga|escreveu|escreve|disse|diz|perguntou|pergunta|respondeu|mora|morava|trabalha|trabalhava|quer|assinou|pagou|explicou|chegou|pediu|pensa|está doente" +
    String.raw`)(?![\p{L}\d])`,
  "yu",
);
const lineOfChat =
  /^[ \t>]{0,6}(?:\[?\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?: ?[AP]M)?\]?|\[\d{4}-\d{2}-\d{2}[T ][\d:.]{5,12}Z?\])[ \t]{0,3}(?:[-–] )?<?$/;
const pairOfWords =
  /(?<![\p{L}\p{N}_@#/\\.$'’-])\p{Lu}\p{Ll}{1,20}(?:-\p{Lu}\p{Ll}{1,20})?[ \u00a0](?:(?:de|da|do|dos|von|van|del|della|di|du|le|la) )?\p{Lu}[\p{Ll}'’]\p{L}{1,20}/gu;

/** Finds two capitalized words before a person verb or at the start of a chat line. */
export function findNamesByVerb(text: string, report: Report): void {
  for (const { index } of text.matchAll(pairOfWords)) {
    const tokens = readName(text, index);
    const end = tokens.at(-1)?.end;
    if (end === undefined || countWords(tokens) < 2) continue;
    personVerb.lastIndex = end;
    const before = text.slice(Math.max(0, index - 48), index);
    const line = before.slice(before.lastIndexOf("\n") + 1);
    const speaks = /^>?\s?:\s/.test(text.slice(end, end + 4)) && line.length <= 40 && lineOfChat.test(line);
    if (speaks || personVerb.test(text)) reportName(text, tokens, weights.loose, report);
  }
}
