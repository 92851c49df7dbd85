/** Finds which of many literals occur in a text, in one pass over it. */
export interface HintIndex {
  /** The literals that occur. */
  in(text: string): ReadonlySet<string>;
}

/** Literals are looked up by their first two characters. */
const tableSize = 16_384;
const keyOf = (first: number, second: number): number => (first * 131 + second) % tableSize;

export function createHintIndex(hints: Iterable<string>): HintIndex {
  const single: string[] = [];
  const lists: string[][] = [];
  const table = new Uint16Array(tableSize);
  for (const hint of new Set(hints)) {
    if (hint.length < 2) {
      single.push(hint);
      continue;
    }
    const key = keyOf(hint.charCodeAt(0), hint.charCodeAt(1));
    const list = lists[(table[key] ?? 0) - 1];
    if (list === undefined) table[key] = lists.push([hint]);
    else list.push(hint);
  }
  return {
    in(text) {
      const found = new Set(single.filter((hint) => text.includes(hint)));
      let before = text.charCodeAt(0);
      for (let at = 1; at < text.length; at += 1) {
        const code = text.charCodeAt(at);
        const list = table[keyOf(before, code)] ?? 0;
        if (list !== 0) for (const hint of lists[list - 1] ?? []) if (!found.has(hint) && text.startsWith(hint, at - 1)) found.add(hint);
        before = code;
      }
      return found;
    },
  };
}
