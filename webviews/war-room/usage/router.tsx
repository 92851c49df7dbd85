import type { JSX } from "preact";
import type { BreakerState, RouterDecision } from "../../../agent-server/contract/router.ts";
import { Button, Problem, RelativeTime, State } from "../../shared/components.tsx";
import { formatDuration, t } from "../../shared/l10n.ts";
import { laneText } from "../../shared/lanes.ts";
import { Block, Empty } from "../live-panel.tsx";
import { type Column, RecordTable } from "../record-table.tsx";
import type { WarRoom } from "../state.ts";
import type { RouterView } from "./state.ts";
import { breakerLook, decisionLook, ruleText } from "./words.ts";

function target({ provider, model }: Pick<RouterDecision, "provider" | "model">): string {
  return provider === "none" ? t("a rule of the host") : `${provider}/${model}`;
}

function columns(room: WarRoom): Column<RouterDecision>[] {
  return [
    {
      title: t("Task"),
      cell: ({ taskType, timestamp, receiptId }) => (
        <>
          {receiptId === null ? (
            <span>{taskType}</span>
          ) : (
            <button type="button" class="button link" title={t("Open the receipt")} onClick={() => room.showReceipt(receiptId)}>
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
      title: t("Went to"),
      cell: (decision) => (
        <>
          <strong>{laneText(decision.lane)}</strong>
          <div class="mono">{target(decision)}</div>
        </>
      ),
    },
    {
      title: t("Why"),
      cell: ({ rationale, rule }) => (
        <>
          {rationale}
          <div class="quiet">{ruleText(rule)}</div>
        </>
      ),
    },
    {
      title: t("Else"),
      cell: ({ alternatives }) =>
        alternatives.length === 0 ? (
          <span class="quiet">{t("no other")}</span>
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
      title: t("How it went"),
      cell: (decision) => (
        <>
          <State {...decisionLook(decision)} />
          {decision.success !== null && <div class="quiet nowrap">{formatDuration(decision.elapsedMs)}</div>}
        </>
      ),
    },
  ];
}

function Breakers({ breakers }: { breakers: readonly BreakerState[] }): JSX.Element {
  if (breakers.every(({ state }) => state === "closed"))
    return <p class="quiet">{t("No provider is left out: none has failed several times in a row.")}</p>;
  return (
    <ul class="rows">
      {breakers.map((breaker) => (
        <li key={breaker.provider}>
          <strong>{breaker.provider}</strong> <State {...breakerLook(breaker)} />
          {breaker.reason !== null && <span class="quiet">{breaker.reason}</span>}
          {breaker.retryAt !== null && (
            <span class="quiet nowrap">
              {t("tried again")} <RelativeTime at={breaker.retryAt} />
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}

function Decisions({ room, view }: { room: WarRoom; view: RouterView }): JSX.Element {
  const { stats, decisions } = view;
  return (
    <>
      {stats.problem !== null && <Problem text={stats.problem} />}
      {stats.offline && (
        <p role="status">
          <State icon="debug-disconnect" kind="warn" text={t("There is no network: only what works on this machine answers.")} />
        </p>
      )}
      <Breakers breakers={stats.breakers} />
      {decisions.length === 0 ? (
        <Empty icon="git-branch" title={t("Nothing was routed yet.")}>
          {t("Which lane and model each call went to, and why, is listed here.")}
        </Empty>
      ) : (
        <>
          <p class="quiet">
            {t("{0} % of the last {1} decisions stayed on this machine.", Math.round(stats.localShare * 100), stats.total)}{" "}
            {stats.medianMs !== null && t("Half of the answers took less than {0}.", formatDuration(stats.medianMs))}
          </p>
          <div class="decisions">
            <RecordTable label={t("Decisions of the router")} rows={decisions} rowKey={({ id }) => id} columns={columns(room)} />
          </div>
        </>
      )}
    </>
  );
}

/** Which lane and model calls go to, why, and which providers are left out. */
export function RouterBlocks({ room }: { room: WarRoom }): JSX.Element {
  const { value, problem, refresh } = room.usage.router;
  const view = value.value;
  const failed = problem.value;
  return (
    <Block title={t("Decisions of the router")} wide>
      {failed !== null && (
        <Problem text={failed.text}>
          <Button onClick={refresh}>{t("Try again")}</Button>
        </Problem>
      )}
      {view === null ? failed === null && <p class="quiet">{t("Loading…")}</p> : <Decisions room={room} view={view} />}
    </Block>
  );
}
