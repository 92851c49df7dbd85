import type { CoreBlock } from "../../contract/memory.ts";
import type { Ledger } from "../../receipts/receipts.ts";
import type { Storage } from "../../storage/storage.ts";
import type { Commits, QuarantineStore } from "../commit-types.ts";
import type { MemoryIndex, MemoryStore, StoredItem, Timeline } from "../item-types.ts";

/** What the parts of the integrity audit work with. */
export interface AuditDeps {
  readonly storage: Storage;
  readonly store: MemoryStore;
  readonly index: MemoryIndex;
  readonly commits: Pick<Commits, "reconcile">;
  readonly quarantine: Pick<QuarantineStore, "list">;
  readonly ledger: Pick<Ledger, "open" | "close" | "find" | "search">;
  readonly timeline: Pick<Timeline, "message">;
  readonly blocks: () => readonly Pick<CoreBlock, "block" | "tokens" | "cap">[];
  /** The searchable text of an item. */
  readonly textOf: (item: StoredItem) => string;
  readonly workspace: string;
  /** Time of the last successful audit (ms); null without one. */
  readonly lastRun: () => number | null;
}
