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

/** Names of actions: `run_tests`, `delete`. */
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

function Sentences({ items, none }: { items: readonly string[]; none: string }): JSX.Element {
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
    ? t("Supervised: edits always wait for your review.")
    : t("Autonomous: the posture setting of the editor decides whether edits wait for your review.");
}

function timeoutText(what: string): string {
  switch (what) {
    case "skip_and_log":
      return t("the step is left out, and the model is told");
    case "stop_task":
      return t("the task stops");
    default:
      return what;
  }
}

function Posture({ posture }: { posture: SoulDocument["autonomy_posture"] }): JSX.Element {
  return (
    <Section title={t("What may be done without asking")}>
      <p>
        <strong>{levelText(posture.level)}</strong>
      </p>
      {posture.description !== "" && <p>{posture.description}</p>}
      <div class="columns-2">
        <div>
          <h4>{t("Allowed without asking, below T3")}</h4>
          <Terms terms={posture.allowed_autonomous} icon="pass" none={t("Nothing: all that is not inert is asked.")} />
        </div>
        <div>
          <h4>{t("Always asked")}</h4>
          <Terms terms={posture.requires_approval} icon="law" none={t("Nothing is named.")} />
        </div>
      </div>
    </Section>
  );
}

function RiskRules({ rules }: { rules: SoulDocument["risk_rules"] }): JSX.Element {
  return (
    <Section title={t("Risk rules")}>
      {rules.length === 0 ? (
        <p class="quiet">{t("None.")}</p>
      ) : (
        <ul class="sentences">
          {rules.map((rule) => (
            <li key={rule.name}>
              <strong>{rule.name}</strong> {!rule.enforced && <span class="badge">{t("not enforced")}</span>} {rule.description}
              {rule.applies_to !== undefined && <span class="quiet"> {t("About: {0}", rule.applies_to.join(", "))}</span>}
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

/** A soul as people read it. */
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
      <Section title={t("How you are asked")}>
        <dl class="facts">
          <dt>{t("A question waits")}</dt>
          <dd>{formatSpan(approvals.default_timeout_seconds * 1000)}</dd>
          <dt>{t("Then")}</dt>
          <dd>{timeoutText(approvals.escalation_on_timeout)}</dd>
          <dt>{t("Where")}</dt>
          <dd>{approvals.channels.join(", ")}</dd>
        </dl>
      </Section>
      <Section title={t("What every answer keeps to")}>
        <Sentences items={soul.tone_invariants} none={t("Nothing is named.")} />
      </Section>
      <Section title={t("What memory may not hold")}>
        <Sentences items={soul.memory_ethics} none={t("Nothing is named.")} />
      </Section>
      {(soul.self_knowledge ?? []).length > 0 && (
        <Section title={t("What Lancelot knows of itself")}>
          <Sentences items={soul.self_knowledge ?? []} none="" />
        </Section>
      )}
      <Section title={t("Limits of what runs by itself")}>
        {scheduling.description !== "" && <p>{scheduling.description}</p>}
        <dl class="facts">
          <dt>{t("Jobs at once")}</dt>
          <dd>{scheduling.max_concurrent_jobs}</dd>
          <dt>{t("Longest job")}</dt>
          <dd>{formatSpan(scheduling.max_job_duration_seconds * 1000)}</dd>
          <dt>{t("Irreversible acts of jobs")}</dt>
          <dd>{scheduling.no_autonomous_irreversible ? t("only with your approval for that run") : t("judged like any other")}</dd>
          <dt>{t("Before set-up is done")}</dt>
          <dd>{scheduling.require_ready_state ? t("jobs do nothing") : t("jobs may run")}</dd>
        </dl>
      </Section>
    </div>
  );
}

/** What the checks say of a soul. Nothing when they say nothing. */
export function Issues({ issues }: { issues: readonly SoulIssue[] }): JSX.Element | null {
  if (issues.length === 0) return null;
  const critical = issues.filter(({ severity }) => severity === "critical").length;
  return (
    <div class="issues">
      <p>
        {critical > 0
          ? count(critical, "{0} critical issue: it cannot be activated.", "{0} critical issues: it cannot be activated.")
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
