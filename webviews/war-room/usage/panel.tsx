import type { JSX } from "preact";
import type { UsageSummary } from "../../../agent-server/contract/usage.ts";
import { commandAction } from "../../shared/commands.ts";
import { Button, Problem, RelativeTime } from "../../shared/components.tsx";
import { count, formatNumber, formatUsd, t } from "../../shared/l10n.ts";
import { Block, Empty, LivePanel, Meter } from "../live-panel.tsx";
import type { WarRoom } from "../state.ts";
import { CapsBlock } from "./caps.tsx";
import { CostBlocks } from "./cost.tsx";
import { LocalBlock, ServersBlock } from "./local.tsx";
import { RouterBlocks } from "./router.tsx";
import { spans } from "./state.ts";
import { costText } from "./words.ts";

function Today({ summary }: { summary: UsageSummary }): JSX.Element {
  const { today, caps } = summary;
  const cost = costText(today);
  return (
    <Block title={t("Today")}>
      <p class="figure">{cost}</p>
      {caps.dayUsd !== null && (
        <Meter
          value={today.costUsd}
          most={caps.dayUsd}
          label={t("Today against the cap")}
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
    [t("read"), usage.inputTokens],
    [t("of these from a cache"), usage.cachedInputTokens],
    [t("of these into a cache"), usage.cacheWriteTokens],
    [t("of these from tools of the provider"), usage.toolTokens],
    [t("written"), usage.outputTokens],
    [t("of these for thinking"), usage.reasoningTokens],
  ];
  return (
    <Block title={t("The last {0} days", days)}>
      <p class="figure">{costText(total)}</p>
      <p class="quiet">{count(total.calls, "{0} call", "{0} calls")}</p>
      <dl class="facts">
        {rows
          .filter(([, tokens], index) => tokens > 0 || index === 0 || index === 4)
          .map(([name, tokens]) => (
            <div key={name} class="fact">
              <dt>{t("Tokens {0}", name)}</dt>
              <dd>{formatNumber(tokens)}</dd>
            </div>
          ))}
      </dl>
    </Block>
  );
}

function Savings({ savings }: Pick<UsageSummary, "savings">): JSX.Element {
  return (
    <Block title={t("Saved")}>
      <p class="figure">{formatUsd(savings.savedUsd + Math.max(0, savings.cacheSavingsUsd))}</p>
      <dl class="facts">
        <div class="fact">
          <dt>{t("By work on this machine")}</dt>
          <dd>{formatUsd(savings.savedUsd)}</dd>
        </div>
        <div class="fact">
          <dt>{t("By the providers' caches")}</dt>
          <dd>{formatUsd(savings.cacheSavingsUsd)}</dd>
        </div>
      </dl>
      <p class="quiet">
        {savings.localCalls === 0
          ? t("Nothing was done by a model on this machine yet.")
          : savings.comparedWith === null
            ? t("No price is known to compare local work with.")
            : t("{0} local tokens, at the plain price of {1}: an estimate.", formatNumber(savings.localTokens), savings.comparedWith)}
      </p>
    </Block>
  );
}

function Span({ room }: { room: WarRoom }): JSX.Element {
  const { days, measure } = room.usage;
  return (
    <div class="usage-choices">
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
      <div class="segments" role="group" aria-label={t("What is drawn")}>
        {(["cost", "tokens"] as const).map((what) => (
          <button
            key={what}
            type="button"
            class="segment"
            aria-pressed={measure.value === what}
            onClick={() => {
              measure.value = what;
            }}
          >
            {what === "cost" ? t("Cost") : t("Tokens")}
          </button>
        ))}
      </div>
      <span class="spring" />
      <Button icon="clear-all" onClick={() => room.bridge.ui(commandAction("resetUsage"))}>
        {t("Count anew…")}
      </Button>
    </div>
  );
}

function Prices({ prices, since }: Pick<UsageSummary, "prices" | "since">): JSX.Element {
  return (
    <Block title={t("Prices")} wide>
      <p>
        {t(
          "Costs are worked out from the providers' own counts of tokens and the price table of {0} (config/prices.yaml).",
          prices.updated,
        )}{" "}
        {since !== null && (
          <>
            {t("Counted since")} <RelativeTime at={since} />.
          </>
        )}
      </p>
      {prices.missing.length > 0 && (
        <p>
          {t("Without a price, and so without a cost here:")} <span class="mono">{prices.missing.join(", ")}</span>.{" "}
          {t("Add them to config/prices.yaml in Lancelot's data folder; what was used is then priced too.")}
        </p>
      )}
    </Block>
  );
}

function Content({ room, summary }: { room: WarRoom; summary: UsageSummary }): JSX.Element {
  return (
    <>
      {[summary.capsProblem, summary.prices.problem].map((text) => text !== null && <Problem key={text} text={text} />)}
      <div class="blocks">
        <Today summary={summary} />
        <Total summary={summary} days={room.usage.days.value} />
        <Savings savings={summary.savings} />
        <CapsBlock room={room} caps={summary.caps} />
      </div>
      {summary.total.calls === 0 ? (
        <Block title={t("Cost and tokens")} wide aside={summary.since === null ? null : <Span room={room} />}>
          <Empty icon="credit-card" title={t("No model was called in these days.")}>
            {t("Each call is counted here with the provider's own figures: by lane, provider, model, task and day.")}
          </Empty>
        </Block>
      ) : (
        <>
          <Span room={room} />
          <CostBlocks room={room} summary={summary} />
        </>
      )}
      <Prices prices={summary.prices} since={summary.since} />
    </>
  );
}

/** What models used and cost, what they may cost, how calls are routed, and what works on this machine. */
export function UsagePanel({ room }: { room: WarRoom }): JSX.Element {
  return (
    <LivePanel
      room={room}
      look="usage"
      live={room.usage.summary}
      label={t("Usage")}
      after={
        <>
          <RouterBlocks room={room} />
          <LocalBlock room={room} />
          <ServersBlock room={room} />
        </>
      }
    >
      {(summary) => <Content room={room} summary={summary} />}
    </LivePanel>
  );
}
