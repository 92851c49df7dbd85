import { stemmer } from "stemmer";

/** A word in its indexed form. */
export interface Token {
  /** Without case, accents and (for Latin words) endings; this form is compared. */
  readonly stem: string;
  /** Without case and accents. */
  readonly word: string;
  /** Position in the text, in code units. */
  readonly start: number;
  readonly end: number;
}

/** A word or an identifier as written. */
export interface Written {
  /** One token for a plain word, several for an identifier or a script without spaces. */
  readonly parts: readonly Token[];
  /** The parts joined to one word: `getuserbyid`; for each part of `user-name`: `username`. */
  readonly joined: readonly Token[];
  /** True for a script without spaces: its parts are overlapping pairs of characters. */
  readonly pairs: boolean;
}

/** Maximum characters of a word; hashes and encoded data are longer. */
const wordCharacters = 64;
const maxPieces = 8;

/** Words joined by a dash or an underscore. */
interface Compound {
  readonly from: number;
  readonly end: number;
  readonly word: string;
  readonly count: number;
  /** Index of the first word. */
  readonly first: number;
}

const wordPattern = /(?<![\p{L}\p{N}])(?:[CcFf]#|[Cc]\+\+)(?![\p{L}\p{N}])|[\p{L}\p{N}\p{M}]+/gu;
const unspaced = /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]/u;
const scripts = new RegExp(`${unspaced.source}+|(?:(?!${unspaced.source}).)+`, "gsu");
// oxlint-disable-next-line regexp/no-super-linear-move -- the third alternative takes what the first one refuses
const pieces = /\p{Lu}+(?=\p{Lu}\p{Ll})|\p{Lu}?[\p{Ll}\p{Lo}\p{Lm}\p{M}]+|\p{Lu}+|\p{N}+|./gsu;
const combining = /[\u0300-\u036f]/g;
const spelled: Readonly<Record<string, string>> = { "c#": "csharp", "c++": "cpp", "f#": "fsharp" };
const folded: Readonly<Record<string, string>> = { ß: "ss", æ: "ae", œ: "oe", ø: "o", đ: "d", ð: "d", ł: "l", ı: "i", þ: "th" };
const foldable = /[ßæœøđðłıþ]/g;

/** A word without case, accents and width variants; the same in every locale. */
export function fold(word: string): string {
  const lower = word.toLowerCase();
  if (/^\p{ASCII}*$/u.test(lower)) return lower;
  return lower
    .normalize("NFKD")
    .replaceAll(combining, "")
    .normalize("NFC")
    .replaceAll(foldable, (letter) => folded[letter] ?? letter);
}

/** The same for one word, with only its letters, digits and marks. Folding splits some characters, such as ½ into 1⁄2. */
function foldWord(word: string): string {
  const plain = fold(word);
  return /^\p{ASCII}*$/u.test(word) ? plain : plain.replaceAll(/[^\p{L}\p{N}\p{M}]/gu, "");
}

/** Porter's stem of a Latin word; other words stay as they are. */
export function stem(word: string): string {
  return /^[a-z]{3,}$/.test(word) ? stemmer(word) : word;
}

/**
 * The words of a text, in order. Identifiers are split (`getUserById`, `snake_case`, `kebab-case`, `src/cart.js`,
 * `sha256`), and runs of scripts without spaces become pairs. A token holds only letters, digits and marks.
 */
export function written(text: string): Written[] {
  const words: Written[] = [];
  let open: Compound[] = [];
  for (const match of text.matchAll(wordPattern)) {
    const [found] = match;
    const start = match.index;
    const end = start + found.length;
    const [before] = open;
    const linked = before !== undefined && start === before.end + 1 && /[-_]/.test(text.charAt(start - 1));
    if (!linked) join(words, open);
    const whole = foldWord(found);
    // Accents alone are no word.
    if (whole === "") continue;
    open = [
      linked
        ? { ...before, end, word: before.word + whole, count: before.count + 1 }
        : { from: start, end, word: whole, count: 1, first: words.length },
    ];
    words.push(...withoutEmpty(ofWord(found, start)));
  }
  join(words, open);
  return words;
}

/** Without the parts that folding leaves nothing of: an accent that follows no letter. */
function withoutEmpty(words: readonly Written[]): readonly Written[] {
  if (words.every(({ parts }) => parts.every(({ word }) => word !== ""))) return words;
  return words.map((word) => ({ ...word, parts: word.parts.filter((part) => part.word !== "") })).filter(({ parts }) => parts.length > 0);
}

function join(words: Written[], [compound]: readonly Compound[]): void {
  if (compound === undefined || compound.count < 2 || compound.count > maxPieces) return;
  const whole = token(compound.word, compound.from, compound.end);
  words.push(...words.splice(compound.first).map((word) => ({ ...word, joined: [...word.joined, whole] })));
}

function token(word: string, start: number, end: number): Token {
  const kept = spelled[word] ?? word.slice(0, wordCharacters);
  return { stem: stem(kept), word: kept, start, end };
}

function ofWord(found: string, start: number): Written[] {
  if (!unspaced.test(found)) return [ofIdentifier(found, start)];
  const result: Written[] = [];
  for (const match of found.matchAll(scripts)) {
    const from = start + match.index;
    result.push(unspaced.test(match[0]) ? ofRun(match[0], from) : ofIdentifier(match[0], from));
  }
  return result;
}

function ofIdentifier(found: string, start: number): Written {
  const end = start + found.length;
  const whole = token(foldWord(found), start, end);
  const plain = { parts: [whole], joined: [], pairs: false };
  if (!/(?!^)\p{Lu}|\p{N}/u.test(found) || /^(?:\p{N}+|\p{Lu}+)$/u.test(found)) return plain;
  const split = [...found.matchAll(pieces)];
  if (split.length < 2 || split.length > maxPieces) return plain;
  const parts = split.map(({ 0: piece, index }) => token(foldWord(piece), start + index, start + index + piece.length));
  return { parts, joined: [whole], pairs: false };
}

function ofRun(found: string, start: number): Written {
  const end = start + found.length;
  const characters = Array.from(foldWord(found));
  const last = characters.at(-1) ?? "";
  if (characters.length < 2) return { parts: [token(last, start, end)], joined: [], pairs: true };
  // Folding may change the number of characters; the position is exact when it did not.
  const exact = characters.length === found.length;
  const at = (index: number): [number, number] => (exact ? [start + index, start + index + 2] : [start, end]);
  const parts = characters.slice(0, -1).map((character, index) => token(character + (characters[index + 1] ?? ""), ...at(index)));
  return { parts, joined: [token(last, end - 1, end)], pairs: true };
}
