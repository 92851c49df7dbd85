import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ReasoningPart } from "../../agent-server/contract/chat.ts";
import { openWindow, type Window } from "../support/host/window.ts";
import { type ModelServer, startModelServer } from "../support/model-server/server.ts";
import type { SeenRequest, Turn } from "../support/model-server/turn.ts";
import { makeFolders } from "../support/quests/harness.ts";
import { useModelServer } from "../support/tasks/two-file-change.ts";

const complex = "Debug why the parser crashes on empty input, and find the root cause.";
const strategy = "1. Read src/parser.js\nCAPABILITY GAP: no debugger can be attached";
const artifact = { strategy, risks: ["The crash may depend on the locale."], gaps: ["The production log is not here."] };

let folders: ReturnType<typeof makeFolders>;
let server: ModelServer;
let window: Window;
/** Answers of the reasoning call. */
let thought: Turn;

const reasons = (request: SeenRequest): boolean => request.raw["response_format"] !== undefined;

beforeEach(async () => {
  folders = makeFolders();
  thought = { text: JSON.stringify(artifact) };
  server = await startModelServer({ script: (request) => (reasons(request) ? thought : { text: "The parser reads past its end." }) });
  useModelServer(folders.dataDir, server.url("openai_compatible"));
});
afterEach(async () => {
  await window.close();
  await server.close();
  folders.remove();
});

async function open(enabled: boolean): Promise<void> {
  window = await openWindow({ ...folders, features: { DEEP_REASONING_LOOP: enabled } });
}

async function run(message: string): Promise<{ questId: string; parts: ReasoningPart[]; requests: SeenRequest[] }> {
  const before = server.requests.length;
  const { quest_id: questId } = await window.call("chat.run", { message });
  const { messages } = await window.call("quests.get", { id: questId });
  const parts = messages.flatMap((one) => one.parts.filter((part) => part.type === "reasoning"));
  return { questId, parts, requests: server.requests.slice(before) };
}

describe("deep reasoning", () => {
  it("thinks once before a complex request, shows what is missing, and gives the model its strategy", async () => {
    await open(true);
    const { questId, parts, requests } = await run(complex);
    expect(requests.map(reasons)).toEqual([true, false]);
    expect(requests[0]?.tools).toEqual([]);
    expect(parts).toMatchObject([
      { strategy, risks: artifact.risks, gaps: [...artifact.gaps, "no debugger can be attached"], experiences: 0 },
    ]);
    expect(requests[1]?.messages.at(-1)?.text).toContain("Read src/parser.js");
    const { items } = await window.call("receipts.search", { questId, query: "reasoning", limit: 10 });
    const receipt = items.find(({ actionName }) => actionName === "reasoning");
    expect(receipt).toMatchObject({ status: "success", cognitionTier: "PLANNING" });
    expect(parts[0]?.receiptId).toBe(receipt?.id);
    const { quest } = await window.call("quests.get", { id: questId });
    expect(quest.usage.inputTokens).toBe(40);
  });

  it("adds no call to a simple request, to one for which the user chose the model, or while the flag is off", async () => {
    await open(true);
    expect((await run("Rename the variable a to b.")).requests.map(reasons)).toEqual([false]);
    await window.close();
    await open(false);
    const { requests, parts } = await run(complex);
    expect(requests.map(reasons)).toEqual([false]);
    expect(parts).toEqual([]);
  });

  it("goes on without it when the deep model gives no usable answer", async () => {
    await open(true);
    thought = { text: "I would rather not." };
    const { questId, parts, requests } = await run(complex);
    expect(requests.map(reasons)).toEqual([true, true, false]);
    expect(parts).toEqual([]);
    const { quest, messages } = await window.call("quests.get", { id: questId });
    expect(quest.status).toBe("done");
    expect(messages.flatMap((one) => one.parts).some((part) => part.type === "notice" && part.level === "info")).toBe(true);
  });

  it("recalls the outcome of an earlier task like this one", async () => {
    await open(true);
    const first = await run(complex);
    await window.until(async () => {
      const { items } = await window.call("memory.search", { query: "parser crashes", tiers: ["episodic"] });
      return items.some(({ item }) => item.kind === "experience" && item.questId === first.questId);
    });
    const second = await run("Debug the crash of the parser on empty input once more.");
    expect(second.parts).toMatchObject([{ experiences: 1 }]);
    expect(second.requests[0]?.messages.at(-1)?.text).toContain("Outcome: done");
  });
});
