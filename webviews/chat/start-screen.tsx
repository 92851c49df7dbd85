import type { JSX } from "preact";
import type { LocalModel } from "../../agent-server/contract/models.ts";
import type { Models } from "../shared/store.ts";
import { Button, Icon, Problem } from "../shared/components.tsx";
import { formatBytes, t } from "../shared/l10n.ts";
import type { Chat } from "./chat-state.ts";

function examples(): readonly { icon: string; text: string }[] {
  return [
    { icon: "beaker", text: t("Run the tests, find out what fails and fix it.") },
    { icon: "book", text: t("Explain how this project is structured and where I should start reading.") },
    { icon: "checklist", text: t("Review my uncommitted changes and tell me what could break.") },
  ];
}

/** Returns the reason why no model can answer, or null. A state that is not loaded yet counts as able to answer. */
export function modelProblem(models: Models | null): string | null {
  if (models === null) return null;
  const active = models.providers.find((provider) => provider.active);
  if (active !== undefined) return active.problem;
  return models.problem ?? t("No model selected. Choose a model to start.");
}

export function localModelText(local: LocalModel): string {
  switch (local.status) {
    case "absent":
      return t("{0} ({1}) runs on this machine without an API key.", local.name, formatBytes(local.totalBytes));
    case "downloading":
      return t("Downloading {0}: {1} of {2}", local.name, formatBytes(local.doneBytes), formatBytes(local.totalBytes));
    case "loading":
      return t("{0} is loading.", local.name);
    case "ready":
    case "loaded":
      return t("{0} is ready.", local.name);
    case "failed":
      return local.problem ?? t("{0} could not be downloaded.", local.name);
  }
}

function LocalModelLine({ local, chat }: { local: LocalModel; chat: Chat }): JSX.Element {
  const text = localModelText(local);
  return (
    <div class="local-model">
      {local.status === "failed" ? <Problem text={text} /> : <p class="quiet">{text}</p>}
      {local.status === "downloading" && (
        <div class="download">
          <progress aria-label={t("Download of the local model")} max={Math.max(1, local.totalBytes)} value={local.doneBytes} />
          <Button testId="cancel" onClick={() => void chat.bridge.call("models.local.cancel", {}).catch(() => undefined)}>
            {t("Cancel")}
          </Button>
        </div>
      )}
      {(local.status === "absent" || local.status === "failed") && (
        <Button testId="download-local-model" icon="cloud-download" onClick={() => chat.command("downloadLocalModel")}>
          {t("Download Local Model")}
        </Button>
      )}
    </div>
  );
}

/** Replaces the answer area while no model is available. */
export function NoModel({ chat, problem }: { chat: Chat; problem: string }): JSX.Element {
  const local = chat.store.localModel.value;
  return (
    <section class="empty no-model" aria-label={t("No model available")}>
      <h2>{t("Lancelot needs a model")}</h2>
      <p>{problem}</p>
      <div class="stack">
        <Button testId="choose-model" kind="primary" icon="sparkle" onClick={() => chat.command("chooseModel")}>
          {t("Choose Model")}
        </Button>
        <Button testId="set-api-key" icon="key" onClick={() => chat.command("setApiKey")}>
          {t("Set API Key")}
        </Button>
      </div>
      {local !== null && <LocalModelLine local={local} chat={chat} />}
    </section>
  );
}

/** The start page of a new task, with example prompts. */
export function StartScreen({ chat }: { chat: Chat }): JSX.Element {
  const problem = modelProblem(chat.store.models.value);
  if (problem !== null) return <NoModel chat={chat} problem={problem} />;
  const folder = chat.store.info.value?.workspace !== null;
  return (
    <section class="empty" aria-label={t("New task")} data-testid="start-screen">
      <Icon name="shield" />
      <h2>{t("What should I do?")}</h2>
      <p>
        {folder
          ? t("Lancelot reads code, plans and proposes edits. You review each change and can undo the whole task.")
          : t("No folder is open. Lancelot can answer questions. Open a folder to let it read and edit files.")}
      </p>
      {folder && (
        <ul class="stack examples" aria-label={t("Examples")}>
          {examples().map(({ icon, text }) => (
            <li key={text}>
              <button
                type="button"
                class="example"
                onClick={() => {
                  chat.draft.value = text;
                  chat.focusRequests.value += 1;
                }}
              >
                <Icon name={icon} />
                <span>{text}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
      <p class="quiet hint">{t("Type @ to mention a file or / for a command. You can also paste an image.")}</p>
    </section>
  );
}
