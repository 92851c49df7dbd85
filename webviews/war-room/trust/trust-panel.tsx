import type { JSX } from "preact";
import type { TrustProposal, TrustRecord } from "../../../agent-server/contract/trust.ts";
import { commandAction } from "../../shared/commands.ts";
import { RelativeTime, TierBadge } from "../../shared/components.tsx";
import { count, formatNumber, t } from "../../shared/l10n.ts";
import { Block, Meter } from "../live-panel.tsx";
import { ProposalCard, ProposalsPanel } from "../proposals-panel.tsx";
import type { Column } from "../record-table.tsx";
import type { WarRoom } from "../war-room-state.ts";
import { capabilityText } from "../action-labels.ts";
import type { TrustView } from "./trust-state.ts";

function TrustProposalCard({ warRoom, proposal }: { warRoom: WarRoom; proposal: TrustProposal }): JSX.Element {
  const name = t("{0} on {1}", capabilityText(proposal), proposal.scope);
  return (
    <ProposalCard
      heading={name}
      id={proposal.id}
      name={name}
      at={proposal.decidedAt ?? proposal.createdAt}
      accepted={proposal.status === "accepted"}
      decide={(decision) => warRoom.bridge.ui(commandAction("decideTrust", { id: proposal.id, decision }))}
      aside={
        <span class="steps">
          <TierBadge tier={proposal.from} />
          <span aria-hidden="true">→</span>
          <span class="sr-only">{t("to")}</span>
          <TierBadge tier={proposal.to} />
        </span>
      }
    >
      <p>{proposal.reason}</p>
    </ProposalCard>
  );
}

function Progress({ record }: { record: TrustRecord }): JSX.Element {
  if (record.nextAt === null) return <span class="quiet">{record.heldBy ?? t("No further tier")}</span>;
  return (
    <>
      <Meter
        value={record.successes}
        max={record.nextAt}
        text={t("{0} of {1} consecutive successes", formatNumber(record.successes), formatNumber(record.nextAt))}
        label={t("Progress of {0} on {1}", capabilityText(record), record.scope)}
      />
      {record.coolDown > 0 && (
        <span class="quiet">{count(record.coolDown, "paused for {0} more action", "paused for {0} more actions")}</span>
      )}
    </>
  );
}

function recordColumns(warRoom: WarRoom): Column<TrustRecord>[] {
  return [
    {
      title: t("Action"),
      cell: (record) => (
        <button
          data-testid={`action-receipts:${record.action}`}
          type="button"
          class="button link"
          title={t("Show receipts of this action")}
          onClick={() => warRoom.showReceipts({ query: record.action })}
        >
          {capabilityText(record)}
        </button>
      ),
    },
    { title: t("Scope"), cell: (record) => <span class="mono">{record.scope}</span> },
    {
      title: t("Tier"),
      cell: (record) => (
        <>
          <TierBadge tier={record.tier} />
          {record.tier !== record.defaultTier && <span class="quiet"> {t("instead of {0}", record.defaultTier)}</span>}
        </>
      ),
    },
    { title: t("Next tier"), cell: (record) => <Progress record={record} /> },
    { title: t("Failed"), number: true, cell: (record) => formatNumber(record.failures) },
    { title: t("Rolled back"), number: true, cell: (record) => formatNumber(record.rollbacks) },
    {
      title: t("Last update"),
      cell: (record) => (
        <span class="quiet nowrap">
          <RelativeTime at={record.updatedAt} />
        </span>
      ),
    },
  ];
}

/** Trust: earned through successful actions, granted by the user. */
export function TrustPanel({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  const card = (proposal: TrustProposal): JSX.Element => <TrustProposalCard key={proposal.id} warRoom={warRoom} proposal={proposal} />;
  return (
    <ProposalsPanel<TrustProposal, TrustRecord, TrustView>
      warRoom={warRoom}
      live={warRoom.trust}
      label={t("Trust")}
      className="trust"
      card={card}
      emptyProposals={{
        title: t("There are no proposed tier changes."),
        text: t(
          "After enough consecutive successes, Lancelot proposes a lower tier here. Nothing changes until you accept the proposal, and you can revoke it.",
        ),
      }}
      between={({ accepted }) =>
        accepted.length > 0 && (
          <Block title={t("Accepted proposals")} wide>
            <ul class="cards">{accepted.map(card)}</ul>
          </Block>
        )
      }
      recordsTitle={t("Trust by kind of action")}
      rowKey={({ capability, action, scope }) => `${capability} ${action} ${scope}`}
      columns={recordColumns(warRoom)}
      emptyRecords={{
        icon: "graph",
        title: t("There are no records yet."),
        text: t("Each kind of action starts at its default tier. Lancelot counts successes, failures and rollbacks while tasks run."),
      }}
    />
  );
}
