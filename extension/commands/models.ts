import * as vscode from "vscode";
import type { LocalModel, LocalServer, ModelInfo, ProviderState } from "../../agent-server/contract/models.ts";
import type { AgentHost } from "../host/agent-host-types.ts";
import { withoutEmphasis } from "../host/show-error.ts";
import type { Commands } from "./commands.ts";
import { serverChoices } from "./local-model.ts";

type Choice = vscode.QuickPickItem & ({ kind: vscode.QuickPickItemKind.Separator } | { run?: () => Promise<void> });

/** Secret names of the provider kinds that always need an API key. Other servers update the name from models.yaml. */
const keyNames: Partial<Record<ProviderState["kind"], string>> = {
  anthropic: "ANTHROPIC_API_KEY",
  openai: "OPENAI_API_KEY",
  gemini: "GEMINI_API_KEY",
  xai: "XAI_API_KEY",
};

/** Commands for choosing a model, API keys and downloading the local model. */
export function modelCommands(host: AgentHost): Commands {
  const choose = async (provider: string, model?: string) => {
    const chosen = await host.call("models.choose", { provider, ...(model === undefined ? {} : { model }) });
    void vscode.window.showInformationMessage(vscode.l10n.t("Lancelot now uses {0} ({1}).", chosen.model, chosen.provider));
  };
  const downloadThenChoose = async () => {
    if (await downloadLocal(host)) await choose("local");
  };

  return {
    "lancelot.chooseModel": () => pickModel(host, choose, downloadThenChoose),
    async "lancelot.setApiKey"() {
      const picked = await pickSecret(host, vscode.l10n.t("Set the API key for which provider?"));
      if (picked !== undefined) await askKey(host, picked.name, picked.label);
    },
    async "lancelot.removeApiKey"() {
      const { items } = await host.call("vault.list", {});
      if (items.length === 0) {
        void vscode.window.showInformationMessage(vscode.l10n.t("No keys are stored."));
        return;
      }
      const name = await vscode.window.showQuickPick(items, { title: vscode.l10n.t("Remove which key?") });
      if (name === undefined) return;
      await host.call("vault.delete", { name });
      void vscode.window.showInformationMessage(vscode.l10n.t("{0} removed.", name));
    },
    "lancelot.downloadLocalModel": downloadThenChoose,
  };
}

/** Shows a quick pick of all models. It opens at once and fills when the host answers. */
async function pickModel(
  host: AgentHost,
  choose: (provider: string, model?: string) => Promise<void>,
  download: () => Promise<void>,
): Promise<void> {
  const pick = vscode.window.createQuickPick<Choice>();
  const abort = new AbortController();
  pick.title = vscode.l10n.t("Choose Model");
  pick.placeholder = vscode.l10n.t("Loading models from your providers…");
  pick.matchOnDescription = true;
  pick.matchOnDetail = true;
  pick.busy = true;
  const picked = new Promise<Choice | undefined>((resolve) => {
    pick.onDidAccept(() => resolve(pick.selectedItems[0]));
    pick.onDidHide(() => resolve(undefined));
  });
  pick.show();
  try {
    const [{ items, providers, problem }, local, servers] = await Promise.all([
      host.call("models.list", {}, abort.signal),
      host.call("models.local", {}, abort.signal),
      // Servers on this machine are optional rows, so an error does not matter.
      host.call("models.servers", {}, abort.signal).then(
        (found) => found.items,
        () => [],
      ),
    ]);
    const configProblem: Choice[] =
      problem === null
        ? []
        : [{ label: vscode.l10n.t("$(warning) config/models.yaml"), detail: withoutEmphasis(problem), alwaysShow: true }];
    pick.items = [
      ...configProblem,
      ...choices(host, items, providers, local, choose, download),
      ...unlistedServers(host, servers),
      ...signInChoices(),
    ];
    pick.activeItems = pick.items.filter((item) => "picked" in item && item.picked);
    pick.placeholder = vscode.l10n.t("Models of all reachable providers");
    pick.busy = false;
    const choice = await picked;
    pick.hide();
    if (choice !== undefined && "run" in choice) await choice.run?.();
  } finally {
    abort.abort();
    pick.dispose();
  }
}

function choices(
  host: AgentHost,
  items: readonly ModelInfo[],
  providers: readonly ProviderState[],
  local: LocalModel,
  choose: (provider: string, model?: string) => Promise<void>,
  download: () => Promise<void>,
): Choice[] {
  const separator = (label: string): Choice => ({ label, kind: vscode.QuickPickItemKind.Separator });
  return providers
    .toSorted((a, b) => rank(a) - rank(b))
    .flatMap((provider): Choice[] => {
      if (provider.kind === "local" && (local.status === "absent" || local.status === "failed" || local.status === "downloading"))
        return [
          separator(provider.displayName),
          {
            label: vscode.l10n.t("$(cloud-download) Download {0}", local.name),
            description: size(local),
            detail: localDetail(local),
            run: download,
          },
        ];
      const keyName = keyNames[provider.kind];
      const models = items.filter((item) => item.provider === provider.provider);
      const entries: Choice[] = models.map((item) => ({
        label: `${item.active ? "$(check) " : ""}${item.displayName}`,
        picked: item.active,
        ...(item.displayName === item.model ? {} : { description: item.model }),
        ...(item.contextWindow === null
          ? {}
          : { detail: vscode.l10n.t("Context window: {0} tokens", item.contextWindow.toLocaleString(vscode.env.language)) }),
        async run() {
          // Asks for the API key first when the model cannot answer without one.
          if (provider.hasKey || keyName === undefined || (await askKey(host, keyName, provider.displayName)))
            await choose(provider.provider, item.model);
        },
      }));
      if (!provider.hasKey && keyName !== undefined)
        entries.unshift({
          label: vscode.l10n.t("$(key) Set API Key for {0}…", provider.displayName),
          ...(provider.problem === null ? {} : { detail: withoutEmphasis(provider.problem) }),
          async run() {
            if (await askKey(host, keyName, provider.displayName)) await choose(provider.provider);
          },
        });
      else if (provider.problem !== null)
        entries.unshift({
          label: `$(warning) ${provider.displayName}`,
          detail: withoutEmphasis(provider.problem),
          run: () => choose(provider.provider),
        });
      else if (entries.length === 0)
        entries.push({ label: provider.displayName, picked: provider.active, run: () => choose(provider.provider) });
      return [separator(provider.displayName), ...entries];
    });
}

/** Model servers on this machine that models.yaml does not list yet. */
function unlistedServers(host: AgentHost, servers: readonly LocalServer[]): Choice[] {
  return serverChoices(servers.filter(({ provider, models }) => provider === null && models.length > 0)).map(({ use, ...choice }) =>
    use === undefined
      ? choice
      : {
          ...choice,
          async run() {
            const { provider, model } = await host.call("models.useServer", use);
            void vscode.window.showInformationMessage(vscode.l10n.t("Lancelot now uses {0} ({1}).", model, provider));
          },
        },
  );
}

function signInChoices(): Choice[] {
  return [
    { label: "", kind: vscode.QuickPickItemKind.Separator },
    {
      label: vscode.l10n.t("$(sign-in) Sign In to a Provider…"),
      run: async () => void (await vscode.commands.executeCommand("lancelot.signIn")),
    },
  ];
}

/** Sorts the active provider first, then ready ones, then the local model, then those without a key. */
function rank(provider: ProviderState): number {
  if (provider.active) return 0;
  if (provider.problem === null) return 1;
  return provider.kind === "local" ? 2 : 3;
}

async function pickSecret(host: AgentHost, title: string): Promise<{ label: string; name: string } | undefined> {
  const { providers } = await host.call("models.list", {});
  const known = providers.flatMap((provider) => {
    const name = keyNames[provider.kind];
    return name === undefined
      ? []
      : [{ label: provider.displayName, description: provider.hasKey ? vscode.l10n.t("key stored") : "", detail: name, name }];
  });
  const other = {
    label: vscode.l10n.t("Other Key…"),
    description: vscode.l10n.t("The api_key_name of a provider in models.yaml"),
    detail: "",
    name: "",
  };
  const unique = known.filter((entry, index) => known.findIndex(({ name }) => name === entry.name) === index);
  const picked = await vscode.window.showQuickPick([...unique, other], { title });
  if (picked === undefined || picked !== other) return picked;
  const name = await vscode.window.showInputBox({
    title: other.label,
    prompt: other.description,
    ignoreFocusOut: true,
    validateInput: (value) =>
      /^[A-Z][A-Z0-9_]{1,99}$/.test(value) ? undefined : vscode.l10n.t("Use capital letters, digits and underscores only."),
  });
  return name === undefined ? undefined : { label: name, name };
}

/** Asks for a key and stores it. @returns false when the user cancelled */
async function askKey(host: AgentHost, name: string, label: string): Promise<boolean> {
  const value = await vscode.window.showInputBox({
    title: vscode.l10n.t("API key for {0}", label),
    prompt: vscode.l10n.t("Stored in VS Code's secret storage as {0}. Lancelot sends it to this provider only.", name),
    password: true,
    ignoreFocusOut: true,
    validateInput: (text) => (text.trim() === "" ? vscode.l10n.t("Enter a key, or press Escape to cancel.") : undefined),
  });
  if (value === undefined) return false;
  await host.call("vault.set", { name, value: value.trim() });
  void vscode.window.showInformationMessage(vscode.l10n.t("API key for {0} stored.", label));
  return true;
}

/**
 * Downloads the local model after the user confirmed its size, with cancellable progress.
 * @returns true when the model is ready
 */
async function downloadLocal(host: AgentHost): Promise<boolean> {
  const before = await host.call("models.local", {});
  if (before.status === "ready" || before.status === "loaded" || before.status === "loading") return true;
  if (before.status !== "downloading") {
    const button = vscode.l10n.t("Download");
    const answer = await vscode.window.showInformationMessage(
      vscode.l10n.t("Download the local model {0}?", before.name),
      {
        modal: true,
        detail: `${size(before)} · ${vscode.l10n.t("License: {0}", before.license)}\n${vscode.l10n.t("It runs on this machine, and nothing you write leaves it. An interrupted download resumes where it stopped.")}`,
      },
      button,
    );
    if (answer !== button) return false;
  }
  return vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: vscode.l10n.t("Downloading {0}", before.name), cancellable: true },
    (progress, token) => followDownload(host, before, progress, token),
  );
}

/** Reports progress from events until the download ends. */
async function followDownload(
  host: AgentHost,
  before: LocalModel,
  progress: vscode.Progress<{ message?: string; increment?: number }>,
  token: vscode.CancellationToken,
): Promise<boolean> {
  let done = before.doneBytes;
  const ended = Promise.withResolvers<LocalModel>();
  const update = (model: LocalModel) => {
    if (model.status !== "downloading") {
      ended.resolve(model);
      return;
    }
    const increment = model.totalBytes > 0 ? ((model.doneBytes - done) / model.totalBytes) * 100 : 0;
    done = model.doneBytes;
    progress.report({
      increment: Math.max(increment, 0),
      message: vscode.l10n.t("{0} of {1}", bytes(model.doneBytes), bytes(model.totalBytes)),
    });
  };
  const registrations = [
    host.onEvent((event) => (event.topic === "localModel" ? update(event.payload) : undefined)),
    // A host that stopped sends no more events.
    host.onState(({ state, detail }) => (state === "ready" || state === "starting" ? undefined : ended.reject(new Error(detail)))),
    token.onCancellationRequested(() => host.call("models.local.cancel", {}).then(ended.resolve, ended.reject)),
  ];
  try {
    host.call("models.local.download", {}).then(update, ended.reject);
    const model = await ended.promise;
    if (model.problem !== null && !token.isCancellationRequested) throw new Error(model.problem);
    return model.status === "ready" || model.status === "loading" || model.status === "loaded";
  } finally {
    vscode.Disposable.from(...registrations).dispose();
  }
}

function localDetail(model: LocalModel): string {
  if (model.problem !== null) return withoutEmphasis(model.problem);
  return vscode.l10n.t("Runs on this machine without an API key or network access. License: {0}.", model.license);
}

/** The remaining download size as text. */
export function size(model: LocalModel): string {
  return bytes(Math.max(model.totalBytes - model.doneBytes, 0));
}

function bytes(count: number): string {
  const gigabyte = 1_000_000_000;
  const [value, unit] = count >= gigabyte ? [count / gigabyte, "gigabyte"] : [count / 1_000_000, "megabyte"];
  return new Intl.NumberFormat(vscode.env.language, { style: "unit", unit, maximumFractionDigits: unit === "gigabyte" ? 1 : 0 }).format(
    value,
  );
}
