import type { AgentHost } from "./agent-host-types.ts";
import * as vscode from "vscode";
import type { HostEvent } from "../../agent-server/contract/events.ts";
import type { runHost } from "./run-host.ts";
import type { MethodName, ParamsIn, Result } from "../../agent-server/contract/table.ts";
import type { HostState } from "../../agent-server/contract/webview.ts";
import type { Supervisor } from "./supervisor.ts";

/**
 * Creates access to the agent host. The language client and the schemas load with the first start, so that
 * activation stays fast.
 */
export function createAgentHost(context: vscode.ExtensionContext, log: vscode.LogOutputChannel): AgentHost {
  const states = new vscode.EventEmitter<HostState>();
  const events = new vscode.EventEmitter<HostEvent>();
  let running: Promise<ReturnType<typeof runHost>> | null = null;
  let supervisor: Supervisor | null = null;
  const idle: HostState = { state: "starting", detail: vscode.l10n.t("The agent host is starting.") };

  const load = () =>
    (running ??= import("../deferred.ts").then(({ runHost }) => {
      const made = runHost({ context, log, onState: (state) => states.fire(state), onEvent: (event) => events.fire(event) });
      supervisor = made.supervisor;
      made.supervisor.start();
      return made;
    }));

  return {
    get state() {
      return supervisor?.state ?? idle;
    },
    get pid() {
      return supervisor?.pid;
    },
    onState: states.event,
    onEvent: events.event,
    async call<M extends MethodName>(name: M, params: ParamsIn<M>, signal?: AbortSignal): Promise<Result<M>> {
      const { call } = await load();
      return call(name, params, signal);
    },
    start() {
      // Loads after activation, so that it does not delay other extensions.
      setImmediate(() => void load());
    },
    async restart() {
      await (await load()).supervisor.restart();
    },
    async restartIfChanged() {
      await (await load()).restartIfChanged();
    },
    async stop() {
      if (running !== null) await (await running).supervisor.stop();
    },
    dispose() {
      states.dispose();
      events.dispose();
    },
  };
}
