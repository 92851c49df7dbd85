import { beforeEach, describe, expect, it, vi } from "vitest";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import { notForViews } from "../../../agent-server/contract/webview.ts";
import { memoryDecisionCommands } from "../../../extension/commands/memory-decisions.ts";
import { safeguardCommands } from "../../../extension/commands/safeguards.ts";
import { soulCommands } from "../../../extension/commands/soul.ts";
import type { AgentHost } from "../../../extension/host/agent-host-types.ts";
import { sampleCommits, sampleQuarantined } from "../../support/webview-harness/memory-samples.ts";
import {
  sampleFlag,
  sampleLearningProposal,
  sampleRule,
  sampleSoulProposal,
  sampleSoulStatus,
  sampleStats,
  sampleTrustProposal,
} from "../../support/webview-harness/samples.ts";

interface Asked {
  readonly question: string;
  readonly modal: boolean;
  readonly detail: string;
  readonly buttons: readonly string[];
}

// The editor, as far as these commands use it; the real one is driven in test/e2e/safeguards.test.ts.
const editor = vi.hoisted(() => ({
  asked: [] as Asked[],
  reported: [] as string[],
  /** The index of the button that is pressed; undefined closes the dialog. */
  press: undefined as number | undefined,
  opened: [] as unknown[][],
}));
vi.mock("vscode", () => ({
  l10n: { t: (text: string, ...args: unknown[]) => text.replace(/\{(\d+)\}/g, (_, index: string) => String(args[Number(index)])) },
  Uri: class {
    readonly scheme = "file";
    static from(parts: { path: string; query?: string }) {
      return parts;
    }
  },
  commands: {
    executeCommand(...args: unknown[]) {
      editor.opened.push(args);
      return Promise.resolve();
    },
  },
  window: {
    activeTextEditor: undefined,
    showWarningMessage(question: string, options: { modal: boolean; detail: string }, ...buttons: string[]) {
      editor.asked.push({ question, modal: options.modal, detail: options.detail, buttons });
      return Promise.resolve(editor.press === undefined ? undefined : buttons[editor.press]);
    },
    showInformationMessage(text: string) {
      editor.reported.push(text);
      return Promise.resolve(undefined);
    },
    showInputBox: () => Promise.resolve("Because."),
  },
}));

const answers: Record<string, unknown> = {
  "trust.proposals": { items: [sampleTrustProposal(), sampleTrustProposal({ id: "trust-2", status: "accepted" })] },
  "learning.proposals": { items: [sampleLearningProposal()] },
  "learning.rules": { items: [sampleRule()] },
  "flags.list": { items: [sampleFlag({ enabled: false, needs: ["TOOLS_FABRIC"] })] },
  "governance.stats": sampleStats(),
  "memory.quarantine": { items: sampleQuarantined },
  "memory.commits": { items: sampleCommits },
  "soul.status": sampleSoulStatus(),
  "soul.proposals": { items: [sampleSoulProposal()] },
  "soul.approve": sampleSoulProposal({ status: "approved" }),
  "soul.activate": sampleSoulProposal({ status: "activated" }),
  "soul.reject": sampleSoulProposal({ status: "rejected" }),
  "soul.rollback": sampleSoulStatus({ activeVersion: "v1" }),
};
const ownerCalls: { method: string; params: unknown }[] = [];
let refusal: Error | undefined;
const host = {
  call(method: string, params: unknown) {
    if (!notForViews.has(method)) return Promise.resolve(answers[method]);
    ownerCalls.push({ method, params });
    return refusal === undefined ? Promise.resolve(answers[method] ?? {}) : Promise.reject(refusal);
  },
} as unknown as AgentHost;
const commands = { ...safeguardCommands(host), ...soulCommands(host), ...memoryDecisionCommands(host) };

beforeEach(() => {
  editor.asked.length = 0;
  editor.reported.length = 0;
  editor.opened.length = 0;
  ownerCalls.length = 0;
  refusal = undefined;
  editor.press = undefined;
});

const pattern = "shell_exec.run, prettier";
/** A command, its argument, the facts that its dialog must show, and the call that follows. */
const table: [`lancelot.${string}`, Record<string, string> | undefined, string[], { method: string; params: unknown }][] = [
  [
    "lancelot.decideTrust",
    { id: "trust-1", decision: "accept" },
    ["shell_exec.run on cargo.check", "T2", "T1", sampleTrustProposal().reason],
    { method: "trust.decide", params: { id: "trust-1", decision: "accept" } },
  ],
  [
    "lancelot.decideTrust",
    { id: "trust-1", decision: "decline" },
    ["shell_exec.run on cargo.check", "T2"],
    { method: "trust.decide", params: { id: "trust-1", decision: "decline" } },
  ],
  [
    "lancelot.decideTrust",
    { id: "trust-2", decision: "revoke" },
    ["shell_exec.run on cargo.check"],
    { method: "trust.decide", params: { id: "trust-2", decision: "revoke" } },
  ],
  [
    "lancelot.decideLearning",
    { id: "learning-1", decision: "accept" },
    [pattern, sampleLearningProposal().scope, "24", "95%"],
    { method: "learning.decide", params: { id: "learning-1", decision: "accept" } },
  ],
  [
    "lancelot.decideLearning",
    { id: "learning-1", decision: "decline" },
    [pattern],
    { method: "learning.decide", params: { id: "learning-1", decision: "decline" } },
  ],
  [
    "lancelot.decideLearning",
    { id: "rule-1", decision: "confirm" },
    ["shell_exec.run, npm.install", "203", "50", "500"],
    { method: "learning.decide", params: { id: "rule-1", decision: "confirm" } },
  ],
  [
    "lancelot.decideLearning",
    { id: "rule-1", decision: "revoke" },
    ["shell_exec.run, npm.install"],
    { method: "learning.decide", params: { id: "rule-1", decision: "revoke" } },
  ],
  ["lancelot.toggleSafeMode", undefined, [], { method: "tools.safeMode", params: { enabled: true } }],
  ["lancelot.toggleSafeMode", { enabled: "false" }, [], { method: "tools.safeMode", params: { enabled: false } }],
  [
    "lancelot.setFlag",
    { name: "SOUL", enabled: "true" },
    ["SOUL", sampleFlag().effect, "TOOLS_FABRIC", "config/flags.yaml"],
    { method: "flags.set", params: { name: "SOUL", enabled: true } },
  ],
  [
    "lancelot.approveSoul",
    { id: "proposal-1" },
    ["v3", sampleSoulProposal().reason, "-version: v2\n+version: v3\n+    - format_code", "[memory_ethics]"],
    { method: "soul.approve", params: { id: "proposal-1" } },
  ],
  ["lancelot.activateSoul", { id: "proposal-1" }, ["v3", "v2"], { method: "soul.activate", params: { id: "proposal-1" } }],
  ["lancelot.rejectSoul", { id: "proposal-1" }, ["v3"], { method: "soul.reject", params: { id: "proposal-1", reason: "Because." } }],
  ["lancelot.rollBackSoul", { version: "v1" }, ["v1", "v2"], { method: "soul.rollback", params: { version: "v1" } }],
  [
    "lancelot.promoteMemory",
    { id: "quarantine-1" },
    [...["− Answers should be short, and name", "+ Answers should be long"], ...["The owner asked twice for more detail.", "About you"]],
    { method: "memory.promote", params: { id: "quarantine-1" } },
  ],
  [
    "lancelot.rollBackMemory",
    { commitId: "commit-1" },
    ["“What the invoice task taught”", "+ Answers should be short.", "− The invoice tests need"],
    { method: "memory.rollback", params: { commitId: "commit-1", reason: "Because." } },
  ],
  [
    "lancelot.rollBackMemory",
    { commitId: "commit-1", itemId: "item-2" },
    ["“What the invoice task taught”", "− The invoice tests need"],
    { method: "memory.rollback", params: { commitId: "commit-1", itemIds: ["item-2"], reason: "Because." } },
  ],
  [
    "lancelot.rollBackLastMemory",
    undefined,
    ["“What the invoice task taught”"],
    { method: "memory.rollback", params: { commitId: "commit-1", reason: "Because." } },
  ],
];

describe.each(table)("%s %j", (name, argument, facts, call) => {
  const run = async (): Promise<void> => commands[name]?.(argument);

  it("asks in a modal dialog that shows the facts, and calls the host on yes", async () => {
    editor.press = 0;
    await run();
    expect(editor.asked).toHaveLength(1);
    expect(editor.asked[0]?.modal).toBe(true);
    const shown = `${editor.asked[0]?.question}\n${editor.asked[0]?.detail}`;
    for (const fact of facts) expect(shown).toContain(fact);
    expect(ownerCalls).toEqual([call]);
  });

  it("does nothing when the dialog is closed", async () => {
    await run();
    expect(editor.asked).toHaveLength(1);
    expect(ownerCalls).toEqual([]);
  });

  it("reports a decision made in another window, and passes on any other failure", async () => {
    editor.press = 0;
    refusal = new LancelotError("conflict", "It was answered in another window.");
    await run();
    expect(editor.reported).toEqual(["It was answered in another window."]);
    refusal = new LancelotError("internal", "It failed.");
    await expect(run()).rejects.toThrow("It failed.");
  });
});

describe("an item that no longer exists", () => {
  it.each([
    ["lancelot.decideTrust", { id: "gone", decision: "accept" }],
    ["lancelot.decideLearning", { id: "gone", decision: "accept" }],
    ["lancelot.decideLearning", { id: "gone", decision: "revoke" }],
    ["lancelot.setFlag", { name: "GONE", enabled: "true" }],
    ["lancelot.approveSoul", { id: "gone" }],
    ["lancelot.promoteMemory", { id: "gone" }],
    ["lancelot.rollBackMemory", { commitId: "gone" }],
    ["lancelot.undoMemory", { commitId: "gone" }],
  ] as const)("%s %j fails without a dialog", async (name, argument) => {
    await expect(commands[name]?.(argument)).rejects.toThrow(Error);
    expect(editor.asked).toEqual([]);
    expect(ownerCalls).toEqual([]);
  });

  it.each([
    ["lancelot.decideTrust", { id: "trust-1", decision: "confirm" }],
    ["lancelot.decideTrust", { decision: "accept" }],
    ["lancelot.decideLearning", undefined],
  ] as const)("%s %j does nothing", async (name, argument) => {
    editor.press = 0;
    await commands[name]?.(argument);
    expect(ownerCalls).toEqual([]);
  });
});

it.each([
  ["lancelot.promoteMemory", { id: "quarantine-2" }, /It speaks as an instruction/],
  ["lancelot.rollBackMemory", { commitId: "commit-2" }, /Commit commit-1 changed it since/],
] as const)("%s %j fails with the reason and without a dialog", async (name, argument, why) => {
  await expect(commands[name]?.(argument)).rejects.toThrow(why);
  expect(editor.asked).toEqual([]);
  expect(ownerCalls).toEqual([]);
});

it("the second button of a proposal opens its diff instead of deciding", async () => {
  editor.press = 1;
  await commands["lancelot.approveSoul"]?.({ id: "proposal-1" });
  expect(editor.opened.map(([command]) => command)).toEqual(["vscode.diff"]);
  expect(ownerCalls).toEqual([]);
});
