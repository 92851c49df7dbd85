import { cpSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Message, Part } from "../../agent-server/contract/chat.ts";
import { createHost, type Host } from "../../agent-server/host.ts";
import { productPaths } from "../../agent-server/paths.ts";
import { type ModelServer, startModelServer } from "../support/model-server/server.ts";
import { inOrder } from "../support/model-server/script.ts";
import type { SeenRequest, Turn } from "../support/model-server/turn.ts";
import { makeFolders } from "../support/quests/harness.ts";
import { long, token } from "../support/secret-samples.ts";
import { edits, useModelServer } from "../support/tasks/two-file-change.ts";

const call = { owner: true, signal: new AbortController().signal };
const root = fileURLToPath(new URL("../..", import.meta.url));
let folders: ReturnType<typeof makeFolders>;
let server: ModelServer;
let requests: SeenRequest[];
const hosts: Host[] = [];

beforeEach(() => {
  folders = makeFolders();
  cpSync(join(root, "media/sample"), folders.workspace, { recursive: true });
  requests = [];
});
afterEach(async () => {
  for (const host of hosts.splice(0)) await host.close();
  await server.close();
  folders.remove();
});

/** Sends a message to a host whose model answers with the turns, and returns what came of it. */
async function ask(message: string, turns: Turn[], features: Record<string, boolean> = {}) {
  const script = inOrder(...turns);
  server = await startModelServer({
    script: (request) => {
      requests.push(request);
      return script(request);
    },
  });
  useModelServer(folders.dataDir, server.url("openai_compatible"));
  const host = await createHost({
    paths: productPaths(),
    workspace: folders.workspace,
    dataDir: folders.dataDir,
    trusted: true,
    posture: "autonomous",
    approvalTimeoutSeconds: 60,
    canAsk: true,
    askEditor: null,
    features,
    env: { FEATURE_UNIFIED_CLASSIFICATION: "false" },
    emit: () => undefined,
    lastEventSeq: () => 0,
    log: () => undefined,
  });
  hosts.push(host);
  const { handlers } = host;
  const result = await handlers["chat.run"]({ message, crusader_mode: false }, call);
  const { messages } = await handlers["quests.get"]({ id: result.quest_id }, call);
  const receipts = async (name: string) =>
    (await handlers["receipts.search"]({ questId: result.quest_id, actionType: "verification", limit: 100 }, call)).items.filter(
      ({ actionName }) => actionName === name,
    );
  return { result, messages, receipts, handlers };
}

const partsOf = (messages: readonly Message[]): Part[] => messages.flatMap(({ parts }) => parts);
const claimsIn = (messages: readonly Message[]) => partsOf(messages).flatMap((part) => (part.type === "notice" ? (part.claims ?? []) : []));
const textsIn = (messages: readonly Message[]) =>
  messages
    .filter(({ role }) => role === "assistant")
    .flatMap(({ parts }) => parts.flatMap((part) => (part.type === "text" ? [part.text] : [])));
const edit: Turn = { toolCalls: [{ name: "edit_file", args: edits[0] }] };
const lie = "I updated README.md and all 42 tests pass.";

describe("claims of an answer", () => {
  it("names what is not recorded, and keeps the text of the answer", async () => {
    const { result, messages, receipts } = await ask("Tidy README.md.", [{ text: lie }]);
    expect(textsIn(messages)).toEqual([lie]);
    expect(claimsIn(messages)).toMatchObject([
      { kind: "edit", reason: "not_recorded" },
      { kind: "tests", reason: "not_recorded" },
    ]);
    expect(result.confidence).toBeLessThanOrEqual(0.2);
    expect(result.response.startsWith(lie)).toBe(true);
    expect(result.response.length).toBeGreaterThan(lie.length);
    expect(await receipts("claims.checked")).toMatchObject([{ status: "failure" }]);
  });

  it("leaves a true answer as it is", async () => {
    const said = "I updated the comment in src/duration.js. I have not run the tests.";
    const { result, messages, receipts } = await ask("Tidy the comments.", [
      { toolCalls: [{ name: "read_file", args: { path: "src/duration.js" } }] },
      edit,
      { text: said },
    ]);
    expect(claimsIn(messages)).toEqual([]);
    expect(result).toMatchObject({ response: said, confidence: 1 });
    expect(await receipts("claims.checked")).toEqual([]);
  });

  it("shows answers as they are while the flag is off", async () => {
    const { result, messages } = await ask("Tidy README.md.", [{ text: lie }], { CLAIM_VERIFICATION: false });
    expect(claimsIn(messages)).toEqual([]);
    expect(result).toMatchObject({ response: lie, confidence: 1 });
  });
});

describe("the verbose sections of an answer", () => {
  it("are artifacts without secrets, and the answer stays whole everywhere else", async () => {
    const secret = token("ghp_", long(36));
    const said = `The sample adds durations.\n\n## Risks\n\n\`\`\`\n## code ${secret}\n\`\`\`\n\n## Result\nNothing changed.\n`;
    const { result, messages, handlers } = await ask("What does this project do?", [{ text: said }, { text: "Nothing is missing." }]);
    const [stored = ""] = textsIn(messages);
    expect(stored).not.toContain(secret);
    expect(stored.split("## Result")).toHaveLength(2);
    const { items } = await handlers["artifacts.list"]({ questId: result.quest_id, limit: 50 }, { ...call, owner: false });
    expect(items).toMatchObject([{ kind: "section", title: "Risks", questId: result.quest_id, messageId: messages.at(-1)?.id }]);
    expect(items[0]?.text).toBe(stored.slice(stored.indexOf("## Risks"), stored.indexOf("## Result")));
    // What the terminal, the export and the model read is the answer as it was given.
    expect(result.response).toBe(stored);
    const { markdown } = await handlers["quests.export"]({ id: result.quest_id }, call);
    expect(markdown).toContain(stored.trim());
    await handlers["chat.run"]({ message: "And what is missing?", crusader_mode: false, quest_id: result.quest_id }, call);
    expect(requests.at(-1)?.messages.some(({ role, text }) => role === "assistant" && text.includes("## Risks"))).toBe(true);
  });
});

describe("announcements without work", () => {
  const announcement = "I'm working on it and will report back.";

  it("go back to the model once; what it then does counts", async () => {
    const { result, messages, receipts } = await ask("Tidy the comments.", [
      { text: announcement },
      { toolCalls: [{ name: "read_file", args: { path: "src/duration.js" } }] },
      edit,
      { text: "I updated the comment in src/duration.js." },
    ]);
    expect(claimsIn(messages)).toEqual([]);
    expect(result.confidence).toBe(1);
    expect(await receipts("governor.announcement-returned")).toHaveLength(1);
    expect(await receipts("governor.nothing-done")).toEqual([]);
  });

  it("are called what they are the second time", async () => {
    const { result, messages, receipts } = await ask("Tidy the comments.", [{ text: announcement }]);
    expect(requests).toHaveLength(2);
    expect(claimsIn(messages)).toMatchObject([{ kind: "announcement" }]);
    expect(result.confidence).toBe(0);
    expect(await receipts("governor.nothing-done")).toHaveLength(1);
  });

  it("end the task while the flag is off", async () => {
    const { result } = await ask("Tidy the comments.", [{ text: announcement }], { CLAIM_VERIFICATION: false });
    expect(requests).toHaveLength(1);
    expect(result.response).toBe(announcement);
  });
});

describe("the report of a task", () => {
  const report = (args: Record<string, unknown>): Turn => ({ toolCalls: [{ name: "report_outcome", args }] });
  const actionsTaken = [
    { action: "updated", target: "src/duration.js" },
    { action: "deployed", target: "production" },
  ];

  it("ends the turn, with each action compared with its receipt", async () => {
    const { result, messages } = await ask("Tidy the comments.", [
      { toolCalls: [{ name: "read_file", args: { path: "src/duration.js" } }] },
      edit,
      report({ responseToUser: "The comment is clearer now.", actionsTaken, nextAction: "Add a test" }),
    ]);
    expect(requests).toHaveLength(3);
    const outcome = partsOf(messages).find((part) => part.type === "outcome");
    expect(outcome).toMatchObject({ actions: [{ recorded: true }, { recorded: false, receiptId: null }], nextAction: "Add a test" });
    expect(outcome?.actions[0]?.receiptId).toBe(result.actions.find(({ tool }) => tool === "edit_file")?.receipt_id);
    expect(textsIn(messages).at(-1)).toBe("The comment is clearer now.");
    expect(result).toMatchObject({ next_action: "Add a test", response: "The comment is clearer now." });
    expect(result.confidence).toBeLessThanOrEqual(0.2);
    expect(result.actions.map(({ tool }) => tool)).toEqual(["read_file", "edit_file"]);
  });

  it("takes the text that has streamed, and the task goes on from it", async () => {
    const { result, handlers } = await ask("What is 2 + 2?", [{ text: "It is 4.", ...report({ actionsTaken: [] }) }, { text: "It is 6." }]);
    expect(requests).toHaveLength(1);
    expect(result).toMatchObject({ response: "It is 4.", confidence: 1 });
    const next = await handlers["chat.run"]({ message: "And 3 + 3?", crusader_mode: false, quest_id: result.quest_id }, call);
    expect(next.response).toBe("It is 6.");
    const seen = requests[1]?.messages.map(({ role, text }) => [role, text]);
    expect(seen?.some(([role, text]) => role === "assistant" && text === "It is 4.")).toBe(true);
    expect(requests[1]?.messages.flatMap(({ toolCalls }) => toolCalls)).toEqual([]);
  });

  it("asks for a text where there is none, and is not made beside other calls", async () => {
    const read = { name: "read_file", args: { path: "src/cart.js" } };
    const { result } = await ask("Look.", [
      { toolCalls: [read, { name: "report_outcome", args: { actionsTaken: [] } }] },
      report({ actionsTaken: [{ action: "read", target: "src/cart.js" }] }),
      { text: "It adds up prices." },
    ]);
    expect(requests).toHaveLength(3);
    expect(result.actions.filter(({ tool }) => tool === "report_outcome").map(({ status }) => status)).toEqual(["cancelled", "success"]);
    expect(result.response).toBe("It adds up prices.");
  });

  it("is not offered while the flag is off", async () => {
    await ask("Hello.", [{ text: "Hello." }], { STRUCTURED_OUTPUT: false });
    expect(requests[0]?.tools.map(({ name }) => name)).toContain("read_file");
    expect(requests[0]?.tools.map(({ name }) => name)).not.toContain("report_outcome");
  });
});
