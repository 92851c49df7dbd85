import type { JSX } from "preact";
import type { BreakerState, RouterDecision } from "../../../agent-server/contract/router.ts";
import { Button, Problem, RelativeTime, State } from "../../shared/components.tsx";
import { formatDuration, formatNumber, formatPercent, t } from "../../shared/l10n.ts";
import { laneText } from "../../shared/lanes.ts";
import { Block, EmptyState } from "../live-panel.tsx";
import { type Column, RecordTable } from "../record-table.tsx";
import type { WarRoom } from "../war-room-state.ts";
import type { RouterView } from "./usage-state.ts";
import { breakerState, decisionState, ruleText } from "./usage-labels.ts";

function target({ provider, model }: Pick<RouterDecision, "provider" | "model">): string {
  return provider === "none" ? t("Rules, without a model") : `${provider}/${model}`;
}

function columns(warRoom: WarRoom): Column<RouterDecision>[] {
  return [
    {
      title: t("Task type"),
      cell: ({ taskType, timestamp, receiptId }) => (
        <>
          {receiptId === null ? (
            <span>{taskType}</span>
          ) : (
            <button
              data-testid={`receipt:${receiptId}`}
              type="button"
              class="button link"
              title={t("Open receipt")}
              onClick={() => warRoom.showReceipt(receiptId)}
            >
              {taskType}
            </button>
          )}
          <div class="quiet nowrap">
            <RelativeTime at={timestamp} />
          </div>
        </>
      ),
    },
    {
      title: t("Model"),
      cell: (decision) => (
        <>
          <strong>{laneText(decision.lane)}</strong>
          <div class="mono">{target(decision)}</div>
        </>
      ),
    },
    {
      title: t("Reason"),
      cell: ({ rationale, rule }) => (
        <>
          {rationale}
          <div class="quiet">{ruleText(rule)}</div>
        </>
      ),
    },
    {
      title: t("Alternatives"),
      cell: ({ alternatives }) =>
        alternatives.length === 0 ? (
          <span class="quiet">{t("None")}</span>
        ) : (
          <details>
            <summary>{t("{0} more", alternatives.length)}</summary>
            <ul class="capabilities">
              {alternatives.map((other) => (
                <li key={`${other.lane} ${other.provider} ${other.model}`}>
                  {laneText(other.lane)} <span class="mono">{target(other)}</span> <span class="quiet">{other.reason}</span>
                </li>
              ))}
            </ul>
          </details>
        ),
    },
    {
      title: t("Result"),
      cell: (decision) => (
        <>
          <State {...decisionState(decision)} />
          {decision.success !== null && <div class="quiet nowrap">{formatDuration(decision.elapsedMs)}</div>}
        </>
      ),
    },
  ];
}

function Breakers({ breakers }: { breakers: readonly BreakerState[] }): JSX.Element {
  if (breakers.every(({ state }) => state === "closed")) return <p class="quiet">{t("All providers are available.")}</p>;
  return (
    <ul class="rows">
      {breakers.map((breaker) => (
        <li key={breaker.provider} data-testid={`breaker:${breaker.provider}`}>
          <strong>{breaker.provider}</strong> <State {...breakerState(breaker)} />
          {breaker.reason !== null && <span class="quiet">{breaker.reason}</span>}
          {breaker.retryAt !== null && (
            <span class="quiet nowrap">
              {t("retry")} <RelativeTime at={breaker.retryAt} />
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}

function Decisions({ warRoom, view }: { warRoom: WarRoom; view: RouterView }): JSX.Element {
  const { stats, decisions } = view;
  return (
    <>
      {stats.problem !== null && <Problem text={stats.problem} />}
      {stats.offline && (
        <p role="status">
          <State icon="debug-disconnect" kind="warn" text={t("No network. Only local models and tools are available.")} />
        </p>
      )}
      <Breakers breakers={stats.breakers} />
      {decisions.length === 0 ? (
        <EmptyState icon="git-branch" title={t("No routing decisions yet.")}>
          {t("The lane and model of each call appear here, with the reason.")}
        </EmptyState>
      ) : (
        <>
          <p class="quiet">
            {t("{0} of the last {1} decisions used a local model.", formatPercent(stats.localShare), formatNumber(stats.total))}{" "}
            {stats.medianMs !== null && t("Median response time: {0}.", formatDuration(stats.medianMs))}
          </p>
          <div class="decisions">
            <RecordTable label={t("Routing decisions")} rows={decisions} rowKey={({ id }) => id} columns={columns(warRoom)} />
          </div>
        </>
      )}
    </>
  );
}

/** Routing decisions and the providers that are excluded after failures. */
export function RouterBlocks({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  const { value, problem, refresh } = warRoom.usage.router;
  const view = value.value;
  const failed = problem.value;
  return (
    <Block testId="usage:router" title={t("Routing decisions")} wide>
      {failed !== null && (
        <Problem text={failed.text}>
          <Button testId="try-again" onClick={refresh}>
            {t("Try Again")}
          </Button>
        </Problem>
      )}
      {view === null ? failed === null && <p class="quiet">{t("Loading…")}</p> : <Decisions warRoom={warRoom} view={view} />}
    </Block>
  );
}
