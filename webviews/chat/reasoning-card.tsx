import type { JSX } from "preact";
import type { ReasoningPart } from "../../agent-server/contract/chat.ts";
import { Button, Icon } from "../shared/components.tsx";
import { count, t } from "../shared/l10n.ts";
import { Markdown } from "../shared/markdown/markdown.tsx";
import type { Chat } from "./chat-state.ts";

function Entries({ title, entries }: { title: string; entries: readonly string[] }): JSX.Element | null {
  if (entries.length === 0) return null;
  return (
    <>
      <div class="quiet">{title}</div>
      <ul>
        {entries.map((entry) => (
          <li key={entry}>{entry}</li>
        ))}
      </ul>
    </>
  );
}

/** The deep reasoning before a request: strategy and risks, collapsed; missing capabilities are always shown. */
export function ReasoningCard({ part, chat }: { part: ReasoningPart; chat: Chat }): JSX.Element {
  const { receiptId } = part;
  return (
    <section class="reasoning" data-testid="reasoning" aria-label={t("Strategy")}>
      <details class="thinking">
        <summary>
          <Icon name="chevron-right" />
          <span>{t("Strategy")}</span>
          {part.risks.length > 0 && <span class="quiet"> · {count(part.risks.length, "1 risk", "{0} risks")}</span>}
        </summary>
        <Markdown text={part.strategy} streaming={false} bridge={chat.bridge} />
        <Entries title={t("Risks")} entries={part.risks} />
        {part.thinking !== "" && <Markdown text={part.thinking} streaming={false} bridge={chat.bridge} />}
        {part.experiences > 0 && (
          <div class="quiet">
            {count(part.experiences, "Used the experience of 1 earlier task.", "Used the experience of {0} earlier tasks.")}
          </div>
        )}
        {receiptId !== null && (
          <Button testId="receipt" kind="link" icon="verified" onClick={() => chat.openReceipt(receiptId)}>
            {t("Receipt")}
          </Button>
        )}
      </details>
      {part.gaps.length > 0 && (
        <div class="notice warning" role="note" data-testid="gaps">
          <Icon name="warning" />
          <div class="notice-text">
            <Entries title={t("Missing capabilities")} entries={part.gaps} />
          </div>
        </div>
      )}
    </section>
  );
}
