import type { TaskLeft } from "../../../agent-server/contract/changes.ts";
import type { Message } from "../../../agent-server/contract/chat.ts";
import type { MemoryPlace } from "../../../agent-server/contract/webview.ts";
import type { Recording } from "./fake-host.ts";
import {
  answerText,
  at,
  sampleApproval,
  sampleApprovalRule,
  sampleChange,
  sampleCommand,
  sampleCommandApproval,
  sampleDoctor,
  sampleFlag,
  sampleLearningProposal,
  sampleMessage,
  sampleQuest,
  sampleProvider,
  sampleProviders,
  sampleReceipt,
  sampleRoute,
  sampleRule,
  sampleScopes,
  sampleSandbox,
  sampleSoul,
  sampleSoulProposal,
  sampleSoulStatus,
  sampleSoulYaml,
  sampleStats,
  sampleTool,
  sampleTouched,
  sampleTrace,
  sampleTrust,
  sampleTrustProposal,
} from "./samples.ts";
import { answerWithSections, sampleArtifact, sampleArtifacts } from "./artifact-samples.ts";
import { samplePlan } from "./plan-samples.ts";
import {
  emptyMemoryAnswers,
  memoryAnswers,
  sampleBlock,
  sampleBlocks,
  sampleHit,
  sampleItem,
  sampleMemoryStatus,
} from "./memory-samples.ts";
import { sampleDecision, sampleRouterStats, sampleServer, sampleUsage, sampleUsageSum } from "./usage-samples.ts";

export interface ViewState {
  readonly name: string;
  readonly view: "chat" | "war-room";
  readonly recording: Recording;
  /** Elements to click in turn before looking. */
  readonly click?: readonly string[];
  /** Something that shows only while the pointer is over another thing. */
  readonly hoverFirst?: { readonly click: string; readonly over: string };
  /** Pixels; what is below the fold is not drawn. */
  readonly height?: number;
  /** A field to fill before looking. */
  readonly fill?: { readonly testId: string; readonly text: string };
  /** Text to type into the composer before looking. */
  readonly type?: string;
  /** Whether `npm test` examines it with every accessibility rule in every theme at every width, as `npm run soak` does all states. */
  readonly everyLook?: boolean;
}

const models = {
  items: [
    { provider: "work", kind: "anthropic", model: "claude-sonnet", displayName: "Claude Sonnet", active: true, contextWindow: 200_000 },
  ],
  providers: [{ provider: "work", kind: "anthropic", displayName: "Anthropic", active: true, hasKey: true, problem: null }],
  problem: null,
};
const local = {
  status: "absent",
  file: null,
  name: "Qwen3 4B Instruct",
  license: "Apache-2.0",
  totalBytes: 2_497_281_120,
  doneBytes: 0,
  source: null,
  problem: null,
};
const sampleLeft: TaskLeft = {
  questId: "quest-1",
  generated: {
    groups: [
      { name: "node_modules", created: 3412, modified: 0, deleted: 0 },
      { name: "dist", created: 12, modified: 2, deleted: 1 },
    ],
    receiptId: "receipt-7",
  },
  commits: [{ hash: "0123456789abcdef0123456789abcdef01234567", subject: "Apply the linter's fixes" }],
  inCopy: [{ name: "target", created: 1208, modified: 0, deleted: 0 }],
};
const proposingCommand = sampleCommand({
  status: "success",
  title: "Run npm run lint:fix",
  command: {
    text: "npm run lint:fix",
    cwd: ".",
    place: "os_sandbox",
    containment: "transactional",
    network: false,
    exitCode: 0,
    ended: "exit",
  },
  proposed: { changeIds: ["change-1", "change-2", "change-3"], total: 5, generated: sampleLeft.generated?.groups ?? [] },
});
const receipts = Array.from({ length: 60 }, (_, index) => sampleReceipt(index));
const quests = [
  sampleQuest(),
  sampleQuest({ id: "quest-2", title: "Explain how releases are built", status: "interrupted", updatedAt: at(4000) }),
  sampleQuest({
    id: "quest-3",
    title: "Rename the customer module everywhere it is used, tests included",
    status: "waiting",
    updatedAt: at(90_000),
  }),
  sampleQuest({ id: "quest-4", title: "Upgrade the date library", status: "failed", updatedAt: at(300_000) }),
];

const decidedSouls = [
  sampleSoulProposal({
    id: "proposal-0",
    fromVersion: "v1",
    toVersion: "v2",
    status: "activated",
    decidedAt: at(90_000),
    reason: "Name commits.",
  }),
  sampleSoulProposal({ id: "proposal-x", status: "rejected", decidedAt: at(60_000), reason: "Let pushes go without asking." }),
];
const trust = [
  sampleTrust(),
  sampleTrust({ scope: "cargo.check", tier: "T1", successes: 12, nextAt: null, heldBy: "What changes files keeps its checkpoint." }),
  sampleTrust({
    capability: "file_ops",
    action: "delete",
    scope: "workspace",
    defaultTier: "T3",
    tier: "T3",
    successes: 3,
    nextAt: null,
    heldBy: "The soul holds it at T3.",
  }),
  sampleTrust({
    capability: "web_ops",
    action: "fetch",
    scope: "registry.npmjs.org",
    successes: 7,
    failures: 2,
    rollbacks: 1,
    nextAt: 50,
    coolDown: 18,
  }),
];
const rules = [
  sampleRule(),
  sampleRule({
    id: "rule-2",
    pattern: { capability: "file_ops", action: "write", scope: null },
    status: "needs_confirmation",
    decidedInAll: 500,
    decidedToday: 50,
  }),
  sampleRule({
    id: "rule-3",
    pattern: { capability: "web_ops", action: "fetch", scope: "example.org" },
    verdict: "deny",
    status: "revoked",
    decidedToday: 0,
  }),
];
const criticalIssue = {
  rule: "destructive_actions_require_approval",
  severity: "critical",
  message: "requires_approval names neither deleting nor deploying.",
  line: 10,
  column: 3,
};

const building = {
  ...sampleSandbox().image,
  ...{ state: "building" as const, bytes: null, message: "Step 7/12: RUN apt-get install --no-install-recommends git python3 ripgrep" },
};

const decisions = [
  sampleDecision(),
  sampleDecision({
    ...{ id: "decision-2", taskType: "classify_intent", lane: "local_utility", provider: "none", model: "rules", rule: "local_task" },
    ...{ rationale: "Sorting a request is done on this machine.", alternatives: [], elapsedMs: 3, questId: null, receiptId: null },
  }),
  sampleDecision({
    ...{ id: "decision-3", lane: "flagship_fast", model: "claude-sonnet-5-5", rule: "default", success: false, elapsedMs: 60_000 },
    ...{ rationale: "Nothing asks for more than the fast lane.", error: "Anthropic did not respond within 60 s." },
  }),
  sampleDecision({ id: "decision-4", lane: "flagship_fast", model: "claude-sonnet-5-5", rule: "override", success: null, elapsedMs: 0 }),
];
const brokenServer = sampleServer({
  ...{ kind: "lm-studio", displayName: "LM Studio", url: "http://127.0.0.1:1234/v1", models: [], structured: null },
  problem: "It requires an API key: add it as a provider with api_key_name in config/models.yaml.",
});
const loadedModel = {
  ...{ status: "loaded", file: "Qwen3-4B-Instruct-2507-Q4_K_M.gguf", name: "Qwen3 4B Instruct", license: "Apache-2.0", source: "hub" },
  ...{ note: "Answers questions about your files well; larger edits want a larger model.", problem: null },
  ...{ totalBytes: 2_497_281_120, doneBytes: 2_497_281_120, fit: "This machine has 16 GB of memory; the model takes 4.1 GB of it." },
  loaded: {
    ...{ contextSize: 16_384, threads: 7, gpuLayers: 0, memoryBytes: 4_120_000_000, idleMs: 240_000, queued: 1 },
    tokensPerSecond: 11.34,
  },
  intent: { status: "ready", problem: null },
};

function answersWith(patch: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    "host.info": {
      name: "lancelot",
      version: "0.1.0",
      protocolVersion: 1,
      pid: 4711,
      workspace: "shop",
      trusted: true,
      posture: "supervised",
      startedAt: at(5000),
      safeMode: false,
      sleeping: null,
      maxRunningTasks: 4,
      lastEventSeq: 0,
    },
    "models.list": models,
    "models.local": local,
    "quests.list": { items: quests },
    "approvals.list": { items: [] },
    "changes.list": { items: [] },
    "receipts.search": { items: receipts },
    "receipts.get": sampleReceipt(3),
    "receipts.trace": { roots: sampleTrace() },
    "receipts.verify": {
      ok: true,
      entries: 118_204,
      head: "a1b2c3d4".repeat(8),
      signed: { seq: 118_200, at: at(900), keyId: "7d0c51e2", heads: 412 },
      segments: { count: 3, entries: 90_000 },
    },
    "governance.stats": sampleStats(),
    "approvals.rules": { items: [] },
    "soul.status": sampleSoulStatus(),
    "soul.get": { version: "v2", yaml: sampleSoulYaml, document: sampleSoul, active: true },
    "soul.lint": { valid: true, issues: [] },
    "soul.proposals": { items: [sampleSoulProposal(), ...decidedSouls] },
    "flags.list": { items: [sampleFlag()] },
    "trust.list": { items: trust },
    "trust.proposals": {
      items: [sampleTrustProposal(), sampleTrustProposal({ id: "trust-2", scope: "npm.test", status: "accepted", decidedAt: at(80_000) })],
    },
    "learning.rules": { items: rules },
    "learning.proposals": { items: [sampleLearningProposal()] },
    "usage.summary": sampleUsage(),
    "router.decisions": { items: decisions },
    "router.stats": sampleRouterStats(),
    "models.servers": { items: [sampleServer(), brokenServer] },
    ...memoryAnswers,
    "artifacts.list": { items: sampleArtifacts },
    "tools.providers": { items: sampleProviders },
    "tools.route": sampleRoute(),
    "tools.sandbox": sampleSandbox(),
    "tools.sandbox.build": sampleSandbox({ image: building }),
    "tools.doctor": { items: sampleDoctor },
    "commands.list": {
      items: [{ name: "release", description: "Prepare a release", source: "workspace", path: ".lancelot/commands/release.md" }],
      problems: [],
    },
    "workspace.files": { items: ["src/invoice/total.ts", "src/invoice/line.ts", "test/invoice.test.ts"] },
    ...patch,
  };
}

const nothingUsed = sampleUsageSum({
  ...{ calls: 0, costUsd: 0, cacheSavingsUsd: 0, unpricedCalls: 0 },
  usage: { ...{ inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 }, ...{ reasoningTokens: 0, cacheWriteTokens: 0, toolTokens: 0 } },
});

const ready = { state: "ready", detail: "" };
const nothingOpen = { questId: null, draft: "", chosen: [], history: [], outgoing: [], kept: [] };
const questOpen = { ...nothingOpen, questId: "quest-1" };

function chat(name: string, patch: Partial<Recording>, more: Partial<ViewState> = {}): ViewState {
  return {
    name,
    view: "chat",
    recording: { host: ready, answers: answersWith(), events: [], shows: [], saved: questOpen, ...patch },
    ...more,
  };
}

function fixture(name: string, tab: string, patch: Partial<Recording> = {}, more: Partial<ViewState> = {}): ViewState {
  const shows = [{ type: "show", tab }];
  return { name, view: "war-room", recording: { host: ready, answers: answersWith(), events: [], shows, saved: null, ...patch }, ...more };
}

function questAnswers(
  quest: ReturnType<typeof sampleQuest>,
  messages: Message[],
  more: Record<string, unknown> = {},
): Record<string, unknown> {
  return answersWith({ "quests.get": { quest, messages }, "quests.list": { items: [quest, ...quests.slice(1)] }, ...more });
}

/** A part of the panel Memory, with something of it open. */
function memory(name: string, place: MemoryPlace, patch: Partial<Recording> = {}, more: Partial<ViewState> = {}): ViewState {
  return fixture(`war-room-memory-${name}`, "memory", { shows: [{ type: "show", tab: "memory", memory: place }], ...patch }, more);
}

const manyHits = Array.from({ length: 20_000 }, (_, index) =>
  sampleHit(sampleItem({ id: `item-${index}`, tier: "archival", block: null, content: `Fact ${index}: ${"a word of it ".repeat(12)}` })),
);

const question = sampleMessage();
const plan = [
  { title: "Reproduce the failure", status: "done" as const, doneWhen: "the test fails for the stated reason" },
  { title: "Fix the total", status: "active" as const, doneWhen: "the test passes" },
  { title: "Look for the same mistake elsewhere", status: "pending" as const },
];
const thinking = { type: "thinking" as const, text: "The test expects 30 but gets 10, so a factor is missing." };
/** Reasoning, a sub-task, an answer with a claim that nothing backs, and the reported actions. */
const checked: Message = sampleMessage({
  id: "message-2",
  seq: 1,
  role: "assistant",
  parts: [
    {
      type: "reasoning",
      strategy: "1. Read `src/invoice/total.ts`\n2. Fix the factor",
      risks: ["Other sums may have the same mistake."],
      gaps: ["The production log is not here."],
      thinking: "",
      experiences: 2,
      receiptId: "receipt-1",
    },
    sampleTool({
      callId: "call-4",
      tool: "spawn_subtask",
      title: "Sub-task: document the invoice module",
      subtask: {
        questId: "quest-9",
        status: "done",
        steps: [
          { id: "step-1", title: "Read src/invoice/total.ts", status: "success", output: "42 lines", receiptId: "receipt-2" },
          { id: "step-2", title: "Edit docs/invoice.md", status: "success", output: "1 place", receiptId: "receipt-3" },
        ],
        total: 2,
      },
    }),
    { type: "text", text: "I fixed the factor and all 42 tests pass." },
    {
      type: "notice",
      level: "warning",
      text: "Not backed by what Lancelot recorded:\n- “all 42 tests pass”: nothing of the kind is recorded",
      claims: [{ kind: "tests", text: "all 42 tests pass", reason: "not_recorded" }],
    },
    {
      type: "outcome",
      actions: [
        { text: "Edited src/invoice/total.ts", recorded: true, receiptId: "receipt-4" },
        { text: "Ran the tests", recorded: false, receiptId: null },
      ],
      nextAction: "Run the tests of the invoice module",
    },
  ],
});
const work: Message = sampleMessage({
  id: "message-2",
  seq: 1,
  role: "assistant",
  parts: [
    thinking,
    { type: "text", text: "I will look at the code and its test first." },
    sampleTool(),
    sampleTool({
      callId: "call-2",
      tool: "search_workspace",
      title: "Search “quantity” in src",
      status: "failure",
      output: "No match.",
      durationMs: 2310,
    }),
    sampleTool({ callId: "call-3", tool: "edit_file", title: "Edit src/invoice/total.ts", tier: "T1", changeId: "change-1" }),
    { type: "text", text: answerText },
    { type: "notice", level: "warning", text: "The local model could not be used; the remote one answered.", action: "download_model" },
    { type: "notice", level: "error", text: "The provider refused the key.", action: "set_key" },
    {
      type: "notice",
      level: "error",
      text: "Not sent: the next call could cost up to $0.42. Raise the cap and resume.",
      action: "raise_cap",
    },
  ],
  answeredBy: {
    ...{ provider: "work", model: "claude-opus-5-5", displayName: "Claude Opus 5.5", lane: "flagship_deep", decisionId: "decision-1" },
    rationale: "The request speaks of a failure, so the deep lane looks at it.",
  },
});
const running: Message = sampleMessage({
  id: "message-2",
  seq: 1,
  role: "assistant",
  open: true,
  parts: [
    thinking,
    sampleTool(),
    sampleTool({
      callId: "call-2",
      tool: "delete_file",
      title: "Delete old-invoices.json",
      status: "waiting",
      tier: "T3",
      verdict: "ask",
      output: null,
      durationMs: null,
      approvalId: "approval-1",
    }),
  ],
});

const commands = (part: ReturnType<typeof sampleCommand>, open = false): Message =>
  sampleMessage({ id: "message-2", seq: 1, role: "assistant", open, parts: [{ type: "text", text: "I run the tests." }, part] });
const runningCommand = sampleCommand({
  ...{ status: "running", durationMs: null, output: null },
  command: {
    text: "npm test -- --run\nnpm run lint",
    cwd: "packages/shop",
    place: "os_sandbox",
    network: true,
    exitCode: null,
    ended: null,
  },
});
const backgroundCommand = sampleCommand({
  ...{ status: "success", title: "Run npm run dev -- --host 127.0.0.1", output: "Running in the background as background-1." },
  command: {
    ...{ text: "npm run dev -- --host 127.0.0.1", cwd: ".", place: "os_sandbox", network: false, exitCode: null, ended: null },
    background: { id: "background-1" },
  },
});
const hostCommand = { text: "./count.sh", cwd: ".", place: "host" as const, network: false, exitCode: 0, ended: "exit" as const };
const longOutput = Array.from(
  { length: 3000 },
  (_, index) => `\u001b[3${1 + (index % 6)}mline ${index + 1}\u001b[0m of many, src/a.ts:${index + 1}:1`,
).join("\n");

const longCommand = [
  ...Array.from({ length: 30 }, (_, index) => `python3 -c 'print(${index})' && \\`),
  "rm -rf build",
  "",
  "Folder: the workspace",
  "Runs in the sandbox.",
  "Timeout: 10 min",
].join("\n");
const manyReasons = [
  "Deletes a folder.",
  "Runs with network access.",
  "Deletes a folder.",
  "The soul asks first.",
  "A script changed.",
].map((message, index) => ({ id: `rule.${index}`, source: "policy" as const, message }));
const withPlan = (shown: ReturnType<typeof samplePlan>, quest: ReturnType<typeof sampleQuest>) => ({
  answers: questAnswers(
    quest,
    [question, sampleMessage({ id: "message-2", seq: 1, role: "assistant", parts: [{ type: "plan", planId: "plan-1" }] })],
    { "plans.get": shown },
  ),
});
const proposedPlan = withPlan(samplePlan(), sampleQuest({ mode: "plan" }));

/** Every state of the views that is looked at and checked. */
export const states: readonly ViewState[] = [
  chat("chat-empty", { saved: nothingOpen }),
  chat(
    "chat-conversation",
    {
      answers: questAnswers(sampleQuest({ plan }), [question, work], {
        "changes.list": { items: [sampleChange(), sampleChange({ id: "change-2", path: "test/invoice.test.ts", status: "mixed" })] },
      }),
    },
    { click: [".plan > summary", ".thinking > summary", ".tool summary"] },
  ),
  chat("chat-plan", proposedPlan),
  chat("chat-plan-stopped", withPlan(samplePlan({ status: "running" }), sampleQuest({ status: "done" }))),
  chat("chat-plan-edit", proposedPlan, { click: ['[data-testid="plan-edit"]'] }),
  chat("chat-answer-sections", {
    answers: questAnswers(sampleQuest(), [
      question,
      sampleMessage({ id: "message-2", seq: 1, role: "assistant", parts: [{ type: "text", text: answerWithSections }] }),
    ]),
  }),
  fixture("war-room-artifacts", "artifacts"),
  fixture("war-room-artifacts-opened", "artifacts", {
    shows: [{ type: "show", tab: "artifacts", artifact: { questId: "quest-1", id: sampleArtifact().id } }],
    answers: answersWith({ "artifacts.list": { items: sampleArtifacts.filter(({ questId }) => questId === "quest-1") } }),
  }),
  fixture("war-room-artifacts-empty", "artifacts", { answers: answersWith({ "artifacts.list": { items: [] } }) }),
  fixture("war-room-artifacts-failed", "artifacts", {
    errors: { "artifacts.list": { code: "internal", message: "The artifacts could not be read." } },
  }),
  chat(
    "chat-checked-answer",
    { answers: questAnswers(sampleQuest(), [question, checked]) },
    { click: [".reasoning summary", ".tool summary"] },
  ),
  chat(
    "chat-answer",
    {
      answers: questAnswers(sampleQuest(), [question, work], {
        "changes.list": { items: [sampleChange(), sampleChange({ id: "change-2", path: "test/invoice.test.ts", status: "mixed" })] },
      }),
    },
    { height: 1700 },
  ),
  chat(
    "chat-approval",
    {
      answers: questAnswers(
        sampleQuest({ status: "waiting", waitingFor: { kind: "approval", id: "approval-1" }, plan }),
        [question, running],
        {
          "approvals.list": { items: [sampleApproval()] },
        },
      ),
    },
    { everyLook: true },
  ),
  chat(
    "chat-approval-queue",
    {
      answers: questAnswers(sampleQuest({ status: "active" }), [question, running], {
        "approvals.list": {
          items: [
            sampleCommandApproval({ detail: longCommand, scopes: sampleScopes, rules: manyReasons }),
            sampleApproval({ id: "approval-2" }),
            sampleApproval({ id: "approval-3", questId: "quest-2" }),
          ],
        },
      }),
    },
    { height: 410, everyLook: true },
  ),
  chat(
    "chat-approval-deny",
    {
      answers: questAnswers(sampleQuest({ status: "waiting", waitingFor: { kind: "approval", id: "approval-1" } }), [question, running], {
        "approvals.list": { items: [sampleApproval()] },
      }),
    },
    { click: [".answer:nth-child(3) button"] },
  ),
  chat(
    "chat-approval-workspace",
    {
      answers: questAnswers(sampleQuest({ status: "waiting", waitingFor: { kind: "approval", id: "approval-1" } }), [question, running], {
        "approvals.list": { items: [sampleCommandApproval({ tier: "T2", title: "Run npm run build", scopes: sampleScopes })] },
      }),
    },
    { click: ["[data-testid=allow-in-workspace]"], everyLook: true },
  ),
  chat("chat-question", {
    answers: questAnswers(
      sampleQuest({
        status: "waiting",
        waitingFor: {
          kind: "answer",
          id: "call-9",
          question: "Which rounding should invoices use?",
          options: ["Half up", "Half to even", "Never round"],
        },
      }),
      [question],
    ),
  }),
  chat("chat-running", {
    answers: questAnswers(sampleQuest({ status: "active" }), [
      question,
      sampleMessage({
        id: "message-2",
        seq: 1,
        role: "assistant",
        open: true,
        parts: [thinking, { type: "text", text: "The total ignores **quanti" }],
      }),
    ]),
    events: [{ topic: "quest", payload: sampleQuest({ status: "active" }) }],
  }),
  chat(
    "chat-command-running",
    {
      answers: questAnswers(sampleQuest({ status: "active" }), [question, commands(runningCommand, true)]),
      events: [
        {
          topic: "toolOutput",
          payload: { questId: "quest-1", messageId: "message-2", callId: "call-command", offset: 1e9, text: "comes later" },
        },
      ],
    },
    { click: [".tool summary"] },
  ),
  chat("chat-command-background", {
    answers: questAnswers(sampleQuest(), [question, commands(backgroundCommand)], {
      "background.list": {
        items: [
          {
            ...{ id: "background-1", questId: "quest-1", callId: "call-command", receiptId: "receipt-5" },
            ...{ text: "npm run dev -- --host 127.0.0.1", startedAt: at(40), ports: [5173, 24678], end: null },
            live: { text: "VITE v8.0.0  ready in 321 ms\r\n\r\n  Local:   http://127.0.0.1:5173/\r\n", skipped: 0 },
          },
        ],
      },
    }),
  }),
  chat("chat-command-closed", {
    answers: questAnswers(sampleQuest({ status: "active" }), [question, commands(runningCommand, true)]),
  }),
  chat(
    "chat-command-failed",
    {
      answers: questAnswers(sampleQuest(), [question, commands(sampleCommand({ touched: sampleTouched }))], {
        "checkpoints.diff": {
          files: ["coverage/index.html", "test/old.snap"].map((path) => ({ path, diff: "@@ -1 +1 @@\n-a\n+b\n" })),
        },
      }),
    },
    { click: [".tool summary"], height: 1100 },
  ),
  chat(
    "chat-command-proposed",
    {
      answers: questAnswers(
        sampleQuest({ status: "waiting", waitingFor: { kind: "review", id: "quest-1" } }),
        [question, commands(proposingCommand)],
        {
          "changes.list": {
            items: [
              sampleChange({
                origin: "npm run lint:fix",
                evidence: [
                  { command: "npm run lint", passed: false, receiptId: "receipt-5", at: at(50) },
                  { command: "npm test", passed: true, receiptId: "receipt-6", at: at(40) },
                ],
              }),
              sampleChange({
                id: "change-2",
                path: "scripts/release.sh",
                kind: "create",
                mode: 0o755,
                origin: "npm run lint:fix",
                hunks: sampleChange().hunks.slice(0, 1),
              }),
              sampleChange({
                id: "change-3",
                path: ".vscode/settings.json",
                caution: "VS Code executes settings from this file. Changing it requires your approval.",
                origin: "npm run lint:fix",
                hunks: sampleChange().hunks.slice(1, 2),
              }),
            ],
          },
          "changes.left": sampleLeft,
        },
      ),
    },
    { click: [".tool summary"], height: 1900, everyLook: true },
  ),
  chat(
    "chat-command-long",
    {
      answers: questAnswers(sampleQuest(), [
        question,
        commands(sampleCommand({ status: "success", live: { text: longOutput, skipped: 120_000 }, command: hostCommand })),
      ]),
    },
    { click: [".tool summary", "[data-testid=show-all-lines]"] },
  ),
  chat("chat-command-approval", {
    answers: questAnswers(sampleQuest({ status: "waiting", waitingFor: { kind: "approval", id: "approval-1" } }), [question], {
      "approvals.list": { items: [sampleCommandApproval()] },
    }),
  }),
  chat("chat-near-cap", {
    answers: questAnswers(
      sampleQuest({ costUsd: 2.4, context: { tokens: 96_400, window: 128_000 }, override: { lane: "flagship_deep" } }),
      [question, work],
    ),
  }),
  chat("chat-interrupted", {
    answers: questAnswers(sampleQuest({ status: "interrupted", problem: "The agent host ended while this task ran." }), [question], {
      "tools.sandbox": sampleSandbox({
        ...{ place: null, engine: null, osSandbox: null },
        ...{ message: "Commands cannot be run: there is no sandbox.", nextStep: "Install Docker, Podman or bubblewrap." },
      }),
    }),
  }),
  chat("chat-mention", { saved: nothingOpen }, { type: "Explain @inv" }),
  chat("chat-commands", { saved: nothingOpen }, { type: "/" }),
  chat("chat-tasks", { answers: questAnswers(sampleQuest(), [question]) }, { click: ["[data-testid=toggle-task-list]"] }),
  chat(
    "chat-task-delete",
    { answers: questAnswers(sampleQuest(), [question]) },
    {
      click: ["[data-testid=toggle-task-list]", '[data-testid="delete:quest-1"]'],
      hoverFirst: { click: '[data-testid="delete:quest-1"]', over: ".quest" },
    },
  ),
  chat("chat-no-model", {
    saved: nothingOpen,
    answers: answersWith({
      "models.list": { items: [], providers: [], problem: null },
      "models.local": { ...local, status: "downloading", doneBytes: 812_000_000 },
    }),
  }),
  chat("chat-host-down", {
    host: { state: "failed", detail: "It ended five times within a minute." },
    answers: {},
  }),
  fixture("war-room-command", "command", {
    answers: answersWith({
      "approvals.list": { items: [sampleApproval({ tier: "T2" })] },
      "changes.list": {
        items: [sampleChange(), sampleChange({ id: "change-2", path: "packages/shop/test/invoice/very/long/path/of/a/file.test.ts" })],
      },
    }),
  }),
  fixture("war-room-receipts", "receipts"),
  fixture("war-room-receipt", "receipts", { shows: [{ type: "show", receiptId: "receipt-3" }] }),
  fixture("war-room-verified", "receipts", {}, { click: ["[data-testid=verify-ledger]"] }),
  fixture(
    "war-room-damaged",
    "receipts",
    {
      answers: answersWith({
        "receipts.verify": {
          ok: false,
          entries: 811,
          head: null,
          signed: null,
          segments: { count: 0, entries: 0 },
          firstBad: { seq: 812, receiptId: "receipt-9", problem: "changed", message: "Its hash does not fit its content." },
        },
      }),
    },
    { click: ["[data-testid=verify-ledger]"] },
  ),
  fixture(
    "war-room-governance",
    "governance",
    { answers: answersWith({ "approvals.list": { items: [sampleApproval()] } }) },
    { height: 1300 },
  ),
  fixture(
    "war-room-governance-saved",
    "governance",
    {
      answers: answersWith({
        "approvals.rules": { items: [sampleApprovalRule(), sampleApprovalRule({ id: "rule-2", lastUsedAt: null, uses: 0 })] },
        "approvals.list": {
          items: [
            sampleApproval({ id: "approval-3", status: "denied", isRemembered: true, reason: "Keep the fixtures.", decidedAt: at(3) }),
          ],
        },
      }),
    },
    { height: 1300, everyLook: true },
  ),
  fixture("war-room-governance-table", "governance", {}, { click: [".chart-table > summary"], height: 1300 }),
  fixture("war-room-governance-empty", "governance", {
    answers: answersWith({
      "governance.stats": sampleStats({
        decisions: 0,
        byTier: {},
        byVerdict: {},
        byDay: [],
        topRules: [],
        approvals: { pending: 0, allowed: 0, denied: 0, expired: 0 },
        verifications: { waiting: 0, failed: 0 },
      }),
    }),
  }),
  fixture("war-room-governance-problem", "governance", {
    answers: answersWith({
      "governance.stats": sampleStats({
        policyVersion: null,
        soulVersion: null,
        safeMode: true,
        problems: [
          "config/commands.yaml cannot be used (line 12: unknown tier T9), so nothing is allowed. Correct it or delete your copy.",
        ],
      }),
    }),
  }),
  fixture("war-room-governance-failed", "governance", {
    errors: { "governance.stats": { code: "internal", message: "governance.stats failed inside the host. The log says why." } },
  }),
  fixture("war-room-trust", "trust"),
  fixture("war-room-trust-empty", "trust", {
    answers: answersWith({ "trust.list": { items: [] }, "trust.proposals": { items: [] } }),
  }),
  fixture("war-room-learning", "learning"),
  fixture("war-room-learning-empty", "learning", {
    answers: answersWith({ "learning.rules": { items: [] }, "learning.proposals": { items: [] } }),
  }),
  fixture("war-room-soul", "soul", {}, { height: 1500 }),
  fixture("war-room-soul-yaml", "soul", {}, { click: ['[data-testid="view:yaml"]'], height: 1100 }),
  fixture(
    "war-room-soul-issues",
    "soul",
    {
      answers: answersWith({
        "soul.status": sampleSoulStatus({
          problem: "soul_v3.yaml is not valid (line 4), so v2 stays active. Correct it or activate another version.",
          pendingProposals: [
            sampleSoulProposal({ status: "approved", proposedBy: "owner", questId: null, issues: [] }),
            sampleSoulProposal({
              id: "proposal-2",
              toVersion: "v4",
              issues: [{ ...criticalIssue, severity: "critical" }],
            }),
          ],
        }),
        "soul.lint": { valid: true, issues: [{ rule: "memory_ethics", severity: "warning", message: "No rule for memory.", line: 9 }] },
      }),
    },
    { height: 1500 },
  ),
  fixture("war-room-soul-no-proposals", "soul", {
    answers: answersWith({ "soul.status": sampleSoulStatus({ pendingProposals: [] }), "soul.proposals": { items: [] } }),
  }),
  fixture("war-room-soul-off", "soul", {
    answers: answersWith({
      "flags.list": { items: [sampleFlag({ enabled: false, source: "setting" })] },
      "soul.status": sampleSoulStatus({ activeVersion: null, pendingProposals: [] }),
    }),
  }),
  fixture("war-room-soul-host-down", "soul", { host: { state: "failed", detail: "It ended five times within a minute." }, answers: {} }),
  fixture(
    "war-room-usage",
    "usage",
    { answers: answersWith({ "models.local": loadedModel }) },
    { click: ["[data-testid=find-servers]"], height: 4200, everyLook: true },
  ),
  fixture(
    "war-room-usage-tokens",
    "usage",
    { answers: answersWith({ "models.local": { ...local, status: "downloading", doneBytes: 900_000_000 } }) },
    { click: ['[data-testid="measure:tokens"]', ".chart-table > summary"], fill: { testId: "day-cap", text: "five" }, height: 4200 },
  ),
  fixture(
    "war-room-usage-empty",
    "usage",
    {
      answers: answersWith({
        "usage.summary": sampleUsage({
          ...{ total: nothingUsed, today: nothingUsed, byLane: [], byProvider: [], byModel: [], byQuest: [], byDay: [] },
          ...{ caps: { questUsd: null, dayUsd: null }, prices: { updated: "2026-11-06", missing: [], problem: null }, since: null },
          savings: { localCalls: 0, localTokens: 0, savedUsd: 0, comparedWith: null, cacheSavingsUsd: 0 },
        }),
        "router.decisions": { items: [] },
        "router.stats": sampleRouterStats({ offline: true, problem: "config/router.yaml, line 3: deep_types must be a list." }),
        "models.servers": { items: [] },
      }),
    },
    { click: ["[data-testid=find-servers]"], height: 1900 },
  ),
  fixture(
    "war-room-usage-problems",
    "usage",
    {
      answers: answersWith({
        "usage.summary": sampleUsage({
          capsProblem: "config/usage.yaml in the data folder, line 2: caps.day_usd must be number.",
          prices: { updated: "2026-11-06", missing: [], problem: "config/prices.yaml in the data folder, line 4: not YAML." },
        }),
        "router.stats": sampleRouterStats({
          breakers: [
            { provider: "anthropic", state: "open", retryAt: at(-40), reason: "It failed five times in a row." },
            { provider: "openai", state: "half_open", retryAt: null, reason: null },
          ],
        }),
        "models.local": { ...local, status: "failed", problem: "The file is damaged.", nextStep: "Delete it and download it again." },
      }),
      errors: { "models.servers": { code: "unavailable", message: "The ports of this machine could not be looked at." } },
    },
    { click: ["[data-testid=find-servers]"], height: 4000 },
  ),
  fixture("war-room-usage-failed", "usage", {
    errors: {
      "usage.summary": { code: "unavailable", message: "The database does not answer." },
      "router.decisions": { code: "unavailable", message: "The database does not answer." },
    },
  }),
  fixture("war-room-tools", "tools", {}, { click: ["[data-testid=doctor]"], height: 2100 }),
  fixture(
    "war-room-tools-building",
    "tools",
    {
      answers: answersWith({
        "tools.sandbox": sampleSandbox({
          image: { ...building, state: "missing", message: null },
          container: { state: "none", id: null, since: null },
        }),
      }),
    },
    { click: ["[data-testid=build-image]"] },
  ),
  fixture("war-room-tools-none", "tools", {
    answers: answersWith({
      "tools.sandbox": sampleSandbox({
        ...{ place: null, engine: null, osSandbox: null, network: "allowlist" },
        message: "Commands cannot be run: there is no container engine and no sandbox of the operating system.",
        nextStep: "Install Docker, Podman or bubblewrap.",
        image: { ...building, state: "unknown", message: null },
        container: { state: "none", id: null, since: null },
      }),
      "tools.providers": {
        items: [
          sampleProvider({
            version: null,
            health: { status: "down", message: "No engine was found.", nextStep: "Install Docker or Podman.", checkedAt: at(5) },
          }),
        ],
      },
      "tools.route": { provider: null, reason: "Nothing can do it now. Install Docker, Podman or bubblewrap.", alternatives: [] },
      "receipts.search": { items: [] },
    }),
  }),
  fixture("war-room-tools-loading", "tools", { silent: ["tools.providers", "tools.sandbox"] }),
  fixture("war-room-tools-failed", "tools", {
    errors: {
      "tools.providers": { code: "internal", message: "tools.providers failed inside the host. The log says why." },
      "tools.sandbox": { code: "unavailable", message: "The engine does not answer. Start it and try again." },
    },
  }),
  memory("core", {}, {}, { click: ['[data-testid^="add-entry:"]'], height: 2400 }),
  memory("edit", {}, {}, { click: ['[data-testid^="edit:"]', '[data-testid^="quarantine:"]'], height: 1500 }),
  memory("search", { itemId: "item-2" }),
  memory("huge", { section: "search" }, { answers: answersWith({ "memory.search": { items: manyHits, nextCursor: "more" } }) }),
  memory("commit", { commitId: "commit-1" }),
  memory("quarantine", { quarantineId: "quarantine-1" }),
  memory("failed-check", { quarantineId: "quarantine-2" }, {}, { click: ["[data-testid=reject-entry]"] }),
  memory("context", { contextId: "context-1" }, {}, { click: ["[data-testid=compile-context]", ".whole > summary"], height: 1500 }),
  memory("upkeep", { section: "upkeep" }, {}, { height: 1200 }),
  memory("empty-core", {}, { answers: answersWith(emptyMemoryAnswers) }, { height: 1400 }),
  ...(["search", "commits", "quarantine", "contexts"] as const).map((section) =>
    memory(`empty-${section}`, { section }, { answers: answersWith(emptyMemoryAnswers) }),
  ),
  memory(
    "problems",
    {},
    {
      answers: answersWith({
        "memory.status": sampleMemoryStatus({ problem: "config/memory.yaml in the data folder, line 3: core_floor must be a number." }),
        "memory.core": { blocks: [...sampleBlocks.slice(0, 2), sampleBlock("mission", { text: "x".repeat(400), tokens: 400 })] },
      }),
    },
  ),
  memory(
    "failed",
    {},
    { errors: { "memory.core": { code: "internal", message: "memory.core failed inside the host. The log says why." } } },
  ),
  memory(
    "off",
    {},
    {
      errors: Object.fromEntries(
        Object.keys(memoryAnswers).map((name) => [
          name,
          { code: "disabled", message: "Memory is switched off.", data: { flag: "MEMORY_VNEXT" } },
        ]),
      ),
    },
  ),
  fixture("war-room-no-receipts", "receipts", { answers: answersWith({ "receipts.search": { items: [] } }) }),
  fixture("war-room-host-down", "command", { host: { state: "stopped", detail: "" }, answers: {} }),
];
