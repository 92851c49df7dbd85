import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ToolPart } from "../../agent-server/contract/chat.ts";
import { openWindow, type Window } from "../support/host/window.ts";
import { type ModelServer, startModelServer } from "../support/model-server/server.ts";
import type { SeenRequest, Turn } from "../support/model-server/turn.ts";
import { makeFolders } from "../support/quests/harness.ts";
import { skippedWithout } from "../support/setup/machine.mjs";
import { useModelServer } from "../support/tasks/two-file-change.ts";

const lines = ["one", "two", "three", "four", "five", "six", "seven"];
const withoutSandbox = skippedWithout("sandbox");

let folders: ReturnType<typeof makeFolders>;
let server: ModelServer;
let window: Window;
/** The answers of the model in the task, and in the sub-task with this goal; each is given once, in order. */
let plays: Record<string, (Turn | ((request: SeenRequest) => Turn | Promise<Turn>))[]>;

const isSubtask = ({ messages }: SeenRequest): boolean => messages.some(({ text }) => text.includes("[This is a sub-task"));
const roleOf = (request: SeenRequest): string =>
  isSubtask(request)
    ? (Object.keys(plays).find((goal) => goal !== "task" && request.messages.some(({ text }) => text.includes(goal))) ?? "?")
    : "task";
const spawn = (goal: string, ...allowed: string[]) => ({
  name: "spawn_subtask",
  args: { goal, ...(allowed.length === 0 ? {} : { allowed }) },
});
const replaceLine = (path: string, old_text: string, new_text: string): Turn => ({
  toolCalls: [{ name: "edit_file", args: { path, old_text, new_text } }],
});
const run = (command: string): Turn => ({ toolCalls: [{ name: "run_command", args: { command } }] });
const done: Turn = { text: "Done." };

beforeEach(async () => {
  folders = makeFolders();
  for (const name of ["a.txt", "b.txt", "c.txt"]) writeFileSync(join(folders.workspace, name), `${lines.join("\n")}\n`);
  server = await startModelServer({
    script: async (request) => {
      const play = plays[roleOf(request)]?.shift();
      return (typeof play === "function" ? await play(request) : play) ?? { text: "Nothing is left to do." };
    },
  });
  useModelServer(folders.dataDir, server.url("openai_compatible"));
  window = await openWindow({ ...folders, features: { UNIFIED_CLASSIFICATION: false, DEEP_REASONING_LOOP: false, MEMORY_VNEXT: false } });
});
afterEach(async () => {
  await window.close();
  await server.close();
  folders.remove();
});

async function start(): Promise<string> {
  return (await window.call("chat.send", { text: "Rename the words." })).questId;
}

async function ended(id: string): Promise<void> {
  await window.until(async () => {
    const { quest } = await window.call("quests.get", { id });
    return !(quest.status === "active" || (quest.status === "waiting" && quest.waitingFor?.kind !== "review"));
  });
}

async function cards(id: string): Promise<ToolPart[]> {
  const { messages } = await window.call("quests.get", { id });
  return messages.flatMap(({ parts }) => parts.filter((part): part is ToolPart => part.type === "tool"));
}

async function spawned(id: string): Promise<(ToolPart & { subtask: NonNullable<ToolPart["subtask"]> })[]> {
  return (await cards(id)).flatMap((part) => (part.subtask === undefined ? [] : [{ ...part, subtask: part.subtask }]));
}

/** The proposed texts by path. */
async function proposals(questId?: string): Promise<Record<string, string | null>> {
  const { items } = await window.call("changes.list", { open: true, ...(questId === undefined ? {} : { questId }) });
  const texts = await Promise.all(items.map(async ({ id, path }) => [path, (await window.call("changes.get", { id })).proposed] as const));
  return Object.fromEntries(texts);
}

const text = (change: Record<string, string>): string => `${lines.map((line) => change[line] ?? line).join("\n")}\n`;

describe("a sub-task", () => {
  it("sees the proposals of its task, and its own join them; the task list and the disk do not show it", async () => {
    plays = {
      task: [replaceLine("a.txt", "one", "ONE"), { toolCalls: [spawn("Rename seven.")] }, done],
      "Rename seven.": [
        { toolCalls: [{ name: "read_file", args: { path: "a.txt" } }] },
        (request) => {
          expect(request.messages.at(-1)?.toolResults[0]?.text).toContain("ONE");
          expect(request.tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["read_file", "edit_file", "run_command"]));
          for (const hidden of ["spawn_subtask", "ask_owner", "git_commit", "http_post", "delete_file"])
            expect(request.tools.map(({ name }) => name)).not.toContain(hidden);
          return replaceLine("a.txt", "seven", "SEVEN");
        },
        done,
      ],
    };
    const id = await start();
    await ended(id);
    const [part] = await spawned(id);
    expect(part).toMatchObject({ status: "success", tier: "T0", subtask: { status: "done", total: 2 } });
    expect(part?.subtask.steps.map(({ status }) => status)).toEqual(["success", "success"]);
    expect(await proposals()).toEqual({ "a.txt": text({ one: "ONE", seven: "SEVEN" }) });
    expect(await proposals(part?.subtask.questId)).toEqual({});
    expect(readFileSync(join(folders.workspace, "a.txt"), "utf8")).toBe(text({}));
    expect((await window.call("quests.list", {})).items.map((quest) => quest.id)).toEqual([id]);
    const { quest } = await window.call("quests.get", { id: part?.subtask.questId ?? "" });
    expect(quest).toMatchObject({ parentId: id, status: "done" });
    await expect(window.call("chat.send", { questId: quest.id, text: "Go on." })).rejects.toMatchObject({ code: "conflict" });
    await expect(window.call("quests.resume", { id: quest.id })).rejects.toMatchObject({ code: "conflict" });
  });

  it("has its receipts below that of the call, and the ledger verifies", async () => {
    plays = {
      task: [{ toolCalls: [spawn("Rename one.")] }, done],
      "Rename one.": [replaceLine("a.txt", "one", "ONE"), done],
    };
    const id = await start();
    await ended(id);
    const [part] = await spawned(id);
    const { items } = await window.call("receipts.search", { questId: part?.subtask.questId ?? "", limit: 100 });
    const root = items.find(({ actionName }) => actionName === "quest");
    expect(root?.parentId).toBe(part?.receiptId);
    const edit = items.find(({ actionName }) => actionName === "edit_file");
    const turn = items.find((item) => item.id === edit?.parentId);
    expect(turn).toMatchObject({ actionName: "turn", parentId: root?.id });
    expect(await window.call("receipts.verify", {})).toMatchObject({ ok: true });
  });

  it("keeps the version of the task where both changed the same lines, and tells its model", async () => {
    plays = {
      task: [
        { toolCalls: [spawn("Rename four.")] },
        (request) => {
          expect(request.messages.at(-1)?.toolResults[0]?.text).toContain("FOUR-B");
          return done;
        },
      ],
      // The task's own edit is made while the sub-task works.
      "Rename four.": [
        async () => {
          const id = (await window.call("quests.list", {})).items[0]?.id ?? "";
          const args = { path: "a.txt", old_text: "four", new_text: "FOUR-A" };
          await window.call("tools.invoke", { tool: "edit_file", args, questId: id });
          return {
            toolCalls: [
              ...(replaceLine("a.txt", "four", "FOUR-B").toolCalls ?? []),
              ...(replaceLine("b.txt", "four", "FOUR-B").toolCalls ?? []),
            ],
          };
        },
        done,
      ],
    };
    const id = await start();
    await ended(id);
    expect(await spawned(id)).toMatchObject([{ status: "failure" }]);
    expect(await proposals()).toEqual({ "a.txt": text({ four: "FOUR-A" }), "b.txt": text({ four: "FOUR-B" }) });
  });

  it("is denied what is irreversible, what it was not given, other paths, and a sub-task of its own", async () => {
    plays = {
      task: [{ toolCalls: [spawn("Try everything.", "file_ops", "a.txt")] }, done],
      "Try everything.": [
        {
          toolCalls: [
            { name: "delete_file", args: { path: "a.txt" } },
            { name: "git_push", args: { remote: "origin", branch: "main" } },
            { name: "run_command", args: { command: "ls" } },
            { name: "write_file", args: { path: "b.txt", content: "x" } },
            spawn("Deeper."),
            { name: "write_file", args: { path: "a.txt", content: "x\n" } },
          ],
        },
        done,
      ],
    };
    const id = await start();
    await ended(id);
    const [part] = await spawned(id);
    const made = await cards(part?.subtask.questId ?? "");
    expect(made.map(({ tool, status, rules }) => [tool, status, rules.at(-1)?.id])).toEqual([
      ["delete_file", "denied", "scope.tier"],
      ["git_push", expect.stringMatching(/denied|failure/), expect.anything()],
      ["run_command", expect.stringMatching(/denied|failure/), expect.anything()],
      ["write_file", "denied", "scope.path"],
      ["spawn_subtask", "failure", undefined],
      ["write_file", "success", expect.anything()],
    ]);
    expect(await proposals()).toEqual({ "a.txt": "x\n" });
    expect((await window.call("approvals.list", {})).items).toEqual([]);
  });

  it("refuses names that are neither capabilities nor paths, before it starts", async () => {
    plays = {
      task: [{ toolCalls: [spawn("A.", "everything"), spawn("B.", "repo_ops"), spawn("C.", "../out")] }, done],
    };
    const id = await start();
    await ended(id);
    expect((await cards(id)).map(({ status }) => status)).toEqual(["failure", "failure", "failure"]);
    expect(await spawned(id)).toEqual([]);
  });

  it("uses the tokens and calls of its task", async () => {
    plays = {
      task: [{ toolCalls: [spawn("Rename one.")] }, done],
      "Rename one.": [
        { ...replaceLine("a.txt", "one", "ONE"), usage: { inputTokens: 600_000, outputTokens: 10 } },
        { ...replaceLine("a.txt", "two", "TWO"), usage: { inputTokens: 500_000, outputTokens: 10 } },
        replaceLine("a.txt", "three", "THREE"),
      ],
    };
    const id = await start();
    await ended(id);
    const { quest } = await window.call("quests.get", { id });
    expect(quest.usage.inputTokens).toBeGreaterThan(1_100_000);
    expect(quest.status).toBe("failed");
    const [part] = await spawned(id);
    expect(part).toMatchObject({ status: "failure", subtask: { status: "failed", total: 2 } });
    expect(await proposals()).toEqual({});
    expect(server.requests.filter(isSubtask)).toHaveLength(2);
  });

  it("works beside another one where their paths differ, and after it where they do not", async () => {
    const both = Promise.withResolvers<void>();
    const started: string[] = [];
    const meets = (name: string, path: string) => async (): Promise<Turn> => {
      started.push(name);
      if (started.length === 2) both.resolve();
      // Neither goes on before both have begun.
      await both.promise;
      return replaceLine(path, "one", name);
    };
    plays = {
      task: [{ toolCalls: [spawn("First part.", "a.txt"), spawn("Second part.", "b.txt"), spawn("Third part.", "a.txt")] }, done],
      "First part.": [meets("FIRST", "a.txt"), done],
      "Second part.": [meets("SECOND", "b.txt"), done],
      "Third part.": [replaceLine("a.txt", "FIRST", "THIRD"), done],
    };
    const id = await start();
    await ended(id);
    expect((await spawned(id)).map(({ status }) => status)).toEqual(["success", "success", "success"]);
    expect(await proposals()).toEqual({ "a.txt": text({ one: "THIRD" }), "b.txt": text({ one: "SECOND" }) });
  });

  it("ends with its task, and nothing of it is used", async () => {
    const reached = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    plays = {
      task: [{ toolCalls: [spawn("Rename one.")] }],
      "Rename one.": [
        replaceLine("a.txt", "one", "ONE"),
        async () => {
          reached.resolve();
          await held.promise;
          return done;
        },
      ],
    };
    const id = await start();
    await reached.promise;
    await window.until(async () => (await spawned(id))[0]?.subtask.total === 1);
    const [part] = await spawned(id);
    await window.call("chat.cancel", { questId: id });
    held.resolve();
    const child = part?.subtask.questId ?? "";
    await window.until(async () => (await window.call("quests.get", { id: child })).quest.status === "cancelled");
    expect((await window.call("quests.get", { id })).quest.status).toBe("cancelled");
    expect(await proposals()).toEqual({});
    expect(await proposals(child)).toEqual({});
  });

  it("is not run twice by a task that goes on in another host", async () => {
    const reached = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    plays = {
      task: [{ toolCalls: [spawn("Rename one.")] }, done],
      "Rename one.": [
        async () => {
          reached.resolve();
          await held.promise;
          return done;
        },
      ],
    };
    const id = await start();
    await reached.promise;
    await window.close();
    held.resolve();
    window = await openWindow(folders);
    await window.call("quests.resume", { id });
    await ended(id);
    expect((await cards(id)).map(({ tool, status }) => [tool, status])).toEqual([["spawn_subtask", "cancelled"]]);
    expect(server.requests.filter(isSubtask)).toHaveLength(1);
  });

  it.skipIf(withoutSandbox !== null)("is not used when its tests fail, whatever it says", async () => {
    writeFileSync(join(folders.workspace, "a.test.js"), "require('node:assert').equal(1, 2);\n");
    plays = {
      task: [{ toolCalls: [spawn("Rename one.")] }, done],
      "Rename one.": [replaceLine("a.txt", "one", "ONE"), run("node --test"), { text: "All tests pass." }],
    };
    const id = await start();
    await ended(id);
    const [part] = await spawned(id);
    expect((await cards(part?.subtask.questId ?? "")).map(({ tool, status }) => [tool, status])).toEqual([
      ["edit_file", "success"],
      ["run_command", "failure"],
    ]);
    expect(part?.status).toBe("failure");
    expect(await proposals()).toEqual({});
  });

  it.skipIf(withoutSandbox !== null)("gives its task what its commands changed, except beyond its paths", async () => {
    plays = {
      task: [{ toolCalls: [spawn("Write files.", "shell_exec", "a.txt")] }, done],
      "Write files.": [run("echo x > a.txt && echo y > b.txt"), done],
    };
    const id = await start();
    await ended(id);
    expect(await spawned(id)).toMatchObject([{ status: "success" }]);
    expect(await proposals()).toEqual({ "a.txt": "x\n" });
    expect(readFileSync(join(folders.workspace, "b.txt"), "utf8")).toBe(text({}));
  });

  it("proposes for review even where edits of its task are applied at once, and the task then applies them", async () => {
    plays = {
      task: [{ toolCalls: [spawn("Rename one.")] }, done],
      "Rename one.": [
        replaceLine("a.txt", "one", "ONE"),
        () => {
          expect(readFileSync(join(folders.workspace, "a.txt"), "utf8")).toBe(text({}));
          return done;
        },
      ],
    };
    const { questId } = await window.call("chat.send", { text: "/crusader Rename the words." });
    await ended(questId);
    expect(readFileSync(join(folders.workspace, "a.txt"), "utf8")).toBe(text({ one: "ONE" }));
    expect(await proposals()).toEqual({});
  });
});
