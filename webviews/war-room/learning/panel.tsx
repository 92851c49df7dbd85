import type { JSX } from "preact";
import type { LearnedRule, LearningProposal } from "../../../agent-server/contract/trust.ts";
import { commandAction } from "../../shared/commands.ts";
import { Button, RelativeTime, State } from "../../shared/components.tsx";
import { count, formatNumber, t } from "../../shared/l10n.ts";
import { Block, Empty, LivePanel, Meter } from "../live-panel.tsx";
import type { WarRoom } from "../state.ts";
import { patternText } from "../words.ts";
import type { LearningView } from "./state.ts";

type Decision = "accept" | "decline" | "confirm" | "revoke";

function decide(room: WarRoom, id: string, decision: Decision): void {
  room.bridge.ui(commandAction("decideLearning", { id, decision }));
}

function Proposal({ room, proposal }: { room: WarRoom; proposal: LearningProposal }): JSX.Element {
  const name = patternText(proposal.pattern);
  return (
    <li class="card proposal">
      <div class="card-heading">
        <span class="card-title">
          {proposal.verdict === "allow" ? t("Allow without asking: {0}", name) : t("Deny without asking: {0}", name)}
        </span>
      </div>
      <p>
        <strong>{t("What this would cover:")}</strong> {proposal.scope}
      </p>
      <p class="quiet">
        {count(proposal.observations, "{0} answer of yours, ", "{0} answers of yours, ")}
        {t("{0} % of them alike", Math.floor(proposal.consistency * 100))}
      </p>
      <div class="actions">
        <Button kind="primary" icon="check" label={t("Accept: {0}", name)} onClick={() => decide(room, proposal.id, "accept")}>
          {t("Accept…")}
        </Button>
        <Button icon="close" label={t("Decline: {0}", name)} onClick={() => decide(room, proposal.id, "decline")}>
          {t("Decline…")}
        </Button>
        <span class="spring" />
        <span class="quiet">
          <RelativeTime at={proposal.createdAt} />
        </span>
      </div>
    </li>
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

function RuleRow({ room, rule }: { room: WarRoom; rule: LearnedRule }): JSX.Element {
  const name = patternText(rule.pattern);
  return (
    <tr>
      <th scope="row">
        <span class="mono">{name}</span>
        <div>
          <span class={`badge verdict-${rule.verdict}`}>{rule.verdict === "allow" ? t("allows") : t("denies")}</span>
        </div>
      </th>
      <td>
        <State {...look(rule)} />
        {rule.waitsFor !== undefined && rule.waitsFor !== null && <div>{rule.waitsFor}</div>}
        <div class="quiet">
          {t("confirmed")} <RelativeTime at={rule.confirmedAt} />
        </div>
      </td>
      <td>
        <Meter
          value={rule.decidedToday}
          most={rule.maxPerDay}
          text={t("{0} of {1}", formatNumber(rule.decidedToday), formatNumber(rule.maxPerDay))}
          label={t("Decided today by the rule for {0}", name)}
        />
      </td>
      <td>
        <Meter
          value={rule.decidedInAll}
          most={rule.maxInAll}
          text={t("{0} of {1}", formatNumber(rule.decidedInAll), formatNumber(rule.maxInAll))}
          label={t("Decided in all by the rule for {0}", name)}
        />
      </td>
      <td>
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
      </td>
    </tr>
  );
}

function Rules({ room, rules }: { room: WarRoom; rules: readonly LearnedRule[] }): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrolled by keyboard
    <div class="table-scroll" tabIndex={0} role="group" aria-label={t("Learned rules")}>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">{t("Answers for you")}</th>
            <th scope="col">{t("State")}</th>
            <th scope="col">{t("Today")}</th>
            <th scope="col">{t("In all")}</th>
            <th scope="col">{t("Do")}</th>
          </tr>
        </thead>
        <tbody>
          {rules.map((rule) => (
            <RuleRow key={rule.id} room={room} rule={rule} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Content({ room, view }: { room: WarRoom; view: LearningView }): JSX.Element {
  const { rules, pending } = view;
  return (
    <>
      <Block title={t("Proposed")} wide>
        {pending.length === 0 ? (
          <Empty icon="lightbulb" title={t("No rule is proposed.")}>
            {t(
              "When you have answered the same question the same way often enough, a rule is proposed here with exactly what it would cover.",
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
      <Block title={t("Learned rules")} wide>
        {rules.length === 0 ? (
          <Empty icon="mortar-board" title={t("No rule answers for you.")}>
            {t(
              "Rules you accept are listed here with how often they decided. Each has a limit for a day and in all, then it asks you again.",
            )}
          </Empty>
        ) : (
          <Rules room={room} rules={rules} />
        )}
      </Block>
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
