import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type * as vscode from "vscode";
import { afterAll, beforeEach, expect, it, vi } from "vitest";
import { runHost } from "../../../extension/host/run-host.ts";
import type { SessionDeps } from "../../../extension/host/session.ts";

// The editor's settings and the process, as far as the decision to restart uses them.
const editor = vi.hoisted(() => ({ settings: {} as Record<string, unknown>, trusted: true, started: [] as string[] }));
vi.mock("vscode", () => ({
  l10n: { t: (text: string) => text },
  workspace: {
    workspaceFolders: undefined,
    get isTrusted() {
      return editor.trusted;
    },
    getConfiguration: () => ({
      get: (name: string, other: unknown) => editor.settings[name] ?? other,
      inspect: () => undefined,
    }),
  },
}));
vi.mock("../../../extension/editor/requests.ts", () => ({ editorAnswers: () => new Map() }));
vi.mock("../../../extension/host/session.ts", () => ({
  startSession({ handshake: { dataDir, trusted } }: SessionDeps) {
    editor.started.push(`${dataDir} ${trusted}`);
    return Promise.resolve({ pid: 1, ended: new Promise(() => undefined), request: () => null, stop: () => Promise.resolve() });
  },
}));

const folder = mkdtempSync(join(tmpdir(), "lancelot-restart-"));
const [first, second] = [join(folder, "first"), join(folder, "second")] as const;
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A host that runs in the first folder. */
async function running() {
  editor.settings = { dataFolder: first };
  const secrets = { get: () => Promise.resolve("x".repeat(32)) };
  const log = { info: () => undefined, warn: () => undefined };
  const host = runHost({
    context: { secrets, asAbsolutePath: (path: string) => path } as unknown as vscode.ExtensionContext,
    log: log as unknown as vscode.LogOutputChannel,
    onState: () => undefined,
    onEvent: () => undefined,
  });
  host.supervisor.start();
  await vi.waitFor(() => expect(host.supervisor.state.state).toBe("ready"));
  return host;
}

beforeEach(() => {
  editor.started = [];
  editor.trusted = true;
});

it("keeps the host when a setting is written without another value", async () => {
  const host = await running();
  await host.restartIfChanged();
  expect(editor.started).toEqual([`${first} true`]);
});

it("keeps the host when the editor read a settings file while it was being written", async () => {
  const host = await running();
  editor.settings = {};
  const decided = host.restartIfChanged();
  editor.settings = { dataFolder: first };
  await Promise.all([decided, host.restartIfChanged()]);
  expect(editor.started).toEqual([`${first} true`]);
});

it("starts one host for several changes that come together", async () => {
  const host = await running();
  editor.settings = { dataFolder: second };
  editor.trusted = false;
  await Promise.all([host.restartIfChanged(), host.restartIfChanged(), host.restartIfChanged()]);
  await vi.waitFor(() => expect(host.supervisor.state.state).toBe("ready"));
  expect(editor.started).toEqual([`${first} true`, `${second} false`]);
});
