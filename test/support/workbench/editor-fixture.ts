import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { sampleWorkspace } from "../host/built-host.ts";
import { type ModelServer, startModelServer } from "../model-server/server.ts";
import type { Script } from "../model-server/turn.ts";
import { useModelServer } from "../tasks/two-file-change.ts";
import { openWorkbench, type Workbench } from "./workbench.ts";

/** A real editor on a copy of the sample project, with a data folder of its own. */
export interface EditorFixture {
  /** Absolute path of the copy. */
  readonly workspace: string;
  readonly data: string;
  readonly workbench: Workbench;
  /** The played model. @throws Error when the room has none. */
  readonly server: ModelServer;
  /** Text of a workspace file. */
  read(path: string): string;
  close(): Promise<void>;
}

export interface EditorFixtureOptions {
  /** What the model says; without one no model can be used. */
  script?: Script;
  /** More files of the workspace, by path. */
  files?: Readonly<Record<string, string>>;
  /** Files of the owner's in the data folder, by path. */
  dataFiles?: Readonly<Record<string, string>>;
  settings?: Record<string, unknown>;
  /** More VSIX files to install. */
  extensions?: readonly string[];
}

export async function openEditorFixture({
  script,
  files = {},
  dataFiles = {},
  settings = {},
  extensions = [],
}: EditorFixtureOptions): Promise<EditorFixture> {
  const workspace = sampleWorkspace();
  const data = mkdtempSync(join(tmpdir(), "lancelot-e2e-"));
  for (const [folder, texts] of [[workspace.path, files] as const, [data, dataFiles] as const])
    for (const [path, text] of Object.entries(texts)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
  const server = script === undefined ? null : await startModelServer({ script });
  if (server !== null) useModelServer(data, server.url("openai_compatible"));
  const workbench = await openWorkbench({ workspace: workspace.path, settings: { "lancelot.dataFolder": data, ...settings }, extensions });
  workbench.page.setDefaultTimeout(60_000);
  return {
    workspace: workspace.path,
    data,
    workbench,
    get server() {
      if (server === null) throw new Error("This room was opened without a model.");
      return server;
    },
    read: (path) => readFileSync(join(workspace.path, path), "utf8"),
    async close() {
      await workbench.close();
      await server?.close();
      workspace[Symbol.dispose]();
      rmSync(data, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
