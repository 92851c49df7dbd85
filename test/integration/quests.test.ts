import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ToolPart } from "../../agent-server/contract/chat.ts";
import type { Emit } from "../../agent-server/contract/events.ts";
import type { Params } from "../../agent-server/contract/table.ts";
import { createHost, type Host } from "../../agent-server/host.ts";
import { productPaths } from "../../agent-server/paths.ts";
import { type ModelServer, startModelServer } from "../support/model-server/server.ts";
import type { Script, Turn } from "../support/model-server/turn.ts";
import { makeFolders } from "../support/quests/harness.ts";
import { edits, said, task, twoFileScript, useModelServer } from "../support/tasks/two-file-change.ts";
import { moments, runs, soak } from "../support/soak.ts";

const call = { owner: true, signal: new AbortController().signal };
const root = fileURLToPath(new URL("../..", import.meta.url));
let folders: ReturnType<typeof makeFolders>;
let server: ModelServer;
const hosts: Host[] = [];

beforeEach(() => {
  folders = makeFolders();
  cpSync(join(root, "media/sample"), folders.workspace, { recursive: true });
});
afterEach(async () => {
  for (const host of hosts.splice(0)) await host.close();
  await server.close();
  folders.remove();
});

async function open(env: NodeJS.ProcessEnv = {}) {
  const watchers = new Set<() => void>();
  let seq = 0;
  const emit: Emit = () => {
    seq += 1;
    for (const watch of watchers) setImmediate(watch);
  };
  const host = await createHost({
    paths: productPaths(),
    workspace: folders.workspace,
    dataDir: folders.dataDir,
    trusted: true,
    posture: "supervised",
    approvalTimeoutSeconds: 60,
    canAsk: true,
    askEditor: null,
    env,
    emit,
    lastEventSeq: () => seq,
    log: () => undefined,
  });
  hosts.push(host);
  const { handlers } = host;
  const quest = async (id: string) => (await handlers["quests.get"]({ id }, call)).quest;
  return {
    handlers,
    send: async (params: Params<"chat.send">) => (await handlers["chat.send"](params, call)).questId,
    messages: async (id: string) => (await handlers["quests.get"]({ id }, call)).messages,
    async reaches(id: string, ...statuses: string[]) {
      for (;;) {
        const now = await quest(id);
        if (statuses.includes(now.status)) return now;
        if (now.status === "failed") throw new Error(`the quest failed: ${now.problem ?? ""}`);
        await new Promise<void>((resolve) => {
          const watch = (): void => {
            watchers.delete(watch);
            resolve();
          };
          watchers.add(watch);
        });
      }
    },
  };
}

const keys = { ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k", GEMINI_API_KEY: "k", XAI_API_KEY: "k" };
const text = (path: string): string => readFileSync(join(folders.workspace, path), "utf8");

describe("the task of the sample project, over each provider's own SDK", () => {
  it.each(["openai_compatible", "anthropic", "openai", "gemini", "xai"] as const)("%s", async (kind) => {
    server = await startModelServer({ script: twoFileScript() });
    useModelServer(folders.dataDir, server.url(kind), kind);
    const { handlers, send, reaches, messages } = await open(keys);
    const before = { duration: text("src/duration.js"), cart: text("src/cart.js") };
    const id = await send({ text: task });
    expect((await reaches(id, "waiting")).waitingFor).toEqual({ kind: "review", id });
    expect({ duration: text("src/duration.js"), cart: text("src/cart.js") }).toEqual(before);

    const { items } = await handlers["changes.list"]({ questId: id, open: true, limit: 10 }, call);
    expect(items.map(({ path, hunks }) => [path, hunks.length]).toSorted(([a], [b]) => String(a).localeCompare(String(b)))).toEqual([
      ["src/cart.js", 2],
      ["src/duration.js", 3],
    ]);
    for (const change of items) {
      const [first, ...rest] = change.hunks.map(({ index }) => index);
      if (change.path === "src/duration.js") {
        await handlers["changes.decide"]({ id: change.id, decision: "reject", hunks: [first ?? 0] }, call);
        await handlers["changes.decide"]({ id: change.id, decision: "accept", hunks: rest }, call);
      } else {
        await handlers["changes.decide"]({ id: change.id, decision: "accept", hunks: [first ?? 0] }, call);
        await handlers["changes.decide"]({ id: change.id, decision: "reject", hunks: rest }, call);
      }
    }
    await reaches(id, "done");
    expect(text("src/duration.js")).toContain(edits[1].new_text);
    expect(text("src/duration.js")).not.toContain(edits[0].new_text);
    expect(text("src/cart.js")).toContain(edits[3].new_text);
    expect(text("src/cart.js")).not.toContain(edits[4].new_text);

    const all = await messages(id);
    const parts = all.flatMap((message) => message.parts);
    expect(parts).toContainEqual({ type: "notice", level: "info", text: "You accepted 3 changes and rejected 2." });
    expect(parts.some((part) => part.type === "text" && part.text === said.after)).toBe(true);
    const cards = parts.filter((part): part is ToolPart => part.type === "tool");
    expect(cards.map(({ tool, status }) => [tool, status])).toEqual([
      ["read_file", "success"],
      ["read_file", "success"],
      ...edits.map(() => ["edit_file", "success"]),
    ]);
    for (const card of cards) expect(card.receiptId).not.toBeNull();
    expect(await handlers["receipts.verify"]({}, call)).toMatchObject({ ok: true });
    const { roots } = await handlers["receipts.trace"]({ questId: id }, call);
    expect(roots.filter(({ receipt }) => receipt.actionName === "quest")).toHaveLength(1);
  });
});

/** Proposes each edit until the conversation shows a result of it that is no interruption, then sums up. */
const persistent: Script = ({ messages }): Turn => {
  const results = new Map(messages.flatMap(({ toolResults }) => toolResults.map((result) => [result.id, result.text])));
  const made = (index: number): boolean =>
    messages.some(({ toolCalls }) =>
      toolCalls.some((one) => {
        const answer = results.get(one.id);
        return JSON.stringify(one.args) === JSON.stringify(edits[index]) && answer !== undefined && !/^(interrupted|not run)/.test(answer);
      }),
    );
  const calls = new Set(messages.flatMap(({ toolCalls }) => toolCalls.map(({ name }) => name)));
  if (!calls.has("read_file"))
    return {
      text: said.first,
      toolCalls: [
        { name: "read_file", args: { path: "src/duration.js" } },
        { name: "list_files", args: {} },
      ],
    };
  const missing = edits.filter((_, index) => !made(index));
  if (missing.length > 0) return { text: "The edits.", toolCalls: missing.map((args) => ({ name: "edit_file", args })) };
  return { text: said.after };
};

describe("a host killed at any point", () => {
  const child = fileURLToPath(new URL("../support/quests/quest-host.ts", import.meta.url));

  /** Runs a host until it ends or has said `lines` lines; how it ended, or null when it was killed. */
  async function runHost(lines: number): Promise<string | null> {
    const host = spawn(process.execPath, ["--no-warnings", child, folders.workspace, folders.dataDir, task], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const closed = once(host, "close");
    let output = "";
    host.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      output += chunk;
      if (output.split("\n").length > lines) host.kill("SIGKILL");
    });
    await closed;
    return /^ended (\w+)$/m.exec(output)?.[1] ?? null;
  }

  it.each(soak ? [1, 2, 3] : [1])("loses nothing and does nothing twice (series %i)", async (series) => {
    server = await startModelServer({ script: persistent });
    useModelServer(folders.dataDir, server.url("openai_compatible"));
    let kills = 0;
    let ended: string | null = null;
    for (const moment of moments(runs(6, 30), series)) {
      // Each host gets a little further than the ones before it could, so that the kills fall all over the task.
      ended = await runHost(1 + Math.floor(moment * 30) + kills * 2);
      if (ended !== null) break;
      kills += 1;
    }
    ended ??= await runHost(Number.POSITIVE_INFINITY);
    expect(ended).toBe("done");
    expect(kills).toBeGreaterThan(2);

    const { handlers, messages } = await open();
    const { items } = await handlers["quests.list"]({ limit: 10 }, call);
    expect(items).toHaveLength(1);
    const id = items[0]?.id ?? "";
    const all = await messages(id);
    expect(all.map(({ seq }) => seq)).toEqual(all.map((_, index) => index));
    const parts = all.flatMap((message) => message.parts);
    const userMessages = all.filter(({ role, parts }) => role === "user" && parts.some(({ type }) => type === "text"));
    expect(userMessages.map((message) => message.parts)).toEqual([[{ type: "text", text: task }]]);
    const cards = parts.filter((part): part is ToolPart => part.type === "tool");
    expect(cards.every(({ status }) => ["success", "failure", "cancelled"].includes(status))).toBe(true);

    // Each call left at most one receipt, and every edit is in the files exactly once.
    const receipts = (await handlers["receipts.search"]({ questId: id, limit: 500 }, call)).items.filter(
      ({ actionName }) => actionName === "edit_file",
    );
    expect(receipts.length).toBeLessThanOrEqual(cards.filter(({ tool }) => tool === "edit_file").length);
    for (const { path, new_text, old_text } of edits) {
      expect(text(path).split(new_text)).toHaveLength(2);
      if (!new_text.includes(old_text)) expect(text(path)).not.toContain(old_text);
    }
    expect(await handlers["receipts.verify"]({}, call)).toMatchObject({ ok: true });
    const pending = await handlers["receipts.search"]({ questId: id, status: "pending", limit: 10 }, call);
    expect(pending.items).toEqual([]);
  });
});
