import { type ChildProcess, fork } from "node:child_process";
import { createInterface } from "node:readline";
import * as vscode from "vscode";
import {
  CloseAction,
  ErrorAction,
  IPCMessageReader,
  IPCMessageWriter,
  LanguageClient,
  RevealOutputChannelOn,
} from "vscode-languageclient/node";
import { type Handshake, wire } from "../../agent-server/contract/editor.ts";
import { type HostEvent, parseEvent } from "../../agent-server/contract/events.ts";
import { hostFlags } from "./host-flags.ts";
import { documentSelector } from "./documents.ts";
import { type Session, StartRefused } from "./supervisor.ts";

const startTimeoutMs = 30_000;
const stopTimeoutMs = 2000;
const killTimeoutMs = 1000;

export interface SessionDeps {
  /** Absolute path of the host's entry file. */
  module: string;
  env: Record<string, string>;
  handshake: Handshake;
  log: vscode.LogOutputChannel;
  onEvent(event: HostEvent): void;
  /** Handlers of the host's requests to the editor, by wire name. */
  answers: ReadonlyMap<string, (params: unknown) => Promise<unknown>>;
}

/**
 * Starts the agent host and completes the handshake.
 * @throws StartRefused when the host rejected the handshake; Error when it could not start or ended early.
 */
export async function startSession(deps: SessionDeps, signal: AbortSignal): Promise<Session> {
  let child: ChildProcess | null = null;
  const exit = Promise.withResolvers<string>();
  const client = new LanguageClient(
    "lancelot",
    "Lancelot",
    () => {
      child = forkHost(deps);
      child.once("error", (error) => exit.resolve(error.message));
      child.once("exit", (code, killedBy) => {
        const reason = killedBy === null ? vscode.l10n.t("exit code {0}", String(code)) : vscode.l10n.t("signal {0}", killedBy);
        deps.log.info(`agent host ${child?.pid ?? ""} exited: code ${code}, signal ${killedBy}`);
        exit.resolve(reason);
      });
      deps.log.info(`agent host started, process ${child.pid ?? "?"}`);
      return Promise.resolve({ reader: new IPCMessageReader(child), writer: new IPCMessageWriter(child), detached: true });
    },
    {
      documentSelector: documentSelector(deps.handshake.dataDir),
      outputChannel: deps.log,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationOptions: deps.handshake,
      // The supervisor restarts the host and informs the user.
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => ({ action: CloseAction.DoNotRestart, handled: true, message: "the connection to the agent host was closed" }),
      },
      initializationFailedHandler: () => false,
    },
  );
  client.onNotification(wire.event, (value: unknown) => {
    try {
      deps.onEvent(parseEvent(value));
    } catch (error) {
      deps.log.warn(`could not parse an event from the agent host: ${error instanceof Error ? error.message : String(error)}`);
    }
  });
  for (const [name, answer] of deps.answers) client.onRequest(name, answer);

  const kill = async () => {
    if (child !== null && child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
    await exit.promise;
  };
  const ended = exit.promise.then((reason): never => {
    throw new Error(reason);
  });
  ended.catch(() => undefined);
  try {
    await Promise.race([client.start(), ended, startFailure(signal)]);
  } catch (error) {
    await kill();
    if (isAnswer(error)) throw new StartRefused(error.message, { cause: error });
    throw error;
  }
  return {
    pid: (child as ChildProcess | null)?.pid,
    ended: exit.promise,
    async request(method, params, signal) {
      const cancel = new vscode.CancellationTokenSource();
      const onAbort = () => cancel.cancel();
      if (signal?.aborted === true) cancel.cancel();
      signal?.addEventListener("abort", onAbort, { once: true });
      try {
        return await client.sendRequest<unknown>(method, params, cancel.token);
      } finally {
        signal?.removeEventListener("abort", onAbort);
        cancel.dispose();
      }
    },
    async stop() {
      // `stop` fails when the host does not answer in time or is gone. The process is killed below in any case.
      await client.stop(stopTimeoutMs).catch((error: unknown) => deps.log.debug(`stop: ${String(error)}`));
      let timer: NodeJS.Timeout | undefined;
      const timeout = new Promise<"late">((resolve) => {
        timer = setTimeout(() => resolve("late"), killTimeoutMs);
      });
      const first = await Promise.race([exit.promise, timeout]);
      clearTimeout(timer);
      if (first === "late") await kill();
    },
  };
}

function forkHost({ module, env, log }: SessionDeps): ChildProcess {
  const child = fork(module, ["--node-ipc"], {
    execPath: process.execPath,
    execArgv: [...hostFlags],
    env,
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  if (child.stdout) createInterface({ input: child.stdout }).on("line", (line) => log.info(line));
  if (child.stderr) createInterface({ input: child.stderr }).on("line", (line) => log.info(line));
  return child;
}

/** Rejects when the start times out or is canceled. */
function startFailure(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const timer = setTimeout(() => reject(new Error(vscode.l10n.t("no response within {0} s", startTimeoutMs / 1000))), startTimeoutMs);
    timer.unref();
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new Error(vscode.l10n.t("the start was canceled")));
    });
  });
}

/** True for an error that the host sent as its answer to the handshake. */
function isAnswer(error: unknown): error is Error {
  return error instanceof Error && "data" in error && typeof error.data === "object" && error.data !== null && "code" in error.data;
}
