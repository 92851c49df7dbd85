import { execFileSync } from "node:child_process";
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { AskEditor } from "../../agent-server/contract/editor.ts";
import { openWindow, type Window } from "../support/host/window.ts";
import { type ModelServer, startModelServer } from "../support/model-server/server.ts";
import { makeFolders } from "../support/quests/harness.ts";
import { useModelServer } from "../support/tasks/two-file-change.ts";

let folders: ReturnType<typeof makeFolders>;
let server: ModelServer;
let window: Window;

beforeEach(async () => {
  folders = makeFolders();
  cpSync(fileURLToPath(new URL("../../media/sample", import.meta.url)), folders.workspace, { recursive: true });
  server = await startModelServer({ script: () => ({ text: "I see." }) });
  useModelServer(folders.dataDir, server.url("openai_compatible"));
});
afterEach(async () => {
  await window.close();
  await server.close();
  folders.remove();
});

/** Opens a host whose editor shows one problem, if any editor is connected. */
async function open(hasEditor: boolean): Promise<void> {
  const item = { path: "src/cart.js", line: 3, column: 1, severity: "error", message: "Cart is not defined", source: "js" };
  const answers: Record<string, unknown> = {
    diagnostics: { items: [item, { ...item, path: ".env", message: "secret place" }] },
    openEditors: { editors: [], more: 0, selection: null },
    unsavedText: { text: null },
  };
  const askEditor = ((name: string) =>
    name in answers ? Promise.resolve(answers[name]) : Promise.reject(new Error(`${name} is not answered`))) as unknown as AskEditor;
  window = await openWindow({ ...folders, askEditor: hasEditor ? askEditor : null, env: { FEATURE_UNIFIED_CLASSIFICATION: "false" } });
}

/** Sends a message and waits for its answer. @returns the text that the model got for it, notices, and the receipts of tools */
async function send(text: string) {
  const { questId } = await window.call("chat.send", { text });
  await window.until(async () => (await window.call("quests.get", { id: questId })).quest.status === "done");
  const { messages } = await window.call("quests.get", { id: questId });
  const parts = messages.flatMap((message) => message.parts);
  const { items } = await window.call("receipts.search", { questId, limit: 50 });
  return {
    told:
      server.requests
        .at(-1)
        ?.messages.map((message) => message.text)
        .join("\n") ?? "",
    notices: parts.flatMap((part) => (part.type === "notice" ? [part.text] : [])),
    tools: items.map(({ actionName }) => actionName).filter((name) => /^(?:git_|diagnostics)/.test(name)),
  };
}

it("@problems attaches what the editor shows, without secret files, with a receipt", async () => {
  await open(true);
  const { told, notices, tools } = await send("What about the @problems?");
  expect(told).toContain("src/cart.js:3:1 error: Cart is not defined");
  expect(told).not.toContain("secret place");
  expect([notices, tools]).toEqual([[], ["diagnostics"]]);
});

it("@problems without an editor is not attached, and the message says so", async () => {
  await open(false);
  const { notices } = await send("What about the @problems?");
  expect(notices).toHaveLength(1);
  expect(notices[0]).toContain("@problems");
});

it("@diff attaches staged, unstaged and new files, each read with a receipt", async () => {
  const git = (...args: string[]): void => {
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd: folders.workspace });
  };
  const write = (path: string, text: string): void => writeFileSync(join(folders.workspace, path), text);
  git("init", "-q");
  git("add", ".");
  git("commit", "-qm", "first");
  write("staged.txt", "first words\n");
  git("add", "staged.txt");
  write("src/cart.js", "// other words\n");
  write("fresh.txt", "new\n");
  await open(true);
  const { told, notices, tools } = await send("Explain the @diff");
  for (const shown of ["+first words", "+// other words", "fresh.txt"]) expect(told).toContain(shown);
  expect(notices).toEqual([]);
  expect(tools.toSorted()).toEqual(["git_diff", "git_diff", "git_status"]);
});

it("@diff without a repository is not attached, and the task goes on", async () => {
  await open(true);
  const { notices, told } = await send("Explain the @diff");
  expect(notices).toHaveLength(1);
  expect(told).toContain("Explain the @diff");
});
