import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LancelotError } from "../../../../agent-server/contract/errors.ts";
import type { CompiledContext } from "../../../../agent-server/contract/memory.ts";
import type { CompileQuery } from "../../../../agent-server/memory/memory.ts";
import { createQuestStore } from "../../../../agent-server/quests/quest-store.ts";
import { createQuestRecall } from "../../../../agent-server/memory/memory.ts";
import { objectiveOf, recallQuests } from "../../../../agent-server/quests/memory/recall-quests.ts";
import { makeFolders, openHost } from "../../../support/quests/harness.ts";
import { recordingTools } from "../../../support/quests/recording-tools.ts";
import { scriptedModels } from "../../../support/quests/scripted-models.ts";

let folders: ReturnType<typeof makeFolders>;
let host: ReturnType<typeof openHost>;
beforeEach(() => {
  folders = makeFolders();
  host = openHost(folders, scriptedModels([]).models, recordingTools({}).tools);
});
afterEach(async () => {
  await host.close();
  folders.remove();
});

const compiledOf = (renderedPrompt: string, ids: string[] = ["i1"]): CompiledContext => ({
  contextId: "x",
  createdAt: new Date(0).toISOString(),
  objective: "",
  questId: null,
  mode: "normal",
  soulVersion: null,
  includedBlocks: [],
  includedItemIds: ids,
  excluded: [],
  tokenEstimate: 1,
  maxTokens: 1,
  breakdown: {},
  receiptId: null,
  renderedPrompt,
});
const large = { small: false, contextWindow: 128_000 };
const small = { small: true, contextWindow: 2_048 };

/** A recall whose memory answers with what `compile` says. */
function recalling(compile: (options: CompileQuery, call: number) => CompiledContext, enabled = () => true) {
  const store = createQuestStore({ storage: host.storage, emit: () => undefined, now: () => new Date() });
  const questId = store.create({ workspace: folders.workspace, title: "Fix the header", mode: "normal", tokenLimit: 1_000 });
  const say = (text: string) =>
    store.addMessage({
      questId,
      role: "user",
      parts: [{ type: "text", text }],
      turn: { kind: "user", content: [{ type: "text", text }] },
    });
  say("Fix the header, please.");
  const requests: CompileQuery[] = [];
  const logged: string[] = [];
  const recall = createQuestRecall({
    memory: {
      enabled,
      compile: (options) => {
        requests.push(options);
        return compile(options, requests.length);
      },
    },
    quests: recallQuests(store),
    ledger: host.ledger,
    log: (message) => logged.push(message),
  });
  const trace = { questId, parentId: null };
  const notices = () =>
    store.messages(questId).flatMap(({ message }) => message.parts.flatMap((part) => (part.type === "notice" ? [part.text] : [])));
  return { store, questId, say, recall, trace, requests, logged, notices };
}

describe("the memories that a run receives", () => {
  it("is compiled once for each kind of model, however often it is asked for and whatever is said meanwhile", () => {
    const { recall, questId, trace, requests, say, store } = recalling((_wish, call) => compiledOf(`text ${String(call)}`));
    const memory = recall.begin(questId, trace);
    expect(memory(large)).toBe("text 1");
    say("And the footer.");
    expect(memory(large)).toBe("text 1");
    expect(memory(small)).toBe("text 2");
    expect(memory(large)).toBe("text 1");
    expect(requests.map(({ objective, maxTokens, chat, mode }) => ({ objective, maxTokens, chat, mode }))).toEqual([
      { objective: "Fix the header, please.", maxTokens: 8_000, chat: { marker: store.marker(questId), small: false }, mode: "normal" },
      { objective: "Fix the header, please.", maxTokens: 200, chat: { marker: store.marker(questId), small: true }, mode: "normal" },
    ]);
    expect(recall.begin(questId, trace)(large)).toBe("text 3");
    expect(requests.at(-1)?.objective).toBe("Fix the header\nAnd the footer.");
    expect(recall.last(questId)).toBe("text 3");
    expect(recall.last("another")).toBe("");
  });

  it.each<[string, () => CompiledContext]>([
    ["nothing is remembered", () => compiledOf("", [])],
    ["only what stands in the prompt anyway is compiled", () => compiledOf("Who you are: …", [])],
    [
      "memory was switched off in between",
      () => {
        throw new LancelotError("disabled", "Memory is switched off.");
      },
    ],
  ])("is nothing, and nothing is said, where %s", (_name, compile) => {
    const { recall, questId, trace, notices, logged } = recalling(compile);
    expect(recall.begin(questId, trace)(large)).toBe("");
    expect([notices(), logged]).toEqual([[], []]);
  });

  it("is not asked for while memory is turned off", () => {
    const { recall, questId, trace, requests } = recalling(
      () => compiledOf("text"),
      () => false,
    );
    expect(recall.begin(questId, trace)(large)).toBe("");
    expect(recall.last(questId)).toBe("");
    expect(requests).toEqual([]);
  });

  it("is left out when it cannot be compiled: logged, on a receipt, and told once", () => {
    const { recall, questId, trace, notices, logged } = recalling(() => {
      throw new Error("the disk is gone");
    });
    expect(recall.begin(questId, trace)(large)).toBe("");
    expect(recall.begin(questId, trace)(large)).toBe("");
    expect(notices()).toHaveLength(1);
    expect(logged).toHaveLength(2);
    const failed = host.ledger.search({ questId, limit: 10 }).items.filter(({ actionName }) => actionName === "memory.recall");
    expect(failed.map(({ status }) => status)).toEqual(["failure", "failure"]);
    expect(JSON.stringify(failed)).not.toContain("the disk is gone");
  });

  it("is looked for by the beginning and the end of a long message", () => {
    const { store, questId, say } = recalling(() => compiledOf("text"));
    say(`Begin ${"x".repeat(20_000)} end`);
    const objective = objectiveOf(store, questId);
    expect(objective.length).toBeLessThan(4_100);
    expect(objective).toMatch(/^Fix the header\nBegin x+\n…\nx+ end$/);
  });
});
