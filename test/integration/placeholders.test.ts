import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Message } from "../../agent-server/contract/chat.ts";
import type { Emit } from "../../agent-server/contract/events.ts";
import type { Posture } from "../../agent-server/contract/governance.ts";
import { createHost, type Host } from "../../agent-server/host.ts";
import { productPaths } from "../../agent-server/paths.ts";
import { inOrder } from "../support/model-server/script.ts";
import { type ModelServer, startModelServer } from "../support/model-server/server.ts";
import type { Script } from "../support/model-server/turn.ts";
import { makeFolders } from "../support/orchestrator/harness.ts";
import { asks, quotingModel, saysDone } from "../support/placeholders/quoting-model.ts";
import { makeSource, type Source } from "../support/placeholders/sources.ts";
import { transform } from "../support/placeholders/transforms.ts";
import { useModelServer } from "../support/tasks/two-file-change.ts";

type ServerKind = Parameters<ModelServer["url"]>[0];

const call = { owner: true, signal: new AbortController().signal };
const same = (value: string): string => value;

let folders: ReturnType<typeof makeFolders>;
let server: ModelServer | null = null;
let host: Host | null = null;
let seen: string[];
let deltas: string[];

beforeEach(() => {
  folders = makeFolders(fastFolder());
  seen = [];
  deltas = [];
});
afterEach(async () => {
  await host?.close();
  await server?.close();
  host = null;
  server = null;
  folders.remove();
});

/** In memory where the system has that: three hundred tasks' worth of durable writes are not what is tested here. */
function fastFolder(): string {
  return existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
}

/** What waits for a task to stop running. */
const watchers = new Set<() => void>();

async function open(posture: Posture = "autonomous"): Promise<Host> {
  const emit: Emit = (topic, payload) => {
    seen.push(JSON.stringify(payload));
    if (topic === "delta") deltas.push((payload as { text: string }).text);
    if (topic === "quest") for (const watch of watchers) watch();
  };
  host = await createHost({
    paths: productPaths(),
    workspace: folders.workspace,
    dataDir: folders.dataDir,
    trusted: true,
    posture,
    approvalTimeoutSeconds: 60,
    canAsk: true,
    askEditor: null,
    env: { ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k", GEMINI_API_KEY: "k" },
    emit,
    lastEventSeq: () => seen.length,
    log: (message, error) => seen.push(`${message} ${error instanceof Error ? (error.stack ?? error.message) : ""}`),
  });
  return host;
}

async function start(script: Script, kind: ServerKind = "anthropic", posture: Posture = "autonomous"): Promise<Host> {
  server = await startModelServer({ script });
  useModelServer(folders.dataDir, server.url(kind), kind);
  return open(posture);
}

/** Sends the owner's words and waits until the task no longer runs. */
async function say(to: Host, text: string, questId?: string): Promise<{ questId: string; messages: Message[]; status: string }> {
  const sent = await to.handlers["chat.send"]({ text, ...(questId === undefined ? {} : { questId }) }, call);
  for (;;) {
    const { quest, messages } = await to.handlers["quests.get"]({ id: sent.questId }, call);
    if (quest.status !== "active") return { questId: sent.questId, messages, status: quest.status };
    const { promise, resolve } = Promise.withResolvers<void>();
    watchers.add(resolve);
    await promise;
    watchers.delete(resolve);
  }
}

function put(path: string, text: string): string {
  const file = join(folders.workspace, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

const read = (path: string): string => readFileSync(join(folders.workspace, path), "utf8");
const requests = (): string[] => (server?.requests ?? []).map(({ raw }) => JSON.stringify(raw));
const textsOf = (messages: readonly Message[], type: "text" | "thinking"): string =>
  messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === type ? [part.text] : []))).join("\n");
const outputs = (messages: readonly Message[]): string[] =>
  messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "tool" ? [part.output ?? ""] : [])));

/** The values of the task a request belongs to, where they stand in it. */
function leaks(sources: readonly Source[]): string[] {
  return requests().flatMap((text) => {
    const last = [...text.matchAll(/Exchange (\d+): tidy/g)].at(-1)?.[1] ?? "";
    const ofTask = sources.filter(({ number }) => Math.floor(number / 10) === Math.floor(Number(last) / 10));
    expect(ofTask.length).toBeGreaterThan(0);
    return places(
      ofTask.flatMap(({ secrets, personal }) => [...secrets, ...personal]),
      [text],
    );
  });
}

/** Where a value stands that must not stand there. */
function places(values: readonly string[], texts: readonly string[]): string[] {
  return texts.flatMap((text, index) =>
    values
      .filter((value) => text.includes(value))
      .map((value) => `${value} in ${String(index)}: ${text.slice(Math.max(0, text.indexOf(value) - 60), text.indexOf(value) + 60)}`),
  );
}

/** Every file of the data folder but the before-images, which are the files themselves. */
function stored(): string[] {
  return readdirSync(folders.dataDir, { recursive: true, withFileTypes: true }).flatMap((entry) => {
    const path = join(entry.parentPath, entry.name);
    return entry.isFile() && !path.includes("/objects/") ? [readFileSync(path, "latin1")] : [];
  });
}

describe("three hundred exchanges with a model that quotes, edits and moves what it is shown", () => {
  it.each<[ServerKind, number]>([
    ["anthropic", 0],
    ["openai", 100],
    ["gemini", 200],
  ])("%s", async (kind, first) => {
    const sources: Source[] = [];
    const now = await start(quotingModel, kind);
    let questId: string | undefined;
    for (let number = first; number < first + 100; number += 1) {
      const source = makeSource(number);
      sources.push(source);
      put(source.path, source.text);
      const expected = transform(number, source.path, source.text.replace(/\n$/, "").split("\n"), same);
      // Ten exchanges are a task of their own: what was hidden before stays hidden in what is sent again.
      const said = await say(now, asks(number, source.path), number % 10 === 0 ? undefined : questId);
      questId = said.questId;
      expect(said.status, JSON.stringify(said.messages.slice(-2))).toBe("done");
      expect(read(source.path), `${String(number)} ${outputs(said.messages).at(-1) ?? ""}`).toBe(`${expected.lines.join("\n")}\n`);
      if (!source.secrets.some((secret) => expected.value.includes(secret))) {
        expect(textsOf(said.messages, "text")).toContain(saysDone(number, expected.value));
        if (kind === "anthropic") expect(textsOf(said.messages, "thinking")).toContain(`It holds ${expected.value}.`);
      }
    }
    const secrets = sources.flatMap((source) => source.secrets);
    expect(requests().length).toBeGreaterThanOrEqual(300);
    expect(leaks(sources)).toEqual([]);
    expect(places(secrets, [seen.join("\n")])).toEqual([]);
    expect(deltas.filter((text) => /(?:EMAIL|PHONE|IBAN)_?[a-z]?\d/.test(text))).toEqual([]);
    const receipts = (await now.handlers["receipts.search"]({ actionType: "llm_call", limit: 1 }, call)).items;
    expect(receipts[0]?.metadata["hidden"]).toMatchObject({ email: 10, iban: 10, phone: 10, secret: 30 });
    await now.close();
    host = null;
    expect(places(secrets, stored())).toEqual([]);
  });
});
