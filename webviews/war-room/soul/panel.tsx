import type { JSX } from "preact";
import type { SoulProposal, SoulStatus } from "../../../agent-server/contract/soul.ts";
import { commandAction } from "../../shared/commands.ts";
import { Button, Problem, RelativeTime, State } from "../../shared/components.tsx";
import { DiffLines } from "../../shared/diff.tsx";
import { count, t } from "../../shared/l10n.ts";
import { Block, Empty, FlagOff, LivePanel } from "../live-panel.tsx";
import type { WarRoom } from "../state.ts";
import { Issues, SoulSections } from "./document.tsx";
import { diffLines, type ShownSoul, type SoulView } from "./state.ts";

function statusLook(status: SoulProposal["status"]): { icon: string; text: string; kind: string } {
  switch (status) {
    case "pending":
      return { icon: "bell", text: t("Waits for your word"), kind: "attention" };
    case "approved":
      return { icon: "pass", text: t("Approved, not in effect yet"), kind: "attention" };
    case "activated":
      return { icon: "pass-filled", text: t("Activated"), kind: "good" };
    case "rejected":
      return { icon: "circle-slash", text: t("Rejected"), kind: "quiet" };
  }
}

function ProposalActions({ room, proposal }: { room: WarRoom; proposal: SoulProposal }): JSX.Element {
  const { id, status, toVersion } = proposal;
  const critical = proposal.issues.some(({ severity }) => severity === "critical");
  const ask = (name: "approveSoul" | "activateSoul" | "rejectSoul" | "reviewSoulProposal") => room.bridge.ui(commandAction(name, { id }));
  return (
    <div class="actions">
      {status === "pending" && (
        <Button kind="primary" icon="check" disabled={critical} label={t("Approve {0}", toVersion)} onClick={() => ask("approveSoul")}>
          {t("Approve…")}
        </Button>
      )}
      {status === "approved" && (
        <Button kind="primary" icon="play" disabled={critical} label={t("Activate {0}", toVersion)} onClick={() => ask("activateSoul")}>
          {t("Activate…")}
        </Button>
      )}
      <Button icon="close" label={t("Reject {0}", toVersion)} onClick={() => ask("rejectSoul")}>
        {t("Reject…")}
      </Button>
      <Button icon="diff" label={t("Compare in the editor: {0}", toVersion)} onClick={() => ask("reviewSoulProposal")}>
        {t("Compare in the editor")}
      </Button>
    </div>
  );
}

function Proposal({ room, proposal }: { room: WarRoom; proposal: SoulProposal }): JSX.Element {
  const { questId } = proposal;
  return (
    <li class="card proposal">
      <div class="card-heading">
        <span class="card-title">{t("{0} becomes {1}", proposal.fromVersion, proposal.toVersion)}</span>
        <State {...statusLook(proposal.status)} />
      </div>
      <p>{proposal.reason}</p>
      <p class="quiet">
        {proposal.proposedBy === "agent" ? t("Proposed by Lancelot,") : t("Proposed by you,")} <RelativeTime at={proposal.createdAt} />
        {questId !== null && (
          <>
            {" "}
            <button type="button" class="button link" onClick={() => room.showQuest(questId)}>
              {t("Receipts of its task")}
            </button>
          </>
        )}
      </p>
      <Issues issues={proposal.issues} />
      <DiffLines lines={diffLines(proposal.diff)} label={t("What {0} changes", proposal.toVersion)} />
      <ProposalActions room={room} proposal={proposal} />
    </li>
  );
}

function Proposals({ room, view }: { room: WarRoom; view: SoulView }): JSX.Element {
  const open = view.status.pendingProposals;
  return (
    <Block title={t("Proposals")} wide>
      <p class="sr-only" role="status">
        {open.length > 0 && count(open.length, "{0} proposal waits for you", "{0} proposals wait for you")}
      </p>
      {open.length === 0 ? (
        <Empty icon="git-pull-request" title={t("No change of the soul is proposed.")}>
          {t("Lancelot can propose a change but never make one, and you can propose your own with Edit. Both appear here as a diff.")}
        </Empty>
      ) : (
        <ul class="cards">
          {open.map((proposal) => (
            <Proposal key={proposal.id} room={room} proposal={proposal} />
          ))}
        </ul>
      )}
    </Block>
  );
}

function VersionRow({ room, version, status }: { room: WarRoom; version: string; status: SoulStatus }): JSX.Element {
  const active = version === status.activeVersion;
  const { version: chosen } = room.soul;
  const shown = (chosen.value ?? status.activeVersion) === version;
  return (
    <li class="version">
      <button
        type="button"
        class="button link"
        aria-pressed={shown}
        onClick={() => {
          chosen.value = version;
        }}
      >
        {version}
      </button>
      {active && <span class="badge verdict-allow">{t("active")}</span>}
      {shown && <span class="quiet">{t("shown")}</span>}
      <span class="spring" />
      {!active && status.activeVersion !== null && (
        <Button
          kind="link"
          label={t("Compare {0} with the active version", version)}
          onClick={() => room.bridge.ui(commandAction("compareSoul", { version }))}
        >
          {t("Compare")}
        </Button>
      )}
      {!active && (
        <Button
          kind="link"
          label={t("Roll back to {0}", version)}
          onClick={() => room.bridge.ui(commandAction("rollBackSoul", { version }))}
        >
          {t("Roll back…")}
        </Button>
      )}
    </li>
  );
}

function History({ proposals }: { proposals: readonly SoulProposal[] }): JSX.Element | null {
  const decided = proposals.filter(({ status }) => status === "activated" || status === "rejected");
  if (decided.length === 0) return null;
  return (
    <Block title={t("Decided proposals")}>
      <ul class="rows">
        {decided.slice(0, 20).map((proposal) => (
          <li key={proposal.id} title={proposal.reason}>
            <State {...statusLook(proposal.status)} quiet />
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

function Shown({ room, soul }: { room: WarRoom; soul: ShownSoul }): JSX.Element {
  const { source, document } = room.soul;
  const toggle = (
    <div class="segments" role="group" aria-label={t("How it is shown")}>
      {[false, true].map((yaml) => (
        <button
          key={String(yaml)}
          type="button"
          class="segment"
          aria-pressed={source.value === yaml}
          onClick={() => {
            source.value = yaml;
          }}
        >
          {yaml ? t("YAML") : t("Read")}
        </button>
      ))}
    </div>
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

function Content({ room, view }: { room: WarRoom; view: SoulView }): JSX.Element {
  const { status, off } = view;
  const document = room.soul.document.value.value;
  const problem = room.soul.document.problem.value;
  if (off !== null) return <FlagOff room={room} flag={off.name} text={t("The soul is switched off.")} whenOff={off.effect} />;
  return (
    <>
      {status.problem !== null && <Problem text={status.problem} />}
      <Proposals room={room} view={view} />
      <div class="soul-split">
        <div class="soul-side">
          <Block
            title={t("Versions")}
            aside={
              <Button icon="edit" onClick={() => room.bridge.ui(commandAction("editSoul"))}>
                {t("Edit…")}
              </Button>
            }
          >
            <ul class="versions">
              {status.versions.toReversed().map((version) => (
                <VersionRow key={version} room={room} version={version} status={status} />
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
            <Shown room={room} soul={document} />
          )}
        </div>
      </div>
    </>
  );
}

/** The constitution: what is in effect, what was, and what is proposed. Only the owner's word in the editor's own dialog changes it. */
export function SoulPanel({ room }: { room: WarRoom }): JSX.Element {
  return (
    <LivePanel room={room} live={room.soul.view} label={t("Soul")}>
      {(view) => <Content room={room} view={view} />}
    </LivePanel>
  );
}
