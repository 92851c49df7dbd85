/** A run of letters; a change from lower to upper case starts a new word (`phoneNumber`). */
export interface Word {
  readonly start: number;
  readonly end: number;
  /** Lower case. */
  readonly text: string;
}

/** Longer runs of letters are skipped. */
const maxLength = 24;

/** Calls `visit` with each word of 1 to 24 letters, in order. */
export function eachWord(text: string, visit: (word: Word) => void): void {
  let start = -1;
  let lower = false;
  for (let at = 0; at <= text.length; at += 1) {
    const code = at < text.length ? text.charCodeAt(at) : 0;
    const isLower = code >= 97 && code <= 122;
    const isUpper = code >= 65 && code <= 90;
    const letter = isLower || isUpper || (code >= 0xc0 && code < 0x2000 && code !== 0xd7 && code !== 0xf7);
    if (start !== -1 && (!letter || (lower && isUpper))) {
      if (at - start <= maxLength) visit({ start, end: at, text: text.slice(start, at).toLowerCase() });
      start = -1;
    }
    if (letter && start === -1) start = at;
    lower = isLower;
  }
}

/** A trie of phrases, matched word by word with the longest match first. At most three separators may occur between two words. */
export interface Phrases<T> {
  readonly next: Map<string, Phrases<T>>;
  value: T | null;
}

export function createPhrases<T>(): Phrases<T> {
  return { next: new Map(), value: null };
}

export function addPhrase<T>(phrases: Phrases<T>, phrase: string, value: T): void {
  let node = phrases;
  for (const word of phrase.split(" ")) {
    const next = node.next.get(word) ?? createPhrases<T>();
    node.next.set(word, next);
    node = next;
  }
  node.value = value;
}

/** Calls `visit` for each occurrence of a phrase, with its start and end; calls `onWord` for each word. */
export function eachPhrase<T>(
  text: string,
  phrases: Phrases<T>,
  visit: (value: T, start: number, end: number) => void,
  onWord: (word: Word) => void = () => undefined,
): void {
  // Partial matches. Phrases have only a few words, so there are never many.
  let open: { node: Phrases<T>; start: number; end: number; best: T | null; bestEnd: number }[] = [];
  const close = (one: (typeof open)[number]): void => {
    if (one.best !== null) visit(one.best, one.start, one.bestEnd);
  };
  eachWord(text, (word) => {
    onWord(word);
    if (open.length > 0) {
      const still: typeof open = [];
      for (const one of open) {
        const next = isJoined(text, one.end, word.start) ? one.node.next.get(word.text) : undefined;
        if (next === undefined) {
          close(one);
          continue;
        }
        one.node = next;
        one.end = word.end;
        if (next.value !== null) {
          one.best = next.value;
          one.bestEnd = word.end;
        }
        still.push(one);
      }
      open = still;
    }
    const first = phrases.next.get(word.text);
    if (first !== undefined) open.push({ node: first, start: word.start, end: word.end, best: first.value, bestEnd: word.end });
  });
  for (const one of open) close(one);
}

function isJoined(text: string, from: number, to: number): boolean {
  if (to - from > 3) return false;
  for (let at = from; at < to; at += 1) if (!" _-.'’/\u00a0\n".includes(text.charAt(at))) return false;
  return true;
}
