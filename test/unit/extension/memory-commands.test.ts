import { beforeEach, describe, expect, it, vi } from "vitest";
import { memoryCommands } from "../../../extension/commands/memory.ts";
import { memoryDecisionCommands } from "../../../extension/commands/memory-decisions.ts";
import { memoryFileCommands } from "../../../extension/commands/memory-files.ts";
import type { AgentHost } from "../../../extension/host/agent-host-types.ts";
import type { WarRoom } from "../../../extension/views/war-room.ts";
import { archived, sampleCommit, sampleHit, sampleItem, sampleQuarantine } from "../../support/webview-harness/memory-samples.ts";

interface Pick {
  value: string;
  items: { label: string; detail: string }[];
  selectedItems: unknown[];
  placeholder: string;
  change(value: string): void;
  accept(index: number): void;
  hide(): void;
}

// The editor, as far as these commands use it; the real one is driven in test/e2e/memory.test.ts.
const editor = vi.hoisted(() => ({
  reported: [] as string[],
  dialogs: [] as string[],
  ran: [] as unknown[][],
  copied: [] as string[][],
  /** What is written into an input box; undefined closes it. */
  typed: undefined as string | undefined,
  box: { value: "", wrong: (_text: string): string | undefined => undefined },
  /** The index of the row that is chosen, and of the button that is pressed in a dialog. */
  choose: undefined as number | undefined,
  press: undefined as number | undefined,
  file: undefined as { fsPath: string } | undefined,
  selection: undefined as string | undefined,
  pick: undefined as unknown,
}));
vi.mock("vscode", () => {
  const uri = (path: string) => ({ fsPath: path });
  const tell = (text: string, ...more: unknown[]) => {
    const [options, ...buttons] = more as [{ modal?: boolean; detail?: string } | undefined, ...string[]];
    if (typeof options === "object" && options.modal === true) {
      editor.dialogs.push(`${text}\n${options.detail}`);
      return Promise.resolve(editor.press === undefined ? undefined : buttons[editor.press]);
    }
    editor.reported.push(text);
    return Promise.resolve(undefined);
  };
  return {
    l10n: { t: (text: string, ...args: unknown[]) => text.replace(/\{(\d+)\}/g, (_, index: string) => String(args[Number(index)])) },
    env: { language: "en" },
    ProgressLocation: { Notification: 15 },
    Uri: { file: uri, joinPath: (base: { fsPath: string }, ...parts: string[]) => uri([base.fsPath, ...parts].join("/")) },
    commands: {
      executeCommand(...args: unknown[]) {
        editor.ran.push(args);
        return Promise.resolve();
      },
    },
    workspace: {
      workspaceFolders: undefined,
      getConfiguration: () => ({ get: (_: string, fallback: unknown) => fallback, inspect: () => undefined }),
      fs: {
        copy: (from: { fsPath: string }, to: { fsPath: string }) => Promise.resolve(void editor.copied.push([from.fsPath, to.fsPath])),
      },
    },
    window: {
      get activeTextEditor() {
        const text = editor.selection;
        return text === undefined ? undefined : { selection: {}, document: { getText: () => text } };
      },
      showInformationMessage: tell,
      showWarningMessage: tell,
      showInputBox(options: { value: string; validateInput: (text: string) => string | undefined }) {
        editor.box = { value: options.value, wrong: options.validateInput };
        return Promise.resolve(editor.typed);
      },
      showQuickPick: (rows: unknown[]) => Promise.resolve(editor.choose === undefined ? undefined : rows[editor.choose]),
      showSaveDialog: () => Promise.resolve(editor.file),
      showOpenDialog: () => Promise.resolve(editor.file === undefined ? undefined : [editor.file]),
      withProgress: (_: unknown, run: (progress: unknown, token: unknown) => unknown) =>
        run(null, { onCancellationRequested: () => undefined }),
      createQuickPick() {
        const listeners = { change: (query: string): void => void query, accept: (): void => undefined, hide: (): void => undefined };
        const pick = {
          ...{ value: "", items: [] as unknown[], selectedItems: [] as unknown[], placeholder: "", busy: false, title: "" },
          onDidChangeValue: (listener: (value: string) => void) => void (listeners.change = listener),
          onDidAccept: (listener: () => void) => void (listeners.accept = listener),
          onDidHide: (listener: () => void) => void (listeners.hide = listener),
          show: () => undefined,
          dispose: () => undefined,
          hide: () => listeners.hide(),
          change(value: string) {
            pick.value = value;
            listeners.change(value);
          },
          accept(index: number) {
            pick.selectedItems = [pick.items[index]];
            listeners.accept();
          },
        };
        editor.pick = pick;
        return pick;
      },
    },
  };
});

const calls: { method: string; params: Record<string, unknown> }[] = [];
const opened: unknown[] = [];
let answers: Record<string, unknown>;
const host = {
  call(method: string, params: Record<string, unknown>) {
    calls.push({ method, params });
    const answer = answers[method];
    return Promise.resolve(typeof answer === "function" ? (answer as (params: unknown) => unknown)(params) : answer);
  },
} as unknown as AgentHost;
const warRoom = { open: (what: unknown) => void opened.push(what) } as unknown as WarRoom;
const context = { globalStorageUri: { fsPath: "/data" } } as Parameters<typeof memoryFileCommands>[0];
const commands = { ...memoryCommands(host, warRoom), ...memoryDecisionCommands(host), ...memoryFileCommands(context, host) };
const asked = (method: string) => calls.filter((call) => call.method === method).map(({ params }) => params);
const run = async (name: `lancelot.${string}`, argument?: unknown): Promise<void> => commands[name]?.(argument);

beforeEach(() => {
  for (const list of [editor.reported, editor.dialogs, editor.ran, editor.copied, calls, opened]) list.length = 0;
  Object.assign(editor, { typed: undefined, choose: undefined, press: undefined, file: undefined, selection: undefined });
  answers = {};
});

describe("lancelot.remember", () => {
  it("starts with the editor's selection, and shows the target and the checks' notes", async () => {
    editor.selection = "  The tests need a database.  ";
    editor.typed = " The tests need a database on port 5433. ";
    answers = { "memory.remember": { commitId: "c", item: archived, notes: ["It was there already."] } };
    await run("lancelot.remember");
    expect(editor.box.value).toBe("The tests need a database.");
    expect(editor.box.wrong("A note.")).toBeUndefined();
    expect(editor.box.wrong("  ")).toBeTypeOf("string");
    expect(editor.box.wrong("x".repeat(4001))).toContain("4000");
    expect(asked("memory.remember")).toEqual([{ text: "The tests need a database on port 5433." }]);
    expect(editor.reported).toEqual([expect.stringMatching(/Archive.*It was there already\./)]);
  });

  it("does nothing when the box is closed, and leaves out a selection that is too long", async () => {
    editor.selection = "x".repeat(5000);
    await run("lancelot.remember");
    expect(editor.box.value).toBe("");
    expect(calls).toEqual([]);
  });
});

describe("lancelot.searchMemory", () => {
  it("lists the newest, searches while typing, shows only the latest result, and opens the selected item", async () => {
    vi.useFakeTimers();
    const waiting = new Map<string, (value: unknown) => void>();
    answers = {
      "memory.search": ({ query }: { query: string }) =>
        query === "" ? { items: [sampleHit(sampleItem())] } : new Promise((resolve) => waiting.set(query, resolve)),
    };
    const done = run("lancelot.searchMemory");
    const pick = editor.pick as Pick;
    await vi.waitFor(() => expect(pick.items.map(({ label }) => label)).toEqual(["About you"]));
    for (const message of ["inv", "invoice"]) {
      pick.change(message);
      await vi.advanceTimersByTimeAsync(200);
    }
    waiting.get("invoice")?.({ items: [sampleHit(archived, "The **invoice** tests\nneed")] });
    await vi.waitFor(() => expect(pick.items.map(({ detail }) => detail)).toEqual(["The **invoice** tests need"]));
    waiting.get("inv")?.({ items: [] });
    await vi.advanceTimersByTimeAsync(0);
    expect(pick.items).toHaveLength(1);
    pick.accept(0);
    await done;
    vi.useRealTimers();
    expect(opened).toEqual([{ tab: "memory", memory: { itemId: "item-2" } }]);
  });

  it("closes and reports an error", async () => {
    answers = { "memory.search": () => Promise.reject(new Error("Memory is turned off.")) };
    await expect(run("lancelot.searchMemory")).rejects.toThrow("Memory is turned off.");
  });
});

it.each([
  [undefined, {}],
  [{ itemId: "i" }, { itemId: "i" }],
  [{ quarantineId: "q", other: "x" }, { quarantineId: "q" }],
])("lancelot.openMemory %j opens %j", async (argument, memory) => {
  await run("lancelot.openMemory", argument);
  expect(opened).toEqual([{ tab: "memory", memory }]);
});

describe("lancelot.undoMemory", () => {
  const now = () => new Date().toISOString();
  const own = () => sampleCommit({ author: "owner", finishedAt: now(), createdAt: now() });

  it("rolls back the owner's latest change at once", async () => {
    answers = { "memory.commits": { items: [own()] }, "memory.rollback": { commitId: "c2", rolledBack: [], diff: [] } };
    await run("lancelot.undoMemory", { commitId: "commit-1" });
    expect(editor.dialogs).toEqual([]);
    expect(asked("memory.rollback")).toEqual([{ commitId: "commit-1", reason: expect.any(String) as string }]);
  });

  it.each([
    ["of the agent", { author: "agent" as const }],
    ["that is itself a rollback", { rollbackOf: ["commit-0"] }],
    ["of an hour ago", { finishedAt: new Date(Date.now() - 3_600_000).toISOString() }],
  ])("asks like any rollback for a commit %s", async (_, patch) => {
    editor.typed = "Because.";
    answers = { "memory.commits": { items: [{ ...own(), ...patch }] } };
    await run("lancelot.undoMemory", { commitId: "commit-1" });
    expect(editor.dialogs).toHaveLength(1);
    expect(asked("memory.rollback")).toEqual([]);
  });
});

it("rolls back the last commits up to the selected one", async () => {
  const open = [sampleCommit({ id: "c3" }), sampleCommit({ id: "c2", status: "rolled_back" }), sampleCommit({ id: "c1" })];
  answers = { "memory.commits": { items: open }, "memory.rollback": { commitId: "c4", rolledBack: [], diff: [] } };
  Object.assign(editor, { choose: 1, typed: " Wrong. ", press: 0 });
  await run("lancelot.rollBackMemory", { last: "ask" });
  expect(editor.dialogs[0]).toContain("2");
  expect(asked("memory.rollback")).toEqual([{ last: 2, reason: "Wrong." }]);
});

it("saves a denied edit as the owner's own, after the dialog", async () => {
  answers = {
    "memory.quarantine": ({ status }: { status: string }) => ({
      items: status === "denied" ? [sampleQuarantine({ status: "denied" })] : [],
    }),
    "memory.edit": { commitId: "c", notes: [] },
  };
  await run("lancelot.promoteMemory", { id: "quarantine-1" });
  expect(asked("memory.edit")).toEqual([]);
  editor.press = 0;
  await run("lancelot.promoteMemory", { id: "quarantine-1" });
  expect(asked("memory.promote")).toEqual([]);
  expect(asked("memory.edit")).toMatchObject([
    {
      ...{ op: "replace", target: "core:human", selector: "item-1", content: "Answers should be long and explain each step." },
      ...{ provenance: { source: "user" }, confidence: 1 },
    },
  ]);
});

describe("files", () => {
  const report = { commitId: "c", added: 3, updated: 1, unchanged: 2, removed: 0, refused: [{ line: 7, reason: "It holds a key." }] };

  it.each([
    ["lancelot.exportMemory", 0, "markdown"],
    ["lancelot.exportMemory", 1, "jsonl"],
    ["lancelot.backUpMemory", undefined, "backup"],
  ] as const)("%s (%s) is written where the owner says", async (name, choose, format) => {
    Object.assign(editor, { choose, file: { fsPath: "/home/me/memory" } });
    answers = { "memory.export": { file: "memory.x", items: 4, bytes: 9, sha256: "0123456789abcdef" } };
    await run(name);
    expect(asked("memory.export")).toEqual([{ format }]);
    expect(editor.copied).toEqual([["/data/exports/memory.x", "/home/me/memory"]]);
    for (const fact of ["Items: 4", "/home/me/memory", "0123456789ab…"]) expect(editor.reported[0]).toContain(fact);
  });

  it("is not written when the dialog is closed", async () => {
    await run("lancelot.backUpMemory");
    expect(calls).toEqual([]);
  });

  it("is imported after a preview and the owner's confirmation", async () => {
    Object.assign(editor, { choose: 1, file: { fsPath: "/home/me/memory.jsonl" } });
    answers = { "memory.import": report };
    await run("lancelot.importMemory");
    expect(editor.dialogs[0]).toMatch(/3.*1.*2.*0.*1.*\n.*7: It holds a key\./);
    expect(asked("memory.import")).toEqual([{ path: "/home/me/memory.jsonl", mode: "replace", dryRun: true }]);
    editor.press = 0;
    await run("lancelot.importMemory");
    expect(asked("memory.import").at(-1)).toEqual({ path: "/home/me/memory.jsonl", mode: "replace" });
  });

  it("with nothing new is not asked about", async () => {
    Object.assign(editor, { choose: 0, file: { fsPath: "/home/me/memory.jsonl" } });
    answers = { "memory.import": { ...report, added: 0, updated: 0 } };
    await run("lancelot.importMemory");
    expect(editor.dialogs).toEqual([]);
    expect(editor.reported).toHaveLength(1);
    expect(asked("memory.import")).toHaveLength(1);
  });
});
