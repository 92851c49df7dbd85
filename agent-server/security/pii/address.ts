import { type Report, weights } from "./candidate.ts";

const cap = String.raw`(?:\p{Lu}[\p{L}'’.-]{1,30}|\d{1,3}(?:st|nd|rd|th))`;
const number = String.raw`\d{1,5}(?:[ -]?[a-zA-Z](?![\p{L}]))?(?:[-/–]\d{1,4}[a-z]?)?`;
const commaGap = String.raw`(?:,? {0,2}|, ?\n ?|\n {0,4}|\\n)`;
const town = String.raw`\p{Lu}[\p{L}'’.]{1,30}(?:[ -](?:\p{Lu}[\p{L}'’.]{1,30}|am|an|der|im|in|ob|sur|sous|de|del|la|le|les|en|lès|di|da|do|dos|das|d['’]\p{Lu}\p{L}{1,30}|l['’]\p{Lu}\p{L}{1,30}|los|las|upon|on)){0,5}`;
const states =
  "A[KLRZ]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|PA|RI|S[CD]|T[NX]|UT|V[AT]|W[AIVY]|NSW|VIC|QLD|ON|QC|BC|AB|Alabama|Alaska|Arizona|Arkansas|California|Colorado|Connecticut|Delaware|Florida|Georgia|Hawaii|Idaho|Illinois|Indiana|Iowa|Kansas|Kentucky|Louisiana|Maine|Maryland|Massachusetts|Michigan|Minnesota|Mississippi|Missouri|Montana|Nebraska|Nevada|New Hampshire|New Jersey|New Mexico|New York|North Carolina|North Dakota|Ohio|Oklahoma|Oregon|Pennsylvania|Rhode Island|South Carolina|South Dakota|Tennessee|Texas|Utah|Vermont|Virginia|Washington|West Virginia|Wisconsin|Wyoming";
const ukCode = String.raw`[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}`;

const englishTypes =
  "Street|St|Avenue|Ave|ExecutionPipeline|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Court|Ct|Place|Pl|Square|Sq|Terrace|Ter|Way|Parkway|Pkwy|Highway|Hwy|Crescent|Close|Grove|Gardens|Mews|Circle|Cir|Trail|Trl|Row|Walk|Hill|Rise|Quay|Green|Wharf|Broadway|Turnpike|Plaza|Alley|Loop|Path|Pike|Mall|Ridge|Crossing";
const englishUnit = String.raw`(?:(?:Apt|Apartment|Suite|Ste|Unit|Flat|Floor|Fl|Room|Rm|Building|Bldg|PO Box)\.? ?#?[\w-]{1,6}|#\d{1,5}[A-Z]?)`;
const englishTail = String.raw`(?:${commaGap}${englishUnit})?(?:${commaGap}(?:${town}, ){0,2}${town}${commaGap}(?:(?:${states})(?:,? \d{5}(?:-\d{4})?)?|${ukCode})|${commaGap}${ukCode}|${commaGap}\d{5}(?![\d-]))?`;
const english = String.raw`(?:${englishUnit},? )?\d{1,5}[A-Za-z]?(?:-\d{1,4})? (?:(?:N|S|E|W|NE|NW|SE|SW|North|South|East|West)\.? )?(?:${cap} ){1,4}(?:${englishTypes})\b\.?(?: (?:N|S|E|W|NE|NW|SE|SW)\b\.?)?${englishTail}`;

const germanStreet = String.raw`(?:(?:\p{Lu}[\p{L}.'’-]{1,40}[ -]){0,3}(?:\p{Lu}[\p{L}-]{0,40}(?:str(?:aße|asse|\.)|weg|platz|allee|gasse|ring|damm|ufer|steig|stieg|chaussee|hof|markt|graben|kamp|berg|feld|wall|pfad|garten|tor|brücke)|(?:Straße|Strasse|Str\.|Weg|Platz|Allee|Gasse|Ring|Damm|Ufer|Chaussee))|(?:Am|An der|An den|Auf der|Auf dem|Im|In der|In den|Zum|Zur|Unter den|Hinter der|Alter|Alte|Neuer|Neue) \p{Lu}[\p{L}-]{2,30})`;
const germanCity = String.raw`(?:(?:D|A|CH|DE|AT)-)?\d{4,5} ${town}`;
const german = String.raw`${germanStreet} ${number}(?:${commaGap}${germanCity})?`;

const frenchTypes =
  "rue|voie|avenue|av\\.|boulevard|bd|bd\\.|place|chemin|allée|impasse|quai|cours|route|square|passage|faubourg|sentier|villa|résidence|Rue|Voie|Avenue|Av\\.|Boulevard|Bd|Place|Chemin|Allée|Impasse|Quai|Cours|Route|Square|Passage";
const latinWords = String.raw`(?:(?:de|du|des|de la|de l['’]|d['’]|la|le|les|l['’]|et|aux?|del|della|dello|dei|degli|delle|di|da|do|dos|das|los|las|el|y|e|San|Santa|Sant['’])\s?){0,3}(?:\p{Lu}|\d{1,2}[ -]?[\p{L}])[\p{L}'’.-]{0,30}`;
const french = String.raw`\d{1,4}(?: ?(?:bis|ter|quater|[A-D]))?,? (?:${frenchTypes}) ${latinWords}(?:[ -]${latinWords}){0,4}(?:${commaGap}(?:(?:appartement|appt\.?|apt\.?|bât\.?|bâtiment|escalier|étage) ?[\w]{1,5}${commaGap}){0,2}(?:F-)?\d{5} ${town}(?: cedex(?: \d{1,2})?)?)?`;

const spanishTypes =
  "Calle|calle|C\\/|c\\/|Avenida|avenida|Avda\\.?|avda\\.?|Av\\.|Plaza|plaza|Pza\\.?|Paseo|paseo|Pº|Camino|camino|Carretera|carretera|Ctra\\.?|Ronda|ronda|Travesía|Rambla|rambla|Glorieta|Cuesta|Urbanización|Calzada|Carrera";
const spanish = String.raw`(?:${spanishTypes}) ?${latinWords}(?:[ -]${latinWords}){0,4},? (?:n\.?º ?|nº ?|núm\.? ?|No\.? ?|#)?\d{1,4}(?: ?[A-Za-z](?![\p{L}]))?(?:, ?(?:piso ?)?\d{1,2}\.?[ºª°o](?: ?(?:[A-Z](?![\p{L}])|izq\.?|dcha\.?|izda\.?|izquierda|derecha|puerta \w{1,3}))?|, ?(?:bajo|ático|piso \d{1,2}|puerta \d{1,3}|portal \d{1,3})(?: [A-Z](?![\p{L}]))?){0,2}(?:${commaGap}(?:C\.?P\.? ?)?\d{5},? ${town}(?: \(\p{Lu}[\p{L} ]{2,30}\))?)?`;

const italianTypes =
  "Via|via|Viale|viale|Piazza|piazza|P\\.zza|Corso|corso|C\\.so|Largo|largo|Vicolo|vicolo|Piazzale|Strada|Lungotevere|Contrada|Borgo|Salita|V\\.le";
const italian = String.raw`(?:${italianTypes}) ${latinWords}(?: ${latinWords}){0,4},? (?:n\.? ?|n° ?)?\d{1,4}(?: ?[/-]? ?[A-Za-z](?![\p{L}]))?(?:, ?(?:int\.?|interno|scala|piano) ?\w{1,4}){0,2}(?:${commaGap}(?:- )?(?:I-)?\d{5} ${town}(?: \([A-Z]{2}\)| [A-Z]{2}(?![\p{L}]))?)?`;

const portugueseTypes =
  "Rua|rua|R\\.|Avenida|avenida|Av\\.|Travessa|travessa|Tv\\.|Praça|praça|Largo|largo|Alameda|alameda|Estrada|estrada|Rodovia|Beco|Calçada|Praceta|Quinta";
const portugueseTail = String.raw`(?:${commaGap}\d{4}-\d{3} ${town}|${commaGap}(?:- )?(?:\p{Lu}[\p{L}'’. ]{1,40}? ?[-–,] ?){0,2}(?:${town})?(?: ?[-–/,] ?[A-Z]{2}(?![\p{L}]))?(?:,? ?[-–]? ?(?:CEP:? ?)?\d{5}-?\d{3}(?!\d))?)`;
const portuguese = String.raw`(?:${portugueseTypes}) ${latinWords}(?: ${latinWords}){0,5},? (?:n\.?º ?|nº ?|n° ?)?\d{1,5}(?: ?[A-Za-z](?![\p{L}]))?(?:(?:,| -) ?(?:\d{1,2}\.?[ºª°o](?: ?(?:andar|esq\.?|dto\.?|direito|esquerdo|Esq\.?|Dto\.?|[A-Z](?![\p{L}])))?|apto?\.? ?\w{1,5}|apartamento \w{1,5}|bloco \w{1,3}|casa \d{1,4}|sala \d{1,4}|Apto?\.? ?\w{1,5})){0,3}${portugueseTail}?`;

/** Any street that is followed by state and ZIP, a British postcode, or house number, five-digit postcode and town. */
const anyAmerican = String.raw`\d{1,5} (?:\p{Lu}[\p{L}'’.-]{1,30} ){1,4}?\p{Lu}[\p{L}'’.-]{1,30}(?:, ${englishUnit})?, (?:${town}, )?${town},? (?:${states}),? \d{5}(?:-\d{4})?`;
const anyBritish = String.raw`\d{1,4}[A-Za-z]? (?:\p{Lu}[\p{L}'’.-]{1,30} ){0,3}\p{Lu}[\p{L}'’.-]{1,30}, (?:${town}, ){0,2}(?:${town},? )?${ukCode}`;
const anyContinental = String.raw`\p{Lu}[\p{L}'’.-]{2,40}(?:[ -]\p{Lu}[\p{L}'’.-]{1,30}){0,3} \d{1,4} ?[a-zA-Z]?, (?:(?:D|A|CH|F|I|E)-)?\d{5} ${town}(?: \([A-Z]{2}\))?`;

const box = String.raw`(?:P\.? ?O\.? Box|Postfach|Apartado(?: de [Cc]orreos)?|Caixa [Pp]ostal|Casella [Pp]ostale|Boîte [Pp]ostale|BP|CP) \d[\d ]{0,8}\d?, ?(?:(?:[A-Z]{1,2}-)?\d{4,5}(?:-\d{3})? ${town}|(?:${town}, )?${town},? (?:(?:${states}),? \d{5}(?:-\d{4})?|${ukCode}))`;
/** Squares and streets without a number that are followed by postcode and town. */
const withoutNumber = String.raw`(?:${spanishTypes}|${italianTypes}|${portugueseTypes}) ?${latinWords}(?:[ -]${latinWords}){0,4}, (?:\d{5}|\d{4}-\d{3}) ${town}`;

interface AddressRule {
  /** A required literal; a fast check before the pattern. */
  readonly hint: RegExp;
  /** Maximum distance from the start of the address to the hint. */
  readonly before: number;
  readonly pattern: RegExp;
  /** The street word is ambiguous ("via Docker 2 services"), so a final number must follow a comma or end the phrase. */
  readonly strict: boolean;
}

const rule = (hint: string, before: number, source: string, strict = false): AddressRule => ({
  strict,
  hint: new RegExp(hint, "gu"),
  before,
  pattern: new RegExp(String.raw`(?<![\p{L}\d.,_/@#$-]|\d )(?:${source})(?![\p{L}\d_]|[-.]\d)`, "gu"),
});

let rules: readonly AddressRule[] | null = null;

/** Finds postal addresses in six languages: street and number, with unit, postcode and town if present. */
export function findAddresses(text: string, report: Report): void {
  rules ??= [
    rule(String.raw` (?:${englishTypes})\b(?<=\d[A-Za-z]? [\p{L}\d'’. ]{2,70})`, 90, english),
    rule(
      String.raw`(?:str(?:aße|asse|\.)|weg|platz|allee|gasse|ring|damm|ufer|steig|stieg|chaussee|hof|markt|graben|kamp|berg|feld|wall|pfad|garten|tor|brücke|Straße|Strasse|Str\.|Weg|Platz|Allee|Gasse|Ring|Damm|Ufer|Chaussee) \d`,
      80,
      german,
    ),
    rule(
      String.raw`\b(?:Am|An de[rn]|Auf de[rm]|Im|In de[rn]|Zum|Zur|Unter den|Alter?|Neuer?) \p{Lu}[\p{L}-]{2,30} \d{1,3}[a-z]?${commaGap}(?:D-)?\d{5} \p{Lu}`,
      0,
      german,
    ),
    rule(String.raw`\d(?: ?(?:bis|ter|quater|[A-D]))?,? (?:${frenchTypes}) `, 6, french),
    rule(String.raw`(?:Box|Postfach|Apartado|Postal|postal|Postale|postale|BP|CP|orreos) \d`, 20, box),
    rule(
      String.raw`(?<![\p{L}\d])(?:${spanishTypes}|${italianTypes}|${portugueseTypes}) ?\p{L}[^\d\n]{2,60}, (?:\d{5}|\d{4}-\d{3}) \p{Lu}`,
      0,
      withoutNumber,
    ),
    rule(String.raw`(?:${states}),? \d{5}(?!\d)`, 130, anyAmerican),
    rule(String.raw`(?<![A-Z\d])[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}(?![A-Z\d])`, 110, anyBritish),
    rule(String.raw`\d ?[a-zA-Z]?, (?:[A-Z]{1,2}-)?\d{5} \p{Lu}`, 90, anyContinental),
    rule(String.raw`(?<![\p{L}\d])(?:${spanishTypes}) ?(?:\p{L}|\d{1,2} de)`, 0, spanish, true),
    rule(String.raw`(?<![\p{L}\d])(?:${italianTypes}) \p{L}`, 0, italian, true),
    rule(String.raw`(?<![\p{L}\d])(?:${portugueseTypes}) \p{L}`, 0, portuguese, true),
  ];
  for (const { hint, before, pattern, strict } of rules) {
    hint.lastIndex = 0;
    let done = 0;
    for (let mark = hint.exec(text); mark !== null; mark = hint.exec(text)) {
      if (mark.index < done) continue;
      const from = Math.max(done, mark.index - before);
      // A fixed window bounds the work per match.
      const window = text.slice(Math.max(0, from - 2), mark.index + 220);
      pattern.lastIndex = from - Math.max(0, from - 2);
      for (let found = pattern.exec(window); found !== null; found = pattern.exec(window)) {
        const start = Math.max(0, from - 2) + found.index;
        const value = found[0].replace(/(?<![,.;\s-])[,.;\s-]+$/, "");
        if (start + value.length < mark.index) continue;
        if (
          start <= mark.index + mark[0].length &&
          isStreet(value) &&
          !(strict && !value.includes(",") && /^ [\p{L}\d]/u.test(text.slice(start + value.length, start + value.length + 2)))
        ) {
          report(start, start + value.length, "address", weights.checked);
          done = start + value.length;
        }
        break;
      }
    }
  }
}

/** False for headings such as `3 Simple Way`, and for the Free Software Foundation's address in old licenses. */
function isStreet(value: string): boolean {
  if (/^via \p{Lu}{2,}/u.test(value)) return false;
  if (/^(?:51 Franklin St|59 Temple Place|675 Mass Ave)/.test(value)) return false;
  return !/^\d{1,5} (?:Easy|Simple|Quick|New|Different|Great|Good|Best|Main Loop|Critical|Happy|Hot|Fast|Long|Short|One|Two|Open|Data|Line|Code|Test|Full|File)\b.{0,12}$/.test(
    value,
  );
}
