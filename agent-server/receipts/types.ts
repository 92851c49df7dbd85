import type { ActionType, CognitionTier, Receipt, ReceiptStatus, TraceNode, Verification } from "../contract/receipts.ts";
import type { Tier } from "../contract/common.ts";
import type { Params, Result } from "../contract/table.ts";
import type { SignedHead } from "./signature.ts";

export interface ReceiptOpening {
  actionType: ActionType;
  actionName: string;
  inputs: Record<string, unknown>;
  riskTier: Tier;
  /** DETERMINISTIC by default. */
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
  /** Writes the opening entry, which is durable on return. Returns the receipt's id. */
  open(opening: ReceiptOpening): string;
  /** Writes the closing entry; `errorMessage`, outputs and metadata are redacted and bounded. A receipt closes once. */
  close(id: string, closing: ReceiptClosing): Receipt;
  /** Records a finished T0 action; batched until `flush` or the next `open`. */
  record(opening: ReceiptOpening, closing: ReceiptClosing & { durationMs?: number }): string;
  /** Waits until the database can be written, without blocking the event loop. Call it before receipts that follow without an `await`. */
  ready(signal?: AbortSignal): Promise<void>;
  /** Makes every batched entry durable. */
  flush(): void;
  /** Finds a receipt in the database; use `find` for sealed receipts. */
  get(id: string): Receipt | null;
  /** Finds a receipt in the database or in the sealed files; its metadata names such a file as `sealed`. */
  find(id: string): Promise<Receipt | null>;
  /** Completes what a search with this filter reads, in slices: an index that is far behind takes a minute. @throws LancelotError `cancelled` */
  catchUp(filter: Params<"receipts.search">, signal?: AbortSignal): Promise<void>;
  /** Searches the database. On the last page, `sealed` describes the sealed entries of the requested period. */
  search(filter: Params<"receipts.search">): Result<"receipts.search">;
  /** Traces receipts of the database. */
  trace(of: { id: string } | { questId: string }): TraceNode[];
  /** Moves entries past their retention time into sealed files; also runs every hour. Returns the number moved. */
  seal(signal?: AbortSignal): Promise<{ segments: number; entries: number }>;
  /** Verifies all entries, sealed segments and signed heads, with periodic calls to `progress`. */
  verify(signal?: AbortSignal, progress?: (done: number, total: number) => void): Promise<Verification>;
  /** Exports receipts, or the whole chain with its signatures and keys, to a file in `exports/` of the data folder. */
  export(filter: Params<"receipts.export">, signal?: AbortSignal): Promise<Result<"receipts.export">>;
  /** Signs the current head; null without a key store or with nothing to sign. Heads are also signed periodically. */
  sign(): Promise<SignedHead | null>;
  /** Creates a new signing key; previous public keys are kept for verification. Returns the new key's id. */
  rotateKey(): Promise<string>;
  /** User-facing reason why signing or sealing is degraded; null when both work. */
  degraded(): string | null;
  /** Why the owner's config/receipts.yaml is not used; null when it is, or there is none. */
  configProblem(): string | null;
  /** Call before the data folder closes: writes the batch and signs new entries, waiting at most 1.5 seconds for the key store. */
  end(): Promise<void>;
  /** Closes receipts left open by hosts that have died, as failures. Returns their number. */
  reconcile(): number;
  onReceipt(listener: (receipt: Receipt) => void): () => void;
}
