import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Call, CallContext } from "../contract/table.ts";
import { visibleJson } from "../contract/visible-text.ts";
import { createDispatch, type Dispatch } from "../gateway/dispatch.ts";
import { createEventHub, type EventHub } from "../gateway/events.ts";
import { createLog, type Log } from "../gateway/log.ts";
import { handleProcessErrors } from "../gateway/process-errors.ts";
import { createHost, type Host } from "../host.ts";
import { defaultDataDir, productPaths } from "../paths.ts";
import { createKnownSecrets, createRedactor } from "../security/security.ts";
import type { CommandLine } from "./command-line.ts";

/** A host in this process, for one terminal command. */
export interface Session {
  readonly host: Host;
  readonly events: EventHub;
  readonly dispatch: Dispatch;
  /** Calls as the owner: the user at this terminal. */
  readonly call: Call;
  readonly log: Log;
  close(): Promise<void>;
}

/** @param workspace null for commands that touch no files */
export async function openSession(line: CommandLine, workspace: string | null, canAsk: boolean): Promise<Session> {
  const known = createKnownSecrets();
  const redactor = createRedactor({ known });
  const log = createLog(process.env["LANCELOT_LOG_LEVEL"] ?? "error", (text) => visibleJson(redactor.text(text).text));
  const events = createEventHub((error) => log.error({ err: error }, "an event listener failed"));
  const host = await createHost({
    paths: productPaths(),
    workspace,
    dataDir: resolve(line.dataDir ?? defaultDataDir(process.env)),
    trusted: true,
    posture: "supervised",
    approvalTimeoutSeconds: 3600,
    canAsk,
    askEditor: null,
    env: process.env,
    emit: events.emit,
    lastEventSeq: events.lastSeq,
    known,
    log: (message, error) => (error === undefined ? log.info(message) : log.error({ err: error }, message)),
  });
  let closed: Promise<void> | null = null;
  const close = (): Promise<void> => (closed ??= host.close());
  const stopHandling = handleProcessErrors({
    log: (message, err) => log.fatal({ err }, message),
    close,
    exit: (code) => process.exit(code),
  });
  const dispatch = createDispatch(
    host.handlers,
    (method, error) => log.error({ err: error, method }, "a method failed"),
    (why, method, call) => host.audit.note(why, { title: method, way: call.transport ?? "host" }),
    host.redactor,
    workspace,
  );
  return {
    host,
    events,
    dispatch,
    // The dispatcher has parsed the result by the method's own schema.
    call: ((name, params, signal) => dispatch(name, params, ownerCall(signal))) as Call,
    log,
    async close() {
      await close();
      stopHandling();
    },
  };
}

export function ownerCall(signal: AbortSignal = new AbortController().signal): CallContext {
  return { owner: true, signal, transport: "terminal" };
}

export function productVersion(): string {
  return (JSON.parse(readFileSync(join(productPaths().root, "package.json"), "utf8")) as { version: string }).version;
}
