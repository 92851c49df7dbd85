import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createContext, estimateTokens, offersMemory } from "../../../agent-server/context/context.ts";
import { createRedactor, createSanitizer } from "../../../agent-server/security/security.ts";
import { makeFolders, openHost } from "../../support/quests/harness.ts";
import { recordingTools } from "../../support/quests/recording-tools.ts";
import { scriptedModels } from "../../support/quests/scripted-models.ts";

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

const trace = { questId: null, parentId: null };
const tool = (name: string) => ({ name, description: name, parameters: { type: "object" } });
const request = {
  small: false,
  canEdit: false,
  mode: "normal" as const,
  marker: "0123456789abcdef",
  plan: [],
  tools: [tool("read_file")],
  messages: [],
  window: 100_000,
  answer: 1_000,
};
const around = {
  workspace: { name: "project", entries: ["src/"], more: 0, branch: "main" },
  instructions: [{ name: "RULES.md", origin: "owner" as const, text: "Never use tabs.", truncated: false, findings: [] }],
};
const context = () =>
  createContext({
    governance: host.governance,
    ledger: host.ledger,
    redactor: createRedactor(),
    redactorOf: () => createRedactor(),
    sanitizer: createSanitizer("config"),
    workspace: folders.workspace,
    dataDir: folders.dataDir,
    soul: () => ({ text: "Your constitution.", line: "Be honest.", version: "v1" }),
  });
const systemOf = (memory: string | undefined, of: Partial<typeof request> = {}): string =>
  context().assemble(memory === undefined ? around : { ...around, memory }, { ...request, ...of }, trace).system;

describe("what is remembered, in the prompt", () => {
  it("stands after the soul and the owner's files and before what changes from run to run", () => {
    const system = systemOf("What you remember: the port is 8443.");
    const order = ["Your constitution.", "Never use tabs.", "What you remember", "Edits are proposed", "Workspace: project"];
    const places = order.map((message) => system.indexOf(message));
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(Math.min(...places)).toBeGreaterThan(-1);
  });

  it.each([
    ["large", {}],
    ["small", { small: true }],
  ])("changes no byte of the prompt of a %s model where there is nothing of it", (_name, of) => {
    expect(systemOf("", of)).toBe(systemOf(undefined, of));
    expect(systemOf("X", of).replace(/\n+X/, "")).toBe(systemOf(undefined, of));
  });

  it("counts in what a prompt takes", () => {
    const memory = "The port is 8443. ".repeat(100);
    const without = context().measure(around, request);
    const budget = context().measure({ ...around, memory }, request);
    expect(budget.fixed - without.fixed).toBeGreaterThanOrEqual(estimateTokens(memory) - 1);
    expect(without.limit - budget.limit).toBe(budget.fixed - without.fixed);
  });

  it("is told with how to use it where the memory tools are offered, and not where they are not", () => {
    const offered = [tool("read_file"), tool("memory_search"), tool("memory_insert")];
    expect(systemOf(undefined, { tools: offered })).toContain("look with memory_search");
    expect(systemOf(undefined, { tools: offered, small: true })).not.toContain("memory_search");
    expect(systemOf("Something.")).not.toContain("memory_search");
    expect(offersMemory(offered)).toBe(true);
    expect(offersMemory([tool("memory_search")])).toBe(false);
  });
});
