import type { ProposalsView } from "./proposals-view.ts";
import type { ComponentChildren, JSX } from "preact";
import { Button, RelativeTime } from "../shared/components.tsx";
import { t } from "../shared/l10n.ts";
import { type EmptyStateText, ListBlock, LivePanel } from "./live-panel.tsx";
import type { LiveQuery } from "./live-query.ts";
import { type Column, RecordTable } from "./record-table.tsx";
import type { WarRoom } from "./war-room-state.ts";

interface ProposalsPanelProps<P, R, V extends ProposalsView<P, R>> {
  warRoom: WarRoom;
  live: LiveQuery<V>;
  label: string;
  className: string;
  card: (proposal: P) => JSX.Element;
  emptyProposals: Omit<EmptyStateText, "icon">;
  /** A section between proposals and records. */
  between?: (view: V) => ComponentChildren;
  recordsTitle: string;
  rowKey: (record: R) => string;
  columns: readonly Column<R>[];
  emptyRecords: EmptyStateText;
}

/** A panel with a list of pending proposals and a table of records: Trust and Learning. */
export function ProposalsPanel<P, R, V extends ProposalsView<P, R>>(props: ProposalsPanelProps<P, R, V>): JSX.Element {
  const { warRoom, live, label, className, card, emptyProposals, between, recordsTitle, rowKey, columns, emptyRecords } = props;
  return (
    <LivePanel warRoom={warRoom} className={className} live={live} label={label}>
      {(view) => (
        <>
          <ListBlock title={t("Proposals")} items={view.pending} empty={{ icon: "lightbulb", ...emptyProposals }}>
            {(proposals) => <ul class="cards">{proposals.map(card)}</ul>}
          </ListBlock>
          {between?.(view)}
          <ListBlock title={recordsTitle} items={view.records} empty={emptyRecords}>
            {(records) => <RecordTable label={recordsTitle} rows={records} rowKey={rowKey} columns={columns} />}
          </ListBlock>
        </>
      )}
    </LivePanel>
  );
}

interface ProposalCardProps {
  id: string;
  heading: string;
  aside?: ComponentChildren;
  /** Subject of the proposal, for the labels of its buttons. */
  name: string;
  /** Time of the proposal or of its decision. */
  at: string;
  /** True for an accepted proposal, which can be revoked; a pending one can be accepted or declined. */
  accepted: boolean;
  decide: (decision: "accept" | "decline" | "revoke") => void;
  children: ComponentChildren;
}

/** A proposal of Lancelot that the user decides. */
export function ProposalCard(props: ProposalCardProps): JSX.Element {
  const { id, heading, aside, name, at, accepted, decide, children } = props;
  return (
    <li class="card proposal">
      <div class="card-heading">
        <span class="card-title">{heading}</span>
        {aside}
      </div>
      {children}
      <div class="actions">
        {accepted ? (
          <Button testId={`withdraw:${id}`} icon="discard" label={t("Revoke: {0}", name)} onClick={() => decide("revoke")}>
            {t("Revoke…")}
          </Button>
        ) : (
          <>
            <Button testId={`accept:${id}`} kind="primary" icon="check" label={t("Accept: {0}", name)} onClick={() => decide("accept")}>
              {t("Accept…")}
            </Button>
            <Button testId={`decline:${id}`} icon="close" label={t("Decline: {0}", name)} onClick={() => decide("decline")}>
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
