import type { Change } from "../../../agent-server/contract/changes.ts";
import type { Message, Quest, ToolPart } from "../../../agent-server/contract/chat.ts";
import type { Approval } from "../../../agent-server/contract/governance.ts";
import type { Receipt, TraceNode } from "../../../agent-server/contract/receipts.ts";

/** The moment the samples were "now"; pages are opened with the clock set to it. */
export const sampleNow = Date.parse("2026-03-04T10:30:00.000Z");

export function at(secondsAgo: number): string {
  return new Date(sampleNow - secondsAgo * 1000).toISOString();
}

export function sampleQuest(patch: Partial<Quest> = {}): Quest {
  return {
    id: "quest-1",
    title: "Fix the failing invoice test",
    status: "done",
    mode: "normal",
    createdAt: at(600),
    updatedAt: at(20),
    model: "anthropic/claude-sonnet",
    usage: { inputTokens: 41_250, outputTokens: 3120, cachedInputTokens: 30_000, reasoningTokens: 400 },
    plan: [],
    waitingFor: null,
    problem: null,
    receiptId: "receipt-0",
    ...patch,
  };
}

export function sampleTool(patch: Partial<ToolPart> = {}): ToolPart {
  return {
    type: "tool",
    callId: "call-1",
    tool: "read_file",
    args: { path: "src/invoice/total.ts" },
    title: "Read src/invoice/total.ts",
    status: "success",
    tier: "T0",
    verdict: "allow",
    rules: [{ id: "tier.t0", source: "tier", message: "Reading inside the workspace changes nothing." }],
    output: "1  export function total(lines: Line[]): number {\n2    return lines.reduce((sum, line) => sum + line.price, 0);\n3  }",
    durationMs: 14,
    receiptId: "receipt-2",
    approvalId: null,
    changeId: null,
    ...patch,
  };
}

export function sampleMessage(patch: Partial<Message> = {}): Message {
  return {
    id: "message-1",
    questId: "quest-1",
    seq: 0,
    role: "user",
    parts: [{ type: "text", text: "The invoice test fails. Find out why and fix it. Start in @src/invoice/total.ts" }],
    createdAt: at(590),
    open: false,
    ...patch,
  };
}

export const answerText = `The total ignores **quantities**: \`total\` adds each line's price once.

## What I changed

1. \`total\` multiplies by the quantity.
2. The test now covers an empty invoice too:
   - no lines
   - one line with quantity \`0\`

\`\`\`ts
export function total(lines: readonly Line[]): number {
  // a line without a quantity counts once
  return lines.reduce((sum, line) => sum + line.price * (line.quantity ?? 1), 0);
}
\`\`\`

| File | Lines | Why |
|---|---|---|
| src/invoice/total.ts | 2 | multiply by the quantity |
| test/invoice.test.ts | 9 | empty invoice |

> Rounding is unchanged, see [the notes](docs/rounding.md) and [Number](https://developer.mozilla.org/docs/Number).

- [x] reproduce
- [ ] release
`;

export function sampleChange(patch: Partial<Change> = {}): Change {
  return {
    id: "change-1",
    questId: "quest-1",
    path: "src/invoice/total.ts",
    kind: "modify",
    status: "pending",
    hunks: [
      {
        index: 0,
        oldStart: 1,
        oldLines: 4,
        newStart: 1,
        newLines: 5,
        lines: [
          ' import type { Line } from "./line.ts";',
          "",
          "-export function total(lines: Line[]): number {",
          "+/** Sum of all lines, in cents. */",
          "+export function total(lines: readonly Line[]): number {",
          "   return lines",
        ].map((line) => (line === "" ? " " : line)),
        state: "pending",
      },
      {
        index: 1,
        oldStart: 9,
        oldLines: 3,
        newStart: 10,
        newLines: 3,
        lines: [
          "   return lines.reduce(",
          "-    (sum, line) => sum + line.price, 0);",
          "+    (sum, line) => sum + line.price * (line.quantity ?? 1), 0);",
          " }",
        ],
        state: "pending",
      },
      { index: 2, oldStart: 30, oldLines: 0, newStart: 31, newLines: 1, lines: ["+export const currency = 'EUR';"], state: "rejected" },
    ],
    createdAt: at(60),
    updatedAt: at(60),
    receiptId: "receipt-4",
    problem: null,
    ...patch,
  };
}

export function sampleApproval(patch: Partial<Approval> = {}): Approval {
  return {
    id: "approval-1",
    questId: "quest-1",
    intentHash: "3f1c".repeat(16),
    capability: "file_ops",
    action: "delete",
    title: "Delete test/fixtures/old-invoices.json",
    detail: "delete_file\n  path: test/fixtures/old-invoices.json\n  size: 18.2 kB, last changed 3 months ago",
    tier: "T3",
    rules: [
      { id: "policy.delete", source: "policy", message: "Deleting a file needs your approval." },
      { id: "soul.requires_approval", source: "soul", message: "The soul names deletion as an act to ask for." },
    ],
    status: "pending",
    reason: null,
    channels: ["war_room", "chat", "notification", "terminal"],
    createdAt: at(5),
    expiresAt: at(-295),
    decidedAt: null,
    ...patch,
  };
}

const names = ["chat.turn", "anthropic/claude-sonnet", "read_file", "search_workspace", "edit_file", "verify edit", "owner accepted"];
const types = ["system", "llm_call", "tool_call", "tool_call", "file_op", "verification", "user_interaction"] as const;
const statuses = ["success", "success", "success", "failure", "success", "pending", "cancelled"] as const;
const tiers = ["T0", "T2", "T0", "T0", "T1", "T1", "T3"] as const;

export function sampleReceipt(index: number, patch: Partial<Receipt> = {}): Receipt {
  const kind = index % names.length;
  const status = statuses[kind] ?? "success";
  return {
    id: `receipt-${index}`,
    timestamp: at(index * 7),
    actionType: types[kind] ?? "system",
    actionName: names[kind] ?? "system",
    inputs: { path: "src/invoice/total.ts", limit: 200 },
    outputs: status === "success" ? { lines: 42, sha256: "9ee11adf".repeat(8) } : {},
    status,
    durationMs: status === "pending" ? null : 12 + index * 3,
    tokenCount: kind === 1 ? 4210 : null,
    cognitionTier: kind === 1 ? "SYNTHESIS" : "DETERMINISTIC",
    riskTier: tiers[kind] ?? "T0",
    parentId: index === 0 ? null : "receipt-0",
    questId: "quest-1",
    errorMessage: status === "failure" ? "ripgrep found no file to search." : null,
    metadata: {},
    hash: "a1b2c3d4".repeat(8),
    prevHash: "00ff11ee".repeat(8),
    ...patch,
  };
}

export function sampleTrace(): TraceNode[] {
  const leaf = (index: number, secondsAgo: number, durationMs: number | null, children: TraceNode[] = []): TraceNode => ({
    receipt: sampleReceipt(index, { timestamp: at(secondsAgo), durationMs }),
    children,
  });
  return [
    leaf(0, 60, 58_000, [leaf(1, 59, 4200), leaf(2, 54, 14), leaf(3, 53, 900), leaf(4, 50, 120, [leaf(5, 49, null)]), leaf(6, 20, 15_000)]),
  ];
}
