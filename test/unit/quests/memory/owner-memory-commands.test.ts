import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LancelotError } from "../../../../agent-server/contract/errors.ts";
import type { MemoryItem } from "../../../../agent-server/contract/memory.ts";
import { placeOf } from "../../../../agent-server/memory/statement-placement.ts";
import { createOwnerMemoryCommands } from "../../../../agent-server/quests/memory/owner-memory-commands.ts";
import { createRun } from "../../../../agent-server/quests/quest-run.ts";
import { createQuestStore } from "../../../../agent-server/quests/quest-store.ts";
import { makeFolders, openHost } from "../../../support/quests/harness.ts";
import { anItem, recordingService } from "../../../support/quests/memory-service.ts";
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

function task(
  of: {
    onEdit?: Parameters<typeof recordingService>[0];
    meant?: { item: MemoryItem | null; candidates: MemoryItem[] };
    enabled?: boolean;
  } = {},
) {
  const store = createQuestStore({ storage: host.storage, emit: () => undefined, now: () => new Date() });
  const questId = store.create({ workspace: folders.workspace, title: "A task", mode: "normal", tokenLimit: 1_000 });
  const recorded = recordingService(of.onEdit);
  const logged: string[] = [];
  const others = new Set<string>();
  const commands = createOwnerMemoryCommands({
    memory: {
      enabled: () => of.enabled ?? true,
      placeOf,
      meant: () => of.meant ?? { item: null, candidates: [] },
      search: () => ({ items: [] }),
    },
    service: () => recorded.service,
    store,
    others: { has: (id) => others.has(id) },
    log: (message) => logged.push(message),
  });
  const say = (text: string) =>
    store.addMessage({
      questId,
      role: "user",
      parts: [{ type: "text", text }],
      turn: { kind: "user", content: [{ type: "text", text }] },
    }).id;
  const answer = (text: string, call = false) =>
    store.addMessage({
      questId,
      role: "assistant",
      parts: [{ type: "text", text }],
      turn: {
        kind: "assistant",
        content: [{ type: "text", text }, ...(call ? [{ type: "tool_call" as const, id: "c1", name: "read_file", args: {} }] : [])],
        cut: null,
        altered: [],
      },
    });
  const runCommands = async (startMessageId: string | null) => {
    const run = createRun(questId, "receipt", startMessageId);
    await commands.run(run);
    return run;
  };
  const parts = () => store.messages(questId).flatMap(({ message }) => message.parts.filter((part) => part.type === "notice"));
  const notices = () => parts().map(({ text }) => text);
  const last = () => store.messages(questId).at(-1);
  return { ...recorded, store, questId, say, answer, runCommands, parts, notices, last, logged, others };
}

describe("an order on memory", () => {
  it("that is the whole message is answered without a model, once", async () => {
    const { say, runCommands, notices, last, edits, calls } = task();
    const id = say("Remember that I prefer tabs.");
    await runCommands(id);
    expect(edits).toEqual([
      {
        op: "insert",
        target: "core:human",
        namespace: "global",
        kind: "preference",
        content: "I prefer tabs",
        reason: "The owner asked for it to be remembered.",
        confidence: 1,
        provenance: { source: "user", ref: `message:${id}` },
      },
    ]);
    expect(calls.every(({ by }) => by === "owner")).toBe(true);
    expect(notices()).toEqual([expect.stringContaining("I prefer tabs")]);
    const [shown = "", hint = ""] = notices()[0]?.split("\n\n") ?? [];
    expect(hint).toContain("Roll Back");
    expect(last()?.turn).toMatchObject({ kind: "assistant", content: [{ text: shown }] });
    await runCommands(null);
    expect(edits).toHaveLength(1);
  });

  it.each([
    ["Remember that I prefer tabs.", 1],
    ["/remember I prefer tabs", 1],
    ["/forget the port", 1],
    ["Forget the port.", 0],
    ["Merke dir, dass ich Tabs bevorzuge.", 1],
  ])("that came without the owner token is not executed: %s", async (text, warnings) => {
    const { say, runCommands, parts, calls, others } = task({ meant: { item: anItem({ id: "i1", content: "the port" }), candidates: [] } });
    const id = say(text);
    others.add(id);
    await runCommands(id);
    expect(calls).toEqual([]);
    expect(parts().map(({ level }) => level)).toEqual(Array.from({ length: warnings }, () => "warning"));
  });

  it("beside a task stands under the owner's message, and the model still owes its answer", async () => {
    const { say, runCommands, notices, last, edits } = task();
    const id = say("Fix the build. Remember that we use pnpm.");
    await runCommands(id);
    await runCommands(id);
    expect(edits.map(({ content }) => content)).toEqual(["we use pnpm"]);
    expect(notices()).toHaveLength(1);
    expect(last()?.message).toMatchObject({ id, role: "user" });
  });

  it("that comes while a task is under way does not end it", async () => {
    const { say, runCommands, answer, last } = task();
    const begun = say("Fix the build.");
    answer("Let me look.", true);
    const id = say("Remember that we use pnpm.");
    await runCommands(begun);
    expect(last()?.message.id).toBe(id);
  });

  it("that comes right after a request does not swallow it", async () => {
    const { say, runCommands, last } = task();
    const begun = say("Fix the build.");
    const id = say("Remember that we use pnpm.");
    await runCommands(begun);
    expect(last()?.message.id).toBe(id);
  });

  it("after a request that failed is answered all the same, as it began the run", async () => {
    const { say, runCommands, last } = task();
    say("Fix the build.");
    await runCommands(say("Remember that we use pnpm."));
    expect(last()?.turn?.kind).toBe("assistant");
  });

  it("is kept as knowledge where its block is full, and says so", async () => {
    const full = new LancelotError("too_large", "The block human would hold 500 tokens.");
    const { say, runCommands, notices, edits } = task({ onEdit: ({ target }) => (target === "core:human" ? full : {}) });
    await runCommands(say("Remember that I prefer tabs."));
    expect(edits.map(({ target, namespace }) => [target, namespace])).toEqual([
      ["core:human", "global"],
      ["archival", "global"],
    ]);
    expect(notices()[0]).toContain("human");
  });

  it.each<[string, Parameters<typeof recordingService>[0], "info" | "warning", string]>([
    ["refused", () => new LancelotError("denied", "This holds a secret."), "warning", "This holds a secret."],
    ["known", () => ({ outcome: "reinforced" as const, diff: [] }), "info", "I prefer tabs"],
    [
      "changed by the gates",
      () => ({ content: "I prefer […]", notes: ["A secret was removed."] }),
      "info",
      "“I prefer […]” A secret was removed.",
    ],
    ["quarantined", () => ({ outcome: "quarantined" as const, quarantineId: "w1", diff: [] }), "warning", "quarantine"],
  ])("that is %s is reported as that", async (_name, onEdit, level, expectedText) => {
    const { say, runCommands, parts, logged } = task({ onEdit });
    await runCommands(say("Remember that I prefer tabs."));
    expect(parts()).toMatchObject([{ level, action: "open_memory", text: expect.stringContaining(expectedText) }]);
    expect(parts()[0]?.text.includes("Roll Back")).toBe(_name === "changed by the gates");
    expect(logged).toEqual([]);
  });

  it("that fails inside is told without the error's words, which are logged", async () => {
    const { say, runCommands, notices, logged } = task({ onEdit: () => new TypeError("x is undefined") });
    await runCommands(say("Remember that I prefer tabs."));
    expect(notices()[0]).not.toContain("undefined");
    expect(logged).toHaveLength(1);
  });
});

describe("an order to forget", () => {
  const port = anItem({ id: "i1", content: "The staging port is 8443" });
  const other = anItem({ id: "i2", content: "The production port is 443" });

  it("forgets what is clearly meant", async () => {
    const { say, runCommands, notices, calls } = task({ meant: { item: port, candidates: [] } });
    await runCommands(say("Forget the staging port."));
    expect(calls).toMatchObject([{ name: "forget", by: "owner", params: { id: "i1" } }]);
    expect(notices()[0]).toContain("i1");
  });

  it("lists what may be meant, and forgets none of it", async () => {
    const { say, runCommands, notices, calls } = task({ meant: { item: null, candidates: [port, other] } });
    await runCommands(say("/forget port"));
    expect(calls).toEqual([]);
    expect(notices()[0]).toContain("- The staging port is 8443 (");
    expect(notices()[0]).toContain("- The production port is 443");
  });

  it("says when nothing matches; what is only said in passing is left to the model then", async () => {
    const clear = task();
    await clear.runCommands(clear.say("/forget that we use pnpm"));
    expect([clear.notices().length, clear.calls]).toEqual([1, []]);
    const passing = task();
    await passing.runCommands(passing.say("Forget the staging port."));
    expect(passing.notices()).toEqual([]);
    expect(passing.last()?.message.role).toBe("user");
  });
});

describe("where memory is turned off", () => {
  it("the owner's words are as any others, and a command says that it does nothing", async () => {
    const { say, runCommands, notices, calls } = task({ enabled: false });
    await runCommands(say("Remember that we use pnpm."));
    expect(notices()).toEqual([]);
    await runCommands(say("/remember we use pnpm"));
    expect(notices()).toEqual([expect.stringContaining("MEMORY_VNEXT")]);
    expect(calls).toEqual([]);
  });
});
