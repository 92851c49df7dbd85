import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Message, Part } from "../../agent-server/contract/chat.ts";
import type { Emit } from "../../agent-server/contract/events.ts";
import { createHost, type Host } from "../../agent-server/host.ts";
import { productPaths } from "../../agent-server/paths.ts";
import { startModelServer, type ModelServer } from "../support/model-server/server.ts";
import type { Script, SeenRequest } from "../support/model-server/turn.ts";
import { makeFolders } from "../support/quests/harness.ts";

const call = { owner: true, signal: new AbortController().signal };
let folders: ReturnType<typeof makeFolders>;
const servers: ModelServer[] = [];
const hosts: Host[] = [];

beforeEach(() => {
  folders = makeFolders();
});
afterEach(async () => {
  for (const host of hosts.splice(0)) await host.close();
  for (const server of servers.splice(0)) await server.close();
  folders.remove();
});

async function start(script: Script): Promise<ModelServer> {
  const server = await startModelServer({ script });
  servers.push(server);
  mkdirSync(join(folders.dataDir, "config"), { recursive: true });
  const lanes = "fast: { model: quick }, deep: { model: quick }";
  const work = `work: { kind: anthropic, display_name: Work, base_url: "${server.url("anthropic")}", ${lanes} }`;
  writeFileSync(join(folders.dataDir, "config/models.yaml"), `active: work\nproviders:\n  ${work}\n`);
  return server;
}

/** A whole host, with a key for the model server unless said. */
async function open(env: NodeJS.ProcessEnv = { ANTHROPIC_API_KEY: "key" }) {
  let seq = 0;
  const watchers = new Set<() => void>();
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
    env: { FEATURE_UNIFIED_CLASSIFICATION: "false", ...env },
    emit,
    lastEventSeq: () => seq,
    log: () => undefined,
  });
  hosts.push(host);
  const { handlers } = host;
  const get = (id: string) => handlers["quests.get"]({ id }, call);
  async function when<T>(look: () => Promise<T | null>): Promise<T> {
    for (;;) {
      const found = await look();
      if (found !== null) return found;
      await new Promise<void>((resolve) => {
        const watch = (): void => {
          watchers.delete(watch);
          resolve();
        };
        watchers.add(watch);
      });
    }
  }
  const settled = (id: string) =>
    when(async () => {
      const found = await get(id);
      return found.quest.status === "active" ? null : found;
    });
  const send = async (text: string, questId?: string) => {
    const sent = await handlers["chat.send"]({ text, ...(questId === undefined ? {} : { questId }) }, call);
    return { ...(await settled(sent.questId)), ...sent };
  };
  /** The task once a notice in it says this. */
  const reported = (questId: string, expectedText: string) =>
    when(async () => {
      const found = await get(questId);
      return notices(found.messages).some((text) => text.includes(expectedText)) ? found : null;
    });
  const memories = async (query: string) =>
    (await handlers["memory.search"]({ query, tiers: ["core", "archival"], limit: 20 }, call)).items.map(({ item }) => item);
  return { host, handlers, send, reported, memories };
}

const notices = (messages: readonly Message[]): string[] =>
  messages.flatMap(({ parts }) =>
    parts.filter((part): part is Extract<Part, { type: "notice" }> => part.type === "notice").map(({ text }) => text),
  );
const lastAnswer = (messages: readonly Message[]): string =>
  messages
    .filter(({ role }) => role === "assistant")
    .flatMap(({ parts }) => parts.flatMap((part) => (part.type === "text" ? [part.text] : [])))
    .at(-1) ?? "";
/** A model that answers from its prompt alone, and saves these edits with the owner's message as evidence when it is told "note". */
const saves =
  (...edits: { target: string; content: string }[]): Script =>
  ({ system, messages }: SeenRequest) => {
    const last = messages.at(-1);
    if (last?.text.includes("Which port") === true)
      return { text: system.includes("8443") ? "Staging listens on 8443." : "I do not know the port." };
    const id = /\[message:([\w-]+)\]/.exec(last?.text ?? "")?.[1];
    if (last?.role === "tool" || id === undefined || !last?.text.includes("note")) return { text: "Done." };
    return {
      toolCalls: edits.map((edit) => ({ name: "memory_insert", args: { ...edit, reason: "Asked later.", provenance: `message:${id}` } })),
    };
  };
const toolNames = ({ tools }: SeenRequest): string[] => tools.map(({ name }) => name).filter((name) => name.startsWith("memory_"));

describe("a task that learns a fact", () => {
  it("keeps it with its evidence; a later task uses it; rolled back, it is gone from the next one, after a restart too", async () => {
    const server = await start(saves({ target: "archival", content: "The staging port is 8443" }));
    const first = await open();
    const learned = await first.send("Fix the header, and note: The staging port is 8443.");
    const [item] = await first.memories("staging port");
    expect(item).toMatchObject({
      tier: "archival",
      namespace: "workspace",
      content: "The staging port is 8443",
      provenance: { source: "user", ref: `message:${learned.messageId}` },
      questId: learned.questId,
    });
    await first.host.close();
    hosts.length = 0;

    const second = await open();
    const used = await second.send("Which port does staging listen on?");
    expect(lastAnswer(used.messages)).toBe("Staging listens on 8443.");
    const prompt = server.requests.at(-1);
    expect(prompt?.system).toContain("The staging port is 8443");
    const { items } = await second.handlers["context.items"]({ questId: used.questId }, call);
    expect(items.find(({ kind }) => kind === "memory")).toMatchObject({ path: "memory", origin: "host", pinned: true });

    const commit = (await second.handlers["memory.commits"]({ limit: 10 }, call)).items.find(({ diff }) =>
      diff.some(({ itemId }) => itemId === item?.id),
    );
    expect(commit).toMatchObject({ author: "agent", questId: learned.questId });
    await second.handlers["memory.rollback"]({ commitId: commit?.id ?? "", reason: "It moved." }, call);
    const third = await second.send("Which port does staging listen on now?");
    expect(lastAnswer(third.messages)).toBe("I do not know the port.");
    expect(server.requests.at(-1)?.system).not.toContain("8443");
    await second.host.close();
    hosts.length = 0;

    const fourth = await open();
    const again = await fourth.send("Thanks.", learned.questId);
    expect(again.quest.status).toBe("done");
    const last = await fourth.send("Which port does staging listen on?");
    expect(lastAnswer(last.messages)).toBe("I do not know the port.");
    expect(await fourth.memories("staging port 8443")).toEqual([]);
  });

  it("lets what belongs to a core block wait for the owner, and nothing of it is in a prompt before", async () => {
    const server = await start(
      saves(
        { target: "core:human", content: "I prefer short sentences" },
        { target: "core:operating_rules", content: "Never touch generated/" },
      ),
    );
    const { send, reported, handlers } = await open();
    const { questId } = await send("Tidy the readme, and note: I prefer short sentences. Never touch generated/.");
    const { messages } = await reported(questId, "- Pending: ");
    expect(notices(messages).at(-1)?.split("\n").slice(1).toSorted()).toEqual([
      "- Pending: I prefer short sentences",
      "- Pending: Never touch generated/",
    ]);
    await send("Now tidy the changelog.");
    expect(server.requests.at(-1)?.system).not.toContain("short sentences");
    const { items } = await handlers["memory.quarantine"]({ status: "pending", limit: 10 }, call);
    expect(items.map(({ target, content }) => `${target}: ${content ?? ""}`).toSorted((a, b) => (a < b ? -1 : 1))).toEqual([
      "core:human: I prefer short sentences",
      "core:operating_rules: Never touch generated/",
    ]);
    for (const { id } of items) await handlers["memory.promote"]({ id }, call);
    await send("Now tidy the licence.");
    expect(server.requests.at(-1)?.system).toContain("I prefer short sentences");
    expect(server.requests.at(-1)?.system).toContain("Never touch generated/");
  });

  it("proposes nothing where the owner's settings say so", async () => {
    await start(saves({ target: "core:human", content: "I prefer short sentences" }));
    writeFileSync(join(folders.dataDir, "config/memory.yaml"), "propose: false\n");
    const { send, handlers } = await open();
    const { questId } = await send("Fix the header, and note: I prefer short sentences.");
    const { messages } = await send("Thanks.", questId);
    expect((await handlers["memory.quarantine"]({ status: "pending", limit: 10 }, call)).items).toHaveLength(1);
    expect(notices(messages)).toEqual([]);
  });
});

describe("what the owner says of memory", () => {
  it("is done without any key, as the whole answer", async () => {
    const { send, memories, handlers } = await open({});
    const said = await send("Please remember that I prefer tabs.");
    expect(said.quest.status).toBe("done");
    expect(notices(said.messages).join("\n")).toContain("“I prefer tabs”");
    expect(await memories("tabs")).toMatchObject([
      { tier: "core", block: "human", content: "I prefer tabs", provenance: { source: "user", ref: `message:${said.messageId}` } },
    ]);
    const commit = (await handlers["memory.commits"]({ limit: 1 }, call)).items[0];
    expect(commit).toMatchObject({ author: "owner", questId: said.questId, status: "committed" });

    const shown = await send("/memory tabs", said.questId);
    expect(notices(shown.messages).at(-1)).toContain("- I prefer tabs (");
    const run = await handlers["chat.run"]({ message: "Merke dir, dass der Port 8443 ist.", crusader_mode: false }, call);
    expect(run).toMatchObject({ confidence: 1 });
    expect(run.response).toContain("“der Port 8443 ist”");

    const gone = await send("Forget that I prefer tabs.");
    expect(notices(gone.messages).join("\n")).toContain("“I prefer tabs”");
    expect(await memories("tabs")).toEqual([]);
    const forgot = (await handlers["memory.commits"]({ limit: 1 }, call)).items[0];
    await handlers["memory.rollback"]({ commitId: forgot?.id ?? "", reason: "Not so." }, call);
    expect(await memories("tabs")).toMatchObject([{ content: "I prefer tabs" }]);
  });

  it("is done beside the rest of a message, which the model answers and is told of it; it is in its prompt, and in later ones", async () => {
    const server = await start(() => ({ text: "Fixed." }));
    const { send, memories } = await open();
    const { messages, questId } = await send("Fix the build. Remember that our staging port is 8443.");
    expect(lastAnswer(messages)).toBe("Fixed.");
    expect(notices(messages).join("\n")).toContain("“our staging port is 8443”");
    const asked = server.requests.at(-1);
    expect(asked?.messages.at(-1)?.text).toMatch(/\[From the host: .*“our staging port is 8443”/);
    expect(asked?.system).toContain("our staging port is 8443");
    expect(await memories("staging port")).toHaveLength(1);
    await send("What did I say of the staging port?", questId);
    expect(server.requests.at(-1)?.system).toContain("our staging port is 8443");
  });

  it("is listed, not guessed, where several things may be meant", async () => {
    const { send, memories } = await open({});
    await send("Remember that the staging port is 8443.");
    await send("Remember that the production port is 443.");
    const { messages } = await send("Forget about the port.");
    const [expectedText = ""] = notices(messages);
    expect(expectedText).toContain("the staging port is 8443");
    expect(expectedText).toContain("the production port is 443");
    expect(await memories("port")).toHaveLength(2);
  });

  it("is refused with its reason when it holds a secret alone, and the secret is nowhere", async () => {
    const { send } = await open({});
    const key = `sk-ant-api03-${"a1B2c3D4".repeat(11)}-abcdefAA`;
    const { messages } = await send(`Remember that ${key} is the key.`);
    expect(JSON.stringify(messages)).not.toContain("a1B2c3D4a1B2c3D4");
  });
});

describe("a model that has the memory tools", () => {
  it("is told how to use them and which message holds the owner's words, and what it keeps is the owner's by that", async () => {
    const server = await start((request) => {
      const id = /\[message:([\w-]+)\]/.exec(request.messages.find(({ role }) => role === "user")?.text ?? "")?.[1] ?? "none";
      if (request.messages.at(-1)?.role === "tool") return { text: "Kept." };
      const args = { target: "archival", content: "Releases are cut by Ada.", reason: "Asked later.", provenance: `message:${id}` };
      return { toolCalls: [{ name: "memory_insert", args }] };
    });
    const { send, memories } = await open();
    const { messages, messageId } = await send("Who cuts releases? Releases are cut by Ada, note it down.");
    expect(lastAnswer(messages)).toBe("Kept.");
    expect(server.requests[0]?.system).toContain("look with memory_search");
    expect(await memories("releases")).toMatchObject([{ provenance: { source: "user", ref: `message:${messageId}` } }]);
  });
});

describe("with the flag MEMORY_VNEXT off", () => {
  it("tasks continue as before: nothing is recalled, kept, offered or said", async () => {
    const server = await start(() => ({ text: "Hello." }));
    const first = await open({ ANTHROPIC_API_KEY: "key", FEATURE_MEMORY_VNEXT: "false" });
    const { messages } = await first.send("Remember that we use pnpm. The staging port is 8443.");
    expect(lastAnswer(messages)).toBe("Hello.");
    expect(notices(messages)).toEqual([]);
    const [request] = server.requests;
    expect(request?.messages.at(-1)?.text).toBe("Remember that we use pnpm. The staging port is 8443.");
    expect(request === undefined ? null : toolNames(request)).toEqual([]);
    expect(request?.system).not.toContain("look with memory_search");
    expect(request?.system).not.toContain("What you remember");
    const asked = await first.send("/memory pnpm");
    expect(notices(asked.messages).join("\n")).toContain("MEMORY_VNEXT");
    await first.host.close();
    hosts.length = 0;
    const second = await open();
    expect(await second.memories("pnpm")).toEqual([]);
  });
});
