import { mkdir } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";
import * as vscode from "vscode";
import { protocolVersion } from "../../agent-server/contract/common.ts";
import type { HostEvent } from "../../agent-server/contract/events.ts";
import type { Call } from "../../agent-server/contract/table.ts";
import type { HostState } from "../../agent-server/contract/webview.ts";
import { editorAnswers } from "../editor/requests.ts";
import { createBackoff } from "./backoff.ts";
import { createCall } from "./call.ts";
import { hostEnvironment } from "./environment.ts";
import { ownerToken } from "./owner-token.ts";
import { startSession } from "./session.ts";
import { dataFolder, readSettings } from "./settings.ts";
import { createSupervisor, StartRefused, type Supervisor } from "./supervisor.ts";

interface RunDeps {
  context: vscode.ExtensionContext;
  log: vscode.LogOutputChannel;
  onState: (state: HostState) => void;
  onEvent: (event: HostEvent) => void;
}

interface RunningHost {
  supervisor: Supervisor;
  call: Call;
  /** Restarts the host when it was started with other values than the present ones. */
  restartIfChanged(): Promise<void>;
}

/** How long values must stay, in ms: the editor may read a settings file while it is being written. */
const settleMs = 500;

/** What a host reads only at its start. */
const startValues = (context: vscode.ExtensionContext) => ({
  dataDir: dataFolder(context),
  logLevel: readSettings().logLevel,
  workspace: vscode.workspace.workspaceFolders?.find((folder) => folder.uri.scheme === "file")?.uri.fsPath ?? null,
  trusted: vscode.workspace.isTrusted,
});

/** Connects the parts that keep the agent host running. It does not start the host. */
export function runHost({ context, log, onState, onEvent }: RunDeps): RunningHost {
  const answers = editorAnswers(context, log);
  const values = () => startValues(context);
  /** The values of the last start. */
  let used = values();
  const supervisor = createSupervisor({
    backoff: createBackoff(),
    now: Date.now,
    schedule(ms, run) {
      const timer = setTimeout(run, ms);
      return () => clearTimeout(timer);
    },
    onState(state) {
      log.info(`agent host: ${state.state}${state.detail === "" ? "" : ` — ${state.detail}`}`);
      onState(state);
    },
    messages: {
      starting: vscode.l10n.t("The agent host is starting."),
      stopped: vscode.l10n.t("The agent host is stopped. Run “Lancelot: Restart Agent Host” to start it."),
      restarting: (reason, seconds) => vscode.l10n.t("The agent host stopped ({0}). Restarting in {1} s.", reason, seconds),
      failed: (reason) =>
        vscode.l10n.t(
          "The agent host stopped several times ({0}). See the log for the cause, then run “Lancelot: Restart Agent Host”.",
          reason,
        ),
    },
    async connect(signal) {
      const settings = readSettings();
      const { logLevel, ...handshake } = (used = values());
      await makeFolder(handshake.dataDir);
      return startSession(
        {
          module: context.asAbsolutePath("dist/host/main.js"),
          env: hostEnvironment({
            env: process.env,
            platform: process.platform,
            electron: process.versions["electron"] !== undefined,
            proxy: vscode.workspace.getConfiguration("http").get<string>("proxy", ""),
            logLevel,
          }),
          handshake: {
            protocolVersion,
            ownerToken: await ownerToken(context.secrets, log),
            ...handshake,
            posture: settings.posture,
            approvalTimeoutSeconds: settings.approvalTimeoutSeconds,
            features: settings.features,
            maxRunningTasks: settings.maxRunningTasks,
          },
          log,
          onEvent,
          answers,
        },
        signal,
      );
    },
  });
  const call = createCall((method, params, signal) => supervisor.request(method, params, signal));
  return {
    supervisor,
    call,
    async restartIfChanged() {
      await wait(settleMs);
      const now = values();
      const changed = (Object.keys(now) as (keyof typeof now)[]).filter((name) => now[name] !== used[name]);
      if (changed.length === 0) return;
      // A call that comes during the restart compares with the values that the restart was for.
      used = now;
      log.info(`agent host: restarts, because these changed: ${changed.join(", ")}`);
      await supervisor.restart();
    },
  };
}

/** @throws StartRefused with a message for the user, because a retry would fail too. */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new StartRefused(
      vscode.l10n.t("The data folder {0} cannot be used ({1}). Change the setting lancelot.dataFolder.", path, reason),
      { cause },
    );
  }
}
