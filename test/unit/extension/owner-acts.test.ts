import { beforeEach, describe, expect, it, vi } from "vitest";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import { notForViews } from "../../../agent-server/contract/webview.ts";
import { memoryDecisionCommands } from "../../../extension/commands/memory-decisions.ts";
import { safeguardCommands } from "../../../extension/commands/safeguards.ts";
import { soulCommands } from "../../../extension/commands/soul.ts";
import type { AgentHost } from "../../../extension/host/agent-host.ts";
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
  told: [] as string[],
  /** The button that is pressed; undefined closes the dialog. */
  press: undefined as string | undefined,
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
      return Promise.resolve(buttons.find((button) => button === editor.press));
    },
    showInformationMessage(text: string) {
      editor.told.push(text);
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
const acts: { method: string; params: unknown }[] = [];
let refusal: Error | undefined;
const host = {
  call(method: string, params: unknown) {
    if (!notForViews.has(method)) return Promise.resolve(answers[method]);
    acts.push({ method, params });
    return refusal === undefined ? Promise.resolve(answers[method] ?? {}) : Promise.reject(refusal);
  },
} as unknown as AgentHost;
const commands = { ...safeguardCommands(host), ...soulCommands(host), ...memoryDecisionCommands(host) };

beforeEach(() => {
  editor.asked.length = 0;
  editor.told.length = 0;
  editor.opened.length = 0;
  acts.length = 0;
  refusal = undefined;
  editor.press = undefined;
});

const pattern = "shell_exec.run, prettier";
/** A command, its argument, the button that says yes, words that the dialog must hold, and the call that follows. */
const table: [`lancelot.${string}`, Record<string, string> | undefined, string, string[], { method: string; params: unknown }][] = [
  [
    "lancelot.decideTrust",
    { id: "trust-1", decision: "accept" },
    "Accept",
    [
      "Lower shell_exec.run on cargo.check from T2 to T1?",
      "100 runs in a row ended well.",
      "What the soul or the policy holds stays held.",
    ],
    { method: "trust.decide", params: { id: "trust-1", decision: "accept" } },
  ],
  [
    "lancelot.decideTrust",
    { id: "trust-1", decision: "decline" },
    "Decline",
    ["It stays at T2"],
    { method: "trust.decide", params: { id: "trust-1", decision: "decline" } },
  ],
  [
    "lancelot.decideTrust",
    { id: "trust-2", decision: "revoke" },
    "Withdraw",
    ["It goes back to its own tier at once"],
    { method: "trust.decide", params: { id: "trust-2", decision: "revoke" } },
  ],
  [
    "lancelot.decideLearning",
    { id: "learning-1", decision: "accept" },
    "Save the rule",
    [`Allow ${pattern} without asking from now on?`, sampleLearningProposal().scope, "24 times, 95 % alike"],
    { method: "learning.decide", params: { id: "learning-1", decision: "accept" } },
  ],
  [
    "lancelot.decideLearning",
    { id: "learning-1", decision: "decline" },
    "Decline",
    ["You are asked as before"],
    { method: "learning.decide", params: { id: "learning-1", decision: "decline" } },
  ],
  [
    "lancelot.decideLearning",
    { id: "rule-1", decision: "confirm" },
    "Confirm",
    ["decided 203 times", "50 times a day and 500 times more"],
    { method: "learning.decide", params: { id: "rule-1", decision: "confirm" } },
  ],
  [
    "lancelot.decideLearning",
    { id: "rule-1", decision: "revoke" },
    "Withdraw",
    ["From the next decision on you are asked again."],
    { method: "learning.decide", params: { id: "rule-1", decision: "revoke" } },
  ],
  [
    "lancelot.toggleSafeMode",
    undefined,
    "Switch on",
    ["no network, no connectors, no deployment, no push"],
    { method: "tools.safeMode", params: { enabled: true } },
  ],
  [
    "lancelot.toggleSafeMode",
    { enabled: "false" },
    "Switch off",
    ["judged by the soul, the policy and the flags again"],
    { method: "tools.safeMode", params: { enabled: false } },
  ],
  [
    "lancelot.setFlag",
    { name: "SOUL", enabled: "true" },
    "Switch on",
    [sampleFlag().effect, "only with: TOOLS_FABRIC", "config/flags.yaml"],
    { method: "flags.set", params: { name: "SOUL", enabled: true } },
  ],
  [
    "lancelot.approveSoul",
    { id: "proposal-1" },
    "Approve",
    ["Nothing changes yet", sampleSoulProposal().reason, "-version: v2\n+version: v3\n+    - format_code", "[memory_ethics]"],
    { method: "soul.approve", params: { id: "proposal-1" } },
  ],
  [
    "lancelot.activateSoul",
    { id: "proposal-1" },
    "Activate",
    ["It governs every action from the next decision on, in every window.", "roll back to v2"],
    { method: "soul.activate", params: { id: "proposal-1" } },
  ],
  [
    "lancelot.rejectSoul",
    { id: "proposal-1" },
    "Reject",
    ["The active soul stays as it is."],
    { method: "soul.reject", params: { id: "proposal-1", reason: "Because." } },
  ],
  [
    "lancelot.rollBackSoul",
    { version: "v1" },
    "Roll back",
    ["Make v1 the active soul again?", "Now v2 is active"],
    { method: "soul.rollback", params: { version: "v1" } },
  ],
  [
    "lancelot.promoteMemory",
    { id: "quarantine-1" },
    "Let it in",
    [
      ...[
        "Let this into memory?",
        "− Answers should be short, and name",
        "+ Answers should be long",
        "The owner asked twice for more detail.",
      ],
      "It goes to “About you”",
    ],
    { method: "memory.promote", params: { id: "quarantine-1" } },
  ],
  [
    "lancelot.rollBackMemory",
    { commitId: "commit-1" },
    "Roll back",
    [
      "Roll back “What the invoice task taught”?",
      "+ Answers should be short.",
      "− The invoice tests need",
      "Later changes of other entries stay.",
    ],
    { method: "memory.rollback", params: { commitId: "commit-1", reason: "Because." } },
  ],
  [
    "lancelot.rollBackMemory",
    { commitId: "commit-1", itemId: "item-2" },
    "Roll back",
    ["Roll back this one change of “What the invoice task taught”?", "− The invoice tests need"],
    { method: "memory.rollback", params: { commitId: "commit-1", itemIds: ["item-2"], reason: "Because." } },
  ],
  [
    "lancelot.rollBackLastMemory",
    undefined,
    "Roll back",
    ["Roll back “What the invoice task taught”?"],
    { method: "memory.rollback", params: { commitId: "commit-1", reason: "Because." } },
  ],
];

describe.each(table)("%s %j", (name, argument, yes, words, act) => {
  const run = async (): Promise<void> => commands[name]?.(argument);

  it("asks in a modal dialog that says what it does, and acts on yes", async () => {
    editor.press = yes;
    await run();
    expect(editor.asked).toHaveLength(1);
    expect(editor.asked[0]?.modal).toBe(true);
    const shown = `${editor.asked[0]?.question}\n${editor.asked[0]?.detail}`;
    for (const word of words) expect(shown).toContain(word);
    expect(acts).toEqual([act]);
  });

  it("does nothing when the dialog is closed", async () => {
    await run();
    expect(editor.asked).toHaveLength(1);
    expect(acts).toEqual([]);
  });

  it("says so when it was decided elsewhere meanwhile, and passes any other failure on", async () => {
    editor.press = yes;
    refusal = new LancelotError("conflict", "It was answered in another window.");
    await run();
    expect(editor.told).toEqual(["It was answered in another window."]);
    refusal = new LancelotError("internal", "It failed.");
    await expect(run()).rejects.toThrow("It failed.");
  });
});

describe("what is no longer there", () => {
  it.each([
    ["lancelot.decideTrust", { id: "gone", decision: "accept" }],
    ["lancelot.decideLearning", { id: "gone", decision: "accept" }],
    ["lancelot.decideLearning", { id: "gone", decision: "revoke" }],
    ["lancelot.setFlag", { name: "GONE", enabled: "true" }],
    ["lancelot.approveSoul", { id: "gone" }],
    ["lancelot.promoteMemory", { id: "gone" }],
    ["lancelot.rollBackMemory", { commitId: "gone" }],
    ["lancelot.undoMemory", { commitId: "gone" }],
  ] as const)("%s %j is said in words and not asked", async (name, argument) => {
    await expect(commands[name]?.(argument)).rejects.toThrow(/no longer there/);
    expect(editor.asked).toEqual([]);
    expect(acts).toEqual([]);
  });

  it.each([
    ["lancelot.decideTrust", { id: "trust-1", decision: "confirm" }],
    ["lancelot.decideTrust", { decision: "accept" }],
    ["lancelot.decideLearning", undefined],
  ] as const)("%s %j does nothing", async (name, argument) => {
    editor.press = "Accept";
    await commands[name]?.(argument);
    expect(acts).toEqual([]);
  });
});

it.each([
  ["lancelot.promoteMemory", { id: "quarantine-2" }, /checks hold it back: • It speaks as an instruction/],
  ["lancelot.rollBackMemory", { commitId: "commit-2" }, /cannot be rolled back: Commit commit-1 changed it since/],
] as const)("%s %j is not asked when it cannot be", async (name, argument, why) => {
  await expect(commands[name]?.(argument)).rejects.toThrow(why);
  expect(editor.asked).toEqual([]);
  expect(acts).toEqual([]);
});

it("the dialog of a proposal leads to its diff instead of deciding", async () => {
  editor.press = "Show the diff";
  await commands["lancelot.approveSoul"]?.({ id: "proposal-1" });
  expect(editor.opened.map(([command]) => command)).toEqual(["vscode.diff"]);
  expect(acts).toEqual([]);
});
