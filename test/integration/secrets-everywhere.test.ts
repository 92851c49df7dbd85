import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Emit } from "../../agent-server/contract/events.ts";
import { createDispatch } from "../../agent-server/gateway/dispatch.ts";
import { answerRpc } from "../../agent-server/gateway/json-rpc.ts";
import { createHost, type Host } from "../../agent-server/host.ts";
import { productPaths } from "../../agent-server/paths.ts";
import { createKnownSecrets } from "../../agent-server/security/security.ts";
import { spellings } from "../support/known-values.ts";
import { inOrder } from "../support/model-server/script.ts";
import { type ModelServer, startModelServer } from "../support/model-server/server.ts";
import { until } from "../support/host/built-host.ts";
import { makeFolders } from "../support/quests/harness.ts";
import { secretSamples } from "../support/secret-samples.ts";
import { useModelServer } from "../support/tasks/two-file-change.ts";

/** Long enough to be found by themselves, and of one line, so that no escaping hides them. */
const samples = secretSamples.filter(([, , secret]) => secret.length >= 14 && !/[\n\\"]/.test(secret));
const kinds = new Set(samples.map(([kind]) => kind));
/** A value that only its file makes a secret, as a program may write it. */
const known = createKnownSecrets();
const knownValue = "q7Rk2vXw9LmZ4tPb-Tc83";
known.learnFile("/w/.env", Buffer.from(`NAME=${knownValue}\n`));
const spelled = Object.entries(spellings).map(([name, spell]) => [name, spell(knownValue)] as const);
const written = [
  ...samples.map(([, text, secret]) => text.replace("§", () => secret).replaceAll("\n", " ")),
  ...spelled.map(([name, text]) => `written as ${name}: ${text} and no more`),
];
/** One that can stand in a file name and in a command. */
const inName = samples.find(([kind]) => kind === "github-token")?.[2] ?? "";
const [, , inWords] = samples.find(([kind]) => kind === "anthropic-key") ?? ["", "", ""];

let folders: ReturnType<typeof makeFolders>;
let server: ModelServer;
let host: Host;
const seen: string[] = [];

beforeEach(() => {
  folders = makeFolders();
  writeFileSync(join(folders.workspace, "notes.txt"), `${written.join("\n")}\n`);
  writeFileSync(join(folders.workspace, `old-${inName}.txt`), "gone\n");
  writeFileSync(join(folders.workspace, "AGENTS.md"), `Deploy with ${inWords}\n`);
});
afterEach(async () => {
  await server.close();
  folders.remove();
});

it("finds none of at least forty kinds of secrets in any place a whole quest leaves or sends anything", async () => {
  expect(kinds.size).toBeGreaterThanOrEqual(40);
  const half = written.slice(0, 40).join(" ; ");
  server = await startModelServer({
    script: inOrder(
      { toolCalls: [{ name: "read_file", args: { path: "notes.txt" } }] },
      { toolCalls: [{ name: "search_workspace", args: { query: inWords } }] },
      { toolCalls: [{ name: "read_file", args: { path: `missing-${inName}.txt` } }] },
      { toolCalls: [{ name: "edit_file", args: { path: "notes.txt", old_text: half, new_text: "x" } }] },
      { toolCalls: [{ name: "no_such_tool", args: { token: inWords, note: half } }] },
      { toolCalls: [{ name: "update_plan", args: { steps: [{ title: `Use ${inWords}`, status: "active" }] } }] },
      { toolCalls: [{ name: "delete_file", args: { path: `old-${inName}.txt` } }] },
      { text: `I saw ${inWords} and ${half}` },
    ),
  });
  useModelServer(folders.dataDir, server.url("openai_compatible"), "openai_compatible");
  const emit: Emit = (topic, payload) => {
    seen.push(JSON.stringify({ topic, payload }));
  };
  const redactLine = (line: string): string => host.redactor.text(line).text;
  host = await createHost({
    paths: productPaths(),
    workspace: folders.workspace,
    dataDir: folders.dataDir,
    trusted: true,
    posture: "supervised",
    approvalTimeoutSeconds: 60,
    canAsk: true,
    askEditor: null,
    env: { OPENAI_API_KEY: "k", FEATURE_UNIFIED_CLASSIFICATION: "false" },
    emit,
    lastEventSeq: () => seen.length,
    known,
    // As the log of every way in writes it.
    log: (message, error) => seen.push(redactLine(`${message} ${error instanceof Error ? (error.stack ?? error.message) : ""}`)),
  });
  const call = { owner: true, signal: new AbortController().signal };
  const dispatch = createDispatch(host.handlers, () => undefined, undefined, host.redactor);
  let id = 0;
  const rpc = async (method: string, params: unknown): Promise<Record<string, unknown>> => {
    id += 1;
    const answer = await answerRpc({ jsonrpc: "2.0", id, method, params }, dispatch, call);
    seen.push(JSON.stringify(answer));
    return (answer as { result?: Record<string, unknown> }).result ?? {};
  };
  const { questId } = await rpc("chat.send", {
    text: `Look at @notes.txt with ${inWords}. ${half}`,
    attachments: [{ type: "selection", path: "notes.txt", startLine: 1, endLine: 40, text: written.join("\n") }],
  });
  const pending = async () => (await host.handlers["approvals.list"]({ limit: 5 }, call)).items[0];
  await until("the question about the deletion", async () => (await pending()) !== undefined);
  await rpc("approvals.list", {});
  await rpc("chat.steer", { questId, text: `Also ${written.slice(40).join(" ")}` });
  await rpc("approvals.decide", { id: (await pending())?.id, decision: "deny", reason: `No, see ${inWords}` });
  await until("the end of the quest", async () =>
    ["done", "failed"].includes((await host.handlers["quests.get"]({ id: String(questId) }, call)).quest.status),
  );
  expect((await host.handlers["quests.get"]({ id: String(questId) }, call)).quest.status).toBe("done");

  await rpc("quests.rename", { id: questId, title: `Key ${inWords}` });
  await rpc("quests.get", { id: questId });
  await rpc("quests.export", { id: questId });
  await rpc("quests.list", {});
  await rpc("receipts.search", { questId, limit: 500 });
  await rpc("receipts.search", { query: "security", limit: 500 });
  await rpc("receipts.trace", { questId });
  await rpc("receipts.export", { questId });
  await rpc("approvals.list", { status: "denied" });
  await rpc("governance.stats", {});
  await rpc("tools.invoke", { tool: "read_file", args: { path: "notes.txt" } });
  await rpc("tools.invoke", { tool: "read_file", args: { path: `none-${inName}` } });
  await rpc("repl.run", { command: "cat notes.txt" });
  await rpc("repl.run", { command: `grep -n ${inName} notes.txt` });
  await rpc("repl.run", { command: "ls" });
  await rpc("repl.run", { command: `rm ${inName}` });
  await rpc("workspace.search", { query: inName });
  await rpc("policy.explain", { command: `curl -H "x-api-key: ${inWords}" https://example.com` });
  await rpc("policy.evaluate", { capability: "file_ops", action: "read", args: { path: `x-${inName}` } });
  await rpc("security.redact", { text: half });
  await rpc("chat.cancel", { questId: `none-${inWords}` });
  await rpc("no.such.method", { token: inWords });
  for (const request of server.requests) seen.push(JSON.stringify(request));
  expect(server.requests.length).toBeGreaterThanOrEqual(8);
  await host.close();

  const places = new Map(seen.map((text, index) => [`${String(index)} ${text.slice(0, 90)}`, text]));
  for (const name of readdirSync(folders.dataDir, { recursive: true, withFileTypes: true })) {
    if (name.isFile()) places.set(`file ${name.name}`, readFileSync(join(name.parentPath, name.name)).toString("latin1"));
  }
  expect([...places.keys()].some((name) => name.startsWith("file lancelot.sqlite"))).toBe(true);
  const leaks = [...places].flatMap(([place, text]) =>
    samples.flatMap(([kind, , secret]) => (text.includes(secret) ? [`${kind} in ${place}`] : [])),
  );
  expect(leaks).toEqual([]);
  const leaksOfKnown = [...places].flatMap(([place, text]) =>
    spelled.flatMap(([name, form]) =>
      text.includes(form) || text.includes(JSON.stringify(form).slice(1, -1)) ? [`${name} in ${place}`] : [],
    ),
  );
  expect(leaksOfKnown).toEqual([]);
});
