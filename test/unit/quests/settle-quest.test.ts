import { expect, it } from "vitest";
import type { Message, ToolPart } from "../../../agent-server/contract/chat.ts";
import type { Approval, ApprovalStatus } from "../../../agent-server/contract/governance.ts";
import type { QuestStore } from "../../../agent-server/quests/quest-store.ts";
import { settleQuest } from "../../../agent-server/quests/settle-quest.ts";

/** The status of a call after its host died, when the call waited for an approval that now has the given status (null: it is missing). */
function settled(approval: ApprovalStatus | null): ToolPart["status"] {
  const part: ToolPart = {
    ...{ type: "tool", callId: "c", tool: "delete_file", args: {}, title: "", status: "waiting", tier: "T3", verdict: "ask", rules: [] },
    ...{ output: null, durationMs: null, receiptId: null, approvalId: "a", changeId: null },
  };
  const message: Message = {
    id: "m",
    questId: "q",
    seq: 0,
    role: "assistant",
    parts: [part],
    createdAt: "2026-11-20T10:00:00Z",
    open: true,
  };
  const store = { messages: () => [{ message, turn: null, attachments: null }], saveMessage: () => undefined };
  const get = (): Approval | null => (approval === null ? null : ({ status: approval } as Approval));
  settleQuest({ store: store as unknown as QuestStore, governance: { approvals: { get } } }, "q", "interrupted");
  return part.status;
}

it.each<[ApprovalStatus | null, ToolPart["status"]]>([
  [null, "cancelled"],
  ["allowed_once", "cancelled"],
  ["allowed_quest", "cancelled"],
  ["pending", "waiting"],
  ["denied", "waiting"],
  ["expired", "waiting"],
  ["cancelled", "waiting"],
])("a call whose approval is %s when its host dies is %s: what may have run is not repeated", (approval, status) => {
  expect(settled(approval)).toBe(status);
});
