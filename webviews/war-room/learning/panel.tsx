import type { JSX } from "preact";
import type { LearnedRule, LearningProposal } from "../../../agent-server/contract/trust.ts";
import { commandAction } from "../../shared/commands.ts";
import { Button, RelativeTime, State } from "../../shared/components.tsx";
import { count, formatNumber, t } from "../../shared/l10n.ts";
import { LivePanel, Meter } from "../live-panel.tsx";
import { ProposalCard, ProposalsBlock, RecordsBlock } from "../proposals.tsx";
import type { Column } from "../record-table.tsx";
import type { WarRoom } from "../state.ts";
import { patternText } from "../words.ts";
import type { LearningView } from "./state.ts";

function decide(room: WarRoom, id: string, decision: "accept" | "decline" | "confirm" | "revoke"): void {
  room.bridge.ui(commandAction("decideLearning", { id, decision }));
}

function RuleProposal({ room, proposal }: { room: WarRoom; proposal: LearningProposal }): JSX.Element {
  const name = patternText(proposal.pattern);
  return (
    <ProposalCard
      heading={proposal.verdict === "allow" ? t("Allow without asking: {0}", name) : t("Deny without asking: {0}", name)}
      name={name}
      at={proposal.createdAt}
      accepted={false}
      decide={(decision) => decide(room, proposal.id, decision)}
    >
      <p>
        <strong>{t("What this would cover:")}</strong> {proposal.scope}
      </p>
      <p class="quiet">
        {count(proposal.observations, "{0} answer of yours, ", "{0} answers of yours, ")}
        {t("{0} % of them alike", Math.floor(proposal.consistency * 100))}
      </p>
    </ProposalCard>
  );
}

function look(rule: LearnedRule): { icon: string; text: string; kind: string } {
  switch (rule.status) {
    case "active":
      return { icon: "pass", text: t("In use"), kind: "good" };
    case "needs_confirmation":
      return { icon: "bell", text: t("Waits for your confirmation; asks until then"), kind: "attention" };
    case "revoked":
      return { icon: "circle-slash", text: t("Withdrawn"), kind: "quiet" };
  }
}

function Used({ value, most, label }: { value: number; most: number; label: string }): JSX.Element {
  return <Meter value={value} most={most} text={t("{0} of {1}", formatNumber(value), formatNumber(most))} label={label} />;
}

function RuleActions({ room, rule }: { room: WarRoom; rule: LearnedRule }): JSX.Element {
  const name = patternText(rule.pattern);
  return (
    <div class="actions">
      {rule.status === "needs_confirmation" && (
        <Button kind="primary" label={t("Confirm: {0}", name)} onClick={() => decide(room, rule.id, "confirm")}>
          {t("Confirm…")}
        </Button>
      )}
      {rule.status !== "revoked" && (
        <Button label={t("Withdraw: {0}", name)} onClick={() => decide(room, rule.id, "revoke")}>
          {t("Withdraw…")}
        </Button>
      )}
      <Button kind="link" label={t("Receipts of {0}", name)} onClick={() => room.showReceipts({ query: rule.id })}>
        {t("Receipts")}
      </Button>
    </div>
  );
}

function ruleColumns(room: WarRoom): Column<LearnedRule>[] {
  return [
    {
      title: t("Answers for you"),
      cell: (rule) => (
        <>
          <span class="mono">{patternText(rule.pattern)}</span>
          <div>
            <span class={`badge verdict-${rule.verdict}`}>{rule.verdict === "allow" ? t("allows") : t("denies")}</span>
          </div>
        </>
      ),
    },
    {
      title: t("State"),
      cell: (rule) => (
        <>
          <State {...look(rule)} />
          {rule.waitsFor !== undefined && rule.waitsFor !== null && <div>{rule.waitsFor}</div>}
          <div class="quiet">
            {t("confirmed")} <RelativeTime at={rule.confirmedAt} />
          </div>
        </>
      ),
    },
    {
      title: t("Today"),
      cell: (rule) => (
        <Used value={rule.decidedToday} most={rule.maxPerDay} label={t("Decided today by the rule for {0}", patternText(rule.pattern))} />
      ),
    },
    {
      title: t("In all"),
      cell: (rule) => (
        <Used value={rule.decidedInAll} most={rule.maxInAll} label={t("Decided in all by the rule for {0}", patternText(rule.pattern))} />
      ),
    },
    { title: t("Do"), cell: (rule) => <RuleActions room={room} rule={rule} /> },
  ];
}

function Content({ room, view }: { room: WarRoom; view: LearningView }): JSX.Element {
  return (
    <>
      <ProposalsBlock
        proposals={view.pending}
        card={(proposal) => <RuleProposal key={proposal.id} room={room} proposal={proposal} />}
        nothing={{
          title: t("No rule is proposed."),
          text: t(
            "When you have answered the same question the same way often enough, a rule is proposed here with exactly what it would cover.",
          ),
        }}
      />
      <RecordsBlock
        title={t("Learned rules")}
        rows={view.rules}
        rowKey={({ id }) => id}
        columns={ruleColumns(room)}
        nothing={{
          icon: "mortar-board",
          title: t("No rule answers for you."),
          text: t(
            "Rules you accept are listed here with how often they decided. Each has a limit for a day and in all, then it asks you again.",
          ),
        }}
      />
    </>
  );
}

/** Approval learning: rules from the owner's own answers, proposed and never taken. */
export function LearningPanel({ room }: { room: WarRoom }): JSX.Element {
  return (
    <LivePanel room={room} look="learning" live={room.learning} label={t("Learning")}>
      {(view) => <Content room={room} view={view} />}
    </LivePanel>
  );
}
