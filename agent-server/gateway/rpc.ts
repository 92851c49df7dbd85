import {
  type CancellationToken,
  type Connection,
  createConnection,
  ProposedFeatures,
  ResponseError,
  StreamMessageReader,
  StreamMessageWriter,
} from "vscode-languageserver/node";
import { type AskEditor, editorRequests, Handshake, wire } from "../contract/editor.ts";
import { LancelotError } from "../contract/errors.ts";
import { unimplementedMethods } from "../contract/unimplemented.ts";
import { methods } from "../contract/table.ts";
import { asLancelotError, type Dispatch } from "./dispatch.ts";
import type { EventHub } from "./events.ts";
import { rpcError } from "./json-rpc.ts";
import { languageCapabilities, serveLanguage } from "./language/language.ts";

/** The parts of a started host that a connection needs. */
export interface Serving {
  dispatch: Dispatch;
  events: EventHub;
  info: Record<string, unknown>;
  close(): Promise<void>;
}

export interface RpcOptions {
  transport: "ipc" | "stdio";
  /** True when the token is the owner's. Called once, at the handshake. */
  isOwner(token: string): boolean;
  /** Starts the host after the handshake; the handshake is null for a plain client on stdio. */
  start(handshake: Handshake | null, askEditor: AskEditor | null): Promise<Serving>;
  exit(code: number): void;
  log(message: string, error?: unknown): void;
}

/** Serves one client, the editor or a program, over LSP-framed JSON-RPC. The process ends with its client. */
export function serveRpc(options: RpcOptions): void {
  const connection: Connection =
    options.transport === "ipc"
      ? createConnection(ProposedFeatures.all)
      : createConnection(ProposedFeatures.all, new StreamMessageReader(process.stdin), new StreamMessageWriter(process.stdout));
  let serving: Serving | null = null;
  let owner = false;
  let ending: Promise<void> | null = null;
  const end = () => (ending ??= serving?.close() ?? Promise.resolve());

  connection.onInitialize(async (params) => {
    const offered: unknown = params.initializationOptions;
    const handshake = offered === undefined || offered === null ? null : Handshake.safeParse(offered);
    if (handshake && !handshake.success)
      throw toResponseError(
        new LancelotError(
          "invalid_params",
          "The extension and the agent host have different versions. Reload the window; if that does not help, reinstall Lancelot.",
        ),
      );
    owner = handshake !== null && options.isOwner(handshake.data.ownerToken);
    if (handshake !== null && !owner) throw toResponseError(new LancelotError("unauthorized", "The owner token is invalid."));
    try {
      serving = await options.start(handshake?.data ?? null, handshake ? createAskEditor(connection) : null);
    } catch (error) {
      options.log("start failed", error);
      throw toResponseError(asLancelotError(error));
    }
    return { capabilities: languageCapabilities, serverInfo: { name: "lancelot" }, lancelot: serving.info };
  });
  connection.onInitialized(() => {
    serving?.events.listen(
      (event) => void connection.sendNotification(wire.event, event).catch((error: unknown) => options.log("event not sent", error)),
    );
  });
  for (const name of [...Object.keys(methods), ...unimplementedMethods]) {
    connection.onRequest(wire.method(name), async (params: unknown, token: CancellationToken) => {
      if (serving === null)
        throw toResponseError(new LancelotError("unavailable", "The agent host is still starting. Try again in a moment."));
      const abort = new AbortController();
      token.onCancellationRequested(() => abort.abort());
      try {
        return await serving.dispatch(name, params, {
          owner,
          signal: abort.signal,
          transport: options.transport === "ipc" ? "editor" : "stdio",
        });
      } catch (error) {
        throw toResponseError(asLancelotError(error));
      }
    });
  }
  serveLanguage(connection, { dispatch: () => serving?.dispatch ?? null, log: options.log });
  connection.onShutdown(end);
  connection.onExit(() => void end().finally(() => options.exit(0)));
  // A killed editor closes the channel without a shutdown request.
  process.on("disconnect", () => void end().finally(() => options.exit(0)));
  process.stdin.on("end", () => options.transport === "stdio" && void end().finally(() => options.exit(0)));
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => void end().finally(() => options.exit(0)));
  connection.listen();
}

function toResponseError(error: LancelotError): ResponseError<Record<string, unknown>> {
  const { code, message, data } = rpcError(error);
  return new ResponseError(code, message, data);
}

/** Sends requests to the editor and parses the answers. */
function createAskEditor(connection: Connection): AskEditor {
  return async (name, params) => {
    const answer: unknown = await connection.sendRequest(wire.editor(name), params);
    // The schema is the one of this name; the compiler cannot follow that through a union.
    return editorRequests[name].result.parse(answer) as never;
  };
}
