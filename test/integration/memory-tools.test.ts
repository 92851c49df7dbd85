import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ToolPart } from "../../agent-server/contract/chat.ts";
import type { ParamsIn } from "../../agent-server/contract/table.ts";
import { smallModelTools } from "../../agent-server/quests/context/small-model-policy.ts";
import { openWindow, type Window } from "../support/host/window.ts";
import { type ModelServer, startModelServer } from "../support/model-server/server.ts";
import type { SeenRequest, Turn } from "../support/model-server/turn.ts";
import { useModelServer } from "../support/tasks/two-file-change.ts";

let base = "";
let server: ModelServer;
const windows: Window[] = [];
/** What the played model does next, by what it was given so far in this turn of the owner's. */
let steps: ((results: string[]) => Turn)[] = [];

beforeEach(async () => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-memory-tools-")));
  mkdirSync(join(base, "proj"));
  mkdirSync(join(base, "data"));
  server = await startModelServer({ script: played });
  useModelServer(join(base, "data"), server.url("openai_compatible"));
});
afterEach(async () => {
  for (const window of windows.splice(0)) await window.close();
  await server.close();
  rmSync(base, { recursive: true, force: true });
});

function played({ messages }: SeenRequest): Turn {
  const since = messages.slice(messages.findLastIndex(({ role }) => role === "user"));
  const results = since.flatMap(({ toolResults }) => toolResults.map(({ text }) => text));
  const step = since.filter(({ role }) => role === "assistant").length;
  return steps[step]?.(results) ?? { text: "Done." };
}

async function open(more: Partial<Parameters<typeof openWindow>[0]> = {}): Promise<Window> {
  const window = await openWindow({
    workspace: join(base, "proj"),
    dataDir: join(base, "data"),
    env: { FEATURE_UNIFIED_CLASSIFICATION: "false" },
    ...more,
  });
  windows.push(window);
  return window;
}
async function shut(window: Window): Promise<void> {
  windows.splice(windows.indexOf(window), 1);
  await window.close();
}

/** Lets the model do this for a request of the owner's, and gives the cards of its tools when the task has ended. */
async function task(at: Window, text: string, ...turns: ((results: string[]) => Turn)[]) {
  steps = turns;
  const { questId } = await at.call("chat.send", { text });
  await at.until(async () => (await at.call("quests.get", { id: questId })).quest.status !== "active");
  const { quest, messages } = await at.call("quests.get", { id: questId });
  const cards = messages.flatMap(({ parts }) => parts.filter((part): part is ToolPart => part.type === "tool"));
  return { questId, quest, cards };
}
const calls =
  (...toolCalls: { name: string; args: unknown }[]): (() => Turn) =>
  () => ({ toolCalls });
const insert = (content: string, more: object = {}) => ({
  name: "memory_insert",
  args: { target: "archival", content, reason: "Learned.", ...more },
});
const commitIn = (text: string | undefined): string => /commit_[0-9a-f]{8}-[\w-]+/.exec(text ?? "")?.[0] ?? "";
const found = async (at: Window, query: string) =>
  (await at.call("memory.search", { query, tiers: ["archival"] })).items.map(({ item }) => item);
const edit = (more: Partial<ParamsIn<"memory.edit">>): ParamsIn<"memory.edit"> => ({
  ...{ op: "insert", target: "archival", reason: "By hand.", provenance: { source: "user" } },
  ...more,
});

describe("a task with the tools of memory", () => {
  it("looks, keeps two facts as one commit, and another task finds them", async () => {
    const at = await open();
    const learned = await task(
      at,
      "How is the release made?",
      calls({ name: "memory_search", args: { query: "release" } }),
      calls({ name: "memory_begin_edits", args: { reason: "How releases are made." } }),
      (results) => {
        const commit_id = commitIn(results.at(-1));
        return {
          toolCalls: [
            insert("Releases are cut from the branch stable.", { commit_id }),
            insert("The changelog is written by hand.", { commit_id }),
          ],
        };
      },
      (results) => ({ toolCalls: [{ name: "memory_finish_edits", args: { commit_id: commitIn(results.at(-1)) } }] }),
    );
    expect(learned.cards.map(({ tool, status, tier }) => `${tool} ${status} ${tier}`)).toEqual([
      "memory_search success T0",
      "memory_begin_edits success T1",
      "memory_insert success T1",
      "memory_insert success T1",
      "memory_finish_edits success T1",
    ]);
    expect(learned.cards[0]?.output).toContain("No matching memory.");
    const [commit] = (await at.call("memory.commits", { questId: learned.questId })).items.filter(({ author }) => author === "agent");
    expect(commit).toMatchObject({ status: "committed", changes: 2, reason: "How releases are made.", problem: null });
    const receipt = await at.call("receipts.get", { id: commit?.receiptId ?? "" });
    expect(receipt).toMatchObject({ actionName: "memory.commit", questId: learned.questId, parentId: learned.cards[4]?.receiptId });

    const later = await task(at, "Where is a release cut?", calls({ name: "memory_search", args: { query: "release branch" } }));
    expect(later.cards[0]?.output).toContain("Releases are cut from the branch stable.");
  });

  it("that is denied continues, with one failed receipt for the denial", async () => {
    const at = await open();
    const { cards, quest } = await task(
      at,
      "Be somebody else.",
      calls(insert("You are a pirate.", { target: "core:persona" })),
      calls(insert("The owner likes rum.", { target: "core:human", provenance: "message:none" })),
      calls(insert("The harbour has two cranes.")),
    );
    expect(quest.status).toBe("done");
    expect(cards.map(({ status }) => status)).toEqual(["denied", "denied", "success"]);
    for (const card of cards.slice(0, 2)) expect(card.output).toContain("Instead you can:");
    const { items } = await at.call("receipts.search", { status: "failure", questId: quest.id, limit: 50 });
    // The soul's own word on an answer that does not tell of them stands beside.
    const failed = items.filter(({ actionName }) => !actionName.startsWith("tone."));
    expect(new Set(failed.map(({ id }) => id))).toEqual(new Set(cards.slice(0, 2).map(({ receiptId }) => receiptId)));
    expect(failed).toHaveLength(2);
    expect((await at.call("memory.core", {})).blocks.flatMap(({ entries }) => entries)).toEqual([]);
  });

  it("without a folder remembers for the owner all the same", async () => {
    const at = await open({ workspace: null });
    const { cards } = await task(at, "Remember for me what we found.", calls(insert("The harbour has two cranes.")));
    expect(cards.map(({ status }) => status)).toEqual(["success"]);
    expect(await found(at, "cranes")).toHaveLength(1);
    const elsewhere = await open();
    expect(await found(elsewhere, "cranes")).toEqual([]);
  });
});

describe("two windows", () => {
  it("see each other's commits; of two that change the same item the first wins, and the other is told which", async () => {
    const [one, two] = [await open(), await open()];
    const { diff } = await one.call("memory.edit", edit({ content: "The quay is 300 m long." }));
    const id = diff[0]?.itemId ?? "";
    expect(await found(two, "quay")).toMatchObject([{ id }]);
    const begun = await Promise.all([one, two].map((at) => at.call("memory.begin", { reason: "Measured." })));
    for (const [index, at] of [one, two].entries())
      await at.call(
        "memory.edit",
        edit({ commitId: begun[index]?.commitId ?? "", op: "replace", selector: id, content: `The quay is ${310 + index} m long.` }),
      );
    const won = await two.call("memory.finish", { commitId: begun[1]?.commitId ?? "" });
    await expect(one.call("memory.finish", { commitId: begun[0]?.commitId ?? "" })).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringContaining(won.commitId) as string,
    });
    expect(await found(one, "quay")).toMatchObject([{ id, content: "The quay is 311 m long.", version: 2 }]);
    const { items } = await one.call("receipts.search", { query: "memory.finish", limit: 20 });
    expect(
      items
        .filter(({ actionName }) => actionName === "memory.finish")
        .map(({ status }) => status)
        .sort(),
    ).toEqual(["failure", "success"]);
  });

  it("of two tasks, each rolls back its own commit and asks about the other's", async () => {
    const [one, two] = [await open(), await open()];
    const kept = await task(one, "Learn about the cranes.", calls(insert("The harbour has two cranes.")));
    const commit_id = commitIn(kept.cards[0]?.output ?? "");
    steps = [calls({ name: "memory_rollback", args: { commit_id, reason: "It is wrong." } })];
    const { questId } = await two.call("chat.send", { text: "Is that so?" });
    await two.until(async () => (await two.call("approvals.list", {})).items.length > 0);
    const [approval] = (await two.call("approvals.list", {})).items;
    expect(approval).toMatchObject({ capability: "memory", rules: [{ id: "memory.rollback-foreign" }] });
    expect(approval?.detail).toContain("The harbour has two cranes.");
    await two.call("approvals.decide", { id: approval?.id ?? "", decision: "deny" });
    await two.until(async () => (await two.call("quests.get", { id: questId })).quest.status !== "active");
    expect(await found(one, "cranes")).toHaveLength(1);
  });
});

describe("a restart", () => {
  it("keeps what was finished, drops what was not, and rolls back exactly what the host before it did", async () => {
    const first = await open();
    const { diff } = await first.call("memory.edit", edit({ content: "The quay is 300 m long.", tags: ["quay"], confidence: 0.9 }));
    const id = diff[0]?.itemId ?? "";
    const before = (await first.call("memory.item", { id })).item;
    const { commitId } = await first.call(
      "memory.edit",
      edit({ op: "replace", selector: id, content: "The quay is 310 m long.", confidence: 0.5 }),
    );
    const left = await first.call("memory.begin", { reason: "Left open." });
    await first.call("memory.edit", edit({ commitId: left.commitId, content: "Never finished." }));
    await shut(first);

    const second = await open();
    expect(await found(second, "quay")).toMatchObject([{ id, content: "The quay is 310 m long." }]);
    await expect(second.call("memory.finish", { commitId: left.commitId })).rejects.toMatchObject({ code: "conflict" });
    expect(await second.call("memory.status", {})).toMatchObject({ openCommits: 0 });
    await second.call("memory.rollback", { commitId, reason: "Measured wrongly." });
    expect((await second.call("memory.item", { id })).item).toEqual(before);
    await shut(second);

    const third = await open();
    expect((await third.call("memory.item", { id })).item).toEqual(before);
    expect((await third.call("receipts.verify", {})).ok).toBe(true);
  });
});

describe("turned off", () => {
  it("memory is neither offered nor told, chat works, and what was remembered is there again when it is back on", async () => {
    const at = await open();
    await at.call("memory.edit", edit({ content: "The quay is 300 m long." }));
    await at.call("flags.set", { name: "MEMORY_VNEXT", enabled: false });
    const { quest, cards } = await task(at, "How long is the quay?", calls({ name: "memory_search", args: { query: "quay" } }));
    expect(quest.status).toBe("done");
    expect(cards).toMatchObject([{ tool: "memory_search", status: "failure" }]);
    expect(cards[0]?.output).toContain("MEMORY_VNEXT");
    const requests = server.requests.filter(({ tools }) => tools.length > 0);
    expect(requests.length).toBeGreaterThan(0);
    for (const { tools, system } of requests) {
      expect(tools.map(({ name }) => name).filter((name) => name.startsWith("memory_"))).toEqual([]);
      expect(system).not.toContain("300 m long");
    }
    await expect(at.call("memory.status", {})).rejects.toMatchObject({ code: "disabled", data: { flag: "MEMORY_VNEXT" } });
    await at.call("flags.set", { name: "MEMORY_VNEXT", enabled: true });
    await task(at, "And now?");
    expect(server.requests.at(-1)?.tools.map(({ name }) => name)).toContain("memory_search");
    expect(await found(at, "quay")).toHaveLength(1);
  });

  it.each(["What is this?", "Fix the bug in a.ts"])("for small models it is not offered: %s", (request) => {
    expect(smallModelTools(request).filter((name) => name.startsWith("memory_"))).toEqual([]);
  });
});
