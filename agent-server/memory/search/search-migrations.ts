import type { Migration } from "../../storage/storage.ts";

export const memorySearchMigrations: readonly Migration[] = [
  {
    name: "memory-2-search",
    sql: `
      -- Words of every item as words.ts makes them (split, without case, marks and endings), so the tokenizer has nothing left to do but
      -- to divide at spaces. The rowid is memory_items.seq. Facets are what items are filtered by (facets.ts).
      CREATE VIRTUAL TABLE memory_fts USING fts5(words, facets, content='', contentless_delete=1, tokenize='ascii');
      -- Every word that was ever put, with its ending, by workspace: for beginnings, parts and misspellings of words. What others
      -- remember changes nothing here.
      CREATE TABLE memory_words (
        id INTEGER PRIMARY KEY,
        workspace TEXT NOT NULL,
        word TEXT NOT NULL,
        UNIQUE (workspace, word)
      ) STRICT;
      CREATE VIRTUAL TABLE memory_word_parts USING fts5(word, content='', contentless_delete=1, detail='none', tokenize='trigram case_sensitive 1');
      -- The newest of a tier or of a namespace, in the order of their rows.
      CREATE INDEX memory_items_newest ON memory_items (workspace, tier);
      CREATE INDEX memory_items_namespace ON memory_items (workspace, namespace, tier);
    `,
  },
];
