import type { JSX } from "preact";
import type { Receipt } from "../../../agent-server/contract/receipts.ts";
import { Moment, State, TierBadge } from "../../shared/components.tsx";
import type { WarRoom } from "../state.ts";
import { subjectOf } from "./state.ts";
import { statusLook } from "./words.ts";

/** A few receipts, a line each that leads to it. */
export function ReceiptRows({ room, receipts }: { room: WarRoom; receipts: readonly Receipt[] }): JSX.Element {
  return (
    <ul class="rows">
      {receipts.map((receipt) => (
        <li key={receipt.id}>
          <State {...statusLook(receipt.status)} quiet />
          <button type="button" class="button link ellipsis" onClick={() => room.showReceipt(receipt.id)}>
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
