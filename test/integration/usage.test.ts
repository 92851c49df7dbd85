import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { lancelot } from "../support/host/terminal.ts";
import { openWindow, type Window } from "../support/host/window.ts";
import { type ModelServer, startModelServer } from "../support/model-server/server.ts";
import { byWords } from "../support/model-server/script.ts";
import { useModelServer } from "../support/tasks/two-file-change.ts";

let base: string;
let server: ModelServer;
const windows: Window[] = [];

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-usage-")));
  for (const folder of ["proj", "data/config"]) mkdirSync(join(base, folder), { recursive: true });
});
afterEach(async () => {
  for (const window of windows.splice(0)) await window.close();
  await server.close();
  rmSync(base, { recursive: true, force: true });
});

const data = (): string => join(base, "data");
async function open(): Promise<Window> {
  const env = { ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k", GEMINI_API_KEY: "k", XAI_API_KEY: "k" };
  const window = await openWindow({ workspace: join(base, "proj"), dataDir: data(), env });
  windows.push(window);
  return window;
}
function price(rows: string): void {
  writeFileSync(join(data(), "config/prices.yaml"), `prices:\n${rows}`);
}
async function ask(window: Window, text: string): Promise<string> {
  const { questId } = await window.call("chat.send", { text });
  await ended(window, questId);
  return questId;
}
async function ended(window: Window, questId: string): Promise<void> {
  await window.until(async () => !["active", "waiting"].includes((await window.call("quests.get", { id: questId })).quest.status));
}

/** What each provider reports on its wire, and what that comes to at 2 in, 0.2 from and 2.5 into the cache, 10 out, a million. */
const accounts: { kind: "anthropic" | "openai" | "gemini" | "xai" | "openai_compatible"; usage: Record<string, number>; usd: number }[] = [
  {
    kind: "anthropic",
    usage: { inputTokens: 12_000, cachedInputTokens: 8_000, cacheWriteTokens: 3_000, outputTokens: 900, reasoningTokens: 400 },
    usd: (1_000 * 2 + 8_000 * 0.2 + 3_000 * 2.5 + 900 * 10) / 1e6,
  },
  {
    kind: "openai",
    usage: { inputTokens: 9_000, cachedInputTokens: 4_000, outputTokens: 700, reasoningTokens: 300 },
    usd: (5_000 * 2 + 4_000 * 0.2 + 700 * 10) / 1e6,
  },
  {
    kind: "gemini",
    usage: { inputTokens: 9_000, cachedInputTokens: 4_000, outputTokens: 700, reasoningTokens: 300, toolTokens: 250 },
    usd: (5_000 * 2 + 4_000 * 0.2 + 700 * 10) / 1e6,
  },
  {
    kind: "xai",
    usage: { inputTokens: 5_000, cachedInputTokens: 1_000, outputTokens: 600, reasoningTokens: 200 },
    usd: (4_000 * 2 + 1_000 * 0.2 + 600 * 10) / 1e6,
  },
  {
    kind: "openai_compatible",
    usage: { inputTokens: 5_000, cachedInputTokens: 1_000, outputTokens: 600 },
    usd: (4_000 * 2 + 1_000 * 0.2 + 600 * 10) / 1e6,
  },
];

describe("what the real SDKs report", () => {
  it.each(accounts)("of $kind is counted to the token, and priced", async ({ kind, usage, usd }) => {
    server = await startModelServer({ script: byWords({ "Say something": [{ text: "Something.", usage }] }) });
    useModelServer(data(), server.url(kind === "xai" || kind === "openai_compatible" ? "openai_compatible" : kind), kind);
    price('  - { provider: work, models: ["*"], input: 2, cached_input: 0.2, cache_write: 2.5, output: 10 }\n');
    const window = await open();
    const questId = await ask(window, "Say something");
    const { quest } = await window.call("quests.get", { id: questId });
    expect(quest.problem).toBeNull();
    const { total, byQuest, byDay } = await window.call("usage.summary", { days: 1 });
    expect(total).toMatchObject({ calls: 1, usage, unpricedCalls: 0 });
    expect(total.costUsd).toBeCloseTo(usd, 9);
    expect(quest.costUsd).toBe(total.costUsd);
    expect(byQuest).toMatchObject([{ key: questId, name: "Say something" }]);
    expect(byDay).toHaveLength(1);
    const { items } = await window.call("receipts.search", { questId, actionType: "llm_call" });
    expect(items[0]?.metadata).toMatchObject({ costUsd: total.costUsd, usage });
  });
});

describe("an answer that breaks off", () => {
  it("is counted by what came of it, on the high side, and its receipt says that it is an estimate", async () => {
    const args = "Some words that came before the end. ".repeat(20);
    const usage = { inputTokens: 500, outputTokens: 10 };
    // The fault happens once; the next try has the whole.
    server = await startModelServer({ script: byWords({ "Break off": [{ text: args, usage, fault: "cut_clean" }] }) });
    useModelServer(data(), server.url("openai_compatible"));
    price('  - { provider: work, models: ["*"], input: 2, output: 10 }\n');
    const window = await open();
    const questId = await ask(window, "Break off");
    const { items } = await window.call("receipts.search", { questId, actionType: "llm_call" });
    const cut = items.find(({ status }) => status === "failure");
    const estimate = cut?.metadata["usageEstimated"] as { inputTokens: number; outputTokens: number } | undefined;
    expect(estimate?.outputTokens).toBeGreaterThan(0);
    expect(estimate?.outputTokens).toBeLessThanOrEqual(args.length / 3 + 1);
    expect(estimate?.inputTokens).toBeGreaterThan(500);
    expect(cut?.metadata["usage"]).toBeUndefined();
    const { total } = await window.call("usage.summary", { days: 1 });
    expect(total.calls).toBe(2);
    expect(total.usage.inputTokens).toBe((estimate?.inputTokens ?? 0) + usage.inputTokens);
    expect(total.usage.outputTokens).toBe((estimate?.outputTokens ?? 0) + usage.outputTokens);
  });

  it("before its first word is not counted", async () => {
    server = await startModelServer({ script: byWords({ "Break off": [{ text: "Whole.", fault: "http503" }] }) });
    useModelServer(data(), server.url("openai_compatible"));
    const window = await open();
    await ask(window, "Break off");
    expect((await window.call("usage.summary", { days: 1 })).total.calls).toBe(1);
  });
});

describe("a cap", () => {
  const usage = { inputTokens: 4_000, outputTokens: 1_000 };
  beforeEach(async () => {
    server = await startModelServer({
      script: byWords({ "First things": [{ text: "Done.", usage }], "Second things": [{ text: "Done too.", usage }] }),
    });
    useModelServer(data(), server.url("openai_compatible"));
    price('  - { provider: work, models: ["*"], input: 100, output: 100 }\n');
  });

  it("ends the task before the call, in every window, and the task continues once it is raised", async () => {
    const here = await open();
    const there = await open();
    await ask(here, "First things");
    await there.call("usage.setCaps", { questUsd: null, dayUsd: 0.6 });
    const sent = server.requests.length;
    const questId = await ask(here, "Second things");
    expect(server.requests).toHaveLength(sent);
    const { quest, messages } = await here.call("quests.get", { id: questId });
    expect(quest.status).toBe("failed");
    expect(quest.costUsd).toBeUndefined();
    expect(messages.flatMap(({ parts }) => parts.filter(({ type }) => type === "notice"))).toMatchObject([
      { level: "error", action: "raise_cap", text: expect.stringMatching(/^Not sent: .* \$0\.60 for today, \$0\.50 is spent\./) },
    ]);
    const { items } = await here.call("router.decisions", { limit: 1 });
    expect(items[0]).toMatchObject({ success: false, error: expect.stringContaining("Not sent") });

    await here.call("usage.setCaps", { questUsd: 5, dayUsd: 50 });
    await here.call("quests.resume", { id: questId });
    await ended(here, questId);
    expect((await here.call("quests.get", { id: questId })).quest).toMatchObject({ status: "done", costUsd: 0.5 });
    expect((await there.call("usage.summary", { days: 1 })).today).toMatchObject({ calls: 2, costUsd: 1 });
    expect(readFileSync(join(data(), "config/usage.yaml"), "utf8")).toContain("day_usd: 50");
    const receipts = await here.call("receipts.search", { query: "setCaps" });
    expect(receipts.items.map(({ status }) => status)).toEqual(["success", "success"]);
  });

  it("that cannot hold for a model without a price is reported, and nothing is sent", async () => {
    useModelServer(data(), server.url("anthropic"), "anthropic");
    price('  - { provider: other, models: ["*"], input: 1, output: 1 }\n');
    const window = await open();
    await window.call("usage.setCaps", { questUsd: 1, dayUsd: null });
    const questId = await ask(window, "First things");
    expect(server.requests).toHaveLength(0);
    const { messages } = await window.call("quests.get", { id: questId });
    expect(JSON.stringify(messages)).toContain("work/test-model");
  });
});

describe("lancelot usage", () => {
  it("reports what was used and cost, and sets caps that the next call keeps to", async () => {
    server = await startModelServer({
      script: byWords({ "First things": [{ text: "Done.", usage: { inputTokens: 4_000, outputTokens: 1_000 } }] }),
    });
    useModelServer(data(), server.url("openai_compatible"));
    price('  - { provider: work, models: ["*"], input: 100, output: 100 }\n');
    const usage = (...words: string[]) => lancelot(["usage", ...words, "--data", data()], { cwd: join(base, "proj") });
    const window = await open();
    await ask(window, "First things");
    expect((await usage("cap", "day", "0.60")).stdout).toMatch(/none.*\$0\.60/);
    const { stdout } = await usage("7");
    expect(stdout).toContain("$0.50 of $0.60");
    expect(stdout).toMatch(/\$0\.50 {2}4,000 .*1,000 .*First things/);
    await ask(window, "First things again");
    expect(server.requests).toHaveLength(1);
    const wrong = await usage("cap", "day", "five");
    expect([wrong.status, wrong.stderr]).toEqual([1, expect.stringContaining("lancelot usage [DAYS]")]);
  });
});
