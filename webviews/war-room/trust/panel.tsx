import type { JSX } from "preact";
import type { TrustProposal, TrustRecord } from "../../../agent-server/contract/trust.ts";
import { commandAction } from "../../shared/commands.ts";
import { RelativeTime, TierBadge } from "../../shared/components.tsx";
import { count, formatNumber, t } from "../../shared/l10n.ts";
import { Block, LivePanel, Meter } from "../live-panel.tsx";
import { ProposalCard, ProposalsBlock, RecordsBlock } from "../proposals.tsx";
import type { Column } from "../record-table.tsx";
import type { WarRoom } from "../state.ts";
import { capabilityText } from "../words.ts";
import type { TrustView } from "./state.ts";

function TrustProposalCard({ room, proposal }: { room: WarRoom; proposal: TrustProposal }): JSX.Element {
  const name = t("{0} on {1}", capabilityText(proposal), proposal.scope);
  return (
    <ProposalCard
      heading={name}
      name={name}
      at={proposal.decidedAt ?? proposal.createdAt}
      accepted={proposal.status === "accepted"}
      decide={(decision) => room.bridge.ui(commandAction("decideTrust", { id: proposal.id, decision }))}
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
  if (record.nextAt === null) return <span class="quiet">{record.heldBy ?? t("No further step.")}</span>;
  return (
    <>
      <Meter
        value={record.successes}
        most={record.nextAt}
        text={t("{0} of {1} in a row", formatNumber(record.successes), formatNumber(record.nextAt))}
        label={t("Progress of {0} on {1}", capabilityText(record), record.scope)}
      />
      {record.coolDown > 0 && (
        <span class="quiet">{count(record.coolDown, "rests for {0} more action", "rests for {0} more actions")}</span>
      )}
    </>
  );
}

function recordColumns(room: WarRoom): Column<TrustRecord>[] {
  return [
    {
      title: t("Action"),
      cell: (record) => (
        <button
          type="button"
          class="button link"
          title={t("Receipts of this action")}
          onClick={() => room.showReceipts({ query: record.action })}
        >
          {capabilityText(record)}
        </button>
      ),
    },
    { title: t("On"), cell: (record) => <span class="mono">{record.scope}</span> },
    {
      title: t("Tier"),
      cell: (record) => (
        <>
          <TierBadge tier={record.tier} />
          {record.tier !== record.defaultTier && <span class="quiet"> {t("instead of {0}", record.defaultTier)}</span>}
        </>
      ),
    },
    { title: t("Next step"), cell: (record) => <Progress record={record} /> },
    { title: t("Failed"), number: true, cell: (record) => formatNumber(record.failures) },
    { title: t("Rolled back"), number: true, cell: (record) => formatNumber(record.rollbacks) },
    {
      title: t("Last"),
      cell: (record) => (
        <span class="quiet nowrap">
          <RelativeTime at={record.updatedAt} />
        </span>
      ),
    },
  ];
}

function Content({ room, view }: { room: WarRoom; view: TrustView }): JSX.Element {
  const card = (proposal: TrustProposal): JSX.Element => <TrustProposalCard key={proposal.id} room={room} proposal={proposal} />;
  return (
    <>
      <ProposalsBlock
        proposals={view.pending}
        card={card}
        nothing={{
          title: t("No step is proposed."),
          text: t(
            "After enough successes in a row Lancelot proposes a lower tier here. Nothing changes until you accept, and you can withdraw it.",
          ),
        }}
      />
      {view.accepted.length > 0 && (
        <Block title={t("Accepted by you")} wide>
          <ul class="cards">{view.accepted.map(card)}</ul>
        </Block>
      )}
      <RecordsBlock
        title={t("What each kind of action has earned")}
        rows={view.records}
        rowKey={({ capability, action, scope }) => `${capability} ${action} ${scope}`}
        columns={recordColumns(room)}
        nothing={{
          icon: "graph",
          title: t("Nothing has been earned yet."),
          text: t("Each kind of action starts at its own tier. Its successes, failures and rollbacks are counted here as tasks run."),
        }}
      />
    </>
  );
}

/** Trust: earned from outcomes, granted by the owner. */
export function TrustPanel({ room }: { room: WarRoom }): JSX.Element {
  return (
    <LivePanel room={room} look="trust" live={room.trust} label={t("Trust")}>
      {(view) => <Content room={room} view={view} />}
    </LivePanel>
  );
}
