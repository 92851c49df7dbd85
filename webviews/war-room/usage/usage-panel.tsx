import type { JSX } from "preact";
import type { UsageSummary } from "../../../agent-server/contract/usage.ts";
import { commandAction } from "../../shared/commands.ts";
import { Button, Problem, RelativeTime } from "../../shared/components.tsx";
import { count, formatNumber, formatUsd, t } from "../../shared/l10n.ts";
import { Block, EmptyState, LivePanel, Meter } from "../live-panel.tsx";
import { DaysPicker, Segments } from "../segments.tsx";
import type { WarRoom } from "../war-room-state.ts";
import { CapsBlock } from "./caps-form.tsx";
import { CostBlocks } from "./cost-charts.tsx";
import { LocalBlock, ServersBlock } from "./local-models.tsx";
import { RouterBlocks } from "./router-decisions.tsx";
import { dayOptions, measures } from "./usage-state.ts";
import { costText } from "./usage-labels.ts";

function Today({ summary }: { summary: UsageSummary }): JSX.Element {
  const { today, caps } = summary;
  const cost = costText(today);
  return (
    <Block testId="usage:today" title={t("Today")}>
      <p class="figure">{cost}</p>
      {caps.dayUsd !== null && (
        <Meter
          value={today.costUsd}
          max={caps.dayUsd}
          label={t("Today's cost against the cap")}
          text={t("{0} of {1}", formatUsd(today.costUsd), formatUsd(caps.dayUsd))}
        />
      )}
      <p class="quiet">
        {count(today.calls, "{0} call", "{0} calls")}, {t("{0} tokens", formatNumber(today.usage.inputTokens + today.usage.outputTokens))}
      </p>
    </Block>
  );
}

function Total({ summary, days }: { summary: UsageSummary; days: number }): JSX.Element {
  const { total } = summary;
  const { usage } = total;
  const rows: [string, number][] = [
    [t("Input tokens"), usage.inputTokens],
    [t("Cached input tokens"), usage.cachedInputTokens],
    [t("Cache write tokens"), usage.cacheWriteTokens],
    [t("Tool tokens (provider)"), usage.toolTokens],
    [t("Output tokens"), usage.outputTokens],
    [t("Reasoning tokens"), usage.reasoningTokens],
  ];
  return (
    <Block title={t("Last {0} days", days)}>
      <p class="figure">{costText(total)}</p>
      <p class="quiet">{count(total.calls, "{0} call", "{0} calls")}</p>
      <dl class="facts">
        {rows
          .filter(([, tokens], index) => tokens > 0 || index === 0 || index === 4)
          .map(([name, tokens]) => (
            <div key={name} class="fact">
              <dt>{name}</dt>
              <dd>{formatNumber(tokens)}</dd>
            </div>
          ))}
      </dl>
    </Block>
  );
}

function Savings({ savings }: Pick<UsageSummary, "savings">): JSX.Element {
  return (
    <Block title={t("Savings")}>
      <p class="figure">{formatUsd(savings.savedUsd + Math.max(0, savings.cacheSavingsUsd))}</p>
      <dl class="facts">
        <div class="fact">
          <dt>{t("Local models")}</dt>
          <dd>{formatUsd(savings.savedUsd)}</dd>
        </div>
        <div class="fact">
          <dt>{t("Provider caches")}</dt>
          <dd>{formatUsd(savings.cacheSavingsUsd)}</dd>
        </div>
      </dl>
      <p class="quiet">
        {savings.localCalls === 0
          ? t("No local model has been used yet.")
          : savings.comparedWith === null
            ? t("No price is available to compare with local models.")
            : t("Estimate: {0} local tokens at the regular price of {1}.", formatNumber(savings.localTokens), savings.comparedWith)}
      </p>
    </Block>
  );
}

function ChartOptions({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  const { days, measure } = warRoom.usage;
  return (
    <div class="usage-choices">
      <DaysPicker options={dayOptions} value={days.value} onChange={warRoom.usage.setDays} />
      <Segments
        label={t("Chart")}
        testId="measure"
        options={measures}
        value={measure.value}
        onChange={(next) => {
          measure.value = next;
        }}
        text={(option) => (option === "cost" ? t("Cost") : t("Tokens"))}
      />
      <span class="spring" />
      <Button testId="reset-usage" icon="clear-all" onClick={() => warRoom.bridge.ui(commandAction("resetUsage"))}>
        {t("Reset Usage…")}
      </Button>
    </div>
  );
}

function Prices({ prices, since }: Pick<UsageSummary, "prices" | "since">): JSX.Element {
  return (
    <Block title={t("Prices")} wide>
      <p>
        {t("Costs are based on the providers' token counts and the price table of {0} (config/prices.yaml).", prices.updated)}{" "}
        {since !== null && (
          <>
            {t("Tracked since")} <RelativeTime at={since} />.
          </>
        )}
      </p>
      {prices.missing.length > 0 && (
        <p>
          {t("Not included in the cost, because the price is unknown:")} <span class="mono">{prices.missing.join(", ")}</span>.{" "}
          {t("Add these models to config/prices.yaml in Lancelot's data folder. Lancelot then also prices their past use.")}
        </p>
      )}
    </Block>
  );
}

function Content({ warRoom, summary }: { warRoom: WarRoom; summary: UsageSummary }): JSX.Element {
  return (
    <>
      {[summary.capsProblem, summary.prices.problem].map((text) => text !== null && <Problem key={text} text={text} />)}
      <div class="blocks">
        <Today summary={summary} />
        <Total summary={summary} days={warRoom.usage.days.value} />
        <Savings savings={summary.savings} />
        <CapsBlock warRoom={warRoom} caps={summary.caps} />
      </div>
      {summary.total.calls === 0 ? (
        <Block title={t("Cost and tokens")} wide aside={summary.since === null ? null : <ChartOptions warRoom={warRoom} />}>
          <EmptyState icon="credit-card" title={t("There were no model calls in this period.")}>
            {t("Lancelot counts each model call with the provider's own numbers, by lane, provider, model, task and day.")}
          </EmptyState>
        </Block>
      ) : (
        <>
          <ChartOptions warRoom={warRoom} />
          <CostBlocks warRoom={warRoom} summary={summary} />
        </>
      )}
      <Prices prices={summary.prices} since={summary.since} />
    </>
  );
}

/** Usage, cost and caps of models, routing decisions and local models. */
export function UsagePanel({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  return (
    <LivePanel
      warRoom={warRoom}
      className="usage"
      live={warRoom.usage.summary}
      label={t("Usage")}
      after={
        <>
          <RouterBlocks warRoom={warRoom} />
          <LocalBlock warRoom={warRoom} />
          <ServersBlock warRoom={warRoom} />
        </>
      }
    >
      {(summary) => <Content warRoom={warRoom} summary={summary} />}
    </LivePanel>
  );
}
