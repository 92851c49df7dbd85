import type { JSX } from "preact";
import type { ToolPart } from "../../agent-server/contract/chat.ts";
import { Button, Icon, State } from "../shared/components.tsx";
import { count, t } from "../shared/l10n.ts";
import type { Chat } from "./chat-state.ts";
import { stateOf } from "./tool-state.ts";

type Subtask = NonNullable<ToolPart["subtask"]>;

function Step({ step, chat }: { step: Subtask["steps"][number]; chat: Chat }): JSX.Element {
  const { receiptId } = step;
  return (
    <li data-testid="subtask-step">
      <details>
        <summary>
          <Icon name="chevron-right" />
          <span class="tool-title" title={step.title}>
            {step.title}
          </span>
          <State {...stateOf(step.status)} spin={step.status === "running"} quiet={step.status !== "denied"} />
        </summary>
        {step.output !== "" && (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: scrolled by keyboard
          <pre class="exact" tabIndex={0} role="region" aria-label={t("Output")}>
            <code>{step.output}</code>
          </pre>
        )}
        {receiptId !== null && (
          <Button testId="subtask-receipt" kind="link" icon="verified" onClick={() => chat.openReceipt(receiptId)}>
            {t("Receipt")}
          </Button>
        )}
      </details>
    </li>
  );
}

/** The steps of a sub-task, below the card of the call that started it. Each opens its result and its receipt. */
export function SubtaskCard({ subtask, chat }: { subtask: Subtask; chat: Chat }): JSX.Element {
  const hidden = subtask.total - subtask.steps.length;
  return (
    <section class="subtask" data-testid="subtask" aria-label={t("Steps of the sub-task")}>
      {hidden > 0 && <p class="quiet">{count(hidden, "1 earlier step is in its receipts.", "{0} earlier steps are in its receipts.")}</p>}
      <ul>
        {subtask.steps.map((step) => (
          <Step key={step.id} step={step} chat={chat} />
        ))}
      </ul>
    </section>
  );
}
