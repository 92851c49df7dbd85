import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { AskEditor, EditorParams, EditorResult } from "../../agent-server/contract/editor.ts";
import { createHost, type Host } from "../../agent-server/host.ts";
import { productPaths } from "../../agent-server/paths.ts";
import { inOrder } from "../support/model-server/script.ts";
import { type ModelServer, startModelServer } from "../support/model-server/server.ts";
import type { SeenRequest } from "../support/model-server/turn.ts";
import { makeFolders } from "../support/quests/harness.ts";
import { useModelServer } from "../support/tasks/two-file-change.ts";

const call = { owner: true, signal: new AbortController().signal };
const root = fileURLToPath(new URL("../..", import.meta.url));
const key = `sk-ant-api03-${"a1B2c3D4".repeat(11)}-abcdefAA`;
let folders: ReturnType<typeof makeFolders>;
let server: ModelServer;
let host: Host;
let requests: SeenRequest[];

beforeEach(() => {
  folders = makeFolders();
  cpSync(join(root, "media/sample"), folders.workspace, { recursive: true });
  writeFileSync(join(folders.workspace, ".env"), "A=1\n");
  requests = [];
});
afterEach(async () => {
  await host.close();
  await server.close();
  folders.remove();
});

/** An editor that shows this, with one error and one warning in each file. */
function editorThat(open: EditorResult<"openEditors">): AskEditor {
  return ((name: string, { path = "" }: EditorParams<"diagnostics">) => {
    if (name === "openEditors") return Promise.resolve(open);
    if (name === "secretGet") return Promise.resolve({ value: null });
    if (name === "secretList") return Promise.resolve({ names: [] });
    if (name === "languageModels") return Promise.resolve({ available: false, items: [] });
    if (name !== "diagnostics") return Promise.reject(new Error(`${name} was not expected.`));
    const item = { path, column: 1, source: "tsc" };
    return Promise.resolve({
      items: [
        { ...item, line: 11, severity: "warning", message: "is never read" },
        { ...item, line: 12, severity: "error", message: "is not a number" },
      ],
    });
  }) as AskEditor;
}

/** Sends two messages of one task. @returns the requests of the model that answered them */
async function askTwice(askEditor: AskEditor | null): Promise<{ questId: string; sent: string[] }> {
  const script = inOrder({ text: "It reads durations." }, { text: "Yes." });
  server = await startModelServer({
    script: (request) => {
      requests.push(request);
      return script(request);
    },
  });
  useModelServer(folders.dataDir, server.url("openai_compatible"));
  host = await createHost({
    ...{ paths: productPaths(), workspace: folders.workspace, dataDir: folders.dataDir, trusted: true, posture: "supervised" },
    ...{ approvalTimeoutSeconds: 60, canAsk: true, askEditor },
    env: { FEATURE_UNIFIED_CLASSIFICATION: "false" },
    emit: () => undefined,
    lastEventSeq: () => 0,
    log: () => undefined,
  });
  const first = await host.handlers["chat.run"]({ message: "What does it do?", crusader_mode: false }, call);
  await host.handlers["chat.run"]({ message: "Is that all?", crusader_mode: false, quest_id: first.quest_id }, call);
  return { questId: first.quest_id, sent: requests.map((request) => JSON.stringify(request)) };
}

it("a model hears what the editor shows, without secrets, and its receipt tells it", async () => {
  const { questId, sent } = await askTwice(
    editorThat({
      editors: [
        { path: "src/duration.js", active: true, visible: true },
        { path: ".env", active: false, visible: true },
      ],
      more: 0,
      selection: { path: "src/duration.js", startLine: 2, endLine: 3, text: `const key = "${key}";\n` },
    }),
  );
  expect(sent[0]).toMatch(/src\/duration\.js[^\n]*\(active\)/);
  expect(sent[0]).toContain("is not a number");
  expect(sent[0]).toContain("const key = ");
  expect(sent.join("")).not.toContain(key);
  expect(sent.join("")).not.toMatch(/\.env[^\n]*\(visible\)/);
  const { items } = await host.handlers["receipts.search"]({ questId, actionType: "env_query", limit: 100 }, call);
  const told = items.filter(({ actionName }) => actionName === "work_state");
  expect(told).toMatchObject([1, 2].map(() => ({ status: "success", inputs: { editors: 1, problems: 2, selectedText: true } })));
});

it("without an editor, a model hears nothing of editors", async () => {
  const { sent } = await askTwice(null);
  expect(sent).toHaveLength(2);
  expect(sent.join("")).not.toMatch(/\(active\)|Problems in/);
});
