import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Commands } from "../../../extension/commands/commands.ts";
import { localModelCommands } from "../../../extension/commands/local-model.ts";
import { taskModelCommands } from "../../../extension/commands/task-model.ts";
import { usageCommands } from "../../../extension/commands/usage.ts";
import type { AgentHost } from "../../../extension/host/agent-host-types.ts";
import { sampleQuest } from "../../support/webview-harness/samples.ts";
import { sampleServer, sampleUsage } from "../../support/webview-harness/usage-samples.ts";

interface Row {
  readonly label: string;
  readonly description?: string;
}
interface Asked {
  readonly title: string;
  readonly value: string;
  readonly validateInput: (text: string) => string | undefined;
}

// The editor, as far as these commands use it; the real one is driven in test/e2e/usage.test.ts.
const editor = vi.hoisted(() => ({
  reported: [] as string[],
  questions: [] as string[],
  ran: [] as unknown[][],
  rows: [] as Row[],
  asked: [] as Asked[],
  /** The label of the row that is picked, and the index of the button that is pressed. */
  pick: "",
  press: undefined as number | undefined,
  /** What is typed into one input box after the other; undefined leaves it. */
  typed: [] as (string | undefined)[],
}));
vi.mock("vscode", () => {
  const t = (text: string, ...args: unknown[]) => text.replace(/\{(\d+)\}/g, (_, index: string) => String(args[Number(index)]));
  const press = (buttons: readonly unknown[]) => Promise.resolve(editor.press === undefined ? undefined : buttons[editor.press]);
  return {
    l10n: { t },
    env: { language: "en" },
    ProgressLocation: { Notification: 15 },
    QuickPickItemKind: { Separator: -1 },
    commands: {
      executeCommand(...all: unknown[]) {
        editor.ran.push(all);
        return Promise.resolve();
      },
    },
    window: {
      showInformationMessage(text: string, ...buttons: unknown[]) {
        editor.reported.push(text);
        return press(buttons);
      },
      showWarningMessage(question: string, options: { detail: string }, ...buttons: unknown[]) {
        editor.questions.push(`${question} ${options.detail}`);
        return press(buttons);
      },
      showQuickPick(rows: Row[]) {
        editor.rows = rows;
        return Promise.resolve(rows.find(({ label }) => label.includes(editor.pick)));
      },
      showInputBox(asked: Asked) {
        editor.asked.push(asked);
        return Promise.resolve(editor.typed.shift());
      },
      withProgress: (_options: unknown, work: (progress: unknown, token: unknown) => unknown) =>
        work({ report: () => undefined }, { onCancellationRequested: () => ({ dispose: () => undefined }) }),
    },
  };
});

let called: [string, unknown][];
let answers: Record<string, unknown>;
const host = {
  call(method: string, params: unknown) {
    called.push([method, params]);
    const answer = answers[method];
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer ?? params);
  },
} as unknown as AgentHost;
const local = {
  ...{ status: "ready", file: "qwen.gguf", name: "Qwen3 4B", source: "hub" },
  ...{ doneBytes: 9, totalBytes: 9, problem: null },
};

async function run(make: (host: AgentHost) => Commands, name: keyof Commands, argument?: unknown): Promise<void> {
  await make(host)[name]?.(argument);
}
const changes = () => called.filter(([method]) => !/summary|list|get$|models\.local$|servers$/.test(method));

beforeEach(() => {
  Object.assign(editor, { reported: [], questions: [], ran: [], rows: [], asked: [], pick: "nothing", press: undefined, typed: [] });
  called = [];
  answers = { "usage.summary": sampleUsage(), "models.local": local };
});

describe("spending caps", () => {
  it("are asked for one after the other as they are, checked, and written", async () => {
    editor.typed = ["1,50", ""];
    await run(usageCommands, "lancelot.setCaps");
    expect(editor.asked.map(({ value }) => value)).toEqual(["2.5", "5"]);
    const check = editor.asked[0]?.validateInput;
    for (const right of ["", "3", "$0.5", "1,25"]) expect(check?.(right), right).toBeUndefined();
    for (const wrong of ["0", "-1", "a lot", "1e9", "12345678"]) expect(check?.(wrong), wrong).toBeTypeOf("string");
    expect(changes()).toEqual([["usage.setCaps", { questUsd: 1.5, dayUsd: null }]]);
    expect(editor.reported).toEqual([expect.stringMatching(/\$1\.50.*no cap/)]);
  });

  it("stay as they are when the owner goes away in between", async () => {
    editor.typed = ["3", undefined];
    await run(usageCommands, "lancelot.setCaps");
    expect(changes()).toEqual([]);
  });

  it("offer to resume the task that they stopped", async () => {
    editor.typed = ["9", "9"];
    editor.press = 0;
    await run(usageCommands, "lancelot.setCaps", { questId: "quest-1" });
    await vi.waitFor(() => expect(called.at(-1)).toEqual(["quests.resume", { id: "quest-1" }]));
  });
});

describe("resetting usage", () => {
  it.each([
    [0, [["usage.reset", {}]]],
    [undefined, []],
  ])("with button %j pressed", async (press, expected) => {
    editor.press = press;
    await run(usageCommands, "lancelot.resetUsage");
    expect(editor.questions[0]).toMatch(/214.*\$6\.35/);
    expect(changes()).toEqual(expected);
  });
});

describe("the model of one task", () => {
  const models = { items: [{ provider: "work", model: "qwen3", displayName: "Qwen3" }], providers: [], problem: null };
  beforeEach(() => {
    const quest = sampleQuest({ override: { lane: "flagship_deep" } });
    answers = { "quests.get": { quest, messages: [] }, "quests.list": { items: [quest] }, "models.list": models };
  });

  it.each([
    ["Automatic", null],
    ["Fast", { lane: "flagship_fast" }],
    ["Deep", { lane: "flagship_deep" }],
    ["Local", { lane: "local_utility" }],
    ["Qwen3", { provider: "work", model: "qwen3" }],
  ])("%s", async (pick, override) => {
    editor.pick = pick;
    await run(taskModelCommands, "lancelot.chooseTaskModel", { questId: "quest-1" });
    expect(editor.rows.filter(({ label }) => label.includes("$(check)")).map(({ label }) => label)).toEqual(["$(check) Deep"]);
    expect(changes()).toEqual([["quests.override", { id: "quest-1", override }]]);
  });

  it("asks for the task if there are several, and reports that there is none", async () => {
    answers["quests.list"] = { items: [sampleQuest(), sampleQuest({ id: "quest-2", title: "Another" })] };
    await run(taskModelCommands, "lancelot.chooseTaskModel");
    expect(editor.rows.map(({ label }) => label)).toEqual(["Fix the failing invoice test", "Another"]);
    answers["quests.list"] = { items: [] };
    await run(taskModelCommands, "lancelot.chooseTaskModel");
    expect(editor.reported).toHaveLength(1);
    expect(changes()).toEqual([]);
  });
});

describe("the local model", () => {
  it("loads, or downloads first, and reports problems", async () => {
    answers["models.local.load"] = { ...local, status: "loaded" };
    await run(localModelCommands, "lancelot.loadLocalModel");
    expect(editor.reported).toEqual([expect.stringContaining("Qwen3 4B")]);
    answers["models.local.load"] = { ...local, status: "failed", problem: "Too little memory.", nextStep: "Close something." };
    await expect(run(localModelCommands, "lancelot.loadLocalModel")).rejects.toThrow("Too little memory. Close something.");
    answers["models.local"] = { ...local, status: "absent" };
    await run(localModelCommands, "lancelot.loadLocalModel");
    expect(editor.ran).toEqual([["lancelot.downloadLocalModel"]]);
  });

  it("is unloaded", async () => {
    answers["models.local.unload"] = local;
    await run(localModelCommands, "lancelot.unloadLocalModel");
    expect(editor.reported[0]).toContain("Qwen3 4B");
    expect(changes()).toEqual([["models.local.unload", {}]]);
  });

  it.each([
    ["deleted when the owner confirms", {}, 0, [["models.local.delete", {}]]],
    ["kept when they do not", {}, undefined, []],
    ["not Lancelot's to delete when it is a file of the owner's", { source: "owner" }, 0, []],
    ["not there", { file: null, doneBytes: 0 }, 0, []],
  ])("is %s", async (_, patch, press, expected) => {
    answers["models.local"] = { ...local, ...patch };
    editor.press = press;
    await run(localModelCommands, "lancelot.deleteLocalModel");
    expect(changes()).toEqual(expected);
    expect(editor.reported.length + editor.questions.length).toBeGreaterThan(0);
  });
});

describe("the intent classifier", () => {
  it.each([
    ["is fetched alone", "absent", "ready", [["models.local.download", { only: "intent" }]]],
    ["is not fetched twice", "ready", "ready", []],
  ] as const)("%s", async (_name, before, after, expected) => {
    answers["models.local"] = { ...local, intent: { status: before, problem: null } };
    answers["models.local.download"] = { ...local, intent: { status: after, problem: null } };
    await run(localModelCommands, "lancelot.downloadIntentModel");
    expect(changes()).toEqual(expected);
    expect(editor.reported).toHaveLength(1);
  });
});

describe("model servers", () => {
  it("are offered with their models, and one is used", async () => {
    answers["models.servers"] = { items: [sampleServer(), sampleServer({ displayName: "vLLM", models: [], problem: null })] };
    answers["models.useServer"] = { provider: "ollama", model: "qwen3:8b" };
    editor.pick = "qwen3:8b";
    await run(localModelCommands, "lancelot.findModelServers");
    expect(editor.rows.map(({ label }) => label)).toEqual(["Ollama", "qwen3:8b", "llama3.2:3b", "vLLM", "$(warning) vLLM"]);
    expect(changes()).toEqual([["models.useServer", { url: "http://127.0.0.1:11434/v1", model: "qwen3:8b" }]]);
    expect(editor.reported).toEqual([expect.stringMatching(/qwen3:8b.*ollama/)]);
  });

  it("that do not exist are reported", async () => {
    answers["models.servers"] = { items: [] };
    await run(localModelCommands, "lancelot.findModelServers");
    expect(editor.reported).toHaveLength(1);
    expect(changes()).toEqual([]);
  });
});
