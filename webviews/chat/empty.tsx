import type { JSX } from "preact";
import type { LocalModel } from "../../agent-server/contract/models.ts";
import type { Models } from "../shared/store.ts";
import { Button, Icon, Problem } from "../shared/components.tsx";
import { formatBytes, t } from "../shared/l10n.ts";
import type { Chat } from "./state.ts";

function examples(): readonly { icon: string; text: string }[] {
  return [
    { icon: "beaker", text: t("Read the tests and the code they check, find what is wrong and fix it.") },
    { icon: "book", text: t("Explain how this project is built and where I should start reading.") },
    { icon: "checklist", text: t("Review my uncommitted changes and tell me what could break.") },
  ];
}

/** Why no model can answer; null when one can. Unknown (not read yet) counts as able. */
export function modelProblem(models: Models | null): string | null {
  if (models === null) return null;
  const active = models.providers.find((provider) => provider.active);
  if (active !== undefined) return active.problem;
  return models.problem ?? t("No model is chosen yet.");
}

export function localModelText(local: LocalModel): string {
  switch (local.status) {
    case "absent":
      return t("{0}, {1}, runs on this machine without a key.", local.name, formatBytes(local.totalBytes));
    case "downloading":
      return t("Downloading {0}: {1} of {2}", local.name, formatBytes(local.doneBytes), formatBytes(local.totalBytes));
    case "loading":
      return t("{0} is being loaded.", local.name);
    case "ready":
    case "loaded":
      return t("{0} is here.", local.name);
    case "failed":
      return local.problem ?? t("{0} could not be fetched.", local.name);
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
          <Button onClick={() => void chat.bridge.call("models.local.cancel", {}).catch(() => undefined)}>{t("Cancel")}</Button>
        </div>
      )}
      {(local.status === "absent" || local.status === "failed") && (
        <Button icon="cloud-download" onClick={() => chat.command("downloadLocalModel")}>
          {t("Download local model")}
        </Button>
      )}
    </div>
  );
}

/** Stands where answers would: no model can give one yet. */
export function NoModel({ chat, problem }: { chat: Chat; problem: string }): JSX.Element {
  const local = chat.store.localModel.value;
  return (
    <section class="empty no-model" aria-label={t("A model is needed")}>
      <h2>{t("Lancelot needs a model")}</h2>
      <p>{problem}</p>
      <div class="stack">
        <Button kind="primary" icon="sparkle" onClick={() => chat.command("chooseModel")}>
          {t("Choose model")}
        </Button>
        <Button icon="key" onClick={() => chat.command("setApiKey")}>
          {t("Set API key")}
        </Button>
      </div>
      {local !== null && <LocalModelLine local={local} chat={chat} />}
    </section>
  );
}

/** A new task: what one could ask. */
export function Empty({ chat }: { chat: Chat }): JSX.Element {
  const problem = modelProblem(chat.store.models.value);
  if (problem !== null) return <NoModel chat={chat} problem={problem} />;
  const folder = chat.store.info.value?.workspace !== null;
  return (
    <section class="empty" aria-label={t("New task")}>
      <Icon name="shield" />
      <h2>{t("What should be done?")}</h2>
      <p>
        {folder
          ? t("Lancelot reads, plans and proposes edits. You see each step, decide on every change, and can undo it all.")
          : t("No folder is open. Lancelot can answer questions; open a folder for it to read and edit files.")}
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
      <p class="quiet hint">{t("@ names a file, / lists commands, a picture can be pasted.")}</p>
    </section>
  );
}
