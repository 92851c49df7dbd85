import type { JSX } from "preact";
import type { Outcome } from "../../agent-server/contract/chat.ts";
import { Button, Icon } from "../shared/components.tsx";
import { t } from "../shared/l10n.ts";
import type { Chat } from "./chat-state.ts";

/** The actions that the model reported: each with its receipt, or marked as not recorded. The next action goes to the composer. */
export function OutcomeCard({ part, chat }: { part: Outcome; chat: Chat }): JSX.Element | null {
  const { actions, nextAction } = part;
  if (actions.length === 0 && nextAction === undefined) return null;
  return (
    <section class="outcome" data-testid="outcome" aria-label={t("Actions taken")}>
      {actions.length > 0 && (
        <ul>
          {actions.map(({ text, recorded, receiptId }, index) => (
            <li key={index} data-testid={recorded ? "outcome-recorded" : "outcome-unrecorded"} class={recorded ? "" : "unrecorded"}>
              <Icon name={recorded ? "check" : "warning"} />
              <span class="outcome-text">{text}</span>
              {!recorded && <span class="quiet">{t("not recorded")}</span>}
              {receiptId !== null && (
                <Button testId="outcome-receipt" kind="link" icon="verified" onClick={() => chat.openReceipt(receiptId)}>
                  {t("Receipt")}
                </Button>
              )}
            </li>
          ))}
        </ul>
      )}
      {nextAction !== undefined && (
        <Button
          testId="outcome-next"
          icon="arrow-right"
          title={t("Put this into the message box")}
          onClick={() => chat.compose(nextAction)}
        >
          {nextAction}
        </Button>
      )}
    </section>
  );
}
