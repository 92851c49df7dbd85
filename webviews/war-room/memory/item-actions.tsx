import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { MemoryItem } from "../../../agent-server/contract/memory.ts";
import { Button, Problem, RelativeTime } from "../../shared/components.tsx";
import { formatPercent, t } from "../../shared/l10n.ts";
import type { WarRoom } from "../war-room-state.ts";
import { Origin, problemFor, TextForm } from "./memory-parts.tsx";
import { kindText, namespaceText, placeText } from "./memory-labels.ts";

const maxTextLength = 4000;
const maxReasonLength = 2000;

/** Confidence, namespace, origin and last change of an item. */
export function ItemFacts({ warRoom, item }: { warRoom: WarRoom; item: MemoryItem }): JSX.Element {
  const { confidence, weight, expiresAt, updatedAt, tags } = item;
  return (
    <p class="quiet item-facts">
      <span>{kindText(item.kind)}</span>
      <span>{namespaceText(item.namespace)}</span>
      <span
        title={
          weight === confidence
            ? undefined
            : t("Stored with confidence {0}; now {1} after confirmations and decay.", formatPercent(confidence), formatPercent(weight))
        }
      >
        {t("confidence {0}", formatPercent(weight))}
      </span>
      <Origin warRoom={warRoom} provenance={item.provenance} questId={item.questId} />
      <RelativeTime at={updatedAt} />
      {expiresAt !== null && (
        <span>
          {t("expires")} <RelativeTime at={expiresAt} />
        </span>
      )}
      {tags.length > 0 && <span>{tags.map((tag) => `#${tag}`).join(" ")}</span>}
    </p>
  );
}

type OpenForm = "edit" | "quarantine" | null;

/** The actions on an item, each in place. Messages are a record, so they have no edit action. */
export function ItemActions(props: { warRoom: WarRoom; item: MemoryItem; onHistory?: () => void }): JSX.Element {
  const { warRoom, item, onHistory } = props;
  const open = useSignal<OpenForm>(null);
  const { memory } = warRoom;
  const busy = memory.busy.value !== null;
  const problem = problemFor(warRoom, item.id);
  const close = (): void => {
    open.value = null;
  };
  if (open.value === "edit")
    return (
      <TextForm
        testId="edit-text"
        label={t("New text")}
        value={item.content}
        rows={3}
        submitLabel={t("Save")}
        maxLength={maxTextLength}
        busy={busy}
        problem={problem}
        onSend={(text) => void memory.replace(item, text, "").then((ok) => ok && close())}
        onClose={close}
      />
    );
  if (open.value === "quarantine")
    return (
      <TextForm
        testId="quarantine-reason"
        label={t("Reason for the quarantine (optional)")}
        rows={1}
        submitLabel={t("Quarantine")}
        optional
        maxLength={maxReasonLength}
        busy={busy}
        problem={problem}
        onSend={(text) => void memory.quarantineItem(item, text)}
        onClose={close}
      />
    );
  const action = (id: string, text: string, onClick: () => void): JSX.Element => (
    <Button testId={`${id}:${item.id}`} kind="link" label={`${text}: ${item.content.slice(0, 80)}`} disabled={busy} onClick={onClick}>
      {text}
    </Button>
  );
  const show = (form: OpenForm) => (): void => {
    open.value = form;
  };
  return (
    <>
      {problem !== null && <Problem text={problem} />}
      <div class="actions item-actions">
        {item.tier !== "episodic" && action("edit", t("Edit"), show("edit"))}
        {action("forget", t("Forget"), () => void memory.forget(item))}
        {action("quarantine", t("Quarantine"), show("quarantine"))}
        {onHistory !== undefined && action("history", t("History"), onHistory)}
      </div>
    </>
  );
}

/** The content of an item, or the reason why it is missing. */
export function ItemText({ item }: { item: MemoryItem }): JSX.Element {
  return item.content === "" ? (
    <p class="quiet" data-testid="deleted-message">
      {t("This message is empty because its task was deleted.")}
    </p>
  ) : (
    <p class="item-text">{item.content}</p>
  );
}

/** Returns a heading for an item. */
export function itemHeading(item: MemoryItem): string {
  return item.content === "" ? placeText(item) : item.content;
}
