import type { JSX } from "preact";
import { Button, Problem, RelativeTime } from "../../shared/components.tsx";
import { t } from "../../shared/l10n.ts";
import type { WarRoom } from "../war-room-state.ts";
import { ItemActions, ItemFacts, ItemText, itemHeading } from "./item-actions.tsx";
import { Change, ReceiptLink } from "./memory-parts.tsx";
import type { ItemView } from "./memory-state.ts";
import { authorText, opText, placeText } from "./memory-labels.ts";

function History({ warRoom, view }: { warRoom: WarRoom; view: ItemView }): JSX.Element {
  return (
    <ol class="history">
      {view.history.map(({ commit, diff }) => (
        <li key={commit.id}>
          <p>
            <strong>{opText(diff.op)}</strong> {t("by {0}", authorText(commit.author))},{" "}
            <RelativeTime at={commit.finishedAt ?? commit.createdAt} />{" "}
            <Button testId={`commit:${commit.id}`} kind="link" onClick={() => warRoom.showMemory({ commitId: commit.id })}>
              {t("Commit")}
            </Button>
            {commit.receiptId !== null && <ReceiptLink warRoom={warRoom} id={commit.receiptId} />}
          </p>
          <Change diff={diff} name={commit.id} />
        </li>
      ))}
    </ol>
  );
}

/** Returns the heading of the selected item. */
export function shownItemHeading(warRoom: WarRoom): string {
  const item = warRoom.memory.item.value.value?.item ?? null;
  return item === null ? t("Item") : itemHeading(item);
}

/** One item and the history of its changes. */
export function ItemDetail({ warRoom, id }: { warRoom: WarRoom; id: string }): JSX.Element {
  const { item: live } = warRoom.memory;
  const view = live.value.value;
  const problem = live.problem.value;
  if (problem !== null) return <Problem text={problem.text} />;
  if (view === null || view.id !== id) return <p class="quiet">{t("Loading…")}</p>;
  return (
    <>
      {view.item === null ? (
        <p data-testid="deleted-item">{t("This item was deleted.")}</p>
      ) : (
        <>
          <p class="quiet">{placeText(view.item)}</p>
          <ItemText item={view.item} />
          <ItemFacts warRoom={warRoom} item={view.item} />
          <ItemActions key={view.item.id} warRoom={warRoom} item={view.item} />
        </>
      )}
      <h3>{t("History")}</h3>
      {view.history.length === 0 ? (
        <p class="quiet">{t("No commits of this item are available anymore.")}</p>
      ) : (
        <History warRoom={warRoom} view={view} />
      )}
    </>
  );
}
