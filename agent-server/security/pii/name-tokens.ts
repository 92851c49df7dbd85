import { givenName } from "./first-names.ts";

/** Capitalized words that are not part of a name: general salutations, roles, companies, days and technical terms. */
const notNames = new Set(
  (
    "banco banca banque sparkasse volksbank deutsche deutscher deutsches real club fútbol gobierno ministerio comisión gouvernement ministre premier première presidente président parlamento parliament government congress senate federal bundes europäische " +
    "the a an this that these those it its we you they he she i my your our their all any every everyone everybody anybody nobody team folks friends guys there world user users admin customer customers client clients " +
    "sir madam mr mrs ms dr prof herr frau herrn damen herren kollegen kolleginnen zusammen leute alle team monsieur madame mesdames messieurs tous toutes chers équipe señor señora señores todos todas equipo signor signora tutti team " +
    "senhor senhora senhores equipe pessoal hiring manager support service services sales marketing engineering developer developers engineer engineers director assistant reader readers community members member colleague colleagues " +
    "inc gmbh ltd llc corp corporation company co ag kg sa sarl srl spa plc bv nv foundation software systems technologies technology labs lab university institute college school press group project projects authors author contributors " +
    "bank insurance studio studios media solutions consulting partners associates holdings international industries limited association society council department office committee ministry agency hospital clinic hotel restaurant café " +
    "monday tuesday wednesday thursday friday saturday sunday january february march april june july august september october november december montag dienstag mittwoch donnerstag freitag samstag sonntag lundi mardi mercredi jeudi vendredi " +
    "samedi dimanche lunes martes miércoles jueves viernes sábado domingo lunedì martedì mercoledì giovedì venerdì sabato domenica segunda terça quarta quinta sexta today tomorrow yesterday heute morgen gestern " +
    "new old big small great good best happy first last next previous open close start stop run build test tests deploy release create update delete remove add get set put post read write load save send receive check fix feature bug issue " +
    "error errors warning info debug trace log logs file files folder directory path name names type types class function method object array string number boolean integer float double char text varchar byte bytes null none nil undefined " +
    "true false optional required default value values key keys id ids uuid url uri http https api sdk cli gui ui ux html css js ts json xml yaml sql csv pdf png svg git github gitlab docker kubernetes linux windows macos ubuntu debian android ios " +
    "java javascript typescript python ruby rust go golang perl php swift kotlin scala node react angular vue svelte django flask rails spring hibernate express postgres postgresql mysql sqlite redis mongo mongodb kafka nginx apache jenkins maven " +
    "gradle webpack vite eslint prettier jest mocha cypress playwright selenium chrome firefox safari edge opera google microsoft amazon apple facebook meta twitter netflix oracle ibm intel nvidia adobe openai anthropic enterprise platform sonnet opus haiku monet azure aws gcp cloud " +
    "server servers database table tables column columns row rows field fields index query schema model models view views controller component components module modules package packages library framework application app apps web page pages site " +
    "website mobile desktop network security system data code source license version copyright rights reserved public private protected static final abstract interface enum struct union void const let var import export return if else for while do " +
    "switch case break continue try catch throw finally async await promise callback event events handler listener request response session token auth authentication authorization login logout password email address phone number date time " +
    "street road avenue city state country zip code order orders invoice payment account accounts product products price total amount quantity description title subject message messages content body header footer menu button link image video audio " +
    "north south east west northern southern central united states kingdom europe america africa asia australia germany france spain italy portugal brazil india china japan berlin london paris madrid rome lisbon york german french " +
    "english spanish italian portuguese american european deutsch français español italiano português please thanks thank regards hello hi hey dear yes no not ok okay sorry welcome note notes todo fixme see also and or but with without from to by of in on at " +
    "as is are was were be been being have has had will would can could should may might must shall and und oder aber mit ohne von zu bei für auf aus nach et ou mais avec sans pour dans sur y o pero con sin para por en e ma con senza per mas com sem " +
    "chief executive officer ceo cto cfo vp president vice senior junior lead head principal staff intern freelance head chef docteur day night week month year hour minute second method theorem law effect principle equation distribution transform " +
    "algorithm series number sequence curve test score prize award street park hall house hill lake river bridge airport station church cathedral museum tower square island islands mountain valley beach bay county region province district " +
    "general common main basic standard simple advanced custom generic global local remote internal external input output result results status state mode level size length width height color font style theme layout grid list item items node nodes tree graph " +
    "chart map set queue stack heap buffer cache memory disk cpu gpu ram thread process task job worker scheduler timer clock counter manager factory builder provider adapter wrapper helper utility util utils config configuration settings options option " +
    "parameter parameters argument arguments variable variables constant constants expression statement block scope context environment production staging development testing unit integration visual studio actions action workflow pipeline " +
    "step steps setup install installation dependencies dependency checkout publish upload download sync backup restore migrate migration report reports dashboard overview summary detail details profile preferences guide tutorial example examples " +
    "sample demo docs documentation readme changelog contributing reference manual handbook chapter section appendix figure blue red green black white yellow orange gold silver dark light sans serif mono bold italic regular medium semibold noto " +
    "roboto arial helvetica times roman courier verdana garamond consolas lambda alpha beta gamma delta omega sigma apt yum brew npm yarn pnpm pip cargo gem composer bash zsh shell script scripts mit bsd gpl lgpl apache mozilla creative commons " +
    "vorname nachname kunde kundin telefon adresse straße stadt nombre apellido cliente dirección teléfono nom prénom adresse téléphone cliente indirizzo telefono endereço telefone plz datum grüße grüßen saludos cordialement kind best warm " +
    "viele liebe freundlichen beste was wie wer wo wann warum das der die ein eine ich du er sie wir ihr qui que quoi où quand comment le la les un une des ce cette je tu il elle nous vous ils el los las uno una yo ella nosotros il lo gli uno io lei noi voi os as um uma eu ele ela nós " +
    "feliz bom boa buenos buenas bonne bonjour joyeux good great herzlichen glückwunsch frohe gute guten schönen danke vielen merci gracias grazie obrigado sehr geehrte geehrter lieber san santa saint st port fort mount mt cape"
  ).split(" "),
);

export interface NameToken {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly particle: boolean;
}

const capital = String.raw`(?:\p{Lu}['’](?=\p{Lu}))?\p{Lu}(?:[\p{Ll}\u0300-\u036f]+(?:\p{Lu}\p{Ll}+)?|\p{Lu}{1,30}(?!\p{Ll}))?(?:['’-]\p{Lu}?\p{L}{1,30}){0,2}`;
const first = new RegExp(capital, "yu");
const particles =
  "de la|de los|de las|del|de|das|da|dos|do|della|dello|delle|degli|dei|dal|dalla|di|du|des|van der|van den|van de|van|von der|von dem|von und zu|von|vom|zum|zur|zu|ten|ter|el|al|bin|ibn|bint|la|le|lo|y|af|av";
const next = new RegExp(String.raw`[ \u00a0]((?:${particles}) |d['’])?(\p{Lu}\.(?=[ \u00a0])|${capital})`, "yu");
const initialFirst = /\p{Lu}\. ?(?:\p{Lu}\. ?)?(?=\p{Lu}\p{Ll})/uy;

/** Reads up to five words of a name at a position: capitalized words with initials and particles. Stops before a word that is not part of a name. */
export function readName(text: string, at: number): NameToken[] {
  const tokens: NameToken[] = [];
  let end = at;
  initialFirst.lastIndex = at;
  const initials = initialFirst.exec(text);
  if (initials !== null) {
    end = initialFirst.lastIndex;
    tokens.push({ start: at, end: at + initials[0].trimEnd().length, text: initials[0], particle: true });
  }
  first.lastIndex = end;
  const head = first.exec(text);
  if (head === null || isNotName(head[0]) || head[0].length < 2) return [];
  tokens.push({ start: end, end: first.lastIndex, text: head[0], particle: false });
  end = first.lastIndex;
  while (tokens.length < 5) {
    next.lastIndex = end;
    const match = next.exec(text);
    const word = match?.[2];
    if (match === null || word === undefined || isNotName(word)) break;
    if (word.length === 1 && !word.endsWith(".")) break;
    end = next.lastIndex;
    tokens.push({ start: end - word.length, end, text: word, particle: word.endsWith(".") });
  }
  // Drops a possessive ending, and a final initial, which is the end of a sentence.
  const last = tokens.at(-1);
  if (last !== undefined && /['’]s$/.test(last.text))
    tokens[tokens.length - 1] = { ...last, end: last.end - 2, text: last.text.slice(0, -2) };
  while (tokens.at(-1)?.particle === true && tokens.length > 1) tokens.pop();
  return tokens;
}

export function isNotName(word: string): boolean {
  return notNames.has(word.toLowerCase());
}

/** Counts the words of a name without initials. */
export function countWords(tokens: readonly NameToken[]): number {
  return tokens.filter(({ particle }) => !particle).length;
}

/** Whether one of the words is a known given name. */
export function knownGivenName(tokens: readonly NameToken[]): "sure" | "ambiguous" | null {
  let best: "sure" | "ambiguous" | null = null;
  for (const token of tokens) {
    const found = token.particle ? null : givenName(token.text);
    if (found === "sure") return "sure";
    best ??= found;
  }
  return best;
}
