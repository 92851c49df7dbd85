import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Message, Part } from "../../agent-server/contract/chat.ts";
import { openWindow, type Window } from "../support/host/window.ts";
import { byWords } from "../support/model-server/script.ts";
import { type ModelServer, startModelServer } from "../support/model-server/server.ts";
import type { Turn } from "../support/model-server/turn.ts";
import { useModelServer } from "../support/tasks/two-file-change.ts";

let base: string;
let server: ModelServer | null = null;
const windows: Window[] = [];

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-routes-")));
  for (const folder of ["proj", "data/config"]) mkdirSync(join(base, folder), { recursive: true });
});
afterEach(async () => {
  for (const window of windows.splice(0)) await window.close();
  await server?.close();
  server = null;
  rmSync(base, { recursive: true, force: true });
});

async function open(conversations: Record<string, Turn[]>, env: Record<string, string> = {}): Promise<Window> {
  server = await startModelServer({ script: byWords(conversations) });
  useModelServer(join(base, "data"), server.url("openai_compatible"));
  const window = await openWindow({
    workspace: join(base, "proj"),
    dataDir: join(base, "data"),
    posture: "autonomous",
    env: { OPENAI_API_KEY: "k", ...env },
  });
  windows.push(window);
  return window;
}

async function ask(window: Window, text: string, questId?: string) {
  const sent = await window.call("chat.send", { text, ...(questId === undefined ? {} : { questId }) });
  await window.until(async () => (await window.call("quests.get", { id: sent.questId })).quest.status === "done");
  return { questId: sent.questId, ...(await window.call("quests.get", { id: sent.questId })) };
}

const partsOf = <T extends Part["type"]>(messages: readonly Message[], type: T) =>
  messages.flatMap(({ parts }) => parts.filter((part): part is Extract<Part, { type: T }> => part.type === type));

async function routes(window: Window, questId: string): Promise<Record<string, unknown>[]> {
  const { items } = await window.call("receipts.search", { questId, limit: 100 });
  return items
    .flatMap(({ actionName, outputs, cognitionTier }) => (actionName === "route" ? [{ ...outputs, cognitionTier }] : []))
    .toReversed();
}

const write = (path: string): Turn => ({ toolCalls: [{ name: "write_file", args: { path, content: "x\n" } }] });
const file = (name: string) => join(base, "proj", name);

describe("a question", () => {
  const turns = {
    "What does the build do?": [write("a.txt"), { text: "It builds." }],
    "What is in this folder?": [write("a.txt"), { text: "Nothing yet." }],
    "do it": [write("a.txt"), { text: "Written." }],
  };

  it("changes nothing, says how to go on, and a following request does", async () => {
    const window = await open(turns);
    const first = await ask(window, "What is in this folder?");
    expect(existsSync(file("a.txt"))).toBe(false);
    const [call] = partsOf(first.messages, "tool");
    expect(call).toMatchObject({ status: "denied", rules: [{ id: "mode.question" }] });
    // Besides it, the answer is told to have left out what was denied.
    expect(partsOf(first.messages, "notice").filter(({ level }) => level === "info")).toHaveLength(1);
    const second = await ask(window, "do it", first.questId);
    expect(partsOf(second.messages, "tool").map(({ status }) => status)).toEqual(["denied", "success"]);
    expect(readFileSync(file("a.txt"), "utf8")).toBe("x\n");
    expect(await routes(window, first.questId)).toMatchObject([
      { route: "answer", method: "rules", cognitionTier: "CLASSIFICATION" },
      { route: "loop", method: "rules" },
    ]);
  });

  it("is worked on like any request while the flag is off", async () => {
    const window = await open(turns, { FEATURE_UNIFIED_CLASSIFICATION: "false" });
    const { questId } = await ask(window, "What is in this folder?");
    expect(existsSync(file("a.txt"))).toBe(true);
    expect(await routes(window, questId)).toEqual([]);
  });

  it("that a later message follows up with a request may act", async () => {
    let reached: () => void = () => undefined;
    let release: () => void = () => undefined;
    const isAsked = new Promise<void>((resolve) => (reached = resolve));
    const held = new Promise<void>((resolve) => (release = resolve));
    const script = byWords({
      "please write it": [write("b.txt"), { text: "Written." }],
      "What is in this folder?": [{ text: "Nothing." }],
    });
    server = await startModelServer({
      script: async (request) => {
        reached();
        await held;
        return script(request);
      },
    });
    useModelServer(join(base, "data"), server.url("openai_compatible"));
    const window = await openWindow({ workspace: join(base, "proj"), dataDir: join(base, "data"), posture: "autonomous" });
    windows.push(window);
    const { questId } = await window.call("chat.send", { text: "What is in this folder?" });
    await isAsked;
    await window.call("chat.steer", { questId, text: "please write it" });
    release();
    await window.until(async () => (await window.call("quests.get", { id: questId })).quest.status === "done");
    expect(existsSync(file("b.txt"))).toBe(true);
  });
});

describe("the calls of a request", () => {
  it("to look are none beyond its own, as for every request that rules decide", async () => {
    const window = await open({ "List the files": [{ text: "None." }], "Rename it": [{ text: "Renamed." }], "What is": [{ text: "It." }] });
    const { questId } = await ask(window, "List the files in src");
    await ask(window, "Rename it to cart.ts", questId);
    await ask(window, "What is a cart?", questId);
    expect(server?.requests).toHaveLength(3);
    expect((await routes(window, questId)).map(({ route }) => route)).toEqual(["direct", "loop", "answer"]);
  });
});

describe("a command that the host answers", () => {
  it("explains the last decision, tells the cost and undoes the changes without a model call", async () => {
    const window = await open({ "Create a.txt": [write("a.txt"), { text: "Written." }] });
    const { questId } = await ask(window, "Create a.txt");
    const calls = server?.requests.length;
    const answer = async (text: string): Promise<string> => {
      const before = (await window.call("quests.get", { id: questId })).messages.length;
      await window.call("chat.send", { text, questId });
      await window.until(async () => (await window.call("quests.get", { id: questId })).messages.length === before + 2);
      return partsOf((await window.call("quests.get", { id: questId })).messages, "notice").at(-1)?.text ?? "";
    };
    const [call] = partsOf((await window.call("quests.get", { id: questId })).messages, "tool");
    const why = await answer("/why");
    expect(why).toContain(call?.receiptId ?? "none");
    expect(why).toContain("mode.autonomous");
    expect(await answer("/cost")).not.toBe("");
    expect(existsSync(file("a.txt"))).toBe(true);
    expect(await answer("/undo")).toContain("a.txt");
    expect(existsSync(file("a.txt"))).toBe(false);
    expect(server?.requests).toHaveLength(calls ?? -1);
    // The model sees neither the commands nor their answers.
    expect((await window.call("quests.get", { id: questId })).quest.status).toBe("done");
  });

  it("of undoing needs the owner token", async () => {
    const window = await open({ "Create a.txt": [write("a.txt"), { text: "Written." }] });
    const { questId } = await ask(window, "Create a.txt");
    const signal = new AbortController().signal;
    await expect(window.dispatch("chat.send", { text: "/undo", questId }, { owner: false, signal })).rejects.toMatchObject({
      code: "unauthorized",
    });
    expect(existsSync(file("a.txt"))).toBe(true);
  });
});

describe("/plan", () => {
  it.each(["true", "false"])("changes nothing (flag of the classification: %s)", async (flag) => {
    const turns = { "Make a plan for this: a dark mode": [write("a.txt"), { text: "1. Add colors." }] };
    const window = await open(turns, { FEATURE_UNIFIED_CLASSIFICATION: flag });
    const { messages } = await ask(window, "/plan a dark mode");
    expect(partsOf(messages, "tool")).toMatchObject([{ status: "denied", rules: [{ id: "mode.plan" }] }]);
    expect(existsSync(file("a.txt"))).toBe(false);
  });
});

describe("custom commands", () => {
  it("of the owner and the workspace are listed and expanded, the workspace's fenced", async () => {
    mkdirSync(join(base, "data/commands"));
    mkdirSync(join(base, "proj/.claude/commands"), { recursive: true });
    mkdirSync(join(base, "proj/.github/prompts"), { recursive: true });
    writeFileSync(join(base, "data/commands/greet.md"), "---\ndescription: Greets someone\n---\nGreet $ARGUMENTS politely.\n");
    writeFileSync(join(base, "data/commands/broken.md"), "---\ndescription: [\n---\nText\n");
    writeFileSync(join(base, "data/commands/fix.md"), "Mine.\n");
    writeFileSync(join(base, "proj/.claude/commands/ship.md"), "# Ship the release\nCheck {{input}} first.\n");
    writeFileSync(join(base, "proj/.github/prompts/greet.prompt.md"), "Another.\n");
    const window = await open({ "Greet Ada politely.": [{ text: "Dear Ada." }], "/ship": [{ text: "Checked." }] });
    expect(await window.call("commands.list", {})).toMatchObject({
      items: [
        { name: "greet", description: "Greets someone", source: "owner", path: "commands/greet.md" },
        { name: "ship", description: "Ship the release", source: "workspace", path: ".claude/commands/ship.md" },
      ],
      problems: [{ path: "commands/broken.md" }, { path: "commands/fix.md" }],
    });
    const first = await ask(window, "/greet Ada");
    expect(partsOf(first.messages, "text").at(-1)?.text).toBe("Dear Ada.");
    await ask(window, "/ship the docs", first.questId);
    const sent = server?.requests.at(-1)?.messages.findLast(({ role }) => role === "user")?.text ?? "";
    expect(sent.indexOf("{{input}}")).toBeGreaterThan(-1);
    expect(sent.indexOf("the docs")).toBeGreaterThan(sent.indexOf("{{input}}"));
    await expect(window.call("chat.send", { text: "/broken" })).rejects.toMatchObject({ code: "invalid_params" });
  });
});
