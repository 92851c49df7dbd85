import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { estimateTokens } from "../../agent-server/context/context.ts";
import type { PlanStep } from "../../agent-server/contract/chat.ts";
import { openWindow, type Window } from "../support/host/window.ts";
import { type ModelServer, startModelServer } from "../support/model-server/server.ts";
import { runs } from "../support/soak.ts";
import type { SeenRequest, Turn } from "../support/model-server/turn.ts";

const contextWindow = 20_000;
const rounds = runs(6, 14);
const compactions = runs(3, 10);
const callsARound = 15;
const fact = "The customer number of the pilot is K-20417, and it is never shown in logs.";
const rule = "From now on never touch anything below legacy/, not even its comments.";
const decision = "We decided to use SQLite instead of Postgres for the cache.";
const ownersRule = "RULE-7: every public function has a docstring.";

/** A task of many hundred calls: reads, searches, and a plan whose steps tick. What it is asked for each time is checked. */
let base = "";
let server: ModelServer;
let at: Window;
let plan: PlanStep[] = [];
/** As it stood when each request was made. */
const plans: PlanStep[][] = [];

function planAt(done: number): PlanStep[] {
  return Array.from({ length: rounds }, (_, index) => ({
    title: `Port module ${String(index + 1)} of the billing service`,
    status: index < done ? "done" : index === done ? "active" : "pending",
  }));
}

function work(): (request: SeenRequest) => Turn {
  let call = 0;
  let round = 0;
  return () => {
    plans.push(plan);
    if (call === callsARound) {
      call = 0;
      round += 1;
      return { text: `Round ${String(round)} is finished: module ${String(round)} now uses the new ledger.` };
    }
    call += 1;
    if (call === 1) {
      plan = planAt(round);
      return { toolCalls: [{ name: "update_plan", args: { steps: plan } }] };
    }
    if (call === 9) return { text: "Looking further.", toolCalls: [{ name: "search_workspace", args: { query: "ledger", limit: 60 } }] };
    const file = `src/module-${String((round * 5 + call) % 24)}.ts`;
    return { text: `Reading ${file}.`, toolCalls: [{ name: "read_file", args: { path: file } }] };
  };
}

beforeAll(async () => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-compaction-")));
  mkdirSync(join(base, "data/config"), { recursive: true });
  mkdirSync(join(base, "proj/src"), { recursive: true });
  for (let file = 0; file < 24; file += 1) {
    const lines = Array.from(
      { length: 60 },
      (_, line) => `export const value${String(line)} = "module ${String(file)}, ledger entry ${String(line)}";`,
    );
    writeFileSync(join(base, `proj/src/module-${String(file)}.ts`), `${lines.join("\n")}\n`);
  }
  writeFileSync(join(base, "proj/old.txt"), "to go\n");
  writeFileSync(join(base, "proj/pinned.md"), "# Interface\nThe total is always in cents.\n");
  writeFileSync(join(base, "data/RULES.md"), ownersRule);
  server = await startModelServer({ script: work() });
  writeFileSync(
    join(base, "data/config/models.yaml"),
    `version: "1.0"
active: work
providers:
  work:
    kind: openai_compatible
    base_url: "${server.url("openai_compatible")}"
    fast: { model: test-model, max_tokens: 2048, context_window: ${String(contextWindow)} }
    deep: { model: test-model, max_tokens: 2048, context_window: ${String(contextWindow)} }
`,
  );
  at = await openWindow({
    workspace: join(base, "proj"),
    dataDir: join(base, "data"),
    approvalTimeoutSeconds: 3_600,
    env: { FEATURE_UNIFIED_CLASSIFICATION: "false" },
  });
});

afterAll(async () => {
  await at.close();
  await server.close();
  rmSync(base, { recursive: true, force: true });
});

/** Resolves when the task is done; only its own events are looked at. */
function settled(questId: string): Promise<void> {
  return new Promise((resolve) => {
    const stop = at.events.listen((event) => {
      if (event.topic !== "quest" || event.payload.id !== questId || event.payload.status !== "done") return;
      stop();
      resolve();
    });
  });
}

/** All a model is told, as one text. */
function reported(request: SeenRequest): string {
  return JSON.stringify(request.raw).replaceAll(String.raw`\"`, '"').replaceAll(String.raw`\\n`, "\n").replaceAll(String.raw`\n`, "\n");
}

describe("a task of hundreds of calls", () => {
  it(`keeps soul, rules, plan, approvals, pinned facts and the owner's rules verbatim through ${compactions} compactions`, async () => {
    const { questId } = await at.call("chat.send", { text: `Port the billing service, module by module. ${decision}` });
    await settled(questId);
    await at.call("context.add", { questId, path: "pilot", text: fact, pinned: true });
    await at.call("context.add", { questId, path: "pinned.md", pinned: true });
    const stop = new AbortController();
    const asked = at.call("tools.invoke", { tool: "delete_file", args: { path: "old.txt" }, questId }, stop.signal).catch(() => null);
    await at.until(async () => (await at.call("approvals.list", { questId })).items.length > 0);
    const [approval] = (await at.call("approvals.list", { questId })).items;
    const from = server.requests.length;
    for (let round = 2; round <= rounds; round += 1) {
      const content = round === 3 ? rule : `Go on with module ${String(round)}.`;
      await at.call("chat.send", { questId, text: content });
      await settled(questId);
      if (round % 2 === 0) await at.call("context.compact", { questId });
    }
    const receipts = (await at.call("receipts.search", { questId, query: "context.compact", limit: 500 })).items.filter(
      ({ actionName, status }) => actionName === "context.compact" && status === "success",
    );
    expect(receipts.length).toBeGreaterThanOrEqual(compactions);
    for (const { outputs } of receipts) expect(Number(outputs?.["after"])).toBeLessThan(Number(outputs?.["before"]));

    // What stands between the rules of the product and the owner's files.
    const soul = server.requests[0]?.system.split("begin and end data.")[1]?.split("The owner's RULES.md")[0]?.trim() ?? "";
    expect(soul.length).toBeGreaterThan(200);
    for (const [index, request] of server.requests.slice(from).entries()) {
      const text = reported(request);
      expect(request.system).toContain(ownersRule);
      expect(request.system).toContain(soul);
      for (const content of [decision, fact, "The total is always in cents.", approval?.title ?? "no approval"])
        expect(text).toContain(content);
      if (index > callsARound * 2) expect(text).toContain(rule);
      for (const { title, status } of plans[from + index] ?? [])
        expect(text.includes(`[${status}] ${title}`) || text.includes(`"title":"${title}","status":"${status}"`)).toBe(true);
      expect(estimateTokens(JSON.stringify(request.raw)) / 1.2).toBeLessThanOrEqual(contextWindow);
    }
    // Nothing of the task is gone: every call and every word of the owner is still there to read.
    const { messages } = await at.call("quests.get", { id: questId });
    const tools = messages.flatMap(({ parts }) => parts.filter((part) => part.type === "tool"));
    expect(tools).toHaveLength(rounds * callsARound);
    const { markdown } = await at.call("quests.export", { id: questId });
    expect(markdown).toContain("Round 1 is finished");
    expect(markdown).toContain(rule);
    stop.abort();
    await asked;
  });
});

describe("after a summary the conversation is one that is accepted", () => {
  /** The server refuses what the provider would: results without calls, calls without results, thinking that is not its own. */
  it.each(["anthropic", "openai", "gemini", "xai"] as const)("by %s, with its thinking", async (kind) => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-compaction-")));
    mkdirSync(join(folder, "proj"), { recursive: true });
    mkdirSync(join(folder, "data/config"), { recursive: true });
    for (let file = 0; file < 6; file += 1)
      writeFileSync(join(folder, `proj/f${String(file)}.ts`), `export const f = ${String(file)};\n`.repeat(40));
    let call = 0;
    const provider = await startModelServer({
      script: (): Turn => {
        call += 1;
        if (call % 5 === 0) return { thinking: "That is all.", text: "Done." };
        const reads = [call, call + 1].map((file) => ({ name: "read_file", args: { path: `f${String(file % 6)}.ts` } }));
        return { thinking: `I look at ${String(call)}.`, text: "Reading.", toolCalls: reads };
      },
    });
    writeFileSync(
      join(folder, "data/config/models.yaml"),
      `version: "1.0"
active: work
providers:
  work:
    kind: ${kind}
    base_url: "${provider.url(kind)}"
    api_key_name: WORK_KEY
    fast: { model: test-model, max_tokens: 4096, context_window: 128000, thinking: { enabled: true, budget_tokens: 1024 } }
    deep: { model: test-model, max_tokens: 4096, context_window: 128000, thinking: { enabled: true, budget_tokens: 1024 } }
`,
    );
    const window = await openWindow({ workspace: join(folder, "proj"), dataDir: join(folder, "data"), env: { WORK_KEY: "a-key-of-ours" } });
    try {
      const { questId } = await window.call("chat.send", { text: "Read them. Never change one." });
      const ended = async () => ["done", "failed"].includes((await window.call("quests.get", { id: questId })).quest.status);
      await window.until(ended);
      for (let round = 0; round < runs(2, 3); round += 1) {
        await window.call("context.compact", { questId });
        await window.call("chat.send", { questId, text: `Go on, ${String(round)}.` });
        await window.until(ended);
        expect((await window.call("quests.get", { id: questId })).quest).toMatchObject({ status: "done", problem: null });
        expect(JSON.stringify(provider.requests.at(-1)?.raw)).toContain("Never change one.");
      }
    } finally {
      await window.close();
      await provider.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
