import type { JSX } from "preact";
import type { TrustProposal, TrustRecord } from "../../../agent-server/contract/trust.ts";
import { commandAction } from "../../shared/commands.ts";
import { Button, RelativeTime, TierBadge } from "../../shared/components.tsx";
import { count, formatNumber, t } from "../../shared/l10n.ts";
import { Block, Empty, LivePanel, Meter } from "../live-panel.tsx";
import type { WarRoom } from "../state.ts";
import { capabilityText } from "../words.ts";
import type { TrustView } from "./state.ts";

type Decision = "accept" | "decline" | "revoke";

function Proposal({ room, proposal }: { room: WarRoom; proposal: TrustProposal }): JSX.Element {
  const decide = (decision: Decision) => room.bridge.ui(commandAction("decideTrust", { id: proposal.id, decision }));
  const name = t("{0} on {1}", capabilityText(proposal), proposal.scope);
  return (
    <li class="card proposal">
      <div class="card-heading">
        <span class="card-title">{name}</span>
        <span class="steps">
          <TierBadge tier={proposal.from} />
          <span aria-hidden="true">→</span>
          <span class="sr-only">{t("to")}</span>
          <TierBadge tier={proposal.to} />
        </span>
      </div>
      <p>{proposal.reason}</p>
      <div class="actions">
        {proposal.status === "pending" ? (
          <>
            <Button kind="primary" icon="check" label={t("Accept: {0}", name)} onClick={() => decide("accept")}>
              {t("Accept…")}
            </Button>
            <Button icon="close" label={t("Decline: {0}", name)} onClick={() => decide("decline")}>
              {t("Decline…")}
            </Button>
          </>
        ) : (
          <Button icon="discard" label={t("Withdraw: {0}", name)} onClick={() => decide("revoke")}>
            {t("Withdraw…")}
          </Button>
        )}
        <span class="spring" />
        <span class="quiet">
          <RelativeTime at={proposal.decidedAt ?? proposal.createdAt} />
        </span>
      </div>
    </li>
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

function Records({ room, records }: { room: WarRoom; records: readonly TrustRecord[] }): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrolled by keyboard
    <div class="table-scroll" tabIndex={0} role="group" aria-label={t("What each kind of action has earned")}>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">{t("Action")}</th>
            <th scope="col">{t("On")}</th>
            <th scope="col">{t("Tier")}</th>
            <th scope="col">{t("Next step")}</th>
            <th scope="col" class="number">
              {t("Failed")}
            </th>
            <th scope="col" class="number">
              {t("Rolled back")}
            </th>
            <th scope="col">{t("Last")}</th>
          </tr>
        </thead>
        <tbody>
          {records.map((record) => (
            <tr key={`${record.capability} ${record.action} ${record.scope}`}>
              <th scope="row">
                <button
                  type="button"
                  class="button link"
                  title={t("Receipts of this action")}
                  onClick={() => room.showReceipts({ query: record.action })}
                >
                  {capabilityText(record)}
                </button>
              </th>
              <td class="mono">{record.scope}</td>
              <td>
                <TierBadge tier={record.tier} />
                {record.tier !== record.defaultTier && <span class="quiet"> {t("instead of {0}", record.defaultTier)}</span>}
              </td>
              <td>
                <Progress record={record} />
              </td>
              <td class="number">{formatNumber(record.failures)}</td>
              <td class="number">{formatNumber(record.rollbacks)}</td>
              <td class="quiet nowrap">
                <RelativeTime at={record.updatedAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Content({ room, view }: { room: WarRoom; view: TrustView }): JSX.Element {
  const { records, pending, accepted } = view;
  return (
    <>
      <Block title={t("Proposed")} wide>
        {pending.length === 0 ? (
          <Empty icon="lightbulb" title={t("No step is proposed.")}>
            {t(
              "After enough successes in a row Lancelot proposes a lower tier here. Nothing changes until you accept, and you can withdraw it.",
            )}
          </Empty>
        ) : (
          <ul class="cards">
            {pending.map((proposal) => (
              <Proposal key={proposal.id} room={room} proposal={proposal} />
            ))}
          </ul>
        )}
      </Block>
      {accepted.length > 0 && (
        <Block title={t("Accepted by you")} wide>
          <ul class="cards">
            {accepted.map((proposal) => (
              <Proposal key={proposal.id} room={room} proposal={proposal} />
            ))}
          </ul>
        </Block>
      )}
      <Block title={t("What each kind of action has earned")} wide>
        {records.length === 0 ? (
          <Empty icon="graph" title={t("Nothing has been earned yet.")}>
            {t("Each kind of action starts at its own tier. Its successes, failures and rollbacks are counted here as tasks run.")}
          </Empty>
        ) : (
          <Records room={room} records={records} />
        )}
      </Block>
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
