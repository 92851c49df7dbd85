import * as vscode from "vscode";
import type { HostEvent } from "../../agent-server/contract/events.ts";
import type { Call } from "../../agent-server/contract/table.ts";
import type { HostState } from "../../agent-server/contract/webview.ts";

/** The agent host, for the rest of the extension. */
export interface AgentHost extends vscode.Disposable {
  readonly call: Call;
  readonly state: HostState;
  readonly pid: number | undefined;
  readonly onState: vscode.Event<HostState>;
  readonly onEvent: vscode.Event<HostEvent>;
  start(): void;
  restart(): Promise<void>;
  /** Restarts the host when the data folder, the log level, the workspace or its trust is not the one it was started with. */
  restartIfChanged(): Promise<void>;
  stop(): Promise<void>;
}
