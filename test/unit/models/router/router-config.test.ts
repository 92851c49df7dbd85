import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { createRouterFile, loadRouter } from "../../../../agent-server/models/router/router-config.ts";

const configDir = join(import.meta.dirname, "../../../../config");
const shipped = readFileSync(join(configDir, "router.yaml"), "utf8");
const names = ["anthropic", "openai", "local"];
const load = (yaml: string) => loadRouter(shipped, yaml, names);

describe("the shipped router.yaml", () => {
  it("has the published schema and sends nothing to another provider", () => {
    const { config, problem, notices } = loadRouter(shipped, null, names);
    expect([problem, notices]).toEqual([null, []]);
    expect(config.routing_order).toEqual([
      { lane: "local_redaction", priority: 1 },
      { lane: "local_utility", priority: 2 },
      { lane: "flagship_fast", priority: 3 },
      { lane: "flagship_deep", priority: 4 },
    ]);
    expect(config.escalation.triggers.map(({ type }) => type)).toEqual(["risk", "complexity", "failure"]);
    expect(config.receipts).toEqual({ enabled: true, include_rationale: true, include_timing: true });
    expect(config.local_utility_tasks).toEqual(
      expect.arrayContaining(["classify_intent", "extract_json", "summarize", "redact", "rag_rewrite"]),
    );
    expect(config.deep_task_types).toEqual([
      "plan",
      "analyze",
      "architect",
      "review",
      "debug",
      "decide",
      "strategy",
      "evaluate",
      "diagnose",
    ]);
    expect(config.failover).toEqual([]);
    expect(config.offline).toBe("local");
  });
});

describe("the owner's file over it", () => {
  it("changes what it names and nothing else", () => {
    const { config, problem } = load("failover: [openai, local]\ntimeouts: { total_seconds: 10 }\nretries: { tries: 1 }\n");
    const plain = loadRouter(shipped, null, names).config;
    expect(problem).toBeNull();
    expect(config).toEqual({
      ...plain,
      failover: ["openai", "local"],
      timeouts: { ...plain.timeouts, total_seconds: 10 },
      retries: { ...plain.retries, tries: 1 },
    });
  });

  it.each(["", "  \n", "# nothing\n", "failover:\n", "version: '1.0'\n"])("may say nothing: %j", (text) => {
    expect(load(text)).toMatchObject({ problem: null, notices: [], config: { failover: [], offline: "local" } });
  });

  it.each<[string, number, string]>([
    ["failover: [openai\n", 2, "not YAML"],
    ["- a\n", 1, "must be keys with values"],
    ["offline: maybe\n", 1, "offline must be one of local, wait"],
    ["\nbreaker:\n  failures: 0\n", 3, "breaker.failures must be at least 1"],
    ["timeouts:\n  first_token_seconds: soon\n", 2, "timeouts.first_token_seconds must be number"],
    ["timeouts:\n  idle_seconds: 1\n  total_seconds: 100000000\n", 3, "timeouts.total_seconds must be at most 86400"],
    ["failover: openai\n", 1, "failover must be array"],
    ["routing_order:\n  - lane: fastest\n    priority: 1\n", 2, "routing_order.0.lane must be one of local_redaction"],
    ["escalation:\n  triggers:\n    - type: risk\n    - type: boredom\n", 4, "escalation.triggers.1.type must be one of"],
    ["retries: { tries: 1.5 }\n", 1, "retries.tries must be int"],
    ["receipts: { enabled: perhaps }\n", 1, "receipts.enabled must be boolean"],
    [`failover: [${"x".repeat(1_000_001)}]\n`, 1, "larger than 256 kB"],
  ])("that is broken is named with its line, and the shipped one is used: %j", (text, line, what) => {
    const { config, problem, issues } = load(text);
    expect(problem).toContain(`config/router.yaml in the data folder, line ${line}:`);
    expect(problem).toContain(what);
    expect(config).toEqual(loadRouter(shipped, null, names).config);
    expect(issues).toMatchObject([{ severity: "critical", line }]);
  });

  it("is told of settings that do not exist, and of providers that models.yaml does not have", () => {
    const { notices, problem } = load(
      "fail_over: [openai]\nfailover: [openai, mistral]\nlanes:\n  flagship_deep: { provider: nobody }\nbreaker: { failure: 3 }\n",
    );
    expect(problem).toBeNull();
    expect(notices).toEqual([
      "config/router.yaml, line 1: fail_over is not a setting and has no effect.",
      "config/router.yaml, line 5: breaker.failure is not a setting and has no effect.",
      'config/router.yaml, line 4: lanes.flagship_deep.provider names "nobody", which config/models.yaml does not have (anthropic, openai, local).',
      'config/router.yaml, line 2: failover.1 names "mistral", which config/models.yaml does not have (anthropic, openai, local).',
    ]);
  });

  it("does not take a prototype for a setting", () => {
    expect(load("__proto__: { failover: [openai] }\n").config.failover).toEqual([]);
  });
});

describe("the file on the disk", () => {
  const folders: string[] = [];
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  });

  it("is read again when it changes, and when it is gone", () => {
    const dataDir = mkdtempSync(join(tmpdir(), "lancelot-router-"));
    folders.push(dataDir);
    const path = join(dataDir, "config", "router.yaml");
    let providers = names;
    const file = createRouterFile({ configDir, dataDir, providers: () => providers });
    const first = file.read();
    expect(file.read()).toBe(first);
    mkdirSync(join(dataDir, "config"));
    writeFileSync(path, "failover: [openai]\n");
    expect(file.read().config.failover).toEqual(["openai"]);
    providers = ["anthropic"];
    expect(file.read().notices).toHaveLength(1);
    writeFileSync(path, "failover: [openai\n");
    expect(file.read().problem).toContain("line 2");
    rmSync(path);
    expect(file.read()).toMatchObject({ problem: null, config: { failover: [] } });
  });

  it("that cannot be read is named, and what it meant to limit is unknown", () => {
    const dataDir = mkdtempSync(join(tmpdir(), "lancelot-router-"));
    folders.push(dataDir);
    mkdirSync(join(dataDir, "config", "router.yaml"), { recursive: true });
    const { problem, isUnknown, config } = createRouterFile({ configDir, dataDir, providers: () => names }).read();
    expect([problem, isUnknown]).toEqual([expect.stringContaining("config/router.yaml"), true]);
    expect(config).toEqual(loadRouter(shipped, null, names).config);
  });
});
