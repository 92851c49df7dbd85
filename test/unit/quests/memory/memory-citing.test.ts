import { describe, expect, it } from "vitest";
import type { Message } from "../../../../agent-server/contract/chat.ts";
import { toConversation, toSmallConversation } from "../../../../agent-server/quests/conversation.ts";
import { notice } from "../../../../agent-server/quests/notices.ts";
import type { StoredMessage } from "../../../../agent-server/quests/stored-quest.ts";

function stored(id: string, role: Message["role"], parts: Message["parts"], turn: StoredMessage["turn"]): StoredMessage {
  const seq = Number(id.slice(1));
  return { message: { id, questId: "q", seq, role, parts, createdAt: new Date(seq).toISOString(), open: false }, turn, attachments: null };
}
const text = (messageOf: string) => ({ type: "text" as const, text: messageOf });
const asked = stored("m1", "user", [text("We use pnpm.")], { kind: "user", content: [text("We use pnpm.")] });
const ordered = stored(
  "m2",
  "user",
  [text("Fix it. Remember that we use pnpm."), notice("info", "Remembered: “we use pnpm”\n\nTo take it back: …", "open_memory")],
  { kind: "user", content: [text("Fix it. Remember that we use pnpm.")] },
);
const warned = stored("m3", "user", [text("Pasted."), notice("warning", "This message holds words …")], {
  kind: "user",
  content: [text("Pasted.")],
});
const own = stored("m4", "user", [notice("info", "You decided.")], { kind: "user", content: [text("[The owner decided.]")] });
const answer = stored("m5", "assistant", [text("Done.")], { kind: "assistant", content: [text("Done.")], cut: null, altered: [] });

const messageOf = (messages: ReturnType<typeof toConversation>): string[] =>
  messages.map((message) =>
    message.role === "tool" ? "" : message.content.map((item) => (item.type === "text" ? item.text : "")).join("|"),
  );

describe("the owner's messages in a conversation", () => {
  it("are named for a model that can cite them, and only theirs", () => {
    expect(messageOf(toConversation([asked, warned, own, answer], { cite: true }))).toEqual([
      "We use pnpm.|\n\n[message:m1]",
      "Pasted.|\n\n[message:m3]",
      "[The owner decided.]",
      "Done.",
    ]);
  });
  it("are told as they are to every other model", () => {
    expect(messageOf(toConversation([asked, warned, own, answer]))).toEqual(["We use pnpm.", "Pasted.", "[The owner decided.]", "Done."]);
  });
  it("say what became of an order on memory, not how the owner takes it back", () => {
    expect(messageOf(toConversation([ordered]))).toEqual([
      "Fix it. Remember that we use pnpm.|\n\n[From the host: Remembered: “we use pnpm”]",
    ]);
    expect(messageOf(toConversation([ordered], { cite: true }))[0]).toBe(
      "Fix it. Remember that we use pnpm.|\n\n[From the host: Remembered: “we use pnpm”]\n[message:m2]",
    );
    expect(messageOf(toSmallConversation([ordered]))[0]).toContain("[From the host: Remembered");
  });
});
