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
  /** Absolute path of the host's entry. */
  module: string;
  env: Record<string, string>;
  handshake: Handshake;
  log: vscode.LogOutputChannel;
  onEvent(event: HostEvent): void;
  /** Answers to what the host asks of the editor, by wire name. */
  answers: ReadonlyMap<string, (params: unknown) => Promise<unknown>>;
}

/**
 * Starts the agent host and shakes hands with it.
 * @throws StartRefused when the host answered and said no; Error when it could not be started or ended at once.
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
        const reason =
          killedBy === null ? vscode.l10n.t("it ended with code {0}", String(code)) : vscode.l10n.t("it was ended by {0}", killedBy);
        deps.log.info(`agent host ${child?.pid ?? ""} ended: code ${code}, signal ${killedBy}`);
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
      // Restarting, and telling the owner, is the supervisor's.
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
      deps.log.warn(`an event of the agent host could not be read: ${error instanceof Error ? error.message : String(error)}`);
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
    await Promise.race([client.start(), ended, refusal(signal)]);
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
      // `stop` fails when the host does not answer in time or is gone; the process is ended all the same.
      await client.stop(stopTimeoutMs).catch((error: unknown) => deps.log.debug(`stop: ${String(error)}`));
      let timer: NodeJS.Timeout | undefined;
      const patience = new Promise<"late">((resolve) => {
        timer = setTimeout(() => resolve("late"), killTimeoutMs);
      });
      const first = await Promise.race([exit.promise, patience]);
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

/** Rejects when the start takes too long or is called off. */
function refusal(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const timer = setTimeout(
      () => reject(new Error(vscode.l10n.t("it did not answer within {0} seconds", startTimeoutMs / 1000))),
      startTimeoutMs,
    );
    timer.unref();
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new Error(vscode.l10n.t("the start was called off")));
    });
  });
}

/** True for an error the host itself answered the handshake with. */
function isAnswer(error: unknown): error is Error {
  return error instanceof Error && "data" in error && typeof error.data === "object" && error.data !== null && "code" in error.data;
}
