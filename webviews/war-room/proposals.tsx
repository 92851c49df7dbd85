import type { ComponentChildren, JSX } from "preact";
import { Button, RelativeTime } from "../shared/components.tsx";
import { t } from "../shared/l10n.ts";
import { Block, Empty } from "./live-panel.tsx";
import { type Column, RecordTable } from "./record-table.tsx";

interface Nothing {
  icon: string;
  title: string;
  text: string;
}

interface ListBlockProps<T> {
  title: string;
  items: readonly T[];
  /** What will appear here, and how. */
  nothing: Nothing;
  /** The list itself, drawn when there is something in it. */
  children: (items: readonly T[]) => ComponentChildren;
}

/** A block with a list, or with what will appear in it. */
export function ListBlock<T>({ title, items, nothing, children }: ListBlockProps<T>): JSX.Element {
  return (
    <Block title={title} wide>
      {items.length === 0 ? (
        <Empty icon={nothing.icon} title={nothing.title}>
          {nothing.text}
        </Empty>
      ) : (
        children(items)
      )}
    </Block>
  );
}

/** What waits for the owner's word, a card each. */
export function ProposalsBlock<T>(props: {
  proposals: readonly T[];
  nothing: Omit<Nothing, "icon">;
  card: (proposal: T) => JSX.Element;
}): JSX.Element {
  return (
    <ListBlock title={t("Proposed")} items={props.proposals} nothing={{ icon: "lightbulb", ...props.nothing }}>
      {(proposals) => <ul class="cards">{proposals.map(props.card)}</ul>}
    </ListBlock>
  );
}

/** A table of what is so now. */
export function RecordsBlock<T>(props: {
  title: string;
  rows: readonly T[];
  rowKey: (row: T) => string;
  columns: readonly Column<T>[];
  nothing: Nothing;
}): JSX.Element {
  const { title, rows, rowKey, columns, nothing } = props;
  return (
    <ListBlock title={title} items={rows} nothing={nothing}>
      {(items) => <RecordTable label={title} rows={items} rowKey={rowKey} columns={columns} />}
    </ListBlock>
  );
}

interface ProposalCardProps {
  heading: string;
  aside?: ComponentChildren;
  /** What it is about, for the labels of its buttons. */
  name: string;
  /** When it was made, or decided. */
  at: string;
  /** `accepted` ones can be withdrawn, those that wait can be accepted or declined. */
  accepted: boolean;
  decide: (decision: "accept" | "decline" | "revoke") => void;
  children: ComponentChildren;
}

/** Something that Lancelot proposes and only the owner decides. */
export function ProposalCard(props: ProposalCardProps): JSX.Element {
  const { heading, aside, name, at, accepted, decide, children } = props;
  return (
    <li class="card proposal">
      <div class="card-heading">
        <span class="card-title">{heading}</span>
        {aside}
      </div>
      {children}
      <div class="actions">
        {accepted ? (
          <Button icon="discard" label={t("Withdraw: {0}", name)} onClick={() => decide("revoke")}>
            {t("Withdraw…")}
          </Button>
        ) : (
          <>
            <Button kind="primary" icon="check" label={t("Accept: {0}", name)} onClick={() => decide("accept")}>
              {t("Accept…")}
            </Button>
            <Button icon="close" label={t("Decline: {0}", name)} onClick={() => decide("decline")}>
              {t("Decline…")}
            </Button>
          </>
        )}
        <span class="spring" />
        <span class="quiet">
          <RelativeTime at={at} />
        </span>
      </div>
    </li>
  );
}
