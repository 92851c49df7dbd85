import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ToolPart } from "../../agent-server/contract/chat.ts";
import type { Emit } from "../../agent-server/contract/events.ts";
import type { Approval } from "../../agent-server/contract/governance.ts";
import type { Params } from "../../agent-server/contract/table.ts";
import { createHost, type Host } from "../../agent-server/host.ts";
import { productPaths } from "../../agent-server/paths.ts";
import { loadPoisonings, type Poisoning } from "../support/memory/poisoning-attacks.ts";
import { type ModelServer, startModelServer } from "../support/model-server/server.ts";
import type { Script, SeenRequest, Turn } from "../support/model-server/turn.ts";
import { runs, sample } from "../support/soak.ts";
import { useModelServer } from "../support/tasks/two-file-change.ts";

/** The unit tests of the memory have more of them. */
const poisonings = sample(loadPoisonings(), [({ id }) => id.replace(/-\d+$/, "")], 3);
const byId = new Map(poisonings.map((one) => [one.id, one]));
const call = { owner: true, signal: new AbortController().signal };
/** Each of some two hundred tasks is written through to the disk at every step: in memory, where there is such a disk. */
const memoryDisk = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

let base = "";
let workspace = "";
let host: Host;
let server: ModelServer;
const watchers = new Set<() => void>();
/** Attacks whose words the model was really given. */
const seen = new Set<string>();
/** What became of the calls that remember. */
const statuses = new Map<string, number>();

const plain = (text: string): string => text.replaceAll(/\s+/g, " ").trim();

/** What the model is given of a task. */
function given({ system, messages }: SeenRequest): string {
  return [
    system,
    ...messages.flatMap(({ role, text, toolResults }) => (role === "assistant" ? [] : [text, ...toolResults.map((one) => one.text)])),
  ].join("\n");
}

/** How the words come to the model: what it does first, of its own accord. */
function opening({ id, via }: Poisoning): NonNullable<Turn["toolCalls"]> {
  if (via === "message") return [];
  if (via === "repository") return [{ name: "git_log", args: {} }];
  return [{ name: "read_file", args: { path: `t/${id}.md` } }];
}

/**
 * A model that has everything remembered that it reads, in every place and with every claim, promotes what waits, and says whatever
 * keeps it there.
 */
const obeying: Script = (request) => {
  const text = given(request);
  // What is recalled of earlier tasks names them too: the last words of the owner's are those of this one.
  const asked = request.messages.flatMap(({ role, text: said }) => (role === "user" ? [...said.matchAll(/#poison-([\w-]+)/g)] : []));
  const poisoning = byId.get(asked.at(-1)?.[1] ?? "");
  const steps = request.messages.filter(({ role }) => role === "assistant").length;
  if (poisoning === undefined) return { text: "Nothing to do." };
  const first = opening(poisoning);
  if (steps === 0 && first.length > 0) return { text: "I look.", toolCalls: first };
  if (steps > (first.length > 0 ? 1 : 0)) return { text: "Done. The owner approved all of it." };
  if (poisoning.via === "message" || poisoning.texts.some((one) => plain(text).includes(plain(one).slice(0, 24)))) seen.add(poisoning.id);
  const message = /message:[\w-]{8,}/.exec(text)?.[0] ?? "message:1";
  const insert = (target: string, content: string, provenance: string) => ({
    name: "memory_insert",
    args: { target, content, reason: "The owner asked for it.", provenance, confidence: 1 },
  });
  return {
    text: "I was told to, so I remember it.",
    toolCalls: [
      ...poisoning.texts.flatMap((content) => [
        insert("core:operating_rules", content, message),
        insert("core:human", content, message),
        insert("core:persona", content, "system"),
        insert("archival", content, message),
        insert("archival", content, "receipt:1"),
        insert("working", content, "agent"),
      ]),
      { name: "memory_promote", args: { id: "all" } },
    ],
  };
};

const emit: Emit = (topic, payload) => {
  if (topic === "approval") {
    const { id, status } = payload as Approval;
    if (status === "pending") queueMicrotask(() => void host.handlers["approvals.decide"]({ id, decision: "deny" }, call));
  }
  for (const watch of watchers) setImmediate(watch);
};

function git(args: string[], input?: string): void {
  const done = spawnSync("git", ["-c", "user.name=owner", "-c", "user.email=owner@example.com", ...args], {
    cwd: workspace,
    encoding: "utf8",
    ...(input === undefined ? {} : { input }),
  });
  if (done.status !== 0) throw new Error(`git ${args.join(" ")}: ${done.stderr}`);
}

beforeAll(async () => {
  base = realpathSync(mkdtempSync(join(memoryDisk, "lancelot-poisoning-")));
  workspace = join(base, "project");
  const dataDir = join(base, "data");
  for (const folder of [workspace, dataDir]) mkdirSync(folder, { recursive: true });
  for (const { id, via, texts } of poisonings) {
    if (via === "message" || via === "repository") continue;
    const path = join(workspace, `t/${id}.md`);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `# Notes\n\n${texts.join("\n\n")}\n`);
  }
  git(["init", "-q", "-b", "main"]);
  git(["commit", "-q", "--allow-empty", "-m", "first"]);
  server = await startModelServer({ script: obeying });
  useModelServer(dataDir, server.url("openai_compatible"));
  host = await createHost({
    paths: productPaths(),
    workspace,
    dataDir,
    trusted: true,
    posture: "supervised",
    approvalTimeoutSeconds: 60,
    canAsk: true,
    askEditor: null,
    env: { FEATURE_UNIFIED_CLASSIFICATION: "false" },
    emit,
    lastEventSeq: () => 0,
    log: () => undefined,
  });
});

afterAll(async () => {
  await host.close();
  await server.close();
  rmSync(base, { recursive: true, force: true });
});

async function runTask(send: Params<"chat.send">): Promise<ToolPart[]> {
  const { handlers } = host;
  const { questId } = await handlers["chat.send"](send, call);
  for (;;) {
    const { quest, messages } = await handlers["quests.get"]({ id: questId }, call);
    if (quest.status === "done" || quest.status === "failed" || quest.status === "waiting") {
      if (quest.status === "waiting") await handlers["chat.cancel"]({ questId }, call);
      return messages.flatMap(({ parts }) => parts.filter((part): part is ToolPart => part.type === "tool"));
    }
    await new Promise<void>((resolve) => {
      const watch = (): void => {
        watchers.delete(watch);
        resolve();
      };
      watchers.add(watch);
    });
  }
}

/** The part of a prompt that is not marked as data. */
const outsideMarks = (text: string): string => text.replaceAll(/\[data (\w+) from [^\]]*\][\s\S]*?\[end \1\]/g, " ");

describe("a model that has everything remembered that it reads", () => {
  it.each(poisonings.map((one) => [one.id, one] as const))("%s changes no core block", async (id, poisoning) => {
    const { via, texts, said } = poisoning;
    if (via === "repository") git(["commit", "-q", "--allow-empty", "-F", "-"], `fix: ${texts.join(" ").replaceAll("\n", " ")}`);
    const calls = await runTask({ text: `${said ?? "Please have a look."} #poison-${id}` });
    const inserts = calls.filter(({ tool }) => tool === "memory_insert");
    // The model did obey: its calls were judged, and none of them reached the persona, nor promoted anything.
    expect(inserts.length).toBeGreaterThanOrEqual(6);
    for (const { status } of inserts) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    for (const { args, status } of inserts) if (JSON.stringify(args).includes("core:persona")) expect(status).not.toBe("success");
    expect(calls.filter(({ tool, status }) => tool === "memory_promote" && status === "success")).toEqual([]);
    const { blocks } = await host.handlers["memory.core"]({}, call);
    expect(blocks.flatMap(({ entries }) => entries)).toEqual([]);
  });

  it("was given the words it should remember", () => {
    expect(seen.size / poisonings.length).toBeGreaterThan(0.9);
    // Notes of the task at hand are kept, as data; nearly everything else is not.
    expect(statuses.get("success")).toBeGreaterThan(runs(4, 20));
    expect((statuses.get("failure") ?? 0) + (statuses.get("denied") ?? 0)).toBeGreaterThan(poisonings.length * 3);
  });

  it("finds none of them in a later prompt but between the marks around data", async () => {
    const before = server.requests.length;
    for (const { texts } of poisonings.filter(({ via }, number) => via === "slow" || number % 8 === 0))
      await runTask({ text: `What do we know of this: ${texts[0]?.slice(0, 40) ?? ""}` });
    const later = server.requests.slice(before);
    expect(later.length).toBeGreaterThan(runs(4, 20));
    expect(later.some(({ system }) => / from memory[^\]]*\]/.test(system))).toBe(true);
    for (const { system } of later) {
      const outside = plain(outsideMarks(system));
      for (const { texts } of poisonings)
        for (const text of texts.filter((one) => one.length > 20)) expect(outside).not.toContain(plain(text));
    }
  });

  it("leaves at most what waits for the owner, and a ledger that is whole", async () => {
    const { items } = await host.handlers["memory.quarantine"]({ status: "promoted", limit: 200 }, call);
    expect(items).toEqual([]);
    expect(await host.handlers["receipts.verify"]({}, call)).toMatchObject({ ok: true });
  });
});
