import type { ComponentChildren, JSX } from "preact";
import type { SoulDocument, SoulIssue } from "../../../agent-server/contract/soul.ts";
import { Icon } from "../../shared/components.tsx";
import { count, formatSpan, t } from "../../shared/l10n.ts";

function Section({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    <section class="soul-section" aria-label={title}>
      <h3>{title}</h3>
      {children}
    </section>
  );
}

/** Names of actions, such as `run_tests` or `delete`. */
function Terms({ terms, icon, none }: { terms: readonly string[]; icon: string; none: string }): JSX.Element {
  if (terms.length === 0) return <p class="quiet">{none}</p>;
  return (
    <ul class="terms">
      {terms.map((term) => (
        <li key={term}>
          <Icon name={icon} />
          <code>{term}</code>
        </li>
      ))}
    </ul>
  );
}

function TextList({ items, none }: { items: readonly string[]; none: string }): JSX.Element {
  if (items.length === 0) return <p class="quiet">{none}</p>;
  return (
    <ul class="sentences">
      {items.map((item) => (
        <li key={item}>{item}</li>
      ))}
    </ul>
  );
}

function levelText(level: SoulDocument["autonomy_posture"]["level"]): string {
  return level === "supervised"
    ? t("Supervised: every edit needs your review.")
    : t("Autonomous: the editor's posture setting decides whether edits need your review.");
}

function timeoutText(what: string): string {
  switch (what) {
    case "skip_and_log":
      return t("Lancelot skips the step and tells the model");
    case "stop_task":
      return t("Lancelot stops the task");
    default:
      return what;
  }
}

function Posture({ posture }: { posture: SoulDocument["autonomy_posture"] }): JSX.Element {
  return (
    <Section title={t("Autonomy")}>
      <p>
        <strong>{levelText(posture.level)}</strong>
      </p>
      {posture.description !== "" && <p>{posture.description}</p>}
      <div class="columns-2">
        <div>
          <h4>{t("Allowed without asking (below T3)")}</h4>
          <Terms terms={posture.allowed_autonomous} icon="pass" none={t("Nothing. Every change asks first.")} />
        </div>
        <div>
          <h4>{t("Requires approval")}</h4>
          <Terms terms={posture.requires_approval} icon="law" none={t("None")} />
        </div>
      </div>
    </Section>
  );
}

function RiskRules({ rules }: { rules: SoulDocument["risk_rules"] }): JSX.Element {
  return (
    <Section title={t("Risk rules")}>
      {rules.length === 0 ? (
        <p class="quiet">{t("None")}</p>
      ) : (
        <ul class="sentences">
          {rules.map((rule) => (
            <li key={rule.name}>
              <strong>{rule.name}</strong> {!rule.enforced && <span class="badge">{t("Not enforced")}</span>} {rule.description}
              {rule.applies_to !== undefined && <span class="quiet"> {t("Applies to: {0}", rule.applies_to.join(", "))}</span>}
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

/** A readable view of a soul document. */
export function SoulSections({ document: soul }: { document: SoulDocument }): JSX.Element {
  const { approval_rules: approvals, scheduling_boundaries: scheduling } = soul;
  return (
    <div class="soul-sections">
      <Section title={t("Mission")}>
        <p>{soul.mission}</p>
      </Section>
      <Section title={t("Allegiance")}>
        <p>{soul.allegiance}</p>
      </Section>
      <Posture posture={soul.autonomy_posture} />
      <RiskRules rules={soul.risk_rules} />
      <Section title={t("Approvals")}>
        <dl class="facts">
          <dt>{t("Timeout")}</dt>
          <dd>{formatSpan(approvals.default_timeout_seconds * 1000)}</dd>
          <dt>{t("On timeout")}</dt>
          <dd>{timeoutText(approvals.escalation_on_timeout)}</dd>
          <dt>{t("Channels")}</dt>
          <dd>{approvals.channels.join(", ")}</dd>
        </dl>
      </Section>
      <Section title={t("Rules for every answer")}>
        <TextList items={soul.tone_invariants} none={t("None")} />
      </Section>
      <Section title={t("Never stored in memory")}>
        <TextList items={soul.memory_ethics} none={t("None")} />
      </Section>
      {(soul.self_knowledge ?? []).length > 0 && (
        <Section title={t("Self-knowledge")}>
          <TextList items={soul.self_knowledge ?? []} none="" />
        </Section>
      )}
      <Section title={t("Limits for background jobs")}>
        {scheduling.description !== "" && <p>{scheduling.description}</p>}
        <dl class="facts">
          <dt>{t("Concurrent jobs")}</dt>
          <dd>{scheduling.max_concurrent_jobs}</dd>
          <dt>{t("Job timeout")}</dt>
          <dd>{formatSpan(scheduling.max_job_duration_seconds * 1000)}</dd>
          <dt>{t("Irreversible actions in jobs")}</dt>
          <dd>{scheduling.no_autonomous_irreversible ? t("Require your approval for each run") : t("Same rules as other actions")}</dd>
          <dt>{t("Before setup is complete")}</dt>
          <dd>{scheduling.require_ready_state ? t("Jobs do not run") : t("Jobs can run")}</dd>
        </dl>
      </Section>
    </div>
  );
}

/** The lint issues of a soul; shows nothing when there are none. */
export function Issues({ issues }: { issues: readonly SoulIssue[] }): JSX.Element | null {
  if (issues.length === 0) return null;
  const critical = issues.filter(({ severity }) => severity === "critical").length;
  return (
    <div class="issues">
      <p>
        {critical > 0
          ? count(
              critical,
              "{0} critical issue. Fix it before you activate this version.",
              "{0} critical issues. Fix them before you activate this version.",
            )
          : count(issues.length, "{0} warning.", "{0} warnings.")}
      </p>
      <ul>
        {issues.map((issue, index) => (
          <li key={index} class={issue.severity}>
            <Icon name={issue.severity === "critical" ? "error" : "warning"} />
            <span>
              <span class="sr-only">{issue.severity === "critical" ? t("Critical:") : t("Warning:")} </span>
              {issue.message} <span class="quiet mono">{issue.rule}</span>
              {issue.line !== undefined && <span class="quiet"> {t("line {0}", issue.line)}</span>}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}
