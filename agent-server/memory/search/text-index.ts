import type { Storage } from "../../storage/storage.ts";
import type { MemoryIndex } from "../item-types.ts";
import { facetsOf, workspaceFacet } from "./index-facets.ts";
import { written } from "./text-tokens.ts";

/** Indexed characters of a text; an item is shorter, a message may be longer. */
const indexedCharacters = 20_000;
/** Separates parts, so that no phrase matches across them. */
const border = "\u{e001}";

/**
 * The text index. Every call belongs in the transaction that changes the item. A replaced text is not found after
 * the call returns. Requirement Y6.
 */
export function createMemoryIndex(storage: Storage): MemoryIndex {
  const { db } = storage;
  const insert = db.prepare<[number, string, string]>("INSERT INTO memory_fts (rowid, words, facets) VALUES (?, ?, ?)");
  const drop = db.prepare<[number]>("DELETE FROM memory_fts WHERE rowid = ?");
  const addWord = db.prepare<[string, string]>("INSERT INTO memory_words (workspace, word) VALUES (?, ?) ON CONFLICT DO NOTHING");
  const addParts = db.prepare<[number | bigint, string]>("INSERT INTO memory_word_parts (rowid, word) VALUES (?, ?)");

  const learn = (workspace: string, words: Iterable<string>): void => {
    for (const word of words) {
      if (!isWord(word)) continue;
      const { changes, lastInsertRowid } = addWord.run(workspace, word);
      if (changes > 0) addParts.run(lastInsertRowid, word);
    }
  };

  return {
    put: (item, text) => {
      const sections = [written(text.slice(0, indexedCharacters)), ...item.tags.map((tag) => written(tag))];
      const all = sections.flat();
      const joined = new Set(all.flatMap((word) => word.joined.map((whole) => whole.stem)));
      const lines = [...sections.map((words) => words.flatMap((word) => word.parts.map((part) => part.stem))), [...joined]];
      drop.run(item.seq);
      insert.run(item.seq, lines.map((stems) => stems.join(" ")).join(` ${border} `), facetsOf(item));
      learn(
        item.workspace,
        new Set(all.filter((word) => !word.pairs).flatMap((word) => [...word.parts, ...word.joined].map((token) => token.word))),
      );
    },
    remove: (seq) => {
      drop.run(seq);
    },
  };
}

/** Numbers and single letters only match exactly. */
function isWord(word: string): boolean {
  return word.length >= 3 && word.length <= 40 && /^\p{L}/u.test(word);
}

/**
 * Deletes obsolete words and row markers of deleted and replaced items. It runs in one
 * transaction. `limit`: words per call; `after`: id of the last word of the previous call. Returns where to continue, or null
 * at the end.
 */
export function tidyMemoryIndex(storage: Storage, limit: number, after = 0): number | null {
  const { db } = storage;
  return storage.transaction(() => {
    const words = db
      .prepare<[number, number], { id: number; workspace: string; word: string }>(
        "SELECT id, workspace, word FROM memory_words WHERE id > ? ORDER BY id LIMIT ?",
      )
      .all(after, limit);
    const used = db.prepare<[string], number>("SELECT 1 FROM memory_fts WHERE memory_fts MATCH ? LIMIT 1").pluck();
    const forget = db.prepare<[number]>("DELETE FROM memory_words WHERE id = ?");
    const forgetParts = db.prepare<[number]>("DELETE FROM memory_word_parts WHERE rowid = ?");
    for (const { id, workspace, word } of words) {
      const [first] = written(word);
      const stems = first === undefined ? [] : [...first.joined, ...(first.joined.length > 0 ? [] : first.parts)];
      if (stems.some((token) => used.get(`(words : "${token.stem}") AND "${workspaceFacet(workspace)}"`) !== undefined)) continue;
      forget.run(id);
      forgetParts.run(id);
    }
    const last = words.at(-1)?.id ?? null;
    if (words.length === limit && last !== null) return last;
    const merge = -1_000;
    db.prepare("INSERT INTO memory_fts (memory_fts, rank) VALUES ('merge', ?)").run(merge);
    db.prepare("INSERT INTO memory_word_parts (memory_word_parts, rank) VALUES ('merge', ?)").run(merge);
    return null;
  });
}
