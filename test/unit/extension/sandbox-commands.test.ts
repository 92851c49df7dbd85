import { beforeEach, describe, expect, it, vi } from "vitest";
import type { HostEvent } from "../../../agent-server/contract/events.ts";
import type { SandboxState } from "../../../agent-server/contract/providers.ts";
import { sandboxCommands } from "../../../extension/commands/sandbox.ts";
import type { AgentHost } from "../../../extension/host/agent-host-types.ts";
import { sampleDoctor, sampleSandbox } from "../../support/webview-harness/samples.ts";

interface Row {
  readonly label: string;
  readonly detail?: string;
  readonly buttons?: readonly { tooltip: string }[];
}

// The editor, as far as these commands use it; the real one is driven in test/e2e/tools.test.ts.
const editor = vi.hoisted(() => ({
  reported: [] as string[],
  ran: [] as string[],
  progress: [] as string[],
  /** The index of the button that is pressed in a modal dialog. */
  press: undefined as number | undefined,
  cancel: (): unknown => undefined,
  rows: [] as Row[],
  placeholder: "",
  accept: (_row: unknown): unknown => undefined,
}));
vi.mock("vscode", () => {
  const t = (text: string, ...args: unknown[]) => text.replace(/\{(\d+)\}/g, (_, index: string) => String(args[Number(index)]));
  const tell = (text: string) => {
    editor.reported.push(text);
    return Promise.resolve(undefined);
  };
  const from = (...all: { dispose(): unknown }[]) => ({ dispose: () => all.map((one) => one.dispose()) });
  return {
    l10n: { t },
    Disposable: { from },
    ThemeIcon: class {
      readonly id = "icon";
    },
    ProgressLocation: { Notification: 15 },
    commands: {
      executeCommand(id: string) {
        editor.ran.push(id);
        return Promise.resolve();
      },
    },
    window: {
      showInformationMessage: tell,
      showErrorMessage: tell,
      showWarningMessage: (_question: string, _options: unknown, ...buttons: string[]) =>
        Promise.resolve(editor.press === undefined ? undefined : buttons[editor.press]),
      withProgress(_options: unknown, run: (progress: { report(value: { message: string }): void }, token: unknown) => unknown) {
        const report = ({ message }: { message: string }) => void editor.progress.push(message);
        const onCancellationRequested = (listener: () => unknown) => {
          editor.cancel = listener;
          return { dispose: () => undefined };
        };
        return run({ report }, { onCancellationRequested });
      },
      createQuickPick() {
        const pick = {
          set items(rows: Row[]) {
            editor.rows = rows;
          },
          set placeholder(text: string) {
            editor.placeholder = text;
          },
          selectedItems: [] as unknown[],
          onDidTriggerButton: () => undefined,
          onDidTriggerItemButton: () => undefined,
          onDidHide: () => undefined,
          onDidAccept(listener: () => unknown) {
            editor.accept = (row) => {
              pick.selectedItems = [row];
              return listener();
            };
          },
          show: () => undefined,
          hide: () => undefined,
          dispose: () => undefined,
        };
        return pick;
      },
    },
  };
});

const image = (state: SandboxState["image"]["state"], message: string | null = null): SandboxState =>
  sampleSandbox({ image: { ...sampleSandbox().image, state, message } });

let called: string[];
let answers: Record<string, unknown>;
let emit: (event: HostEvent) => void;
let hostEnds: (detail: string) => void;

function run(name: "doctor" | "buildSandbox" | "restartSandbox"): Promise<void> {
  const none = { dispose: () => undefined };
  const host = {
    call(method: string) {
      called.push(method);
      const answer = answers[method];
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
    onEvent(listener: (event: HostEvent) => void) {
      emit = listener;
      return none;
    },
    onState(listener: (state: { state: string; detail: string }) => void) {
      hostEnds = (detail) => listener({ state: "failed", detail });
      return none;
    },
  } as unknown as AgentHost;
  return Promise.resolve(sandboxCommands(host)[`lancelot.${name}`]?.(undefined));
}

const sandbox = (payload: SandboxState): HostEvent => ({ seq: 1, topic: "sandbox", payload });

beforeEach(() => {
  called = [];
  answers = { "tools.sandbox.build": image("building", "Step 1/9"), "tools.doctor": { items: sampleDoctor } };
  Object.assign(editor, { reported: [], ran: [], progress: [], press: undefined, rows: [], placeholder: "" });
});

describe("building the sandbox image", () => {
  it("shows progress and the result", async () => {
    const done = run("buildSandbox");
    await vi.waitFor(() => expect(editor.progress).toEqual(["Step 1/9"]));
    emit(sandbox(image("building", "Step 2/9")));
    emit(sandbox(image("ready")));
    await done;
    expect(editor.progress).toEqual(["Step 1/9", "Step 2/9"]);
    expect(editor.reported).toEqual([expect.stringContaining("lancelot/sandbox:1")]);
  });

  it("reports why it failed", async () => {
    const done = run("buildSandbox");
    await vi.waitFor(() => expect(editor.progress).toHaveLength(1));
    emit(sandbox(image("failed", "apt-get ended with 100")));
    await expect(done).rejects.toThrow(/lancelot\/sandbox:1.*apt-get ended with 100/);
  });

  it("can be canceled, and shows the result", async () => {
    answers["tools.sandbox.cancelBuild"] = image("missing");
    const done = run("buildSandbox");
    await vi.waitFor(() => expect(editor.progress).toHaveLength(1));
    editor.cancel();
    await done;
    expect(called).toEqual(["tools.sandbox.build", "tools.sandbox.cancelBuild"]);
    expect(editor.reported).toEqual([expect.stringContaining("lancelot/sandbox:1")]);
  });

  it.each([
    ["the host refuses it", () => undefined, new Error("No engine was found.")],
    ["the host ends meanwhile", () => hostEnds("It ended five times within a minute."), image("building")],
  ])("does not wait for ever when %s", async (_, happens, answer) => {
    answers["tools.sandbox.build"] = answer;
    const done = run("buildSandbox");
    const failed = expect(done).rejects.toThrow(answer instanceof Error ? "No engine was found." : "It ended five times");
    await vi.waitFor(() => expect(called).toHaveLength(1));
    happens();
    await failed;
  });
});

describe("restarting the sandbox", () => {
  it.each([
    [undefined, []],
    [0, ["tools.sandbox.restart"]],
  ])("pressing %s calls %j", async (press, calls) => {
    answers["tools.sandbox.restart"] = sampleSandbox();
    editor.press = press;
    await run("restartSandbox");
    expect(called).toEqual(calls);
  });
});

describe("Lancelot: Doctor", () => {
  it("has a row for each check, with its next step, and a button where a command fixes it", async () => {
    await run("doctor");
    expect(editor.placeholder).toMatch(/3 of 4/);
    expect(editor.rows.map(({ label, buttons }) => [label, buttons?.[0]?.tooltip])).toEqual([
      ["$(pass) Container engine", undefined],
      ["$(error) Sandbox image", "Build Image"],
      ["$(warning) Network access", "Set Feature Flag"],
      ["$(warning) Disk space", undefined],
    ]);
    expect(editor.rows[3]?.detail).toBe("Only 1.2 GB free. Free up disk space soon.");
    editor.accept(editor.rows[0]);
    editor.accept(editor.rows[1]);
    expect(editor.ran).toEqual(["lancelot.buildSandbox"]);
  });

  it("reports a host that cannot run the checks", async () => {
    answers["tools.doctor"] = new Error("The agent host is not running.");
    await run("doctor");
    expect(editor.reported).toEqual([expect.stringContaining("not running")]);
  });
});
