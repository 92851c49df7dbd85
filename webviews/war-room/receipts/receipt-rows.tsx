import type { JSX } from "preact";
import type { Receipt } from "../../../agent-server/contract/receipts.ts";
import { Moment, State, TierBadge } from "../../shared/components.tsx";
import type { WarRoom } from "../war-room-state.ts";
import { subjectOf } from "./receipts-state.ts";
import { receiptState } from "./receipt-labels.ts";

/** A short list of receipts with links to their details. */
export function ReceiptRows({ warRoom, receipts }: { warRoom: WarRoom; receipts: readonly Receipt[] }): JSX.Element {
  return (
    <ul class="rows">
      {receipts.map((receipt) => (
        <li key={receipt.id}>
          <State {...receiptState(receipt.status)} quiet />
          <button
            data-testid={`receipt:${receipt.id}`}
            type="button"
            class="button link ellipsis"
            onClick={() => warRoom.showReceipt(receipt.id)}
          >
            {receipt.actionName}
          </button>
          <span class="quiet ellipsis">{subjectOf(receipt)}</span>
          <span class="spring" />
          <TierBadge tier={receipt.riskTier} />
          <span class="quiet nowrap">
            <Moment at={receipt.timestamp} />
          </span>
        </li>
      ))}
    </ul>
  );
}
