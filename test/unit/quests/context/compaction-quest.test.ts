import { mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { LancelotError } from "../../../../agent-server/contract/errors.ts";
import type { ModelMessage, ModelRequest } from "../../../../agent-server/models/models.ts";
import { makeFolders, openHost } from "../../../support/quests/harness.ts";
import { recordingTools } from "../../../support/quests/recording-tools.ts";
import { type Answer, calls, says, scriptedModels } from "../../../support/quests/scripted-models.ts";

let folders: ReturnType<typeof makeFolders>;
let host: ReturnType<typeof openHost>;
let model: ReturnType<typeof scriptedModels>;

beforeEach(() => {
  folders = makeFolders();
});
afterEach(async () => {
  await host.close();
  folders.remove();
});

function file(path: string, text: string): void {
  const absolute = join(folders.workspace, path);
  mkdirSync(dirname(absolute), { recursive: true });
  writeFileSync(absolute, text);
}

/** Writes new text with a new modification time, as another editor would. */
function changeOutside(path: string, text: string): void {
  file(path, text);
  const later = new Date(Date.now() + 10_000);
  utimesSync(join(folders.workspace, path), later, later);
}

const reads = recordingTools({
  read_file: {
    tier: "T0",
    effect: ({ args }) => ({ text: `text of ${(args as { path: string }).path}\n${"a line of it\n".repeat(60)}` }),
  },
  edit_file: {
    tier: "T1",
    effect: ({ args }) => {
      changeOutside((args as { path: string }).path, "edited by the task\n");
      return { text: "ok" };
    },
  },
});

function open(script: Answer[], contextWindow = 128_000, more: Parameters<typeof openHost>[3] = {}): void {
  model = scriptedModels(script, { contextWindow });
  host = openHost(folders, model.models, reads.tools, more);
}

const done = (questId: string) => host.reaches(questId, "done", "failed");

async function ask(text: string, questId?: string): Promise<string> {
  const sent = host.orchestrator.send({ text, ...(questId === undefined ? {} : { questId }) });
  await done(sent.questId);
  return sent.questId;
}

const textOf = (request: ModelRequest | undefined): string => JSON.stringify(request?.messages ?? []);
const read = (path: string): Answer => calls(["read_file", { path }]);
const compactions = () =>
  host.ledger.search({ query: "context.compact", limit: 50 }).items.filter(({ actionName }) => actionName === "context.compact");

/** The contents of a prompt as a list of pieces, to test that one prompt is a prefix of another. */
function flat(messages: readonly ModelMessage[]): string[] {
  return messages.flatMap((message) =>
    message.role === "tool"
      ? message.results.map((one) => JSON.stringify(one))
      : message.content.map((one) => JSON.stringify([message.role, one])),
  );
}

describe("the prompts of a task", () => {
  it("start with the previous prompt, byte for byte", async () => {
    file("src/a.ts", "export const a = 1;\n");
    open([read("src/a.ts"), read("src/b.ts"), says("One."), read("src/c.ts"), says("Two."), says("Three.")]);
    const questId = await ask("Look at src/a.ts. Never use tabs.");
    await host.orchestrator.context.add({ questId, path: "style", text: "Two spaces.", pinned: true }, true);
    await ask("And now?", questId);
    await ask("And then?", questId);
    const { requests } = model;
    expect(new Set(requests.map(({ cacheKey }) => cacheKey)).size).toBe(1);
    const reported = requests.map(({ messages }) => flat(messages));
    for (const [index, one] of reported.entries()) {
      const next = reported[index + 1];
      // A pinned fact precedes the conversation, so adding it changes the prefix once.
      if (next !== undefined && index !== 2) expect(next.slice(0, one.length)).toEqual(one);
      expect(requests[index]?.system).toBe(requests[0]?.system);
    }
  });

  it("are the same after a restart, including added, shortened and summarized parts", async () => {
    file("notes.md", "Notes.\n");
    open([...Array.from({ length: 30 }, (_, index) => read(`src/f${String(index)}.ts`)), says("One.")], 14_000);
    const questId = await ask("Go through the sources. We decided to keep the names.");
    await host.orchestrator.context.add({ questId, path: "notes.md", pinned: true }, true);
    const before = await host.orchestrator.context.items(questId);
    expect(before.items.some(({ state }) => state !== "whole") || compactions().length > 0).toBe(true);
    model.script.push(says("Two."));
    await ask("Next.", questId);
    const reported = flat(model.requests.at(-1)?.messages ?? []);
    await host.close();
    open([says("Three.")], 14_000);
    const after = await host.orchestrator.context.items(questId);
    expect(after.items.filter(({ kind }) => kind !== "tool_output" && kind !== "file")).toEqual(
      before.items.filter(({ kind }) => kind !== "tool_output" && kind !== "file"),
    );
    await ask("Again.", questId);
    expect(flat(model.requests.at(-1)?.messages ?? []).slice(0, reported.length)).toEqual(reported);
  });

  it("shorten the least recently used texts first, with a receipt", async () => {
    const script = Array.from({ length: 14 }, (_, index) => read(`src/f${String(index)}.ts`));
    script.splice(13, 0, calls(["edit_file", { path: "src/f0.ts" }]));
    open([...script, says("Done.")], 12_000);
    const questId = await ask("Read them.");
    const receipt = host.ledger.search({ query: "context.evict", limit: 5 }).items[0];
    expect(receipt?.outputs).toMatchObject({ shortened: expect.any(Number) as number });
    const { items, used, budget, window } = await host.orchestrator.context.items(questId);
    expect(used).toBeLessThanOrEqual(budget);
    expect([budget, window]).toEqual([12_000, 12_000]);
    const gone = items.filter(({ state }) => state !== "whole");
    expect(gone.length).toBeGreaterThan(0);
    for (const { reason } of gone) expect(reason).toBeTruthy();
  });
});

describe("files that change on the disk", () => {
  it("are read again when the user attached them, else reported, both once", async () => {
    file("src/a.ts", "export const a = 1;\n");
    file("src/b.ts", "export const b = 1;\n");
    open([read("src/b.ts"), says("One."), says("Two."), says("Three.")]);
    const questId = await ask("Explain @src/a.ts");
    changeOutside("src/a.ts", "export const a = 2;\n");
    changeOutside("src/b.ts", "export const b = 2;\n");
    await ask("Again.", questId);
    const reported = textOf(model.requests.at(-1));
    expect(reported).toContain("src/a.ts changed since it was read");
    expect(reported).toContain("export const a = 2;");
    expect(reported).toContain("src/b.ts changed since it was read");
    await ask("And again.", questId);
    expect(textOf(model.requests.at(-1)).split("changed since it was read").length).toBe(3);
  });

  it("are not reported when the task changed them, and are reported when deleted", async () => {
    file("src/a.ts", "export const a = 1;\n");
    open([read("src/a.ts"), calls(["edit_file", { path: "src/a.ts" }]), says("One."), says("Two.")]);
    const questId = await ask("Change it.");
    expect(textOf(model.requests.at(-1))).not.toContain("since it was read");
    rmSync(join(folders.workspace, "src/a.ts"));
    await ask("Again.", questId);
    expect(textOf(model.requests.at(-1))).toContain("src/a.ts was deleted since it was read.");
  });

  it("that are pinned have their current text", async () => {
    file("notes.md", "First.\n");
    open([says("One."), says("Two."), says("Three.")]);
    const questId = await ask("Hi.");
    await host.orchestrator.context.add({ questId, path: "notes.md", pinned: true }, true);
    changeOutside("notes.md", "Second.\n");
    await ask("Next.", questId);
    expect(textOf(model.requests.at(-1))).toContain("Second.");
    rmSync(join(folders.workspace, "notes.md"));
    await ask("Next.", questId);
    expect(textOf(model.requests.at(-1))).toContain("notes.md was deleted");
  });
});

describe("items that the user adds and removes", () => {
  it("are files, folders and facts, with receipts, until they are removed", async () => {
    file("src/a.ts", "export const a = 1;\n");
    open([says("One."), says("Two."), says("Three.")]);
    const { context } = host.orchestrator;
    const questId = await ask("Hi.");
    expect(await context.add({ questId, path: "./src/a.ts", pinned: false }, true)).toMatchObject({
      path: "src/a.ts",
      kind: "file",
      pinned: false,
    });
    expect(await context.add({ questId, path: "src", pinned: true }, true)).toMatchObject({ path: "src", pinned: true });
    expect(await context.add({ questId, path: "port", text: "The port is 4000.", pinned: false }, true)).toMatchObject({
      kind: "fact",
      pinned: true,
    });
    await ask("Next.", questId);
    const reported = textOf(model.requests.at(-1));
    for (const expectedText of ["export const a = 1;", "The port is 4000.", "Folder src"]) expect(reported).toContain(expectedText);
    expect(await context.remove(questId, "src/a.ts")).toEqual({ removed: true });
    expect(await context.remove(questId, "port")).toEqual({ removed: true });
    expect(await context.remove(questId, "port")).toEqual({ removed: false });
    await ask("Next.", questId);
    expect(textOf(model.requests.at(-1))).not.toContain("The port is 4000.");
    expect(textOf(model.requests.at(-1))).not.toContain("export const a = 1;");
    const names = host.ledger.search({ query: "context", limit: 50 }).items.map(({ actionName }) => actionName);
    expect(names.filter((name) => name === "context.add")).toHaveLength(3);
    expect(names.filter((name) => name === "context.remove")).toHaveLength(3);
  });

  it("includes the text of a file that the model read", async () => {
    open([read("src/a.ts"), says("One."), says("Two.")]);
    const questId = await ask("Read it.");
    expect(await host.orchestrator.context.remove(questId, "src/a.ts")).toEqual({ removed: true });
    await ask("Next.", questId);
    expect(textOf(model.requests.at(-1))).not.toContain("a line of it");
  });

  it.each([
    ["missing.ts", "no such file"],
    ["../outside.txt", "outside the workspace"],
  ])("is refused with the reason: %s", async (path, expectedText) => {
    open([says("One.")]);
    const questId = await ask("Hi.");
    await expect(host.orchestrator.context.add({ questId, path, pinned: false }, true)).rejects.toThrow(expectedText);
  });

  it("include a file with secrets only with the owner token", async () => {
    file(".env", "PORT=3000\n");
    open([says("One.")]);
    const questId = await ask("Hi.");
    await expect(host.orchestrator.context.add({ questId, path: ".env", pinned: false }, false)).rejects.toMatchObject({
      code: "unauthorized",
    });
    expect(await host.orchestrator.context.add({ questId, path: ".env", pinned: false }, true)).toMatchObject({ path: ".env" });
  });

  it("have a limit whose error names what to unpin", async () => {
    file("a.md", "word ".repeat(6_000));
    file("b.md", "word ".repeat(6_000));
    open([says("One."), says("Two.")], 12_000);
    const questId = await ask("Hi.");
    const { context } = host.orchestrator;
    await context.add({ questId, path: "a.md", pinned: true }, true);
    const refused = await context.add({ questId, path: "b.md", pinned: true }, true).catch((error: unknown) => error as LancelotError);
    expect(refused).toMatchObject({ code: "conflict", message: expect.stringContaining("Unpin one of a.md first") as string });
    changeOutside("a.md", "word ".repeat(14_000));
    await ask("Next.", questId);
    const { quest } = host.orchestrator.get(questId);
    expect(quest.status).toBe("failed");
    expect(quest.problem).toMatch(/Scripted.*a\.md \(about [\d,]+ tokens\)/);
    expect(await context.remove(questId, "a.md")).toEqual({ removed: true });
    await ask("Next.", questId);
    expect(host.orchestrator.get(questId).quest.status).toBe("done");
  });
});

describe("a long task at a small window", () => {
  it("continues after 650 messages, says that it summarizes, and loses none of them", async () => {
    const summarizes: Answer = (request) => {
      expect(request.system).toContain("Summarize");
      shownMeanwhile = host.events.flatMap((event) =>
        event.topic === "message" ? event.payload.parts.filter(({ type }) => type === "notice") : [],
      );
      return says("They talked about many files.")(request, new AbortController().signal);
    };
    let shownMeanwhile: unknown[] = [];
    mkdirSync(join(folders.dataDir, "config"), { recursive: true });
    writeFileSync(join(folders.dataDir, "config", "context.yaml"), "summarizer: active\n");
    open([says("Begun."), summarizes, says("Still here."), says("And on.")], 32_000, { dataDir: folders.dataDir });
    const questId = await ask("Rule: never delete the file keep.txt.");
    const insert = host.storage.db.prepare(
      "INSERT INTO messages (id, quest_id, seq, role, parts, text, created_at, open, turn) VALUES (?, ?, ?, ?, ?, '', ?, 0, ?)",
    );
    host.storage.transaction(() => {
      for (let seq = 2; seq < 652; seq++) {
        const [role, kind] = seq % 2 === 0 ? ["user", "user"] : ["assistant", "assistant"];
        const content = [{ type: "text", text: `Message ${String(seq)}: ${"what was said about a file. ".repeat(15)}` }];
        const turn = kind === "user" ? { kind, content } : { kind, content, cut: null, altered: [] };
        insert.run(`m${String(seq)}`, questId, seq, role, JSON.stringify(content), new Date(0).toISOString(), JSON.stringify(turn));
      }
    });
    await ask("Continue.", questId);
    const { quest, messages } = host.orchestrator.get(questId);
    expect(quest.status).toBe("done");
    expect(messages.filter(({ id }) => /^m\d+$/.test(id))).toHaveLength(650);
    expect(compactions()).toMatchObject([{ status: "success" }]);
    expect(shownMeanwhile).toHaveLength(1);
    // The progress became the result.
    expect(messages.flatMap(({ parts }) => parts.filter(({ type }) => type === "notice"))).toHaveLength(1);
    const last = textOf(model.requests.at(-1));
    expect(last).toContain("never delete the file keep.txt");
    expect(last).toContain("Message 651");
    expect(last).toContain("Continue.");
    await ask("Go on.", questId);
    expect(host.orchestrator.get(questId).quest.status).toBe("done");
    expect(compactions()).toHaveLength(1);
  });
});

describe("a task nearly full of pinned items", () => {
  it("continues without a summary on each turn", async () => {
    file("pinned.md", "A line of the interface that must stay.\n".repeat(330));
    open([says("One."), ...Array.from({ length: 25 }, (_, index) => read(`src/f${String(index)}.ts`)), says("Two.")], 12_000);
    const questId = await ask("Hi.");
    await host.orchestrator.context.add({ questId, path: "pinned.md", pinned: true }, true);
    await ask("Read them all.", questId);
    expect(host.orchestrator.get(questId).quest.status).toBe("done");
    expect(compactions().length).toBeLessThan(8);
    for (const request of model.requests.slice(1))
      expect(textOf(request).split("A line of the interface that must stay.").length).toBe(331);
  });
});

describe("/compact", () => {
  it("summarizes, shows a notice, and hides the command from the model", async () => {
    open([read("src/a.ts"), says("The cause is in a.ts."), says("Two."), says("Three.")]);
    const questId = await ask("Find the cause. Never touch b.ts.");
    await ask("Good. What else?", questId);
    host.orchestrator.send({ text: "/compact", questId });
    await host.when(() => JSON.stringify(host.orchestrator.get(questId).messages).includes("was summarized"));
    // The receipt is closed right after the message is written.
    await new Promise<void>((resolve) => setImmediate(resolve));
    const [receipt] = compactions();
    expect(receipt?.outputs).toMatchObject({ method: "rules", leftOut: { messages: 3, toolOutputs: 1, images: 0 } });
    expect(Number(receipt?.outputs?.["after"])).toBeLessThan(Number(receipt?.outputs?.["before"]));
    const shown = JSON.stringify(host.orchestrator.get(questId).messages);
    expect(shown).toContain("was summarized");
    expect(shown).toContain("The cause is in a.ts.");
    await ask("Go on.", questId);
    const reported = textOf(model.requests.at(-1));
    for (const expectedText of ["Never touch b.ts.", "Answered: The cause is in a.ts.", "Read: src/a.ts", "Good. What else?"])
      expect(reported).toContain(expectedText);
    expect(reported).not.toContain("/compact");
    expect(reported).not.toContain("a line of it");
  });

  it("fails without a task or anything to summarize", async () => {
    open([says("One.")]);
    expect(() => host.orchestrator.send({ text: "/compact" })).toThrow(expect.objectContaining({ code: "invalid_params" }));
    const questId = await ask("Hi.");
    await host.orchestrator.context.compact(questId, new AbortController().signal);
    await expect(host.orchestrator.context.compact(questId, new AbortController().signal)).rejects.toThrow(
      expect.objectContaining({ code: "conflict" }),
    );
  });

  it("is removed when the user edits a summarized message", async () => {
    open([says("One."), says("Two."), says("Three.")]);
    const questId = await ask("First words.");
    await ask("Second words.", questId);
    await host.orchestrator.context.compact(questId, new AbortController().signal);
    const [first] = host.orchestrator.get(questId).messages;
    host.orchestrator.send({ questId, text: "Other words.", replaceMessageId: first?.id ?? "" });
    await done(questId);
    expect(flat(model.requests.at(-1)?.messages ?? [])).toEqual([JSON.stringify(["user", { type: "text", text: "Other words." }])]);
  });
});

describe("the summarizer", () => {
  const task = [read("src/a.ts"), says("Found it."), says("Two.")];

  async function compactWith(more: Parameters<typeof openHost>[3], script: Answer[] = [], settings?: string): Promise<string> {
    if (settings !== undefined) {
      mkdirSync(join(folders.dataDir, "config"), { recursive: true });
      writeFileSync(join(folders.dataDir, "config/context.yaml"), settings);
    }
    open([...task, ...script, says("Last.")], 128_000, more);
    const questId = await ask("Find it.");
    await ask("And?", questId);
    await host.orchestrator.context.compact(questId, new AbortController().signal);
    await ask("Go on.", questId);
    return textOf(model.requests.at(-1));
  }

  it("is the model on this machine, if there is one", async () => {
    const reported = await compactWith({
      summarize: (text) => Promise.resolve({ text: `Local words on ${String(text.includes("src/a.ts"))}.`, method: "model" }),
    });
    expect(reported).toContain("Local words on true.");
    expect(compactions()[0]?.outputs).toMatchObject({ method: "model" });
  });

  it("is rules when that model is missing or fails, with the reason in the receipt", async () => {
    const reported = await compactWith({ summarize: () => Promise.reject(new Error("no model")) });
    expect(reported).toContain("Asked: Find it.");
    expect(compactions()[0]?.outputs).toMatchObject({ method: "rules", why: "the model failed" });
  });

  it("is the model of the task when configured, at its cost", async () => {
    const reported = await compactWith({}, [says("Their own summary.")], "summarizer: active\n");
    expect(reported).toContain("Their own summary.");
    expect(compactions()[0]?.outputs).toMatchObject({ method: "active" });
    expect(model.requests.at(-2)?.tools).toEqual([]);
    expect(host.orchestrator.list({ limit: 1 }).items[0]?.usage.inputTokens).toBe(50);
  });

  it("changes nothing when it is stopped, and can be repeated", async () => {
    const begun = Promise.withResolvers<void>();
    const hanging = (_text: string, _tokens: number, { signal }: { signal: AbortSignal }) => {
      begun.resolve();
      return new Promise<never>((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("stopped")), { once: true }));
    };
    open([...task], 128_000, { summarize: hanging });
    const questId = await ask("Find it.");
    await ask("And?", questId);
    const before = flat(model.requests.at(-1)?.messages ?? []);
    host.orchestrator.send({ text: "/compact", questId });
    await begun.promise;
    await host.close();
    open([says("Last.")]);
    expect(compactions().map(({ status }) => status)).toEqual(["cancelled"]);
    await ask("Go on.", questId);
    expect(flat(model.requests.at(-1)?.messages ?? []).slice(0, before.length)).toEqual(before);
  });
});
