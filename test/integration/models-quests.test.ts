import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Message, Part } from "../../agent-server/contract/chat.ts";
import type { Emit, HostEvent } from "../../agent-server/contract/events.ts";
import { createHost, type Host } from "../../agent-server/host.ts";
import { productPaths } from "../../agent-server/paths.ts";
import { inOrder } from "../support/model-server/script.ts";
import { startModelServer, type ModelServer } from "../support/model-server/server.ts";
import type { Script, Turn } from "../support/model-server/turn.ts";
import { makeFolders } from "../support/quests/harness.ts";

const call = { owner: true, signal: new AbortController().signal };
let folders: ReturnType<typeof makeFolders>;
const servers: ModelServer[] = [];
const hosts: Host[] = [];

beforeEach(() => {
  folders = makeFolders();
  writeFileSync(join(folders.workspace, "a.txt"), "alpha\n");
});
afterEach(async () => {
  for (const host of hosts.splice(0)) await host.close();
  for (const server of servers.splice(0)) await server.close();
  folders.remove();
});

async function start(script: Script): Promise<ModelServer> {
  const server = await startModelServer({ script });
  servers.push(server);
  return server;
}

const lanes = "fast: { model: quick }, deep: { model: strong, thinking: { enabled: true, budget_tokens: 2000 } }";
const work = (server: ModelServer): string =>
  `  work: { kind: anthropic, display_name: Work, base_url: "${server.url("anthropic")}", ${lanes} }\n`;
const spare = (server: ModelServer): string =>
  `  spare: { kind: openai, display_name: Spare, base_url: "${server.url("openai")}", fast: { model: spare-quick } }\n`;

function write(name: string, text: string): void {
  mkdirSync(join(folders.dataDir, "config"), { recursive: true });
  writeFileSync(join(folders.dataDir, "config", name), text);
}

/** A whole host with the owner's files. */
async function open(providers: string, router = "") {
  write("models.yaml", `active: work\nproviders:\n${providers}`);
  write("router.yaml", `retries: { base_seconds: 0 }\n${router}`);
  const events: HostEvent[] = [];
  const watchers = new Set<() => void>();
  const emit: Emit = (topic, payload) => {
    events.push({ seq: events.length, topic, payload: structuredClone(payload) } as HostEvent);
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
    env: { ANTHROPIC_API_KEY: "key-a", OPENAI_API_KEY: "key-o", FEATURE_UNIFIED_CLASSIFICATION: "false" },
    emit,
    lastEventSeq: () => events.length,
    log: () => undefined,
  });
  hosts.push(host);
  const { handlers } = host;
  const get = (id: string) => handlers["quests.get"]({ id }, call);
  const settled = async (id: string) => {
    for (;;) {
      const found = await get(id);
      if (found.quest.status !== "active") return found;
      await new Promise<void>((resolve) => {
        const watch = (): void => {
          watchers.delete(watch);
          resolve();
        };
        watchers.add(watch);
      });
    }
  };
  const send = async (text: string, questId?: string) => {
    const sent = await handlers["chat.send"]({ text, ...(questId === undefined ? {} : { questId }) }, call);
    return { ...(await settled(sent.questId)), questId: sent.questId };
  };
  const decisions = async () => (await handlers["router.decisions"]({ limit: 50 }, call)).items.toReversed();
  return { host, handlers, send, settled, events, decisions };
}

const partsOf = <T extends Part["type"]>(messages: readonly Message[], type: T) =>
  messages.flatMap(({ parts }) => parts.filter((part): part is Extract<Part, { type: T }> => part.type === type));
const notices = (messages: readonly Message[]): string[] => partsOf(messages, "notice").map(({ text }) => text);
const answers = (messages: readonly Message[]) => messages.filter(({ role }) => role === "assistant");
const byModel =
  (turns: Record<string, Turn>): Script =>
  ({ model }) =>
    turns[model] ?? { text: "ok" };

describe("a task", () => {
  it("is answered by the lane of its kind of work, and every answer says by which model and why", async () => {
    const server = await start(({ messages, model }) =>
      messages.at(-1)?.role === "tool"
        ? { text: `Read, says ${model}.` }
        : { text: "Let me look.", toolCalls: [{ name: "read_file", args: { path: "a.txt" } }] },
    );
    const { send, decisions, events, handlers } = await open(work(server));
    const first = await send("What is in a.txt?");
    expect(answers(first.messages).map(({ answeredBy }) => [answeredBy?.model, answeredBy?.lane])).toEqual([
      ["quick", "flagship_fast"],
      ["quick", "flagship_fast"],
    ]);
    const second = await send("/review a.txt", first.questId);
    const last = answers(second.messages).at(-1);
    expect(last?.answeredBy).toMatchObject({
      provider: "work",
      displayName: "Work",
      model: "strong",
      lane: "flagship_deep",
      rationale: expect.stringContaining("“review”"),
    });
    expect(server.requests.map(({ model }) => model)).toEqual(["quick", "quick", "strong", "strong"]);
    expect((await decisions()).map(({ taskType, rule, questId }) => [taskType, rule, questId])).toEqual([
      ["question", "default", first.questId],
      ["question", "default", first.questId],
      ["review", "deep_task", first.questId],
      ["review", "deep_task", first.questId],
    ]);
    // Known with the first word that is shown, and told while it is decided.
    const shown = events.find(
      ({ topic, payload }) =>
        topic === "message" && "parts" in payload && payload.parts.some((part) => part.type === "text" && payload.role === "assistant"),
    );
    expect(shown?.payload).toMatchObject({ answeredBy: { model: "quick", decisionId: (await decisions())[0]?.id } });
    const reported = events.flatMap((event) => (event.topic === "routed" ? [event.payload.success] : []));
    expect(reported).toEqual([null, true, null, true, null, true, null, true]);
    // Each decision's receipt hangs under its turn.
    const trace = JSON.stringify((await handlers["receipts.trace"]({ questId: first.questId }, call)).roots);
    expect(trace.match(/"actionName":"router\.decide"/g)).toHaveLength(4);
    expect(second.quest.context).toMatchObject({ window: 128_000 });
    expect(second.quest.context?.tokens).toBeGreaterThan(500);
    expect(second.quest.model).toBe("work/strong");
  });

  it("escalates when a further message asks for more, and keeps the deep model for the rest of the run", async () => {
    let steered = false;
    const server = await start(async ({ messages }) => {
      if (!steered) {
        steered = true;
        await steer();
      }
      return messages.filter(({ role }) => role === "tool").length < 2
        ? { toolCalls: [{ name: "read_file", args: { path: "a.txt" } }] }
        : { text: "Done." };
    });
    const { handlers, settled, decisions } = await open(work(server));
    const { questId } = await handlers["chat.send"]({ text: "Read a.txt" }, call);
    const steer = async () => void (await handlers["chat.steer"]({ questId, text: "We deploy this to production afterwards." }, call));
    await settled(questId);
    expect((await decisions()).map(({ lane, rule }) => [lane, rule])).toEqual([
      ["flagship_fast", "default"],
      ["flagship_deep", "risk"],
      ["flagship_deep", "risk"],
    ]);
  });

  it("continues with the deep model when the fast one fails mid-run", async () => {
    const server = await start(({ model, messages }) => {
      if (model === "quick")
        return messages.at(-1)?.role === "tool" ? { fault: "http404" } : { toolCalls: [{ name: "read_file", args: { path: "a.txt" } }] };
      return { thinking: "Hm.", text: "It says alpha." };
    });
    const { send } = await open(work(server));
    const { quest, messages } = await send("What is in a.txt?");
    expect(quest.status).toBe("done");
    expect(partsOf(messages, "text").at(-1)?.text).toBe("It says alpha.");
    expect(notices(messages)).toEqual([expect.stringMatching(/^quick .*strong/)]);
    expect(answers(messages).map(({ answeredBy }) => answeredBy?.model ?? null)).toEqual(["quick", null, "strong"]);
    // The tool's result went along to the deep model.
    expect(server.requests.at(-1)?.messages.at(-1)?.toolResults[0]?.text).toContain("alpha");
  });

  it("continues with the deep model after three identical failures of the fast one", async () => {
    const server = await start(({ model }) =>
      model === "quick" ? { toolCalls: [{ name: "read_file", args: { path: "none.txt" } }] } : { text: "There is no such file." },
    );
    const { send } = await open(work(server));
    const { quest, messages } = await send("What is in none.txt?");
    expect(quest.status).toBe("done");
    expect(notices(messages)).toEqual([expect.stringMatching(/quick.*read_file.*strong/)]);
    expect(partsOf(messages, "tool")).toHaveLength(3);
  });

  it("continues with the deep model after an empty answer of the fast one", async () => {
    const server = await start(byModel({ quick: { text: "" }, strong: { text: "Here I am." } }));
    const { send } = await open(work(server));
    const { quest, messages } = await send("Hello");
    expect(quest.status).toBe("done");
    expect(partsOf(messages, "text").at(-1)?.text).toBe("Here I am.");
    expect(notices(messages)).toEqual([expect.stringMatching(/quick.*strong/)]);
  });

  it("drops the text of a failed provider, reports the failure, and stays with the next provider", async () => {
    const first = await start(inOrder({ text: "Half of an answer that breaks off", fault: "cut_clean" }));
    const second = await start(({ messages }) =>
      messages.at(-1)?.role === "tool" ? { text: "alpha" } : { toolCalls: [{ name: "read_file", args: { path: "a.txt" } }] },
    );
    const { send, decisions } = await open(work(first).replace(/, deep: .*?\} \} \}/, " }") + spare(second), "failover: [spare]\n");
    const { quest, messages } = await send("What is in a.txt?");
    expect(quest).toMatchObject({ status: "done", model: "spare/spare-quick" });
    expect(partsOf(messages, "text").map(({ text }) => text)).toEqual(["What is in a.txt?", "alpha"]);
    expect(notices(messages)).toEqual([expect.stringMatching(/Spare \(spare-quick\)/)]);
    expect((await decisions()).map(({ rule, provider }) => [rule, provider])).toEqual([
      ["default", "work"],
      ["failover", "spare"],
      ["failover", "spare"],
    ]);
  });

  it("fails with the original error when no failover is allowed", async () => {
    const first = await start(inOrder({ fault: "http401" }));
    const { send } = await open(work(first));
    const { quest, messages } = await send("Hello");
    expect(quest.status).toBe("failed");
    expect(notices(messages)).toEqual([expect.stringContaining("API key")]);
    expect(messages.every((message) => !message.open)).toBe(true);
  });

  it("is told once, in the chat, that router.yaml is broken", async () => {
    const server = await start(inOrder({ text: "ok" }));
    const { send } = await open(work(server));
    const { questId } = await send("Hello");
    write("router.yaml", "retries: { base_seconds: 0 }\noffline: nowhere\n");
    await send("Hello again", questId);
    const again = await send("And again", questId);
    expect(notices(again.messages)).toEqual([
      expect.stringContaining("config/router.yaml in the data folder, line 2: offline must be one of local, wait"),
    ]);
  });
});

describe("the model override of a task", () => {
  it("applies from the next step, with an event and a receipt, and can be removed", async () => {
    const server = await start(inOrder({ text: "ok" }));
    const { send, handlers, events } = await open(work(server));
    const { questId } = await send("Hello");
    const chosen = await handlers["quests.override"]({ id: questId, override: { lane: "flagship_deep" } }, call);
    expect(chosen.override).toEqual({ lane: "flagship_deep" });
    expect(events.findLast(({ topic }) => topic === "quest")?.payload).toMatchObject({ id: questId, override: { lane: "flagship_deep" } });
    expect((await handlers["router.decide"]({ taskType: "chat", text: "", questId }, call)).rule).toBe("override");
    await send("Hello again", questId);
    for (const none of [null, {}]) {
      const back = await handlers["quests.override"]({ id: questId, override: none }, call);
      expect(back.override).toBeUndefined();
    }
    await send("And again", questId);
    expect(server.requests.map(({ model }) => model)).toEqual(["quick", "strong", "quick"]);
    const receipts = await handlers["receipts.search"]({ questId, query: "quests.override", limit: 10 }, call);
    expect(receipts.items.map(({ actionName, status }) => [actionName, status])).toEqual(
      Array.from({ length: 3 }, () => ["quests.override", "success"]),
    );
  });

  it("applies during a run, and survives a restart", async () => {
    const server = await start(({ messages }) =>
      messages.at(-1)?.role === "tool" ? { text: "Done." } : { toolCalls: [{ name: "ask_owner", args: { question: "Which?" } }] },
    );
    const { handlers, host } = await open(work(server));
    const { questId } = await handlers["chat.send"]({ text: "Hello" }, call);
    await server.requested(1);
    await handlers["quests.override"]({ id: questId, override: { model: "third" } }, call);
    await host.close();
    hosts.length = 0;
    const again = await open(work(server));
    const { quest } = await again.handlers["quests.get"]({ id: questId }, call);
    expect(quest.override).toEqual({ model: "third" });
    await again.send("Go on", questId);
    expect(server.requests.at(-1)?.model).toBe("third");
  });

  it.each([
    [{ provider: "nobody" }, "not_found"],
    [{ provider: "work", lane: "local_utility" as const }, "invalid_params"],
    [{ lane: "local_utility" as const }, "unavailable"],
  ])("is refused when it is %j, and nothing changes", async (override, code) => {
    const server = await start(inOrder({ text: "ok" }));
    const { send, handlers } = await open(work(server));
    const { questId } = await send("Hello");
    await expect(handlers["quests.override"]({ id: questId, override }, call)).rejects.toMatchObject({ code });
    expect((await handlers["quests.get"]({ id: questId }, call)).quest.override).toBeUndefined();
    const receipts = await handlers["receipts.search"]({ questId, query: "quests.override", limit: 10 }, call);
    expect(receipts.items.map(({ status }) => status)).toEqual(["failure"]);
  });
});
