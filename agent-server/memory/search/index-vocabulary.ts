import type Database from "better-sqlite3";
import { compare } from "../core-block-text.ts";
import { editDistance } from "./edit-distance.ts";

/** The indexed words of a workspace. Some may be in no item anymore, and match nothing. All lists are short and ordered. */
export interface Vocabulary {
  /** Words with this beginning, shortest first. */
  beginning(with_: string): string[];
  /** Other forms of a word: `сервера` of `сервер`, `Dateien` of `Datei`. */
  forms(word: string): string[];
  /** Words that contain this. */
  containing(part: string): string[];
  /** Corrections of a misspelled word, nearest first. */
  similar(word: string): string[];
}

const wordsOfTerm = 16;
const looked = 3_000;

export function createVocabulary(db: Database.Database, workspace: string): Vocabulary {
  const range = db
    .prepare<[string, string, string, number, number, number], string>(
      "SELECT word FROM memory_words WHERE workspace IN ('', ?) AND word >= ? AND word < ? AND length(word) BETWEEN ? AND ? LIMIT ?",
    )
    .pluck();
  const withParts = db
    .prepare<[string, string, number], string>(
      `SELECT w.word FROM memory_word_parts p CROSS JOIN memory_words w ON w.id = p.rowid
       WHERE memory_word_parts MATCH ? AND w.workspace IN ('', ?) LIMIT ?`,
    )
    .pluck();
  const exact = db
    .prepare<[string, string], string>(
      "SELECT word FROM memory_words WHERE workspace IN ('', ?) AND word IN (SELECT value FROM json_each(?))",
    )
    .pluck();

  const startingWith = (start: string, from = 0, to = 64): string[] => range.all(workspace, start, `${start}\u{10ffff}`, from, to, looked);
  const withInside = (part: string): string[] => {
    const trigrams = trigramsOf(part);
    if (trigrams.length === 0) return [];
    const all = trigrams.map((trigram) => `"${trigram}"`).join(" AND ");
    return withParts.all(all, workspace, looked);
  };

  return {
    beginning: (start) => shortest(startingWith(start)),
    forms: (word) => {
      const shared = Math.max(4, Math.ceil(word.length * 0.7));
      if (word.length < 5) return [];
      const candidates = startingWith(word.slice(0, shared), shared, word.length + 3);
      return shortest(candidates.filter((other) => other !== word && /^\p{L}+$/u.test(other))).slice(0, 8);
    },
    containing: (part) => shortest(withInside(part).filter((word) => word.includes(part))),
    similar: (word) => {
      const { length } = word;
      if (length < 4) return [];
      const allowed = length < 9 ? 1 : 2;
      const candidates = new Set([
        ...startingWith(word.slice(0, 3), length - allowed, length + allowed),
        ...withInside(word.slice(-Math.min(4, length - 1))),
        ...exact.all(workspace, JSON.stringify(neighbours(word))),
      ]);
      return [...candidates]
        .map((other) => ({ other, distance: editDistance(word, other, allowed) }))
        .filter(({ distance }) => distance <= allowed)
        .toSorted((a, b) => a.distance - b.distance || compare(a.other, b.other))
        .slice(0, 6)
        .map(({ other }) => other);
    },
  };
}

function shortest(words: readonly string[]): string[] {
  return [...new Set(words)].toSorted((a, b) => a.length - b.length || compare(a, b)).slice(0, wordsOfTerm);
}

function trigramsOf(text: string): string[] {
  const characters = Array.from(text);
  return characters.slice(0, -2).map((_, index) => characters.slice(index, index + 3).join(""));
}

/** With two letters transposed, and with one deleted. */
function neighbours(word: string): string[] {
  const letters = Array.from(word);
  return letters.flatMap((letter, index) => {
    const next = letters[index + 1];
    const without = letters.toSpliced(index, 1).join("");
    return next === undefined ? [without] : [without, letters.toSpliced(index, 2, next, letter).join("")];
  });
}
