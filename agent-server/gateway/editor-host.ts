import { isAbsolute, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { AskEditor, Handshake } from "../contract/editor.ts";
import { createHost } from "../host.ts";
import { defaultDataDir, productPaths } from "../paths.ts";
import { createKnownSecrets, createOwnerGate, createRedactor } from "../security/security.ts";
import { createDispatch } from "./dispatch.ts";
import { createEventHub } from "./events.ts";
import { createLog } from "./log.ts";
import { handleProcessErrors } from "./process-errors.ts";
import { type Serving, serveRpc } from "./rpc.ts";

/** How long (ms) a clean shutdown may take before the process exits anyway. */
const endTimeoutMs = 5_000;

/** Entry of `main.js`: `--node-ipc` for the editor, `--stdio --workspace DIR --data DIR` for other programs. */
export function runMain(argv: readonly string[]): void {
  const { values } = parseArgs({
    args: [...argv],
    strict: false,
    options: { stdio: { type: "boolean" }, "node-ipc": { type: "boolean" }, workspace: { type: "string" }, data: { type: "string" } },
  });
  const known = createKnownSecrets();
  const redactor = createRedactor({ known });
  const log = createLog(process.env["LANCELOT_LOG_LEVEL"] ?? "info", (line) => redactor.text(line).text);
  const transport = values.stdio === true ? "stdio" : "ipc";
  if (transport === "ipc" && process.send === undefined) {
    process.stderr.write(
      "main.js is started by the editor (--node-ipc) or with --stdio --workspace DIR --data DIR. For the terminal use cli.js.\n",
    );
    process.exitCode = 2;
    return;
  }
  const exit = (code: number): void => {
    log.flush();
    process.exit(code);
  };
  let closeHost = (): Promise<void> => Promise.resolve();
  handleProcessErrors({ log: (message, err) => log.fatal({ err }, message), close: () => closeHost(), exit });

  const logError = (message: string, error?: unknown) => (error === undefined ? log.info(message) : log.error({ err: error }, message));
  serveRpc({
    transport,
    // The editor that started this process chooses the token over its own pipe. Any other program must send LANCELOT_OWNER_TOKEN.
    isOwner: (token) =>
      transport === "ipc" ? token.trim().length >= 32 : createOwnerGate(process.env["LANCELOT_OWNER_TOKEN"] ?? null).check(token),
    start: (handshake, askEditor) => start(handshake, askEditor, String(values.workspace ?? ""), String(values.data ?? "")),
    exit,
    log: logError,
  });

  async function start(handshake: Handshake | null, askEditor: AskEditor | null, workspaceArg: string, dataArg: string): Promise<Serving> {
    const events = createEventHub((error) => log.error({ err: error }, "an event listener failed"));
    const workspace = handshake ? handshake.workspace : workspaceArg === "" ? null : resolve(workspaceArg);
    const dataDir = handshake ? handshake.dataDir : dataArg === "" ? defaultDataDir(process.env) : dataArg;
    const host = await createHost({
      paths: productPaths(),
      workspace,
      dataDir: isAbsolute(dataDir) ? dataDir : resolve(dataDir),
      trusted: handshake?.trusted ?? true,
      posture: handshake?.posture ?? "supervised",
      approvalTimeoutSeconds: handshake?.approvalTimeoutSeconds ?? 3600,
      features: handshake?.features ?? {},
      ...(handshake?.maxRunningTasks === undefined ? {} : { maxRunningTasks: handshake.maxRunningTasks }),
      canAsk: true,
      askEditor: transport === "ipc" ? askEditor : null,
      env: process.env,
      emit: events.emit,
      lastEventSeq: events.lastSeq,
      known,
      log: logError,
    });
    closeHost = () => host.close();
    return {
      dispatch: createDispatch(
        host.handlers,
        (method, error) => log.error({ err: error, method }, "a method failed"),
        (why, method, call) => host.audit.note(why, { title: method, way: call.transport ?? "host" }),
        host.redactor,
        workspace,
      ),
      events,
      info: host.info(),
      async close() {
        const timer = setTimeout(() => process.exit(1), endTimeoutMs);
        await host.close();
        clearTimeout(timer);
      },
    };
  }
}
