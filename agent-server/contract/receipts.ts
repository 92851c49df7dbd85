import * as z from "zod";
import { Cursor, Id, page, Tier, Timestamp } from "./common.ts";
import { method } from "./method.ts";

export const ActionType = z.enum([
  "tool_call",
  "llm_call",
  "file_op",
  "env_query",
  "plan_step",
  "verification",
  "user_interaction",
  "system",
]);
export type ActionType = z.infer<typeof ActionType>;

/** Actions of Lancelot and decisions of the owner; the other types record how Lancelot worked. */
export const actionTypesOfActions = ["tool_call", "file_op", "env_query", "user_interaction"] as const satisfies readonly ActionType[];

export const ReceiptStatus = z.enum(["pending", "success", "failure", "cancelled"]);
export type ReceiptStatus = z.infer<typeof ReceiptStatus>;

export const CognitionTier = z.enum(["DETERMINISTIC", "CLASSIFICATION", "PLANNING", "SYNTHESIS"]);
export type CognitionTier = z.infer<typeof CognitionTier>;

const Fields = z.record(z.string(), z.unknown());

/** One action in the ledger: its opening entry joined with its closing entry. Bounded and redacted before hashing. */
export const Receipt = z.object({
  id: Id,
  timestamp: Timestamp,
  actionType: ActionType,
  actionName: z.string(),
  inputs: Fields,
  outputs: Fields,
  status: ReceiptStatus,
  /** Milliseconds from opening to closing; null while pending. */
  durationMs: z.number().nullable(),
  tokenCount: z.int().nullable(),
  cognitionTier: CognitionTier,
  riskTier: Tier,
  parentId: Id.nullable(),
  questId: Id.nullable(),
  errorMessage: z.string().nullable(),
  metadata: Fields,
  /** Hash of the latest ledger entry of this receipt, and of the entry before that one in the chain. */
  hash: z.string(),
  prevHash: z.string(),
});
export type Receipt = z.infer<typeof Receipt>;

/** A receipt and the receipts it caused, oldest first. */
export interface TraceNode {
  receipt: Receipt;
  children: TraceNode[];
}
export const TraceNode: z.ZodType<TraceNode> = z.lazy(() => z.object({ receipt: Receipt, children: z.array(TraceNode) }));

export const Verification = z.object({
  ok: z.boolean(),
  /** Number of ledger entries checked (an opened and closed receipt has two). */
  entries: z.int(),
  head: z.string().nullable(),
  /** The latest verified signed head; null without signatures. `keyId` is the truncated SHA-256 of the public key. */
  signed: z.object({ seq: z.int(), at: Timestamp, keyId: z.string(), heads: z.int() }).nullable(),
  /** Verified sealed segments and the number of their entries. */
  segments: z.object({ count: z.int(), entries: z.int() }),
  firstBad: z
    .object({
      seq: z.int(),
      receiptId: z.string().nullable(),
      problem: z.enum(["changed", "removed", "inserted", "reordered", "signature"]),
      message: z.string(),
    })
    .optional(),
});
export type Verification = z.infer<typeof Verification>;

export const receiptMethods = {
  "receipts.search": method({
    summary: "Searches receipts that match every given filter, newest first.",
    access: "any",
    params: z.object({
      query: z.string().max(500).optional(),
      questId: Id.optional(),
      actionType: ActionType.optional(),
      /** Of any of these types. */
      actionTypes: z.array(ActionType).min(1).max(ActionType.options.length).optional(),
      status: ReceiptStatus.optional(),
      tier: Tier.optional(),
      from: Timestamp.optional(),
      to: Timestamp.optional(),
      limit: z.int().min(1).max(500).default(100),
      cursor: Cursor.optional(),
    }),
    result: page(Receipt).extend({
      /** On the last page, when older receipts are sealed: their number of entries and latest time. Use `receipts.get` to read them. */
      sealed: z.object({ entries: z.int(), until: Timestamp }).optional(),
    }),
  }),
  "receipts.get": method({
    summary: "Returns a receipt. A sealed receipt is read from its file, which its metadata names as `sealed`.",
    access: "any",
    params: z.object({ id: Id }),
    result: Receipt,
  }),
  "receipts.trace": method({
    summary: "Returns the tree of a receipt or quest.",
    access: "any",
    params: z.union([z.object({ id: Id }), z.object({ questId: Id })]),
    result: z.object({ roots: z.array(TraceNode) }),
  }),
  "receipts.verify": method({
    summary: "Verifies the whole chain and reports the first modified entry.",
    access: "any",
    params: z.object({}),
    result: Verification,
  }),
  "receipts.export": method({
    summary:
      "Exports matching receipts as JSON lines to a file in the data folder, or the whole ledger with everything needed to verify it elsewhere.",
    access: "any",
    params: z.object({
      questId: Id.optional(),
      from: Timestamp.optional(),
      to: Timestamp.optional(),
      /** The whole chain with its signed heads, or the receipts alone. */
      format: z.enum(["ledger", "receipts"]).default("receipts"),
    }),
    result: z.object({
      /** Name of the file below `exports/` of the data folder. */
      file: z.string(),
      entries: z.int(),
      bytes: z.int(),
      sha256: z.string(),
    }),
  }),
};
