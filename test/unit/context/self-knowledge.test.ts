import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createContext } from "../../../agent-server/context/context.ts";
import { describeSelf, type SelfFacts } from "../../../agent-server/context/self-knowledge.ts";
import { estimateTokens } from "../../../agent-server/context/tokens.ts";
import { createRedactor, createSanitizer } from "../../../agent-server/security/security.ts";
import { makeFolders, openHost } from "../../support/quests/harness.ts";
import { recordingTools } from "../../support/quests/recording-tools.ts";
import { scriptedModels } from "../../support/quests/scripted-models.ts";
import { shippedSoul } from "../../support/soul-fixture.ts";
import { createToolsFixture } from "../../support/tools-fixture.ts";

const limits = { soulVersion: "v3", window: 32_000, answer: 4_000 };
const reader = { name: "read_file", capability: "file_ops", baseTier: "T0", problem: null } as const;
const runner = { name: "run_command", capability: "shell_exec", baseTier: "T2", problem: null } as const;
const state = (more: Partial<SelfFacts> = {}): SelfFacts => ({ tools: [reader], flags: [], safeMode: false, canAsk: true, ...more });

describe("what Lancelot says of itself", () => {
  it.each<[string, Partial<SelfFacts>, Partial<typeof limits> | { soulVersion: null }, RegExp, RegExp | null]>([
    ["its tools", {}, {}, /read_file \(T0\)/, null],
    ["what it cannot do", {}, {}, /cannot run commands, use git, reach the network/, null],
    ["what it can do, once there is a tool", { tools: [reader, runner] }, {}, /cannot use git/, /cannot run commands|run commands,/],
    [
      "why a tool is not usable",
      { tools: [reader, { ...runner, problem: "No engine." }, { ...runner, name: "other", problem: "No engine." }] },
      {},
      /Not usable now: run_command, other \(No engine\.\)/,
      null,
    ],
    ["that it has no tools", { tools: [] }, {}, /no tools here/, /T0 only looks/],
    ["the soul in force", {}, {}, /soul v3 is in force/, null],
    ["that the soul is off", {}, { soulVersion: null }, /soul is switched off/, null],
    ["safe mode", { safeMode: true }, {}, /Safe mode is on/, null],
    ["no safe mode", {}, {}, /window holds 32000 tokens, 4000/, /Safe mode/],
    [
      "flags that are off",
      {
        flags: [
          { name: "TOOLS_NETWORK", enabled: false },
          { name: "SOUL", enabled: true },
        ],
      },
      {},
      /Switched off: TOOLS_NETWORK\./,
      null,
    ],
    ["that nobody answers", { canAsk: false }, {}, /Nobody can answer/, null],
  ])("reports %s", (_name, facts, more, said, unsaid) => {
    const text = describeSelf(state(facts), { ...limits, ...more });
    expect(text).toMatch(said);
    if (unsaid !== null) expect(text).not.toMatch(unsaid);
    expect(text).toBe(describeSelf(state(facts), { ...limits, ...more }));
  });

  it("of the real tools is short, and names each of them", () => {
    const fixture = createToolsFixture();
    const tools = fixture.tools.list();
    const text = describeSelf(state({ tools }), limits);
    for (const tool of tools) expect(text).toContain(tool.name);
    expect(text).toContain("diagnostics (");
    expect(estimateTokens(text)).toBeLessThan(700);
    fixture.close();
  });
});

describe("the prompt", () => {
  let folders: ReturnType<typeof makeFolders>;
  let host: ReturnType<typeof openHost>;
  beforeEach(() => {
    folders = makeFolders();
    host = openHost(folders, scriptedModels([]).models, recordingTools({}).tools);
  });
  afterEach(async () => {
    await host.close();
    folders.remove();
  });

  it("has the soul in force and the state of the moment, and follows them", async () => {
    let safeMode = false;
    const context = createContext({
      governance: host.governance,
      ledger: host.ledger,
      redactor: createRedactor(),
      redactorOf: () => createRedactor(),
      sanitizer: createSanitizer("config"),
      workspace: folders.workspace,
      dataDir: folders.dataDir,
      soul: host.governance.soul.prompt,
      self: () => state({ safeMode }),
    });
    const trace = { questId: null, parentId: null };
    const sources = await context.readSources([], trace);
    const marker = "0123456789abcdef";
    const request = {
      small: false,
      canEdit: false,
      mode: "normal" as const,
      marker,
      plan: [],
      tools: [],
      messages: [],
      window: 100_000,
      answer: 1000,
    };
    const prompt = (small = false): string => context.assemble(sources, { ...request, small }, trace).system;
    expect(prompt()).toContain("soul v1");
    expect(prompt()).toContain("deploy, publish, push, post");
    expect(prompt()).not.toContain("Safe mode");
    expect(prompt(true)).toContain("asked before you delete");

    safeMode = true;
    const { soul } = host.governance;
    const { id } = soul.propose({ yaml: shippedSoul.replace("    - push\n", ""), reason: "x", by: "owner", questId: null });
    soul.approve(id);
    soul.activate(id);
    expect(prompt()).toContain("soul v2");
    expect(prompt()).toContain("deploy, publish, post");
    expect(prompt()).toContain("Safe mode is on");
  });
});
