import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { MemoryItem } from "../../../agent-server/contract/memory.ts";
import { Button, Problem, RelativeTime } from "../../shared/components.tsx";
import { t } from "../../shared/l10n.ts";
import type { WarRoom } from "../state.ts";
import { Origin, problemFor, TextForm } from "./parts.tsx";
import { kindText, namespaceText, percent, placeText } from "./words.ts";

const longestText = 4000;
const longestReason = 2000;

/** How sure it is, where it counts, where it comes from and when it was last changed. */
export function ItemFacts({ room, item }: { room: WarRoom; item: MemoryItem }): JSX.Element {
  const { confidence, weight, expiresAt, updatedAt, tags } = item;
  return (
    <p class="quiet item-facts">
      <span>{kindText(item.kind)}</span>
      <span>{namespaceText(item.namespace)}</span>
      <span
        title={
          weight === confidence
            ? undefined
            : t("Written with {0}; confirmation and age make it {1} now.", percent(confidence), percent(weight))
        }
      >
        {t("{0} sure", percent(weight))}
      </span>
      <Origin room={room} provenance={item.provenance} questId={item.questId} />
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

type Open = "edit" | "setAside" | null;

/** What the owner can do with an item, each in place. A message is kept as it was said, so it is not edited. */
export function ItemActions(props: { room: WarRoom; item: MemoryItem; onHistory?: () => void }): JSX.Element {
  const { room, item, onHistory } = props;
  const open = useSignal<Open>(null);
  const { memory } = room;
  const busy = memory.busy.value !== null;
  const problem = problemFor(room, item.id);
  const close = (): void => {
    open.value = null;
  };
  const named = (text: string): string => `${text}: ${item.content.slice(0, 80)}`;
  if (open.value === "edit")
    return (
      <TextForm
        label={t("What it should say")}
        value={item.content}
        rows={3}
        yes={t("Save")}
        maxLength={longestText}
        busy={busy}
        problem={problem}
        onSend={(text) => void memory.replace(item, text, "").then((ok) => ok && close())}
        onClose={close}
      />
    );
  if (open.value === "setAside")
    return (
      <TextForm
        label={t("Why is it set aside? (may be empty)")}
        rows={1}
        yes={t("Set aside")}
        optional
        maxLength={longestReason}
        busy={busy}
        problem={problem}
        onSend={(text) => void memory.setAside(item, text)}
        onClose={close}
      />
    );
  return (
    <>
      {problem !== null && <Problem text={problem} />}
      <div class="actions item-actions">
        {item.tier !== "episodic" && (
          <Button
            kind="link"
            label={named(t("Edit"))}
            disabled={busy}
            onClick={() => {
              open.value = "edit";
            }}
          >
            {t("Edit")}
          </Button>
        )}
        <Button kind="link" label={named(t("Forget"))} disabled={busy} onClick={() => void memory.forget(item)}>
          {t("Forget")}
        </Button>
        <Button
          kind="link"
          label={named(t("Set aside"))}
          disabled={busy}
          onClick={() => {
            open.value = "setAside";
          }}
        >
          {t("Set aside")}
        </Button>
        {onHistory !== undefined && (
          <Button kind="link" label={named(t("History"))} onClick={onHistory}>
            {t("History")}
          </Button>
        )}
      </div>
    </>
  );
}

/** An item's text as it is, or why there is none. */
export function ItemText({ item }: { item: MemoryItem }): JSX.Element {
  return item.content === "" ? (
    <p class="quiet">{t("The task this message was part of was deleted.")}</p>
  ) : (
    <p class="item-text">{item.content}</p>
  );
}

/** A name for an item, for headings. */
export function itemHeading(item: MemoryItem): string {
  return item.content === "" ? placeText(item) : item.content;
}
