import { type Signal, signal } from "@preact/signals";
import * as z from "zod";
import { ActionType, ReceiptStatus } from "../../agent-server/contract/receipts.ts";
import { Tier } from "../../agent-server/contract/common.ts";
import type { Bridge } from "../shared/bridge.ts";
import type { Store } from "../shared/store.ts";
import type { ViewState } from "../shared/view-state.ts";
import { createReceiptsState, type ReceiptsState } from "./receipts/state.ts";

/** What the owner narrowed the receipts to. Empty texts and null mean no filter; `from` and `to` are local dates. */
export const Filters = z.object({
  query: z.string(),
  questId: z.string(),
  actionType: ActionType.nullable(),
  status: ReceiptStatus.nullable(),
  tier: Tier.nullable(),
  from: z.string(),
  to: z.string(),
});
export type Filters = z.infer<typeof Filters>;
export const noFilters: Filters = { query: "", questId: "", actionType: null, status: null, tier: null, from: "", to: "" };

export const SavedRoom = z.object({ tab: z.string(), filters: Filters, receiptId: z.string().nullable() });
export type SavedRoom = z.infer<typeof SavedRoom>;
export const emptyRoom: SavedRoom = { tab: "command", filters: noFilters, receiptId: null };

export interface WarRoom {
  readonly bridge: Bridge;
  readonly store: Store;
  readonly tab: Signal<string>;
  readonly receipts: ReceiptsState;
  showReceipt(id: string): void;
  showQuest(questId: string): void;
}

export function createWarRoom(bridge: Bridge, store: Store, saved: ViewState<SavedRoom>): WarRoom {
  const tab = signal(saved.initial.tab);
  const receipts = createReceiptsState(bridge, store, saved.initial);
  tab.subscribe((id) => saved.update({ tab: id }));
  receipts.filters.subscribe((filters) => saved.update({ filters }));
  receipts.selected.subscribe((receiptId) => saved.update({ receiptId }));

  const showReceipt = (id: string): void => {
    tab.value = "receipts";
    receipts.selected.value = id;
  };
  const showQuest = (questId: string): void => {
    tab.value = "receipts";
    receipts.filters.value = { ...noFilters, questId };
  };
  bridge.onShow((wanted) => {
    if (wanted.tab !== undefined) tab.value = wanted.tab;
    if (wanted.receiptId !== undefined) showReceipt(wanted.receiptId);
    else if (wanted.questId !== undefined) showQuest(wanted.questId);
  });
  return { bridge, store, tab, receipts, showReceipt, showQuest };
}
