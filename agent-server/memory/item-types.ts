import type { CoreBlockName, EditOp, MemoryKind, MemoryProblem, MemoryTarget, MemoryTier, Provenance } from "../contract/memory.ts";

/** Who changes memory. `owner`: with a click or their own words. `system`: the host, by its rules. */
export interface Author {
  readonly by: "owner" | "agent" | "system";
  readonly questId: string | null;
}

/** An item as stored: the state that a rollback restores. Times are milliseconds since 1970. */
export interface ItemImage {
  readonly id: string;
  readonly tier: MemoryTier;
  readonly block: CoreBlockName | null;
  readonly namespace: string;
  /** Absolute path; `""` for global items, `"-"` when no folder was open. */
  readonly workspace: string;
  readonly kind: MemoryKind;
  readonly content: string;
  /** `message:<id>` of a referenced message; content is empty then. */
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

/** An item with its usage data. */
export interface StoredItem extends ItemImage {
  /** Row in the table and in the text index. */
  readonly seq: number;
  readonly weight: number;
  readonly reinforcedAt: number;
  readonly reinforced: number;
}

/** An edit as requested, before the gates. */
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

/** An edit that the gates accepted: scrubbed, with checked provenance and its final place. */
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
   * For an insert of an exported item: it keeps its id if that is free, its dates (ms) and its usage data.
   * Only the owner's import sets it.
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

/** The text behind an evidence reference. */
export interface Evidence {
  /** Whose text it is. */
  readonly source: "user" | "agent" | "tool";
  readonly text: string;
}

/** The result of the gates for an edit. */
export type Verdict =
  | { readonly kind: "store"; readonly edit: GatedEdit; readonly notes: readonly string[] }
  | { readonly kind: "quarantine"; readonly edit: GatedEdit; readonly notes: readonly string[]; readonly why: string }
  | { readonly kind: "refuse"; readonly problem: MemoryProblem; readonly alternatives: readonly string[] };

export interface Gates {
  /**
   * Passes an edit through every gate, cheapest first. Pure except for evidence lookups; nothing is stored. Secrets are removed
   * from content, reason, tags and ref first: only the result may be stored, logged or shown.
   */
  judge(edit: ProposedEdit, author: Author): Verdict;
  /** Current problems of a quarantined edit, checked again; empty without any. */
  verify(entry: { readonly edit: GatedEdit; readonly author: Author["by"] }): MemoryProblem[];
}

/** The text index. It is written in the transaction of the change. */
export interface MemoryIndex {
  /** Adds or replaces an item's entry. `text` is its content, or that of the message it refers to. */
  put(item: Pick<StoredItem, "seq" | "tier" | "namespace" | "workspace" | "kind" | "tags">, text: string): void;
  remove(seq: number): void;
}

export interface SearchQuery {
  readonly query: string;
  readonly tiers: readonly MemoryTier[];
  /** Visible namespaces: `global`, `workspace`, quests of this workspace. Null: all. */
  readonly namespace: string | null;
  /** All of them are required. */
  readonly tags: readonly string[];
  /** Any of them matches; every kind by default. */
  readonly kinds?: readonly MemoryKind[] | undefined;
  readonly minConfidence: number;
  readonly limit: number;
  /** Quest whose working memory is visible beside items without a quest; null: every quest of the workspace. */
  readonly questId: string | null;
  readonly now: number;
}

export interface Found {
  readonly item: StoredItem;
  /** The searched text. */
  readonly text: string;
  readonly score: number;
  /** True when query and text share a name that few other items have. */
  readonly named: boolean;
  readonly snippet: string;
}

/** A message of the conversation. */
export interface TimelineMessage {
  readonly id: string;
  readonly questId: string;
  readonly workspace: string;
  readonly role: "user" | "assistant";
  /** The text without tool cards; secrets are placeholders. */
  readonly text: string;
  readonly createdAt: number;
  /** For role `user`: true when it was sent without the owner token, so it is not evidence of the owner's words. */
  readonly fromOthers?: boolean;
}

/** The conversation, given by the composition root. */
export interface Timeline {
  /** Null when it was deleted. */
  message(id: string): TimelineMessage | null;
  /** Messages of ended tasks of this workspace created after `after` (ms), oldest first. */
  since(after: number, limit: number): TimelineMessage[];
  /** Messages of one task, oldest first; none when the task was deleted. */
  quest(questId: string): TimelineMessage[];
}

/** Usage data: not part of an image, changed without a commit. */
export interface Derived {
  readonly weight: number;
  readonly reinforcedAt: number;
  readonly reinforced: number;
}

/** The rows of items. Each change updates the text index in the caller's transaction. */
export interface MemoryStore {
  get(id: string): StoredItem | null;
  bySeq(seqs: readonly number[]): StoredItem[];
  /** Entries of a block visible in this workspace, in the order of `orderEntries`. */
  block(block: CoreBlockName): StoredItem[];
  /** Unexpired items visible in this workspace, newest first. `before`: seq of the last item of the previous page. */
  list(of: {
    readonly tiers: readonly MemoryTier[];
    readonly namespace?: string | null;
    readonly questId?: string | null;
    readonly kind?: MemoryKind;
    readonly now: number;
    readonly limit: number;
    readonly before?: number;
  }): StoredItem[];
  /** Unexpired items visible in this workspace, by tier. */
  counts(now: number): Record<MemoryTier, number>;
  /** The item of a target and namespace with the same text, ignoring case and white space; null without one. */
  same(of: { readonly target: MemoryTarget; readonly namespace: string; readonly content: string }): StoredItem | null;
  /** The outcome of a task; null while it has none. */
  experience(questId: string): StoredItem | null;
  /** Moves outcomes of this workspace's tasks that an earlier version kept with their tasks to their own namespace; returns how many. */
  moveExperiences(limit: number): number;
  /** Writes an image: inserts, replaces or (null) removes the item. */
  put(id: string, image: ItemImage | null, derived?: Partial<Derived>): void;
  derive(id: string, derived: Partial<Derived>): void;
  /** Expired items of every workspace, oldest first. */
  expired(now: number, limit: number): StoredItem[];
  /** Every item of every workspace, in pages by `seq`, for jobs and backups. */
  all(after: number, limit: number): StoredItem[];
}

/** Search. Quarantined edits are never found. */
export interface MemorySearch {
  search(query: SearchQuery, cursor?: string): { found: Found[]; nextCursor?: string };
  /** The item that a text clearly names, or a few candidates. */
  meant(text: string, questId: string | null): { item: StoredItem | null; candidates: StoredItem[] };
}
