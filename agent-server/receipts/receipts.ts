import type { ActionType, CognitionTier, Receipt, ReceiptStatus, TraceNode, Verification } from "../contract/receipts.ts";
import type { Tier } from "../contract/common.ts";
import type { Params } from "../contract/table.ts";

export interface ReceiptOpening {
  actionType: ActionType;
  actionName: string;
  inputs: Record<string, unknown>;
  riskTier: Tier;
  /** DETERMINISTIC unless said. */
  cognitionTier?: CognitionTier;
  parentId?: string | null;
  questId?: string | null;
  metadata?: Record<string, unknown>;
}

export interface ReceiptClosing {
  status: Exclude<ReceiptStatus, "pending">;
  outputs?: Record<string, unknown>;
  errorMessage?: string | null;
  tokenCount?: number | null;
  metadata?: Record<string, unknown>;
}

/** The append-only ledger (governance.md, Receipts). */
export interface Ledger {
  /** Writes the opening entry; durable when it returns. Returns the receipt's id. */
  open(opening: ReceiptOpening): string;
  /** Writes the closing entry; `errorMessage`, outputs and metadata are redacted and bounded. A receipt closes once. */
  close(id: string, closing: ReceiptClosing): Receipt;
  /** Opening and closing of a T0 action at once; batched until `flush` or the next `open`. */
  record(opening: ReceiptOpening, closing: ReceiptClosing & { durationMs?: number }): string;
  /** Makes every batched entry durable. */
  flush(): void;
  get(id: string): Receipt | null;
  search(filter: Params<"receipts.search">): { items: Receipt[]; nextCursor?: string };
  trace(of: { id: string } | { questId: string }): TraceNode[];
  verify(signal?: AbortSignal): Promise<Verification>;
  /** Closes, as failures, the receipts that hosts now dead left open. Returns how many. */
  reconcile(): number;
  onReceipt(listener: (receipt: Receipt) => void): () => void;
}

export { createLedger } from "./ledger.ts";
export { recorded } from "./recorded.ts";
export { receiptsMigrations } from "./schema.ts";
