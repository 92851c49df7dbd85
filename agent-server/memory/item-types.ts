import type { CoreBlockName, EditOp, MemoryKind, MemoryProblem, MemoryTarget, MemoryTier, Provenance } from "../contract/memory.ts";

/** Who does something to memory. `owner`: by their own hand, or with their own words. `system`: the host, by its rules. */
export interface Author {
  readonly by: "owner" | "agent" | "system";
  readonly questId: string | null;
}

/** An item as it is stored: what a rollback restores exactly. Times are milliseconds since 1970. */
export interface ItemImage {
  readonly id: string;
  readonly tier: MemoryTier;
  readonly block: CoreBlockName | null;
  readonly namespace: string;
  /** Absolute path; `""` of what holds everywhere, `"-"` where no folder was open. */
  readonly workspace: string;
  readonly kind: MemoryKind;
  readonly content: string;
  /** `message:<id>` of what is kept by reference; content is empty then. */
  readonly ref: string | null;
  readonly confidence: number;
  readonly tags: readonly string[];
  readonly provenance: Provenance;
  readonly questId: string | null;
  readonly commitId: string;
  readonly version: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly expiresAt: number | null;
}

/** An item with what use made of it. */
export interface StoredItem extends ItemImage {
  /** Row in the table and in the text index. */
  readonly seq: number;
  readonly weight: number;
  readonly reinforcedAt: number;
  readonly reinforced: number;
}

/** An edit as somebody wants it, before the gates. */
export interface ProposedEdit {
  readonly op: EditOp;
  readonly target: MemoryTarget;
  readonly selector?: string | undefined;
  readonly content?: string | undefined;
  readonly reason: string;
  readonly confidence: number;
  readonly provenance: Provenance;
  readonly namespace?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly kind?: MemoryKind | undefined;
  readonly ttlSeconds?: number | undefined;
}

/** An edit the gates let through: scrubbed, with checked provenance and the place it really goes to. */
export interface GatedEdit {
  readonly op: EditOp | "set_aside";
  readonly target: MemoryTarget;
  /** `global`, `workspace` or `quest:<id>`. */
  readonly namespace: string;
  readonly selector: string | null;
  readonly content: string | null;
  readonly kind: MemoryKind;
  readonly tags: readonly string[];
  readonly confidence: number;
  readonly provenance: Provenance;
  readonly reason: string;
  readonly ttlSeconds: number | null;
  /**
   * Of an insert that brings an exported item back: it keeps its id, where no item has it, its dates (ms) and what use made of it.
   * Nobody but an import of the owner's sets it.
   */
  readonly imported?: {
    readonly id: string;
    readonly questId: string | null;
    readonly createdAt: number;
    readonly updatedAt: number;
    readonly expiresAt: number | null;
    readonly reinforcedAt: number;
    readonly reinforced: number;
  };
}

/** What the evidence of an edit says. */
export interface Evidence {
  /** Whose words they are. */
  readonly source: "user" | "agent" | "tool";
  readonly text: string;
}

/** What the gates say of an edit. */
export type Verdict =
  | { readonly kind: "store"; readonly edit: GatedEdit; readonly notes: readonly string[] }
  | { readonly kind: "quarantine"; readonly edit: GatedEdit; readonly notes: readonly string[]; readonly why: string }
  | { readonly kind: "refuse"; readonly problem: MemoryProblem; readonly alternatives: readonly string[] };

export interface Gates {
  /**
   * Passes an edit through every gate, cheapest first. Pure but for looking up evidence; nothing is stored. `secret` texts are taken
   * out of content, reason, tags and ref before anybody else sees them: only the result may be kept, logged or shown.
   */
  judge(edit: ProposedEdit, author: Author): Verdict;
  /** What is against letting a quarantined edit in, looked at anew; empty when nothing is. */
  verify(entry: { readonly edit: GatedEdit; readonly author: Author["by"] }): MemoryProblem[];
}

/** The text index. It is called inside the transaction of the change. */
export interface MemoryIndex {
  /** Adds or replaces what an item is found by. `text` is its content, or that of the message it refers to. */
  put(item: Pick<StoredItem, "seq" | "tier" | "namespace" | "workspace" | "kind" | "tags">, text: string): void;
  remove(seq: number): void;
}

export interface SearchWish {
  readonly query: string;
  readonly tiers: readonly MemoryTier[];
  /** Those that are seen: `global`, `workspace`, quests of this workspace. Null: all of them. */
  readonly namespace: string | null;
  /** All of them must be there. */
  readonly tags: readonly string[];
  /** Any of them; every kind unless said. */
  readonly kinds?: readonly MemoryKind[] | undefined;
  readonly minConfidence: number;
  readonly limit: number;
  /** Ids of quests whose working memory is seen beside what has no quest; null: every quest of the workspace. */
  readonly questId: string | null;
  readonly now: number;
}

export interface Found {
  readonly item: StoredItem;
  /** The text that was searched. */
  readonly text: string;
  readonly score: number;
  readonly snippet: string;
}

/** A message as the conversation holds it. */
export interface TimelineMessage {
  readonly id: string;
  readonly questId: string;
  readonly workspace: string;
  readonly role: "user" | "assistant";
  /** Its words, without tool cards; secrets are placeholders. */
  readonly text: string;
  readonly createdAt: number;
  /** Of role `user`: it came without the owner token, so it is not what the owner said. */
  readonly fromOthers?: boolean;
}

/** The conversation, as memory refers to it; given by the composition root. */
export interface Timeline {
  /** Null when it is gone. */
  message(id: string): TimelineMessage | null;
  /** Messages of ended tasks of this workspace that were made after `after` (ms), oldest first. */
  since(after: number, limit: number): TimelineMessage[];
  /** Messages of one task, oldest first; none when the task is gone. */
  quest(questId: string): TimelineMessage[];
}

/** What is derived from use: no part of an image, changed without a commit. */
export interface Derived {
  readonly weight: number;
  readonly reinforcedAt: number;
  readonly reinforced: number;
}

/** The rows of items. Every change of one goes with its text index, inside the transaction of the caller. */
export interface MemoryStore {
  get(id: string): StoredItem | null;
  bySeq(seqs: readonly number[]): StoredItem[];
  /** Entries of a block that are seen in this workspace, in the order of `orderEntries`. */
  block(block: CoreBlockName): StoredItem[];
  /** Items that are seen in this workspace and not expired, newest first. `before`: seq of the last one of the page before. */
  list(of: {
    readonly tiers: readonly MemoryTier[];
    readonly namespace?: string | null;
    readonly questId?: string | null;
    readonly kind?: MemoryKind;
    readonly now: number;
    readonly limit: number;
    readonly before?: number;
  }): StoredItem[];
  /** Items seen in this workspace that are still there, by tier. */
  counts(now: number): Record<MemoryTier, number>;
  /** The item of a target and namespace whose text is the same but for case and white space; null when there is none. */
  same(of: { readonly target: MemoryTarget; readonly namespace: string; readonly content: string }): StoredItem | null;
  /** Writes an image: inserts, replaces or (null) removes the item. */
  put(id: string, image: ItemImage | null, derived?: Partial<Derived>): void;
  derive(id: string, derived: Partial<Derived>): void;
  /** Expired items, oldest first, of every workspace. */
  expired(now: number, limit: number): StoredItem[];
  /** Every item, a page at a time by `seq`, of every workspace: for jobs and backups. */
  all(after: number, limit: number): StoredItem[];
}

/** Finding items. Nothing in quarantine is found. */
export interface MemorySearch {
  search(wish: SearchWish, cursor?: string): { found: Found[]; nextCursor?: string };
  /** The item that words clearly name, or the few that might be meant. */
  meant(text: string, questId: string | null): { item: StoredItem | null; candidates: StoredItem[] };
}
