import * as z from "zod";
import { ActionType, ReceiptStatus } from "../../agent-server/contract/receipts.ts";
import { Tier } from "../../agent-server/contract/common.ts";

/** The filters of the receipts. Empty strings and null mean no filter; `from` and `to` are local dates. */
export const Filters = z.object({
  query: z.string(),
  questId: z.string(),
  /** `actions`: the types of `actionTypesOfActions`. */
  actionType: z.union([ActionType, z.literal("actions")]).nullable(),
  status: ReceiptStatus.nullable(),
  tier: Tier.nullable(),
  from: z.string(),
  to: z.string(),
});

export type Filters = z.infer<typeof Filters>;

/** The receipts that are shown at first. */
export const noFilters: Filters = { query: "", questId: "", actionType: "actions", status: null, tier: null, from: "", to: "" };

export const SavedWarRoom = z.object({ tab: z.string(), filters: Filters, receiptId: z.string().nullable() });

export type SavedWarRoom = z.infer<typeof SavedWarRoom>;

export const emptyWarRoom: SavedWarRoom = { tab: "command", filters: noFilters, receiptId: null };
