import { beforeEach, expect, it, vi } from "vitest";
import type { Quest } from "../../../agent-server/contract/chat.ts";
import type { HostEvent } from "../../../agent-server/contract/events.ts";
import type { AgentHost } from "../../../extension/host/agent-host-types.ts";
import { registerKeepOrUndo } from "../../../extension/review/keep-or-undo.ts";
import { sampleQuest } from "../../support/webview-harness/samples.ts";

// The editor, as far as this notification uses it.
const editor = vi.hoisted(() => ({ posture: "supervised", offered: [] as string[] }));
vi.mock("vscode", () => ({
  l10n: { t: (text: string) => text },
  workspace: {
    getConfiguration: () => ({
      get: (name: string, other: unknown) => (name === "posture" ? editor.posture : other),
      inspect: () => undefined,
    }),
  },
  window: {
    showInformationMessage: (text: string) => {
      editor.offered.push(text);
      return Promise.resolve(undefined);
    },
  },
}));

/** Reports the states of a quest one after the other, as the host does. */
async function report(states: Partial<Quest>[], files: string[] = ["src/a.ts"]): Promise<number> {
  let listener: (event: HostEvent) => void = () => undefined;
  const host = {
    onEvent: (on: typeof listener) => {
      listener = on;
      return { dispose: () => undefined };
    },
    call: () => Promise.resolve({ files: files.map((path) => ({ path, diff: "" })) }),
  } as unknown as AgentHost;
  registerKeepOrUndo(host);
  for (const state of states) listener({ seq: 1, topic: "quest", payload: sampleQuest(state) });
  await new Promise((resolve) => setImmediate(resolve));
  return editor.offered.length;
}

beforeEach(() => {
  editor.posture = "supervised";
  editor.offered = [];
});

const active = { status: "active" } as const;
const done = { status: "done" } as const;

it.each<[string, string, Partial<Quest>[], number]>([
  ["after reviewed edits", "supervised", [active, done], 0],
  ["by the posture", "autonomous", [active, done], 1],
  ["after crusader mode, which ends before the run does", "supervised", [{ ...active, mode: "crusader" }, active, done], 1],
  [
    "in Auto-apply",
    "supervised",
    [
      { ...active, edits: "auto" },
      { ...done, edits: "auto" },
    ],
    1,
  ],
  [
    "in Review edits",
    "autonomous",
    [
      { ...active, edits: "review" },
      { ...done, edits: "review" },
    ],
    0,
  ],
  ["while the task waits", "autonomous", [active, { status: "waiting" }], 0],
  ["of a task that ended before", "autonomous", [done], 0],
  [
    "of a sub-task",
    "autonomous",
    [
      { ...active, parentId: "quest-0" },
      { ...done, parentId: "quest-0" },
    ],
    0,
  ],
])("Keep or Undo %s", async (_, posture, states, offered) => {
  editor.posture = posture;
  expect(await report(states)).toBe(offered);
});

it("offers nothing when nothing was changed", async () => {
  editor.posture = "autonomous";
  expect(await report([active, done], [])).toBe(0);
});
