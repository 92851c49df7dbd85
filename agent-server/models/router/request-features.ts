/** Removes fenced blocks and inline code, which say nothing about the kind of request. */
export function withoutCode(text: string): string {
  return text.replaceAll(/```[\s\S]*?(?:```|$)/g, " ").replaceAll(/`[^`\n]{1,200}`/g, " ");
}

const patterns = new Map<string, RegExp>();

/**
 * Compiles a configured phrase: whole words, case-insensitive; `*` matches the rest of a word, `..` up to four words, a space any
 * whitespace.
 */
export function phrasePattern(phrase: string): RegExp {
  const known = patterns.get(phrase);
  if (known !== undefined) return known;
  const words = phrase.trim().split(/\s+/);
  let source = "";
  for (const [index, word] of words.entries()) {
    if (word === "..") source += String.raw`(?:\s+\S+){0,4}?`;
    else source += (index === 0 ? "" : String.raw`\s+`) + word.split("*").map(escape).join(String.raw`[\p{L}\p{N}_]*`);
  }
  const pattern = new RegExp(String.raw`(?<![\p{L}\p{N}_])${source}(?![\p{L}\p{N}_])`, "iu");
  patterns.set(phrase, pattern);
  return pattern;
}

/** The first phrase that occurs in a text, as written there; null without one. */
export function findPhrase(text: string, phrases: readonly string[]): string | null {
  // Compiling a hundred patterns takes longer than a search for their letters. In ASCII alone, letters in any case are these two.
  const letters = /^[\0-\x7f]*$/.test(text) ? text.toLowerCase() : null;
  for (const phrase of phrases) {
    if (letters !== null && !hasLettersOf(letters, phrase)) continue;
    const found = phrasePattern(phrase).exec(text);
    if (found !== null) return found[0].replaceAll(/\s+/g, " ");
  }
  return null;
}

/** Whether all parts of a phrase that are no placeholders stand in a text of small ASCII letters. */
function hasLettersOf(letters: string, phrase: string): boolean {
  return phrase
    .toUpperCase()
    .toLowerCase()
    .split(/[\s*]+/)
    .every((part) => part === ".." || letters.includes(part));
}

function escape(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`);
}

/** How much work a request describes. */
export interface RequestSize {
  readonly words: number;
  /** List items, or steps of a sequence in prose, whichever are more. */
  readonly steps: number;
  /** Number of different files it names. */
  readonly files: number;
}

const listItem = /^[ \t]*(?:[-*•]|\d{1,3}[.)])[ \t]+\S/gm;
const sequence = /(?:^|[.;,\n][^\S\n]*|\band\s+)(?:then|next|after that|afterwards|finally|lastly)\b/gi;
const fileName = /(?<![\p{L}\p{N}_/.-])@?(?:[\p{L}\p{N}_.-]+\/)*[\p{L}\p{N}_.-]+\.[a-z][a-z0-9]{0,7}(?![\p{L}\p{N}_])/giu;

/** Characters of a request that are looked at: a longer one is large in any case, and the patterns may take quadratic time. */
const maxSized = 20_000;

/** @param text without code */
export function sizeOf(text: string): RequestSize {
  const bounded = text.slice(0, maxSized).replaceAll(/\s+/g, (run) => (/[\n\r]/.test(run) ? "\n" : " "));
  const told = bounded.match(sequence)?.length ?? 0;
  return {
    words: bounded.match(/\S+/g)?.length ?? 0,
    steps: Math.max(bounded.match(listItem)?.length ?? 0, told === 0 ? 0 : told + 1),
    files: new Set(bounded.match(fileName)?.map((name) => name.replace(/^@/, "").toLowerCase())).size,
  };
}
