import type { JSX } from "preact";
import type { HostInfo } from "../../agent-server/contract/host.ts";
import { commandAction } from "../shared/commands.ts";
import { Icon } from "../shared/components.tsx";
import { formatCompact, formatNumber, t } from "../shared/l10n.ts";
import type { Chat } from "./state.ts";

/** Which model answers, how edits reach the disk, and what this task used. */
export function Footer({ chat }: { chat: Chat }): JSX.Element {
  const quest = chat.quest.value;
  const active = chat.store.models.value?.items.find((model) => model.active);
  const provider = chat.store.models.value?.providers.find((candidate) => candidate.active);
  const model = active?.displayName ?? quest?.model ?? provider?.displayName ?? t("No model");
  const info = chat.store.info.value;
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
      {info !== null && <Edits info={info} />}
      {info?.safeMode === true && (
        <span class="footer-item" title={t("Safe mode: only what works on this machine is left")}>
          <Icon name="lock" />
          <span>{t("Safe mode")}</span>
        </span>
      )}
      <Commands chat={chat} />
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

/** What becomes of edits in this window. */
function Edits({ info }: { info: HostInfo }): JSX.Element {
  const look = (): { icon: string; text: string; title: string } => {
    if (!info.trusted)
      return { icon: "lock", text: t("Restricted"), title: t("This workspace is not trusted: nothing is written until you trust it") };
    if (info.posture === "supervised")
      return { icon: "eye", text: t("Supervised"), title: t("Edits are proposed and wait for your review") };
    return { icon: "rocket", text: t("Autonomous"), title: t("Edits are applied after a checkpoint and can be undone") };
  };
  const { icon, text, title } = look();
  return (
    <span class="footer-item" title={title}>
      <Icon name={icon} />
      <span>{text}</span>
    </span>
  );
}

/** Says when commands cannot be run, or run without a sandbox; what is as it should be takes no room. */
function Commands({ chat }: { chat: Chat }): JSX.Element | null {
  const sandbox = chat.store.sandbox.value;
  // Before the host has looked there is nothing to do about it.
  const none = sandbox !== null && sandbox.place === null && sandbox.nextStep !== null;
  if (sandbox === null || (!none && sandbox.place !== "host")) return null;
  const text = none ? t("No commands") : t("No sandbox");
  return (
    <button
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
