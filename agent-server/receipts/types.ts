import type { ActionType, CognitionTier, Receipt, ReceiptStatus, TraceNode, Verification } from "../contract/receipts.ts";
import type { Tier } from "../contract/common.ts";
import type { Params, Result } from "../contract/table.ts";
import type { SignedHead } from "./signature.ts";

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
  /** Receipts of the database; those that were sealed are found by `find` alone. */
  get(id: string): Receipt | null;
  /** The same, then in the sealed files: its metadata names the file as `sealed`. */
  find(id: string): Promise<Receipt | null>;
  /** Receipts of the database. On the last page `sealed` tells what was sealed of the time that was asked for. */
  search(filter: Params<"receipts.search">): Result<"receipts.search">;
  /** Receipts of the database. */
  trace(of: { id: string } | { questId: string }): TraceNode[];
  /** Moves entries past their time into sealed files; happens by itself every hour. Returns how much. */
  seal(signal?: AbortSignal): Promise<{ segments: number; entries: number }>;
  /** Checks everything, sealed segments and signed heads too; `progress` is told now and then. */
  verify(signal?: AbortSignal, progress?: (done: number, total: number) => void): Promise<Verification>;
  /** Writes receipts, or the whole chain with what verifies it, to a file below `exports/` of the data folder. */
  export(filter: Params<"receipts.export">, signal?: AbortSignal): Promise<Result<"receipts.export">>;
  /** Signs the head as it is now; null when there is no key store or nothing to sign. Heads are signed by themselves as well. */
  sign(): Promise<SignedHead | null>;
  /** Signs with a new key from now on; the keys before it are kept to verify with. Returns the new key's id. */
  rotateKey(): Promise<string>;
  /** What is missing to the ledger, in words for the owner; null when nothing is. */
  degraded(): string | null;
  /** Before the data folder closes: writes what is batched and signs what is new, waiting for the key store a second and a half at most. */
  end(): Promise<void>;
  /** Closes, as failures, the receipts that hosts now dead left open. Returns how many. */
  reconcile(): number;
  onReceipt(listener: (receipt: Receipt) => void): () => void;
}
