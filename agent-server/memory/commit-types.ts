import type { MemoryCommit, MemoryDiff, QuarantineEntry } from "../contract/memory.ts";
import type { Author, GatedEdit, ItemImage, ProposedEdit } from "./item-types.ts";

/** The result of staging one edit. */
export interface Staged {
  /** From 0; null when the edit is quarantined or only confirmed a known text. */
  readonly index: number | null;
  readonly outcome: "staged" | "quarantined" | "reinforced";
  readonly target: ProposedEdit["target"];
  readonly content: string | null;
  readonly notes: readonly string[];
  readonly quarantineId: string | null;
}

export interface Finished {
  readonly commitId: string;
  readonly diff: readonly MemoryDiff[];
  readonly quarantined: readonly QuarantineEntry[];
  readonly receiptId: string | null;
}

export interface RolledBack {
  /** Null when the commit was open and was abandoned. */
  readonly commitId: string | null;
  readonly rolledBack: readonly string[];
  readonly diff: readonly MemoryDiff[];
}

export type RollbackRequest = { readonly reason: string } & (
  | { readonly commitId: string; readonly itemIds?: readonly string[] | undefined }
  | { readonly last: number }
);

/** A quarantined edit as it is stored. */
export interface StoredQuarantine {
  readonly id: string;
  readonly status: QuarantineEntry["status"];
  readonly commitId: string;
  readonly questId: string | null;
  readonly author: Author["by"];
  readonly edit: GatedEdit;
  readonly itemId: string | null;
  /** The item's version when the edit was staged. */
  readonly itemVersion: number | null;
  /** For a quarantined item: the whole item. */
  readonly image: ItemImage | null;
  readonly why: string;
  readonly promotedBy: string | null;
  readonly createdAt: number;
  readonly decidedAt: number | null;
  readonly decidedReason: string | null;
}

/** Commits: the only way to change an item's image. */
export interface Commits {
  begin(author: Author, reason: string): { commitId: string };
  edit(commitId: string, edit: ProposedEdit, author: Author, parentId: string | null): Staged;
  staged(commitId: string): { author: Author; edits: readonly GatedEdit[] };
  finish(commitId: string, author: Author, parentId: string | null): Finished;
  abandon(commitId: string, author: Author): void;
  /**
   * Commits edits that passed the gates before: approval, import, quarantine. `rollbackOf` and receipts as in `finish`. The
   * caller may run it inside its own transaction.
   */
  apply(edits: readonly GatedEdit[], author: Author, of: { readonly reason: string; readonly parentId: string | null }): Finished;
  rollback(request: RollbackRequest, author: Author, parentId: string | null): RolledBack;
  list(params: { readonly questId?: string | undefined; readonly limit: number; readonly cursor?: string | undefined }): {
    items: MemoryCommit[];
    nextCursor?: string;
  };
  /** @throws LancelotError `not_found`. */
  get(id: string): MemoryCommit;
  /** Commits that changed an item, with the change, newest first. */
  history(itemId: string): { commit: MemoryCommit; diff: MemoryDiff }[];
  /** Open commits of this workspace. */
  open(): number;
  /** The commits that a rollback of the last `count` would roll back, newest first. */
  last(count: number): MemoryCommit[];
  /** Abandons commits of dead hosts, and commits that were open for too long. */
  reconcile(): number;
}

/** Rows of quarantined edits. */
export interface QuarantineStore {
  put(entry: Omit<StoredQuarantine, "id" | "status" | "promotedBy" | "decidedAt" | "decidedReason" | "createdAt">): StoredQuarantine;
  get(id: string): StoredQuarantine | null;
  list(of: { readonly status: StoredQuarantine["status"]; readonly limit: number }): StoredQuarantine[];
  ofCommit(commitId: string): StoredQuarantine[];
  /** Settles a pending entry. False when it was settled before. */
  settle(
    id: string,
    of: { readonly status: "promoted" | "denied" | "withdrawn"; readonly reason: string | null; readonly promotedBy?: string },
  ): boolean;
  pending(): number;
}
