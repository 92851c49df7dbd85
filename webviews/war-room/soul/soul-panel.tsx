import type { JSX } from "preact";
import type { SoulProposal, SoulStatus } from "../../../agent-server/contract/soul.ts";
import { commandAction } from "../../shared/commands.ts";
import { Button, Problem, RelativeTime, State, type StateProps } from "../../shared/components.tsx";
import { DiffLines } from "../../shared/diff.tsx";
import { count, t } from "../../shared/l10n.ts";
import { Block, EmptyState, FlagOff, LivePanel } from "../live-panel.tsx";
import { Segments } from "../segments.tsx";
import type { WarRoom } from "../war-room-state.ts";
import { Issues, SoulSections } from "./soul-document.tsx";
import { diffLines, type SoulVersion, type SoulView } from "./soul-state.ts";

function proposalState(status: SoulProposal["status"]): StateProps {
  switch (status) {
    case "pending":
      return { icon: "bell", text: t("Needs your approval"), kind: "attention" };
    case "approved":
      return { icon: "pass", text: t("Approved, not active yet"), kind: "attention" };
    case "activated":
      return { icon: "pass-filled", text: t("Activated"), kind: "good" };
    case "rejected":
      return { icon: "circle-slash", text: t("Rejected"), kind: "quiet" };
  }
}

function ProposalActions({ warRoom, proposal }: { warRoom: WarRoom; proposal: SoulProposal }): JSX.Element {
  const { id, status, toVersion } = proposal;
  const critical = proposal.issues.some(({ severity }) => severity === "critical");
  const runCommand = (name: "approveSoul" | "activateSoul" | "rejectSoul" | "reviewSoulProposal") =>
    warRoom.bridge.ui(commandAction(name, { id }));
  return (
    <div class="actions">
      {status === "pending" && (
        <Button
          testId={`approve-soul:${toVersion}`}
          kind="primary"
          icon="check"
          disabled={critical}
          label={t("Approve {0}", toVersion)}
          onClick={() => runCommand("approveSoul")}
        >
          {t("Approve…")}
        </Button>
      )}
      {status === "approved" && (
        <Button
          testId={`activate-soul:${toVersion}`}
          kind="primary"
          icon="play"
          disabled={critical}
          label={t("Activate {0}", toVersion)}
          onClick={() => runCommand("activateSoul")}
        >
          {t("Activate…")}
        </Button>
      )}
      <Button testId={`reject-soul:${toVersion}`} icon="close" label={t("Reject {0}", toVersion)} onClick={() => runCommand("rejectSoul")}>
        {t("Reject…")}
      </Button>
      <Button
        testId={`compare-proposal:${toVersion}`}
        icon="diff"
        label={t("Compare in Editor: {0}", toVersion)}
        onClick={() => runCommand("reviewSoulProposal")}
      >
        {t("Compare in Editor")}
      </Button>
    </div>
  );
}

function Proposal({ warRoom, proposal }: { warRoom: WarRoom; proposal: SoulProposal }): JSX.Element {
  const { questId } = proposal;
  return (
    <li class="card proposal">
      <div class="card-heading">
        <span class="card-title">{t("{0} → {1}", proposal.fromVersion, proposal.toVersion)}</span>
        <State {...proposalState(proposal.status)} />
      </div>
      <p>{proposal.reason}</p>
      <p class="quiet">
        {proposal.proposedBy === "agent" ? t("Proposed by Lancelot") : t("Proposed by you")} <RelativeTime at={proposal.createdAt} />
        {questId !== null && (
          <>
            {" "}
            <button data-testid={`task-receipts:${questId}`} type="button" class="button link" onClick={() => warRoom.showQuest(questId)}>
              {t("Show Receipts of the Task")}
            </button>
          </>
        )}
      </p>
      <Issues issues={proposal.issues} />
      <DiffLines lines={diffLines(proposal.diff)} label={t("Changes in {0}", proposal.toVersion)} />
      <ProposalActions warRoom={warRoom} proposal={proposal} />
    </li>
  );
}

function Proposals({ warRoom, view }: { warRoom: WarRoom; view: SoulView }): JSX.Element {
  const open = view.status.pendingProposals;
  return (
    <Block title={t("Proposals")} wide>
      <p class="sr-only" role="status">
        {open.length > 0 && count(open.length, "{0} pending proposal", "{0} pending proposals")}
      </p>
      {open.length === 0 ? (
        <EmptyState icon="git-pull-request" title={t("There are no proposed changes to the soul.")}>
          {t("Lancelot can propose changes but cannot apply them. Select Edit to propose your own. Proposals appear here as diffs.")}
        </EmptyState>
      ) : (
        <ul class="cards">
          {open.map((proposal) => (
            <Proposal key={proposal.id} warRoom={warRoom} proposal={proposal} />
          ))}
        </ul>
      )}
    </Block>
  );
}

function VersionRow({ warRoom, version, status }: { warRoom: WarRoom; version: string; status: SoulStatus }): JSX.Element {
  const active = version === status.activeVersion;
  const { version: chosen } = warRoom.soul;
  const shown = (chosen.value ?? status.activeVersion) === version;
  return (
    <li class="version">
      <button
        type="button"
        class="button link"
        data-testid={`version:${version}`}
        aria-pressed={shown}
        onClick={() => {
          chosen.value = version;
        }}
      >
        {version}
      </button>
      {active && <span class="badge verdict-allow">{t("Active")}</span>}
      {shown && <span class="quiet">{t("Selected")}</span>}
      <span class="spring" />
      {!active && status.activeVersion !== null && (
        <Button
          testId={`compare-version:${version}`}
          kind="link"
          label={t("Compare {0} with the Active Version", version)}
          onClick={() => warRoom.bridge.ui(commandAction("compareSoul", { version }))}
        >
          {t("Compare")}
        </Button>
      )}
      {!active && (
        <Button
          testId={`roll-back-soul:${version}`}
          kind="link"
          label={t("Roll Back to {0}", version)}
          onClick={() => warRoom.bridge.ui(commandAction("rollBackSoul", { version }))}
        >
          {t("Roll Back…")}
        </Button>
      )}
    </li>
  );
}

function History({ proposals }: { proposals: readonly SoulProposal[] }): JSX.Element | null {
  const decided = proposals.filter(({ status }) => status === "activated" || status === "rejected");
  if (decided.length === 0) return null;
  return (
    <Block title={t("Past proposals")}>
      <ul class="rows">
        {decided.slice(0, 20).map((proposal) => (
          <li key={proposal.id} title={proposal.reason}>
            <State {...proposalState(proposal.status)} quiet />
            <span class="ellipsis">
              {proposal.toVersion} {proposal.reason}
            </span>
            <span class="spring" />
            <span class="quiet">
              <RelativeTime at={proposal.decidedAt ?? proposal.createdAt} />
            </span>
          </li>
        ))}
      </ul>
    </Block>
  );
}

function SelectedVersion({ warRoom, soul }: { warRoom: WarRoom; soul: SoulVersion }): JSX.Element {
  const { source, document } = warRoom.soul;
  const toggle = (
    <Segments
      label={t("View")}
      testId="view"
      options={["document", "yaml"]}
      value={source.value ? "yaml" : "document"}
      onChange={(next) => {
        source.value = next === "yaml";
      }}
      text={(option) => (option === "yaml" ? t("YAML") : t("Document"))}
    />
  );
  const title = soul.active ? t("Active soul, {0}", soul.version) : t("Earlier soul, {0}", soul.version);
  return (
    <Block title={title} aside={toggle} wide>
      {document.problem.value !== null && <Problem text={document.problem.value.text} />}
      <Issues issues={soul.issues} />
      {source.value ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrolled by keyboard
        <pre class="exact yaml" tabIndex={0} role="region" aria-label={t("YAML of {0}", soul.version)}>
          <code>{soul.yaml}</code>
        </pre>
      ) : (
        <SoulSections document={soul.document} />
      )}
    </Block>
  );
}

function Content({ warRoom, view }: { warRoom: WarRoom; view: SoulView }): JSX.Element {
  const { status, off } = view;
  const document = warRoom.soul.document.value.value;
  const problem = warRoom.soul.document.problem.value;
  if (off !== null) return <FlagOff warRoom={warRoom} flag={off.name} text={t("The soul is off.")} whenOff={off.effect} />;
  return (
    <>
      {status.problem !== null && <Problem text={status.problem} />}
      <Proposals warRoom={warRoom} view={view} />
      <div class="soul-split">
        <div class="soul-side">
          <Block
            title={t("Versions")}
            aside={
              <Button testId="edit-soul" icon="edit" onClick={() => warRoom.bridge.ui(commandAction("editSoul"))}>
                {t("Edit…")}
              </Button>
            }
          >
            <ul class="versions">
              {status.versions.toReversed().map((version) => (
                <VersionRow key={version} warRoom={warRoom} version={version} status={status} />
              ))}
            </ul>
          </Block>
          <History proposals={view.proposals} />
        </div>
        <div class="soul-main">
          {document === null ? (
            problem === null ? (
              <div class="nothing quiet">{t("Loading…")}</div>
            ) : (
              <Problem text={problem.text} />
            )
          ) : (
            <SelectedVersion warRoom={warRoom} soul={document} />
          )}
        </div>
      </div>
    </>
  );
}

/** The active soul, its versions and its proposals. Only a dialog of the editor can change the soul. */
export function SoulPanel({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  return (
    <LivePanel warRoom={warRoom} live={warRoom.soul.view} label={t("Soul")}>
      {(view) => <Content warRoom={warRoom} view={view} />}
    </LivePanel>
  );
}
