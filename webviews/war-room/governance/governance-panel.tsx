import type { JSX } from "preact";
import type { GovernanceStats } from "../../../agent-server/contract/governance.ts";
import { ApprovalCard } from "../../shared/approval-card.tsx";
import { Icon, IconButton, now, Problem } from "../../shared/components.tsx";
import { count, formatDay, formatNumber, t } from "../../shared/l10n.ts";
import { ShareBar, StackedColumns } from "../charts.tsx";
import { Block, EmptyState, LivePanel } from "../live-panel.tsx";
import { SafeModeSwitch } from "../safe-mode.tsx";
import { DaysPicker } from "../segments.tsx";
import type { WarRoom } from "../war-room-state.ts";
import { dayColumns, dayOptions, tierParts } from "./governance-state.ts";
import { RememberedDenials, SavedApprovals } from "./saved-answers.tsx";

function PendingApprovals({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  const approvals = warRoom.store.pendingApprovals.value;
  return (
    <Block title={t("Waiting for your approval")} wide>
      <p class="sr-only" role="status">
        {approvals.length > 0 && count(approvals.length, "{0} pending approval", "{0} pending approvals")}
      </p>
      {approvals.length === 0 ? (
        <EmptyState icon="law" title={t("There are no pending approvals.")}>
          {t("When a rule requires approval, the exact action and the rule appear here. Lancelot waits for your answer.")}
        </EmptyState>
      ) : (
        <div class="approvals">
          {approvals.map((approval) => (
            <ApprovalCard key={approval.id} approval={approval} bridge={warRoom.bridge} store={warRoom.store} />
          ))}
        </div>
      )}
    </Block>
  );
}

function Safeguards({ warRoom, stats }: { warRoom: WarRoom; stats: GovernanceStats }): JSX.Element {
  const { verifications, policyVersion, soulVersion } = stats;
  return (
    <Block title={t("Safeguards")}>
      <SafeModeSwitch warRoom={warRoom} on={stats.safeMode} />
      <dl class="facts">
        <dt>{t("Edits")}</dt>
        <dd>{stats.posture === "supervised" ? t("Need your review") : t("Applied after a checkpoint")}</dd>
        <dt>{t("Soul")}</dt>
        <dd>
          <button type="button" class="button link" onClick={() => warRoom.showTab("soul")}>
            {soulVersion ?? t("None active")}
          </button>
        </dd>
        <dt>{t("Policy")}</dt>
        <dd>
          {policyVersion === null ? (
            t("Invalid; Lancelot denies every action")
          ) : (
            <span class="copyable">
              <code title={policyVersion}>{policyVersion.slice(0, 12)}</code>
              <IconButton
                testId="copy-policy-version"
                icon="copy"
                label={t("Copy Policy Version")}
                onClick={() => warRoom.bridge.ui({ action: "copy", text: policyVersion })}
              />
            </span>
          )}
        </dd>
        <dt>{t("Verifications")}</dt>
        <dd>
          {verifications.waiting === 0 ? t("None pending") : count(verifications.waiting, "{0} pending", "{0} pending")}
          {", "}
          <button
            data-testid="failed-verifications"
            type="button"
            class="button link"
            onClick={() => warRoom.showReceipts({ actionType: "verification", status: "failure" })}
            title={t("Show receipts of failed verifications")}
          >
            {verifications.failed > 0 && <Icon name="warning" />}
            {verifications.failed === 0
              ? t("none failed")
              : count(verifications.failed, "{0} failed and reverted", "{0} failed and reverted")}
          </button>
        </dd>
      </dl>
    </Block>
  );
}

function Answers({ approvals }: Pick<GovernanceStats, "approvals">): JSX.Element {
  return (
    <dl class="facts">
      <dt>{t("Allowed")}</dt>
      <dd>{formatNumber(approvals.allowed)}</dd>
      <dt>{t("Denied")}</dt>
      <dd>{formatNumber(approvals.denied)}</dd>
      <dt>{t("Expired")}</dt>
      <dd>{formatNumber(approvals.expired)}</dd>
    </dl>
  );
}

function TopRules({ warRoom, rules }: { warRoom: WarRoom; rules: GovernanceStats["topRules"] }): JSX.Element {
  if (rules.length === 0)
    return (
      <EmptyState icon="checklist" title={t("No rule required approval or denied an action in this period.")}>
        {t(
          "The rules that most often require approval or deny an action appear here. Use them to adjust the task, the soul or the policy.",
        )}
      </EmptyState>
    );
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrolled by keyboard
    <div class="table-scroll" tabIndex={0} role="group" aria-label={t("Most frequent rules")}>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">{t("Rule")}</th>
            <th scope="col" class="number">
              {t("Required approval")}
            </th>
            <th scope="col" class="number">
              {t("Denied")}
            </th>
          </tr>
        </thead>
        <tbody>
          {rules.map((rule) => (
            <tr key={rule.id}>
              <td>
                {rule.message}{" "}
                <button
                  data-testid={`rule:${rule.id}`}
                  type="button"
                  class="button link mono"
                  title={t("Show receipts that name this rule")}
                  onClick={() => warRoom.showReceipts({ query: rule.id })}
                >
                  {rule.id}
                </button>
              </td>
              <td class="number">{formatNumber(rule.asked)}</td>
              <td class="number">{formatNumber(rule.denied)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Saved({ warRoom }: { warRoom: WarRoom }): JSX.Element | null {
  const { value, problem } = warRoom.governance.saved;
  if (problem.value !== null) return <Problem text={problem.value.text} />;
  if (value.value === null) return null;
  return (
    <>
      <SavedApprovals warRoom={warRoom} rules={value.value.rules} />
      <RememberedDenials warRoom={warRoom} denials={value.value.denials} />
    </>
  );
}

function Statistics({ warRoom, stats }: { warRoom: WarRoom; stats: GovernanceStats }): JSX.Element {
  const days = warRoom.governance.days.value;
  const today = new Date(now.value).toISOString().slice(0, 10);
  return (
    <>
      {stats.problems.map((problem) => (
        <Problem key={problem} text={problem} />
      ))}
      <PendingApprovals warRoom={warRoom} />
      <div class="blocks">
        <Safeguards warRoom={warRoom} stats={stats} />
        <Block title={t("Decisions by tier")}>
          {stats.decisions === 0 ? (
            <EmptyState icon="pie-chart" title={t("There are no decisions in this period.")}>
              {t("Lancelot checks each action against your rules before it runs. Start a task to see the mix of tiers.")}
            </EmptyState>
          ) : (
            <ShareBar
              parts={tierParts(stats.byTier)}
              label={t("Decisions by tier")}
              onPick={(tier) => {
                if (tier === "T0" || tier === "T1" || tier === "T2" || tier === "T3") warRoom.showReceipts({ tier });
              }}
            />
          )}
        </Block>
        <Block title={t("Your approvals")}>
          <Answers approvals={stats.approvals} />
        </Block>
        <Saved warRoom={warRoom} />
        <Block
          title={t("Verdicts by day (UTC)")}
          aside={<DaysPicker options={dayOptions} value={days} onChange={warRoom.governance.setDays} />}
          wide
        >
          {stats.decisions === 0 ? (
            <EmptyState icon="graph" title={t("There are no decisions in this period.")}>
              {t("A daily chart of allowed, denied and approval-required actions appears here.")}
            </EmptyState>
          ) : (
            <StackedColumns
              columns={dayColumns(stats.byDay, days, today, formatDay)}
              label={count(stats.decisions, "Verdicts by day: {0} decision", "Verdicts by day: {0} decisions")}
            />
          )}
        </Block>
        <Block title={t("Most frequent rules")} wide>
          <TopRules warRoom={warRoom} rules={stats.topRules} />
        </Block>
      </div>
    </>
  );
}

/** Decisions, pending approvals and the state of the safeguards. */
export function GovernancePanel({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  return (
    <LivePanel warRoom={warRoom} live={warRoom.governance.stats} label={t("Governance")}>
      {(stats) => <Statistics warRoom={warRoom} stats={stats} />}
    </LivePanel>
  );
}
