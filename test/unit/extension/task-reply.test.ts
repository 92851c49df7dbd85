import { beforeEach, describe, expect, it } from "vitest";
import type { Message, Part, Quest } from "../../../agent-server/contract/chat.ts";
import type { HostEvent } from "../../../agent-server/contract/events.ts";
import { createTaskReply, type ReplyEnd } from "../../../extension/participant/task-reply.ts";
import { sampleMessage, sampleQuest, sampleTool } from "../../support/webview-harness/samples.ts";

let written: string[];
let ends: ReplyEnd[];
let reply: ReturnType<typeof createTaskReply>;
const quest = sampleQuest();

beforeEach(() => {
  written = [];
  ends = [];
  reply = createTaskReply(
    {
      markdown: (text) => written.push(text),
      progress: (text) => written.push(`progress: ${text}`),
      open: (label) => written.push(`button: ${label}`),
    },
    (end) => ends.push(end),
  );
});

const event = (topic: string, payload: unknown): void => reply.event({ seq: 0, topic, payload } as HostEvent);
const message = (parts: Part[], more: Partial<Message> = {}): void =>
  event("message", sampleMessage({ id: "m2", questId: quest.id, role: "assistant", seq: 2, parts, ...more }));
const delta = (offset: number, text: string, partIndex = 0): void =>
  event("delta", { questId: quest.id, messageId: "m2", partIndex, kind: "text", offset, text });
const update = (more: Partial<Quest>): void => event("quest", { ...quest, ...more });

describe("a reply in the editor's chat", () => {
  it("writes each character once, from deltas, snapshots and repeats, also from before the task was known", () => {
    message([{ type: "text", text: "Hello " }]);
    reply.begin(quest.id, 1);
    delta(6, "wor");
    delta(6, "world");
    message([{ type: "text", text: "Hello world." }], { open: false });
    expect(written.join("")).toBe("Hello world.");
  });

  it("leaves out other tasks, earlier messages, the user's own and thinking", () => {
    reply.begin(quest.id, 1);
    message([{ type: "text", text: "before" }], { seq: 1 });
    message([{ type: "text", text: "own" }], { role: "user" });
    message([{ type: "text", text: "other" }], { questId: "another" });
    message([{ type: "thinking", text: "hm" }]);
    event("delta", { questId: quest.id, messageId: "m2", partIndex: 0, kind: "thinking", offset: 0, text: "hm" });
    event("delta", { questId: "another", messageId: "m9", partIndex: 0, kind: "text", offset: 0, text: "other" });
    expect(written).toEqual([]);
  });

  it("announces a running tool once, and begins a paragraph for the text after it", () => {
    reply.begin(quest.id, 1);
    const tool = sampleTool({ callId: "c1", status: "running", title: "Read a.ts" });
    message([{ type: "text", text: "I look." }, tool]);
    message([
      { type: "text", text: "I look." },
      { ...tool, output: "more" },
    ]);
    message([{ type: "text", text: "Done." }], { id: "m3", seq: 3 });
    expect(written).toEqual(["I look.", "progress: Read a.ts", "\n\nDone."]);
  });

  it.each(["done", "failed", "cancelled", "interrupted"] as const)("ends when the task is %s", (status) => {
    reply.begin(quest.id, 1);
    update({ status: "active" });
    expect(ends).toEqual([]);
    update({ status, problem: status === "failed" ? "No key" : null });
    expect(ends).toEqual([{ status, problem: status === "failed" ? "No key" : null }]);
  });

  it("shows one button per approval and goes on, and ends with a question or a review", () => {
    reply.begin(quest.id, 1);
    const approval = { kind: "approval", id: "a1" } as const;
    update({ status: "waiting", waitingFor: approval });
    update({ status: "waiting", waitingFor: approval });
    expect(written).toEqual(["button: approve"]);
    update({ status: "waiting", waitingFor: { kind: "review", id: "call-7" } });
    expect(ends).toEqual([]);
    update({ status: "waiting", waitingFor: { kind: "answer", id: "call-8", question: "Which?", options: ["a", "b"] } });
    expect(ends).toMatchObject([{ status: "waiting", question: { callId: "call-8" } }]);
    expect(written.at(-1)).toContain("Which?");
    update({ status: "waiting", waitingFor: { kind: "review", id: quest.id } });
    expect(ends).toHaveLength(2);
  });
});
