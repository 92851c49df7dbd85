import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createMessageConnection, IPCMessageReader, IPCMessageWriter } from "vscode-languageserver/node";
import type { Handshake } from "../../../agent-server/contract/editor.ts";
import type { MethodName, Params, Result } from "../../../agent-server/contract/table.ts";
import { projectNode } from "../setup/project.mjs";
import { hostEnv, mainPath } from "./built-host.ts";

/** The built host in a process of its own, with the rights of the owner's editor. */
export interface EditorHost {
  call<Name extends MethodName>(name: Name, params: Params<Name>): Promise<Result<Name>>;
  /** Resolves when `condition` holds, looked at after every event. */
  until(condition: () => Promise<boolean>): Promise<void>;
  /** Ends it as an editor does that closes or reloads its window. */
  close(): Promise<void>;
  kill(): Promise<void>;
}

export async function startEditorHost(given: Pick<Handshake, "workspace" | "dataDir"> & Partial<Handshake>): Promise<EditorHost> {
  const child = fork(mainPath, ["--node-ipc"], { execPath: projectNode(), env: hostEnv(), stdio: ["ignore", "ignore", "ignore", "ipc"] });
  const exited = once(child, "exit");
  const connection = createMessageConnection(new IPCMessageReader(child), new IPCMessageWriter(child));
  let happened = Promise.withResolvers<void>();
  connection.onNotification("lancelot/event", () => {
    happened.resolve();
    happened = Promise.withResolvers<void>();
  });
  // An editor in which no file is open: it has no unsaved text, and saves what it applies.
  connection.onRequest("lancelot/editor/unsavedText", () => ({ text: null }));
  connection.onRequest(
    "lancelot/editor/applyText",
    ({ path, expected, text }: { path: string; expected: string | null; text: string | null }) => {
      const file = join(given.workspace ?? "", path);
      if ((existsSync(file) ? readFileSync(file, "utf8") : null) !== expected) return { applied: false, saved: false };
      if (text === null) rmSync(file);
      else writeFileSync(file, text);
      return { applied: true, saved: true };
    },
  );
  connection.listen();
  await connection.sendRequest("initialize", {
    ...{ processId: process.pid, rootUri: null, capabilities: {} },
    initializationOptions: {
      ...{ protocolVersion: 1, ownerToken: "t".repeat(43), trusted: true, posture: "supervised", approvalTimeoutSeconds: 3_600 },
      ...given,
    },
  });
  await connection.sendNotification("initialized", {});
  const end = async (how: () => void | Promise<void>): Promise<void> => {
    await how();
    await exited;
    connection.dispose();
  };
  return {
    call: (name, params) => connection.sendRequest(`lancelot/${name}`, params),
    async until(condition) {
      for (;;) {
        const next = happened.promise;
        if (await condition()) return;
        await next;
      }
    },
    close: () =>
      end(async () => {
        await connection.sendRequest("shutdown");
        await connection.sendNotification("exit");
      }),
    kill: () => end(() => void child.kill("SIGKILL")),
  };
}
