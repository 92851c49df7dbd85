import type { JSX } from "preact";
import type { Quest } from "../../agent-server/contract/chat.ts";
import { commandAction } from "../shared/commands.ts";
import { Icon } from "../shared/components.tsx";
import { formatCompact, formatNumber, formatPercent, formatUsd, t } from "../shared/l10n.ts";
import { answeredText, laneText, modelName } from "../shared/lanes.ts";
import type { Chat } from "./chat-state.ts";

/** Shows the model, restrictions, the context usage and the cost of this task and of today. */
export function Footer({ chat }: { chat: Chat }): JSX.Element {
  const quest = chat.quest.value;
  const info = chat.store.info.value;
  return (
    <footer class="footer">
      <Model chat={chat} quest={quest} />
      {info?.trusted === false && <Restricted />}
      {info?.safeMode === true && (
        <span class="footer-item" title={t("Safe mode: only local tools run")}>
          <Icon name="lock" />
          <span>{t("Safe mode")}</span>
        </span>
      )}
      <Commands chat={chat} />
      <span class="spring" />
      {quest !== null && <Context quest={quest} />}
      <Cost chat={chat} quest={quest} />
    </footer>
  );
}

/** The model and lane of the last answer; before the first answer, the selected model. */
function Model({ chat, quest }: { chat: Chat; quest: Quest | null }): JSX.Element {
  const models = chat.store.models.value;
  const active = models?.items.find((model) => model.active);
  const provider = models?.providers.find((candidate) => candidate.active);
  const last = quest === null ? undefined : chat.answeredBy.value;
  const answered = last === undefined ? undefined : modelName(models, last);
  const model = answered ?? active?.displayName ?? quest?.model ?? provider?.displayName ?? t("No model");
  const lane = last === undefined ? null : laneText(last.lane);
  const chosen = quest?.override === undefined ? null : t("selected for this task");
  const label = [model, lane, chosen].filter((part) => part !== null).join(", ");
  return (
    <button
      data-testid="choose-model"
      type="button"
      class="footer-item"
      title={[last === undefined ? null : answeredText(last), quest === null ? t("Choose Model") : t("Choose a model for this task")]
        .filter((part) => part !== null)
        .join("\n")}
      aria-label={quest === null ? t("Model: {0}. Choose another", label) : t("Model: {0}. Choose another for this task", label)}
      onClick={() =>
        quest === null ? chat.command("chooseModel") : chat.bridge.ui(commandAction("chooseTaskModel", { questId: quest.id }))
      }
    >
      <Icon name={chosen === null ? "sparkle" : "pinned"} />
      <span class="ellipsis">{model}</span>
      {lane !== null && <span class="quiet">· {lane}</span>}
    </button>
  );
}

/** The used share of the context window; before that is known, the tokens of the task. */
function Context({ quest }: { quest: Quest }): JSX.Element | null {
  const { usage, context } = quest;
  const used = usage.inputTokens + usage.outputTokens;
  if (used === 0) return null;
  const tokens = t(
    "This task: {0} input tokens ({1} cached), {2} output tokens",
    formatNumber(usage.inputTokens),
    formatNumber(usage.cachedInputTokens),
    formatNumber(usage.outputTokens),
  );
  if (context === undefined || context.window === 0)
    return (
      <span class="footer-item" title={tokens}>
        {t("{0} tokens", formatCompact(used))}
      </span>
    );
  const share = Math.min(1, context.tokens / context.window);
  return (
    <span
      class="footer-item"
      title={`${t("Context: {0} of {1} tokens", formatNumber(context.tokens), formatNumber(context.window))}\n${tokens}`}
    >
      <Icon name="layers" />
      <span>
        <span class="sr-only">{t("Context used:")} </span>
        {formatCompact(context.tokens)}/{formatCompact(context.window)} <span class="quiet">({formatPercent(share)})</span>
      </span>
    </span>
  );
}

/** The cost of this task and of today against the caps. A click opens Usage. */
function Cost({ chat, quest }: { chat: Chat; quest: Quest | null }): JSX.Element | null {
  const spending = chat.store.spending.value;
  const task = quest?.costUsd;
  if (spending === null && task === undefined) return null;
  const against = (usd: number, cap: number | null | undefined): string =>
    cap === null || cap === undefined ? formatUsd(usd) : t("{0} of {1}", formatUsd(usd), formatUsd(cap));
  const today = spending === null ? null : t("Today: {0}", against(spending.today.costUsd, spending.caps.dayUsd));
  const own = task === undefined ? null : t("This task: {0}", against(task, spending?.caps.questUsd));
  if (own === null && spending !== null && spending.today.calls === 0 && spending.caps.dayUsd === null) return null;
  const unpriced = spending !== null && spending.today.unpricedCalls > 0 ? t("Excludes calls to models without a known price.") : null;
  const lines = [own, today, unpriced].filter((line) => line !== null);
  const near = isNear(task, spending?.caps.questUsd) || isNear(spending?.today.costUsd, spending?.caps.dayUsd);
  return (
    <button
      type="button"
      data-testid="open-usage"
      class={`footer-item ${near ? "near" : ""}`}
      title={lines.join("\n")}
      onClick={() => chat.bridge.ui(commandAction("openWarRoom", { tab: "usage" }))}
    >
      <Icon name={near ? "warning" : "credit-card"} />
      <span>
        {task !== undefined && (
          <>
            <span class="sr-only">{t("Cost of this task:")} </span>
            {formatUsd(task)}
          </>
        )}
        {task !== undefined && spending !== null && " · "}
        {spending !== null && today}
        <span class="sr-only">. {t("Open Usage")}</span>
      </span>
    </button>
  );
}

/** True from 90 % of a cap on, because the next call may be refused. */
function isNear(usd: number | undefined, cap: number | null | undefined): boolean {
  return usd !== undefined && cap !== null && cap !== undefined && usd >= cap * 0.9;
}

/** Shows that nothing is written in this workspace. The composer says what happens to edits otherwise. */
function Restricted(): JSX.Element {
  return (
    <span class="footer-item" title={t("Restricted Mode: Lancelot writes nothing until you trust this workspace.")}>
      <Icon name="lock" />
      <span>{t("Restricted")}</span>
    </span>
  );
}

/** Warns when commands cannot run or run without a sandbox; otherwise shows nothing. */
function Commands({ chat }: { chat: Chat }): JSX.Element | null {
  const sandbox = chat.store.sandbox.value;
  // A missing sandbox has a next step only after the host checked for one.
  const none = sandbox !== null && sandbox.place === null && sandbox.nextStep !== null;
  if (sandbox === null || (!none && sandbox.place !== "host")) return null;
  const text = none ? t("Commands unavailable") : t("No sandbox");
  return (
    <button
      data-testid="open-tools"
      type="button"
      class="footer-item"
      title={[sandbox.message, sandbox.nextStep ?? ""].join(" ").trim()}
      aria-label={t("{0}: {1} Open Tools", text, sandbox.message)}
      onClick={() => chat.bridge.ui(commandAction("openWarRoom", { tab: "tools" }))}
    >
      <Icon name="warning" />
      <span>{text}</span>
    </button>
  );
}
