import type { JSX } from "preact";
import { Button, Problem, RelativeTime } from "../../shared/components.tsx";
import { t } from "../../shared/l10n.ts";
import type { WarRoom } from "../state.ts";
import { ItemActions, ItemFacts, ItemText, itemHeading } from "./entry.tsx";
import { Change, ReceiptLink } from "./parts.tsx";
import type { ItemView } from "./state.ts";
import { authorText, opText, placeText } from "./words.ts";

function History({ room, view }: { room: WarRoom; view: ItemView }): JSX.Element {
  return (
    <ol class="history">
      {view.history.map(({ commit, diff }) => (
        <li key={commit.id}>
          <p>
            <strong>{opText(diff.op)}</strong> {t("by {0}", authorText(commit.author))},{" "}
            <RelativeTime at={commit.finishedAt ?? commit.createdAt} />{" "}
            <Button kind="link" onClick={() => room.showMemory({ commitId: commit.id })}>
              {t("Commit")}
            </Button>
            {commit.receiptId !== null && <ReceiptLink room={room} id={commit.receiptId} />}
          </p>
          <Change diff={diff} name={commit.id} />
        </li>
      ))}
    </ol>
  );
}

/** The heading of the item on show. */
export function shownItemHeading(room: WarRoom): string {
  const item = room.memory.item.value.value?.item ?? null;
  return item === null ? t("Item") : itemHeading(item);
}

/** One item with its versions: who changed what, when and why. */
export function ItemDetail({ room, id }: { room: WarRoom; id: string }): JSX.Element {
  const { item: live } = room.memory;
  const view = live.value.value;
  const problem = live.problem.value;
  if (problem !== null) return <Problem text={problem.text} />;
  if (view === null || view.id !== id) return <p class="quiet">{t("Loading…")}</p>;
  return (
    <>
      {view.item === null ? (
        <p>{t("It is no longer remembered.")}</p>
      ) : (
        <>
          <p class="quiet">{placeText(view.item)}</p>
          <ItemText item={view.item} />
          <ItemFacts room={room} item={view.item} />
          <ItemActions key={view.item.id} room={room} item={view.item} />
        </>
      )}
      <h3>{t("History")}</h3>
      {view.history.length === 0 ? <p class="quiet">{t("No commit of it is kept any more.")}</p> : <History room={room} view={view} />}
    </>
  );
}
