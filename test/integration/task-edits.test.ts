import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { EditMode, Posture } from "../../agent-server/contract/governance.ts";
import type { Params } from "../../agent-server/contract/table.ts";
import { openWindow, type Window } from "../support/host/window.ts";
import { type ModelServer, startModelServer } from "../support/model-server/server.ts";
import type { SeenRequest, Turn } from "../support/model-server/turn.ts";
import { makeFolders } from "../support/quests/harness.ts";
import { useModelServer } from "../support/tasks/two-file-change.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const path = "src/cart.js";
let folders: ReturnType<typeof makeFolders>;
let server: ModelServer;
let window: Window;

const request = "Change the first line of the cart.";

/** Edits the first line for each request, then says so. */
function script({ messages }: SeenRequest): Turn {
  const asked = messages.findLastIndex((message) => message.role === "user" && message.text.includes(request));
  if (messages.slice(asked + 1).some(({ role }) => role === "assistant")) return { text: "It is done." };
  const [old = ""] = text().split("\n", 1);
  return { toolCalls: [{ name: "edit_file", args: { path, old_text: old, new_text: `${old} // ${String(asked)}` } }] };
}

const open = async (posture: Posture): Promise<void> => {
  window = await openWindow({ ...folders, posture, env: { FEATURE_UNIFIED_CLASSIFICATION: "false" } });
};
const text = (): string => readFileSync(join(folders.workspace, path), "utf8");

/** Sends a message, and waits for the end of its run. @returns whether its edit was applied, waits for a review, or what else became of it */
async function send(params: Omit<Params<"chat.send">, "text">): Promise<{ id: string; edit: string }> {
  const before = text();
  const { questId: id } = await window.call("chat.send", { text: request, ...params });
  await window.until(async () => (await window.call("quests.get", { id })).quest.status !== "active");
  const { status } = (await window.call("quests.get", { id })).quest;
  return { id, edit: text() !== before && status === "done" ? "applied" : status === "waiting" ? "reviewed" : status };
}

async function rejectAll(questId: string): Promise<void> {
  const { items } = await window.call("changes.list", { questId, open: true, limit: 10 });
  for (const { id } of items) await window.call("changes.decide", { id, decision: "reject" });
  await window.until(async () => (await window.call("quests.get", { id: questId })).quest.status === "done");
}

async function receipts(questId: string): Promise<unknown[]> {
  const { items } = await window.call("receipts.search", { questId, query: "quests.edits", limit: 10 });
  return items.map(({ inputs }) => inputs).toReversed();
}

beforeEach(async () => {
  folders = makeFolders();
  cpSync(join(root, "media/sample"), folders.workspace, { recursive: true });
  server = await startModelServer({ script });
  useModelServer(folders.dataDir, server.url("openai_compatible"));
});
afterEach(async () => {
  await window.close();
  await server.close();
  folders.remove();
});

describe("the edits of one task", () => {
  it.each<[Posture, EditMode | "normal" | undefined, string]>([
    ["supervised", undefined, "reviewed"],
    ["supervised", "normal", "reviewed"],
    ["supervised", "review", "reviewed"],
    ["supervised", "auto", "applied"],
    ["autonomous", undefined, "applied"],
    ["autonomous", "normal", "applied"],
    ["autonomous", "review", "reviewed"],
    ["autonomous", "auto", "applied"],
  ])("with the setting %s and the mode %s are %s", async (posture, mode, edit) => {
    await open(posture);
    const sent = await send(mode === undefined ? {} : { mode });
    expect(sent.edit).toBe(edit);
    // The model is told the same.
    expect(server.requests[0]?.system.includes("Edits are proposed")).toBe(edit === "reviewed");
    expect(await receipts(sent.id)).toEqual(mode === "review" || mode === "auto" ? [{ edits: mode }] : []);
  });

  it("stay as they were chosen for later messages and after a restart, apart from other tasks", async () => {
    await open("supervised");
    const { id } = await send({ mode: "auto" });
    expect((await send({ questId: id })).edit).toBe("applied");
    expect((await send({})).edit).toBe("reviewed");
    await window.close();
    await open("supervised");
    expect((await window.call("quests.get", { id })).quest).toMatchObject({ edits: "auto", mode: "normal" });
    expect((await send({ questId: id })).edit).toBe("applied");
    expect((await window.call("quests.edits", { id, edits: "review" })).edits).toBe("review");
    expect((await send({ questId: id })).edit).toBe("reviewed");
    await rejectAll(id);
    expect((await window.call("quests.edits", { id, edits: null })).edits).toBeUndefined();
    await window.call("host.configure", { posture: "autonomous" });
    expect((await send({ questId: id })).edit).toBe("applied");
    expect(await receipts(id)).toEqual([{ edits: "auto" }, { edits: "review" }, { edits: "posture" }]);
  });

  it("are chosen by the owner alone", async () => {
    await open("supervised");
    const { id } = await send({});
    await rejectAll(id);
    const other = { owner: false, signal: new AbortController().signal };
    for (const [name, params] of [
      ["chat.send", { text: "Go on.", mode: "auto" }],
      ["chat.send", { text: "Go on.", questId: id, mode: "auto" }],
      ["chat.send", { text: "Go on.", questId: id, mode: "review" }],
      ["quests.edits", { id, edits: "auto" }],
    ] as const)
      await expect(window.dispatch(name, params, other)).rejects.toMatchObject({ code: "unauthorized" });
    expect((await window.call("quests.get", { id })).quest.edits).toBeUndefined();
    expect((await window.call("quests.list", { limit: 10 })).items).toHaveLength(1);
  });

  it("are applied no longer after a message of somebody else", async () => {
    await open("supervised");
    const { id } = await send({ mode: "auto" });
    const before = text();
    await window.dispatch("chat.send", { text: request, questId: id }, { owner: false, signal: new AbortController().signal });
    await window.until(async () => (await window.call("quests.get", { id })).quest.status === "waiting");
    expect(text()).toBe(before);
    expect(await receipts(id)).toEqual([{ edits: "auto" }, { edits: "posture" }]);
  });

  it("are chosen beside crusader mode and a plan, which the text asks for", async () => {
    await open("supervised");
    const { questId: id } = await window.call("chat.send", { text: `/crusader ${request}`, mode: "review" });
    expect((await window.call("quests.get", { id })).quest).toMatchObject({ mode: "crusader", edits: "review" });
    await window.until(async () => (await window.call("quests.get", { id })).quest.status === "done");
    expect((await send({ questId: id })).edit).toBe("reviewed");
  });

  it("are reviewed when the soul wants it, and choosing otherwise says so and starts nothing", async () => {
    await open("autonomous");
    const { yaml } = await window.call("soul.get", {});
    const stricter = yaml.replace("version: v1", "version: v2").replace("level: autonomous", "level: supervised");
    const { id: proposed } = await window.call("soul.propose", { yaml: stricter, reason: "Every edit is reviewed." });
    await window.call("soul.approve", { id: proposed });
    await window.call("soul.activate", { id: proposed });
    await expect(window.call("chat.send", { text: "Change the cart.", mode: "auto" })).rejects.toMatchObject({ code: "conflict" });
    expect((await window.call("quests.list", { limit: 10 })).items).toEqual([]);
    const { id, edit } = await send({});
    expect(edit).toBe("reviewed");
    await expect(window.call("quests.edits", { id, edits: "auto" })).rejects.toMatchObject({ code: "conflict" });
  });
});

it("the files of a task are restored to their state before one of its messages or tool calls, and back", async () => {
  await open("supervised");
  const { id } = await send({ mode: "auto" });
  const first = text();
  await send({ questId: id });
  const second = text();
  await send({ questId: id });
  const third = text();
  const messages = async () => (await window.call("quests.get", { id })).messages;
  const [, before] = (await messages()).filter(({ role }) => role === "user");
  const since = before?.createdAt ?? "";
  const { files } = await window.call("checkpoints.diff", { questId: id, since });
  expect(files.map((file) => file.path)).toEqual([path]);
  // What the owner wrote elsewhere in the file stays.
  const owner = "// by the owner\n";
  writeFileSync(join(folders.workspace, path), third + owner);
  const { undoCheckpointId, conflicts } = await window.call("checkpoints.restore", { questId: id, since });
  expect([text(), conflicts]).toEqual([first + owner, []]);
  await window.call("checkpoints.restore", { id: undoCheckpointId ?? "" });
  expect(text()).toBe(third + owner);

  const calls = (await messages()).flatMap(({ parts }) => parts.flatMap((part) => (part.type === "tool" ? [part.receiptId ?? ""] : [])));
  const { timestamp } = await window.call("receipts.get", { id: calls.at(-1) ?? "" });
  await window.call("checkpoints.restore", { questId: id, since: timestamp });
  expect(text()).toBe(second + owner);
  const later = { questId: id, since: new Date(Date.now() + 1_000).toISOString() };
  expect((await window.call("checkpoints.diff", later)).files).toEqual([]);
  await expect(
    window.dispatch("checkpoints.restore", { questId: id, since }, { owner: false, signal: new AbortController().signal }),
  ).rejects.toMatchObject({
    code: "unauthorized",
  });
});
