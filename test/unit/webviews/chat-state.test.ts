import { describe, expect, it } from "vitest";
import type { Message, ToolPart } from "../../../agent-server/contract/chat.ts";
import { lastCallOfChanges } from "../../../webviews/chat/chat-state.ts";
import { subjectOf } from "../../../webviews/war-room/receipts/receipts-state.ts";

const call = (callId: string, changeId: string | null): ToolPart => ({
  type: "tool",
  callId,
  tool: "edit_file",
  args: {},
  title: "Edit",
  status: "success",
  tier: "T1",
  verdict: "allow",
  rules: [],
  output: null,
  durationMs: 1,
  receiptId: null,
  approvalId: null,
  changeId,
});
const message = (seq: number, parts: Message["parts"]): Message => ({
  id: `m${seq}`,
  questId: "q",
  seq,
  role: "assistant",
  parts,
  createdAt: "2026-01-01T00:00:00.000Z",
  open: false,
});

describe("where a change is shown", () => {
  it("is below the last call that belongs to it, once", () => {
    const messages = [
      message(0, [call("a", "x"), call("b", "x"), call("c", "y")]),
      message(1, [{ type: "text", text: "…" }, call("d", "y"), call("e", null)]),
    ];
    expect([...lastCallOfChanges(messages)]).toEqual([
      ["x", "b"],
      ["y", "d"],
    ]);
  });
});

describe("what a receipt was about", () => {
  it.each([
    [{ path: "src/a.ts", limit: 3 }, "src/a.ts"],
    [{ query: "two\n words" }, "two words"],
    [{ capability: "file_ops", args: { absolute: "/w/.env", path: ".env" } }, ".env"],
    [{ number: 1 }, ""],
    [{ path: "", title: "Fix it" }, "Fix it"],
    [{}, ""],
  ])("%j", (inputs, subject) => expect(subjectOf({ inputs })).toBe(subject));
});
