import type { JSX } from "preact";
import type { GovernanceStats } from "../../../agent-server/contract/governance.ts";
import { ApprovalCard } from "../../shared/approval-card.tsx";
import { Icon, IconButton, now, Problem } from "../../shared/components.tsx";
import { count, formatDay, formatNumber, t } from "../../shared/l10n.ts";
import { ShareBar, StackedColumns } from "../charts.tsx";
import { Block, Empty, LivePanel } from "../live-panel.tsx";
import { SafeModeSwitch } from "../safe-mode.tsx";
import type { WarRoom } from "../state.ts";
import { dayColumns, spans, tierParts } from "./state.ts";

function Queue({ room }: { room: WarRoom }): JSX.Element {
  const approvals = room.store.pendingApprovals.value;
  return (
    <Block title={t("Waiting for your approval")} wide>
      <p class="sr-only" role="status">
        {approvals.length > 0 && count(approvals.length, "{0} approval waits for you", "{0} approvals wait for you")}
      </p>
      {approvals.length === 0 ? (
        <Empty icon="law" title={t("Nothing waits for your approval.")}>
          {t("When a rule asks, the exact action appears here with the rules that asked. Nothing of it happens before your answer.")}
        </Empty>
      ) : (
        <div class="approvals">
          {approvals.map((approval) => (
            <ApprovalCard key={approval.id} approval={approval} bridge={room.bridge} store={room.store} />
          ))}
        </div>
      )}
    </Block>
  );
}

function Safeguards({ room, stats }: { room: WarRoom; stats: GovernanceStats }): JSX.Element {
  const { verifications, policyVersion, soulVersion } = stats;
  return (
    <Block title={t("Safeguards")}>
      <SafeModeSwitch room={room} on={stats.safeMode} />
      <dl class="facts">
        <dt>{t("Edits")}</dt>
        <dd>{stats.posture === "supervised" ? t("proposed for review") : t("applied, with undo")}</dd>
        <dt>{t("Soul")}</dt>
        <dd>
          <button type="button" class="button link" onClick={() => room.showTab("soul")}>
            {soulVersion ?? t("none in effect")}
          </button>
        </dd>
        <dt>{t("Policy")}</dt>
        <dd>
          {policyVersion === null ? (
            t("cannot be used: nothing is allowed")
          ) : (
            <span class="copyable">
              <code title={policyVersion}>{policyVersion.slice(0, 12)}</code>
              <IconButton
                icon="copy"
                label={t("Copy the policy version")}
                onClick={() => room.bridge.ui({ action: "copy", text: policyVersion })}
              />
            </span>
          )}
        </dd>
        <dt>{t("Verifications")}</dt>
        <dd>
          {verifications.waiting === 0 ? t("none waiting") : count(verifications.waiting, "{0} waiting", "{0} waiting")}
          {", "}
          <button
            type="button"
            class="button link"
            onClick={() => room.showReceipts({ actionType: "verification", status: "failure" })}
            title={t("Receipts of failed verifications")}
          >
            {verifications.failed > 0 && <Icon name="warning" />}
            {verifications.failed === 0 ? t("none failed") : count(verifications.failed, "{0} failed and undone", "{0} failed and undone")}
          </button>
        </dd>
      </dl>
    </Block>
  );
}

function Span({ room }: { room: WarRoom }): JSX.Element {
  const { days } = room.governance;
  return (
    <div class="segments" role="group" aria-label={t("Days shown")}>
      {spans.map((span) => (
        <button
          key={span}
          type="button"
          class="segment"
          aria-pressed={days.value === span}
          onClick={() => {
            days.value = span;
          }}
        >
          {t("{0} days", span)}
        </button>
      ))}
    </div>
  );
}

function Answers({ approvals }: Pick<GovernanceStats, "approvals">): JSX.Element {
  return (
    <dl class="facts">
      <dt>{t("You allowed")}</dt>
      <dd>{formatNumber(approvals.allowed)}</dd>
      <dt>{t("You denied")}</dt>
      <dd>{formatNumber(approvals.denied)}</dd>
      <dt>{t("Not answered in time")}</dt>
      <dd>{formatNumber(approvals.expired)}</dd>
    </dl>
  );
}

function TopRules({ room, rules }: { room: WarRoom; rules: GovernanceStats["topRules"] }): JSX.Element {
  if (rules.length === 0)
    return (
      <Empty icon="checklist" title={t("No rule asked or refused in these days.")}>
        {t("The rules that stop Lancelot most often are listed here, so that you see what to change: the task, the soul or the policy.")}
      </Empty>
    );
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrolled by keyboard
    <div class="table-scroll" tabIndex={0} role="group" aria-label={t("Rules that asked or refused most")}>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">{t("Rule")}</th>
            <th scope="col" class="number">
              {t("Asked")}
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
                  type="button"
                  class="button link mono"
                  title={t("Receipts that name this rule")}
                  onClick={() => room.showReceipts({ query: rule.id })}
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

function Numbers({ room, stats }: { room: WarRoom; stats: GovernanceStats }): JSX.Element {
  const days = room.governance.days.value;
  const today = new Date(now.value).toISOString().slice(0, 10);
  return (
    <>
      {stats.problems.map((problem) => (
        <Problem key={problem} text={problem} />
      ))}
      <Queue room={room} />
      <div class="blocks">
        <Safeguards room={room} stats={stats} />
        <Block title={t("Decisions by tier")}>
          {stats.decisions === 0 ? (
            <Empty icon="pie-chart" title={t("No decision in these days.")}>
              {t("Each thing Lancelot wants to do is decided first. Send it a task to see the mix of tiers here.")}
            </Empty>
          ) : (
            <ShareBar
              parts={tierParts(stats.byTier)}
              label={t("Decisions by tier")}
              onPick={(tier) => {
                if (tier === "T0" || tier === "T1" || tier === "T2" || tier === "T3") room.showReceipts({ tier });
              }}
            />
          )}
        </Block>
        <Block title={t("Your answers")}>
          <Answers approvals={stats.approvals} />
        </Block>
        <Block title={t("Verdicts by day (UTC)")} aside={<Span room={room} />} wide>
          {stats.decisions === 0 ? (
            <Empty icon="graph" title={t("No decision in these days.")}>
              {t("What was allowed, asked and denied is drawn here, a column a day.")}
            </Empty>
          ) : (
            <StackedColumns
              columns={dayColumns(stats.byDay, days, today, formatDay)}
              label={count(stats.decisions, "Verdicts by day: {0} decision in all", "Verdicts by day: {0} decisions in all")}
            />
          )}
        </Block>
        <Block title={t("Rules that asked or refused most")} wide>
          <TopRules room={room} rules={stats.topRules} />
        </Block>
      </div>
    </>
  );
}

/** What was decided, what waits for an answer, and how the safeguards themselves are. */
export function GovernancePanel({ room }: { room: WarRoom }): JSX.Element {
  return (
    <LivePanel room={room} live={room.governance.stats} label={t("Governance")}>
      {(stats) => <Numbers room={room} stats={stats} />}
    </LivePanel>
  );
}
