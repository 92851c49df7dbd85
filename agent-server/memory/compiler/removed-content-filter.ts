import { trimEnd } from "../../contract/trim-end.ts";
import type { Storage } from "../../storage/storage.ts";
import type { Exclusion } from "../core-blocks.ts";
import { isStopWord } from "../search/stop-words.ts";
import { fold, stem } from "../search/text-tokens.ts";
import { foldText } from "../text-key.ts";
import type { Found, StoredItem } from "../item-types.ts";

/** Removed texts that are compared, newest first. */
const removals = 300;
/** A text with this fraction of a removed text's words repeats it. */
const enough = 0.6;

/** A text with its words. */
interface TextWords {
  readonly text: string;
  readonly exact: ReadonlySet<string>;
  readonly words: ReadonlySet<string>;
}

/**
 * Accounts of earlier tasks (events, experiences, summaries) that repeat what the owner rolled back or deleted: they are excluded
 * from compiled texts. Texts are compared by words: every number and name of the removed text, and most of
 * its other words. A removal counts as long as its commit can be rolled back. The accounts stay stored, and
 * search finds them.
 */
export function createRemovedContentFilter(storage: Storage, workspace: string) {
  const rows = storage.db
    .prepare<[string, number], string>(
      `SELECT json_extract(i.before, '$.content') FROM memory_images i JOIN memory_commits c ON c.id = i.commit_id
       WHERE c.workspace IN (?, '') AND c.author = 'owner' AND c.rolled_back_by IS NULL
         AND i.before IS NOT NULL AND i.after IS NULL
       ORDER BY c.seq DESC, i.number LIMIT ?`,
    )
    .pluck();
  const latest = storage.db.prepare<[], number | null>("SELECT max(finish_seq) FROM memory_commits").pluck();
  // Only a finished commit changes the removals and the kept commits.
  let known: { readonly upTo: number | null; readonly removed: readonly TextWords[] } | null = null;
  const removedNow = (): readonly TextWords[] => {
    const upTo = latest.get() ?? null;
    if (known?.upTo !== upTo || known === null) {
      const texts = rows.all(workspace, removals).filter((text) => text !== "");
      known = { upTo, removed: texts.map((text) => ({ text: foldText(text), ...wordsOf(text) })) };
    }
    return known.removed;
  };

  /** @param present items that are in memory: the owner account it again */
  return (found: readonly Found[], present: readonly StoredItem[]): { kept: Found[]; excluded: Exclusion[] } => {
    const kept: Found[] = [];
    const excluded: Exclusion[] = [];
    if (!found.some(({ item }) => item.tier === "episodic")) return { kept: [...found], excluded };
    const still = new Set(
      [...present, ...found.filter(({ item }) => item.tier !== "episodic").map(({ item }) => item)].map((item) => foldText(item.content)),
    );
    const removed = removedNow().filter(({ text }) => !still.has(text));
    for (const one of found) {
      const account = one.item.tier === "episodic" && removed.length > 0 ? { text: foldText(one.text), ...wordsOf(one.text) } : null;
      if (account === null || !removed.some((removedText) => repeats(account, removedText))) kept.push(one);
      else excluded.push({ id: one.item.id, reason: "It repeats something you deleted or rolled back." });
    }
    return { kept, excluded };
  };
}

function repeats(account: TextWords, { text: removedText, exact, words }: TextWords): boolean {
  if (removedText.length >= 8 && account.text.includes(removedText)) return true;
  const all = exact.size + words.size;
  if (all < 2 || ![...exact].every((word) => account.exact.has(word))) return false;
  const same = exact.size + [...words].filter((word) => account.words.has(word)).length;
  return same / all >= enough;
}

/** Numbers and code names unchanged, and the stems of the other meaningful words. */
function wordsOf(text: string): Pick<TextWords, "exact" | "words"> {
  const exact = new Set<string>();
  const words = new Set<string>();
  for (const token of foldText(text).match(/[\p{L}\p{N}][\p{L}\p{N}_./:@-]*/gu) ?? []) {
    const word = trimEnd(token, "./:@-");
    if (/\d/.test(word) || /[_/@:.]/.test(word)) exact.add(word);
    else if (word.length > 2 && !isStopWord(word)) words.add(stem(fold(word)));
  }
  return { exact, words };
}
