import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Approval, ApprovalRule } from "../../../agent-server/contract/governance.ts";
import { problemOf } from "../../shared/bridge.ts";
import { Button, Moment, Problem, RelativeTime } from "../../shared/components.tsx";
import { count, t } from "../../shared/l10n.ts";
import { scopeFacts } from "../../shared/workspace-approval.tsx";
import { Block, EmptyState } from "../live-panel.tsx";
import type { WarRoom } from "../war-room-state.ts";

interface RowAction {
  readonly problem: string | null;
  readonly run: (work: () => Promise<unknown>) => void;
}

/** Runs the change of a row, and reads the list again. */
function useRowAction(warRoom: WarRoom): RowAction {
  const [problem, setProblem] = useState<string | null>(null);
  return {
    problem,
    run(work) {
      setProblem(null);
      work()
        .catch((error: unknown) => setProblem(problemOf(error)))
        .finally(() => warRoom.governance.saved.refresh());
    },
  };
}

function SavedRule({ warRoom, rule, run }: { warRoom: WarRoom; rule: ApprovalRule; run: RowAction["run"] }): JSX.Element {
  const { scope } = rule;
  return (
    <tr>
      <td>
        <code>{scope.pattern}</code>
        <div class="quiet">{scope.containment === null ? `${scope.capability}.${scope.action}` : scopeFacts(scope).join(" · ")}</div>
      </td>
      <td>
        <Moment at={rule.createdAt} />
        <div class="quiet">{t("by you")}</div>
      </td>
      <td>
        {count(rule.uses, "{0} use", "{0} uses")}
        {rule.lastUsedAt !== null && (
          <div class="quiet">
            {t("last")} <RelativeTime at={rule.lastUsedAt} />
          </div>
        )}
      </td>
      <td>
        <RelativeTime at={rule.expiresAt} />
      </td>
      <td>
        <div class="actions">
          <Button
            testId={`revoke-rule:${rule.id}`}
            label={t("Revoke: {0}", scope.pattern)}
            onClick={() => run(() => warRoom.bridge.call("approvals.revokeRule", { id: rule.id }))}
          >
            {t("Revoke")}
          </Button>
          <Button
            testId={`rule-uses:${rule.id}`}
            kind="link"
            label={t("Receipts of {0}", scope.pattern)}
            onClick={() => warRoom.showReceipts({ query: rule.id })}
          >
            {t("Receipts")}
          </Button>
        </div>
      </td>
    </tr>
  );
}

/** The approvals for the whole workspace, which can be revoked. */
export function SavedApprovals({ warRoom, rules }: { warRoom: WarRoom; rules: readonly ApprovalRule[] }): JSX.Element {
  const { problem, run } = useRowAction(warRoom);
  return (
    <Block title={t("Always allowed in this workspace")} wide>
      {problem !== null && <Problem text={problem} />}
      {rules.length === 0 ? (
        <EmptyState icon="pass" title={t("Nothing is always allowed.")}>
          {t("When you always allow an action in this workspace, it appears here. You can revoke it at any time.")}
        </EmptyState>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrolled by keyboard
        <div class="table-scroll" tabIndex={0} role="group" aria-label={t("Always allowed in this workspace")}>
          <table class="table">
            <thead>
              <tr>
                <th scope="col">{t("Allowed")}</th>
                <th scope="col">{t("Since")}</th>
                <th scope="col">{t("Used")}</th>
                <th scope="col">{t("Ends without use")}</th>
                <th scope="col">{t("Actions")}</th>
              </tr>
            </thead>
            <tbody>
              {rules.map((rule) => (
                <SavedRule key={rule.id} warRoom={warRoom} rule={rule} run={run} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Block>
  );
}

/** The latest denials that hold for the rest of their task. */
export function RememberedDenials({ warRoom, denials }: { warRoom: WarRoom; denials: readonly Approval[] }): JSX.Element | null {
  const { problem, run } = useRowAction(warRoom);
  if (denials.length === 0) return null;
  return (
    <Block title={t("Denied for their task")} wide>
      {problem !== null && <Problem text={problem} />}
      <ul class="denials">
        {denials.map(({ id, title, reason, decidedAt }) => (
          <li key={id}>
            <div>
              {title}
              <div class="quiet">
                {decidedAt !== null && <RelativeTime at={decidedAt} />} {reason}
              </div>
            </div>
            <Button
              testId={`ask-again:${id}`}
              label={t("Ask again: {0}", title)}
              onClick={() => run(() => warRoom.bridge.call("approvals.askAgain", { id }))}
            >
              {t("Ask Again")}
            </Button>
          </li>
        ))}
      </ul>
    </Block>
  );
}
