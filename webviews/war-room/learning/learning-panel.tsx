import type { JSX } from "preact";
import type { LearnedRule, LearningProposal } from "../../../agent-server/contract/trust.ts";
import { commandAction } from "../../shared/commands.ts";
import { Button, RelativeTime, State, type StateProps } from "../../shared/components.tsx";
import { count, formatNumber, formatPercent, t } from "../../shared/l10n.ts";
import { Meter } from "../live-panel.tsx";
import { ProposalCard, ProposalsPanel } from "../proposals-panel.tsx";
import type { Column } from "../record-table.tsx";
import type { WarRoom } from "../war-room-state.ts";
import { patternText } from "../action-labels.ts";
import type { LearningView } from "./learning-state.ts";

function decide(warRoom: WarRoom, id: string, decision: "accept" | "decline" | "confirm" | "revoke"): void {
  warRoom.bridge.ui(commandAction("decideLearning", { id, decision }));
}

function RuleProposal({ warRoom, proposal }: { warRoom: WarRoom; proposal: LearningProposal }): JSX.Element {
  const name = patternText(proposal.pattern);
  return (
    <ProposalCard
      heading={proposal.verdict === "allow" ? t("Allow without asking: {0}", name) : t("Deny without asking: {0}", name)}
      id={proposal.id}
      name={name}
      at={proposal.createdAt}
      accepted={false}
      decide={(decision) => decide(warRoom, proposal.id, decision)}
    >
      <p>
        <strong>{t("Scope:")}</strong> {proposal.scope}
      </p>
      <p class="quiet">
        {t(
          "{0}, {1} of them the same",
          count(proposal.observations, "{0} answer", "{0} answers"),
          formatPercent(Math.floor(proposal.consistency * 100) / 100),
        )}
      </p>
    </ProposalCard>
  );
}

function ruleState(rule: LearnedRule): StateProps {
  switch (rule.status) {
    case "active":
      return { icon: "pass", text: t("Active"), kind: "good" };
    case "needs_confirmation":
      return { icon: "bell", text: t("Needs your confirmation. Until then, Lancelot asks you."), kind: "attention" };
    case "revoked":
      return { icon: "circle-slash", text: t("Revoked"), kind: "quiet" };
  }
}

function QuotaMeter({ value, max, label }: { value: number; max: number; label: string }): JSX.Element {
  return <Meter value={value} max={max} text={t("{0} of {1}", formatNumber(value), formatNumber(max))} label={label} />;
}

function RuleActions({ warRoom, rule }: { warRoom: WarRoom; rule: LearnedRule }): JSX.Element {
  const name = patternText(rule.pattern);
  return (
    <div class="actions">
      {rule.status === "needs_confirmation" && (
        <Button
          testId={`confirm-rule:${rule.id}`}
          kind="primary"
          label={t("Confirm: {0}", name)}
          onClick={() => decide(warRoom, rule.id, "confirm")}
        >
          {t("Confirm…")}
        </Button>
      )}
      {rule.status !== "revoked" && (
        <Button testId={`withdraw:${rule.id}`} label={t("Revoke: {0}", name)} onClick={() => decide(warRoom, rule.id, "revoke")}>
          {t("Revoke…")}
        </Button>
      )}
      <Button
        testId={`rule-receipts:${rule.id}`}
        kind="link"
        label={t("Receipts of {0}", name)}
        onClick={() => warRoom.showReceipts({ query: rule.id })}
      >
        {t("Receipts")}
      </Button>
    </div>
  );
}

function ruleColumns(warRoom: WarRoom): Column<LearnedRule>[] {
  return [
    {
      title: t("Rule"),
      cell: (rule) => (
        <>
          <span class="mono">{patternText(rule.pattern)}</span>
          <div>
            <span class={`badge verdict-${rule.verdict}`}>{rule.verdict === "allow" ? t("Allows") : t("Denies")}</span>
          </div>
        </>
      ),
    },
    {
      title: t("Status"),
      cell: (rule) => (
        <>
          <State {...ruleState(rule)} />
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
        <QuotaMeter
          value={rule.decidedToday}
          max={rule.maxPerDay}
          label={t("Decisions today by the rule for {0}", patternText(rule.pattern))}
        />
      ),
    },
    {
      title: t("Total"),
      cell: (rule) => (
        <QuotaMeter
          value={rule.decidedInAll}
          max={rule.maxInAll}
          label={t("Total decisions by the rule for {0}", patternText(rule.pattern))}
        />
      ),
    },
    { title: t("Actions"), cell: (rule) => <RuleActions warRoom={warRoom} rule={rule} /> },
  ];
}

/** Approval learning: rules proposed from the user's answers. Only the user accepts them. */
export function LearningPanel({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  return (
    <ProposalsPanel<LearningProposal, LearnedRule, LearningView>
      warRoom={warRoom}
      live={warRoom.learning}
      label={t("Learning")}
      className="learning"
      card={(proposal) => <RuleProposal key={proposal.id} warRoom={warRoom} proposal={proposal} />}
      emptyProposals={{
        title: t("There are no proposed rules."),
        text: t(
          "When you have often answered the same question the same way, Lancelot proposes a rule here and shows what it would cover.",
        ),
      }}
      recordsTitle={t("Learned rules")}
      rowKey={({ id }) => id}
      columns={ruleColumns(warRoom)}
      emptyRecords={{
        icon: "mortar-board",
        title: t("There are no learned rules."),
        text: t(
          "The rules you accept appear here with their usage. Each rule has a daily and a total limit. After that, Lancelot asks you again.",
        ),
      }}
    />
  );
}
