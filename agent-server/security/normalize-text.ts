import { skeleton } from "./confusables.ts";

/** Normalized forms of a text, used only for matching. */
export interface NormalText {
  /** For display: decoded, NFKC, without invisible characters, with collapsed white space. */
  readonly shown: string;
  /** For rules: `shown` in lower case, without diacritics, with look-alike letters resolved and line breaks kept. */
  readonly matched: string;
  /** Letters and digits around invisible characters, which may replace spaces. */
  readonly compact: readonly string[];
  /** Words that were written with gaps (`i g n o r e`), without the gaps. */
  readonly despaced: readonly string[];
  /** The text with words that were written with separators (`i.g.n.o.r.e`) or digits (`1gn0r3`) as one reads them; none if it has no such words. */
  readonly respelled: readonly string[];
}

/** Maximum characters inspected. The gateway rejects texts above 1 MB. */
export const maxInspected = 1_000_000;
const maxDespacedRuns = 500;
const minDespacedLength = 8;

/** Invisible format characters, fillers and selectors. */
const invisible = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;
const controls = /[^\P{Cc}\t\n\v\f\r\u0085]/gu;
/** Legitimate invisible characters: parts of emoji and flags, and a byte order mark at the start. */
const innocent =
  /(?<=\p{Extended_Pictographic}(?:\ufe0f|\p{Emoji_Modifier})?)\u200d(?=\p{Extended_Pictographic})|(?<=[\p{Extended_Pictographic}0-9#*])[\ufe0e\ufe0f]|(?<=\u{1f3f4})[\u{e0020}-\u{e007e}]{2,6}\u{e007f}|^\ufeff/gu;
const tagCharacters = /[\u{e0020}-\u{e007e}]/gu;

export function normalizeText(text: string): NormalText {
  const start = text.slice(0, maxInspected).toWellFormed();
  const decoded = decodeEntities(decodePercent(start));
  const plain = decoded
    .replace(innocent, "")
    .replace(tagCharacters, (tag) => String.fromCharCode((tag.codePointAt(0) ?? 0xe0020) - 0xe0000))
    .replace(controls, "");
  const visible = plain.replace(invisible, "");
  const lines = visible
    .normalize("NFKC")
    .slice(0, maxInspected * 2)
    .replace(/[\s\u2800]+/g, (gap) => (/[\n\r\u2028\u2029\u0085]/.test(gap) ? "\n" : " "))
    .trim();
  const matched = fold(lines);
  return {
    shown: mixedWords(lines.replaceAll("\n", " ")),
    matched,
    compact: visible.length === plain.length ? [] : aroundInvisible(plain),
    despaced: despacedWords(matched),
    respelled: respelledTexts(matched),
  };
}

/** Folds a text for comparison: lower case, without diacritics, with look-alike letters resolved. */
export function fold(text: string): string {
  const bare = skeleton(text)
    .toLowerCase()
    .normalize("NFD")
    .replace(/\p{Mn}/gu, "");
  return skeleton(bare)
    .normalize("NFC")
    .replace(/[‘’‛ʼ´]/g, "'")
    .replace(/[“”„«»]/g, '"')
    .replace(/[‐‑‒–—−]/g, "-");
}

/** Decodes percent-encoding repeatedly. Runs that are not UTF-8 are not changed. */
function decodePercent(text: string): string {
  let current = text;
  for (let round = 0; round < 6 && current.includes("%"); round += 1) {
    const next = current.replace(/%(?:25)+(?=[0-9a-f]{2})/gi, "%").replace(/(?:%[0-9a-f]{2})+/gi, (run) => {
      const bytes = Buffer.from(run.replaceAll("%", ""), "hex").toString("utf8");
      return bytes.includes("\ufffd") ? run : bytes;
    });
    if (next === current) break;
    current = next;
  }
  return current;
}

const namedEntities: Readonly<Record<string, string>> = {
  nbsp: " ",
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  shy: "",
  zwj: "",
  zwnj: "",
};

function decodeEntities(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(
    /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,4}));/gi,
    (whole: string, decimal?: string, hex?: string, name?: string) => {
      if (name !== undefined) return namedEntities[name.toLowerCase()] ?? whole;
      const code = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
      return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) ? String.fromCodePoint(code) : whole;
    },
  );
}

/** Resolves look-alike letters only in words that mix Latin with another script. */
function mixedWords(text: string): string {
  if (!/[^\0-\u024f]/.test(text)) return text;
  return text.replace(/[\p{L}\p{M}]+/gu, (word) =>
    /\p{Script=Latin}/u.test(word) && /[^\p{Script=Latin}\p{M}]/u.test(word) ? skeleton(word) : word,
  );
}

/** Characters inspected around an invisible one; longer than the longest phrase. */
const reach = 100;

function aroundInvisible(text: string): string[] {
  const places: string[] = [];
  let start = -1;
  let end = -1;
  const add = (): void => {
    if (start === -1) return;
    const place = text.slice(start, end).toWellFormed().replace(invisible, "").normalize("NFKC");
    places.push(fold(place).replace(/[^\p{L}\p{N}]+/gu, ""));
  };
  for (const { index } of text.matchAll(invisible)) {
    if (index > end || start === -1) {
      add();
      start = Math.max(0, index - reach);
    }
    end = index + reach;
  }
  add();
  return places;
}

/** Runs of at least eight single letters with short gaps between them, joined. */
function despacedWords(matched: string): string[] {
  const runs: string[] = [];
  let run = "";
  let end = -1;
  for (const { 0: word, index } of matched.matchAll(/[\p{L}\p{N}]+/gu)) {
    const single = word.length === 1 && !/\d/.test(word);
    if (single && index - end <= 3) run += word;
    else {
      if (run.length >= minDespacedLength) runs.push(run);
      run = single ? word : "";
    }
    end = index + word.length;
    if (runs.length >= maxDespacedRuns) return runs;
  }
  return run.length >= minDespacedLength ? [...runs, run] : runs;
}

const letterByDigit: Readonly<Record<string, string>> = {
  "0": "o",
  "3": "e",
  "4": "a",
  "5": "s",
  "7": "t",
  "8": "b",
  "9": "g",
  "@": "a",
  $: "s",
};
const separated = /(?<![\p{L}\p{N}])(?:\p{L}[._*|~-]){3,40}\p{L}(?![\p{L}\p{N}])/gu;
/** At least two words in a row with digits in them: one alone is a name, as `sha256`. */
const digitWords =
  /(?<![\p{L}\p{N}])(?=[a-z]{0,20}[0-9@$][0-9@$]{0,20}[a-z]|[0-9@$]{1,3}[a-z])[a-z0-9@$]{2,24}(?: (?:[a-z]{1,20} )?(?=[a-z]{0,20}[0-9@$][0-9@$]{0,20}[a-z]|[0-9@$]{1,3}[a-z])[a-z0-9@$]{2,24}){1,12}/gu;

function respelledTexts(matched: string): string[] {
  const joined = matched.replace(separated, (run) => run.replace(/[^\p{L}]/gu, ""));
  const texts = joined === matched ? [] : [joined];
  for (const one of ["i", "l"]) {
    const read = joined.replace(digitWords, (run) =>
      run.replace(/[0-9@$]/g, (sign) => (sign === "1" ? one : (letterByDigit[sign] ?? sign))),
    );
    if (read === joined) break;
    texts.push(read);
  }
  return texts;
}
