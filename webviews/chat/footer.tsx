import type { JSX } from "preact";
import { Icon } from "../shared/components.tsx";
import { formatCompact, formatNumber, t } from "../shared/l10n.ts";
import type { Chat } from "./state.ts";

/** Which model answers, how edits reach the disk, and what this task used. */
export function Footer({ chat }: { chat: Chat }): JSX.Element {
  const quest = chat.quest.value;
  const active = chat.store.models.value?.items.find((model) => model.active);
  const provider = chat.store.models.value?.providers.find((candidate) => candidate.active);
  const model = active?.displayName ?? quest?.model ?? provider?.displayName ?? t("No model");
  const posture = chat.store.info.value?.posture;
  const usage = quest?.usage;
  const used = usage === undefined ? 0 : usage.inputTokens + usage.outputTokens;
  return (
    <footer class="footer">
      <button
        type="button"
        class="footer-item"
        title={t("Choose model")}
        aria-label={t("Model: {0}. Choose another", model)}
        onClick={() => chat.command("chooseModel")}
      >
        <Icon name="sparkle" />
        <span class="ellipsis">{model}</span>
      </button>
      {posture !== undefined && (
        <span
          class="footer-item"
          title={
            posture === "supervised"
              ? t("Edits are proposed and wait for your review")
              : t("Edits are applied after a checkpoint and can be undone")
          }
        >
          <Icon name={posture === "supervised" ? "eye" : "rocket"} />
          <span>{posture === "supervised" ? t("Supervised") : t("Autonomous")}</span>
        </span>
      )}
      <span class="spring" />
      {usage !== undefined && used > 0 && (
        <span
          class="footer-item"
          title={t(
            "This task: {0} tokens in ({1} from cache), {2} out",
            formatNumber(usage.inputTokens),
            formatNumber(usage.cachedInputTokens),
            formatNumber(usage.outputTokens),
          )}
        >
          {t("{0} tokens", formatCompact(used))}
        </span>
      )}
    </footer>
  );
}
