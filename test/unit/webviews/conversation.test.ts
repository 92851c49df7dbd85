// @vitest-environment jsdom
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Message } from "../../../agent-server/contract/chat.ts";
import { type Conversation, createConversation } from "../../../webviews/shared/conversation.ts";
import { createStore, type Store } from "../../../webviews/shared/store.ts";
import { createFakeView, type FakeView, settled } from "../../support/fake-view.ts";
import { sampleApproval, sampleMessage, sampleQuest, sampleReceipt } from "../../support/webview-harness/samples.ts";

interface World {
  view: FakeView;
  store: Store;
  conversation: Conversation;
  /** The messages as the host has them. */
  messages: Message[];
}

const worlds: World[] = [];

async function world(messages: Message[] = [sampleMessage()]): Promise<World> {
  const view = createFakeView();
  const made: World = { view, messages, store: createStore(view.bridge), conversation: {} as Conversation };
  made.conversation = createConversation(view.bridge, made.store);
  view.answer("quests.get", () => structuredClone({ quest: sampleQuest(), messages: made.messages }));
  view.answer("changes.list", () => ({ items: [] }));
  view.answer("quests.list", () => ({ items: [sampleQuest()] }));
  view.answer("approvals.list", () => ({ items: [] }));
  view.answer("receipts.search", () => ({ items: [] }));
  worlds.push(made);
  await view.hostReady();
  made.conversation.open("quest-1");
  await settled();
  return made;
}

beforeEach(() => {
  // An event that cannot be read is logged; these tests send some on purpose.
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});

afterEach(() => {
  vi.restoreAllMocks();
  for (const { conversation, store, view } of worlds.splice(0)) {
    conversation.dispose();
    store.dispose();
    view.bridge.dispose();
  }
});

function texts({ conversation }: World): string[] {
  return conversation.messages.value.map((message) =>
    message.value.parts.map((part) => (part.type === "text" ? part.text : part.type)).join("|"),
  );
}

const answer = sampleMessage({ id: "m", seq: 1, role: "assistant", open: true, parts: [] });

function delta(offset: number, text: string) {
  return { questId: "quest-1", messageId: "m", partIndex: 0, kind: "text" as const, offset, text };
}

describe("conversation", () => {
  it("keeps what events told of a task while its snapshot was on its way, and takes a snapshot that is newer", async () => {
    const made = await world();
    const at = (second: number) => `2026-11-22T10:00:0${second}.000Z`;
    const reply = Promise.withResolvers<unknown>();
    made.view.answer("quests.get", () => reply.promise);
    made.conversation.refresh();
    await settled();
    const newer = sampleQuest({ updatedAt: at(2), status: "done", costUsd: 0.5 });
    made.view.event("quest", newer);
    reply.resolve({ quest: sampleQuest({ updatedAt: at(1), status: "active" }), messages: made.messages });
    await settled();
    expect(made.store.quests.value.get("quest-1")).toEqual(newer);
    // Of the same moment the event's is the later word.
    made.view.answer("quests.get", () => ({ quest: sampleQuest({ updatedAt: at(2), status: "active" }), messages: made.messages }));
    made.conversation.refresh();
    await settled();
    expect(made.store.quests.value.get("quest-1")).toEqual(newer);
    made.view.answer("quests.get", () => ({ quest: sampleQuest({ updatedAt: at(3), title: "Renamed" }), messages: made.messages }));
    made.conversation.refresh();
    await settled();
    expect(made.store.quests.value.get("quest-1")?.title).toBe("Renamed");
  });

  it("shows the stored messages and then what streams", async () => {
    const made = await world();
    made.view.event("message", answer);
    made.view.event("delta", delta(0, "Hel"));
    made.view.event("delta", delta(3, "lo"));
    expect(texts(made)).toEqual([expect.stringContaining("invoice"), "Hello"]);
    expect(made.view.calls("quests.get")).toHaveLength(1);
  });

  it("touches only the message that streams", async () => {
    const made = await world();
    made.view.event("message", answer);
    const [own, streaming] = made.conversation.messages.value;
    let ownDrawn = 0;
    let drawn = 0;
    own?.subscribe(() => {
      ownDrawn += 1;
    });
    streaming?.subscribe(() => {
      drawn += 1;
    });
    made.view.event("delta", delta(0, "a"));
    made.view.event("delta", delta(1, "b"));
    expect([ownDrawn, drawn]).toEqual([1, 3]);
    expect(made.conversation.messages.value[1]).toBe(streaming);
  });

  it("reads the quest again when a delta does not fit", async () => {
    const made = await world();
    made.view.event("message", answer);
    made.messages = [sampleMessage(), { ...answer, parts: [{ type: "text", text: "whole text" }] }];
    made.view.event("delta", delta(6, "text"));
    await settled();
    expect(texts(made).at(-1)).toBe("whole text");
    expect(made.view.calls("quests.get")).toHaveLength(2);
  });

  it("reads the quest again when event numbers are missing", async () => {
    const made = await world();
    made.messages = [sampleMessage(), { ...answer, open: false, parts: [{ type: "text", text: "was missed" }] }];
    made.view.event("receipt", sampleReceipt(1));
    made.view.skip(3);
    made.view.event("receipt", sampleReceipt(0));
    await settled();
    expect(texts(made).at(-1)).toBe("was missed");
  });

  it("drops the messages that were replaced", async () => {
    const made = await world([sampleMessage(), { ...answer, open: false, parts: [{ type: "text", text: "old" }] }]);
    made.view.event("messagesRemoved", { questId: "quest-1", fromSeq: 0 });
    made.view.event("message", sampleMessage({ id: "new", parts: [{ type: "text", text: "edited" }] }));
    expect(texts(made)).toEqual(["edited"]);
  });

  it("leaves events of other quests alone", async () => {
    const made = await world();
    made.view.event("message", { ...answer, questId: "other" });
    made.view.event("delta", { ...delta(0, "x"), questId: "other" });
    expect(texts(made)).toHaveLength(1);
    expect(made.view.calls("quests.get")).toHaveLength(1);
  });

  it("says when an assistant message has ended, once", async () => {
    const made = await world();
    const ended: string[] = [];
    made.conversation.onFinished((message) => ended.push(message.id));
    made.view.event("message", answer);
    made.view.event("message", { ...answer, open: false });
    made.view.event("message", { ...answer, open: false });
    expect(ended).toEqual(["m"]);
  });

  it("closes when its quest is deleted", async () => {
    const made = await world();
    made.view.event("questDeleted", { id: "quest-1" });
    expect(made.conversation.questId.value).toBeNull();
    expect(texts(made)).toEqual([]);
  });

  it("waits for the host, and shows no answer of a quest that was left", async () => {
    const view = createFakeView();
    const made: World = { view, messages: [], store: createStore(view.bridge), conversation: {} as Conversation };
    made.conversation = createConversation(view.bridge, made.store);
    worlds.push(made);
    made.conversation.open("quest-1");
    expect(view.calls("quests.get")).toHaveLength(0);
    view.hold("quests.get");
    view.answer("quests.get", ({ id }) => ({
      quest: sampleQuest({ id: String(id) }),
      messages: [sampleMessage({ questId: String(id), parts: [{ type: "text", text: String(id) }] })],
    }));
    view.answer("changes.list", () => ({ items: [] }));
    await view.hostReady();
    made.conversation.open("quest-2");
    await view.release("quests.get");
    expect(texts(made)).toEqual(["quest-2"]);
    expect(made.conversation.loading.value).toBe(false);
  });

  it("ends with the host's state wherever the snapshot was taken in a stream", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 12 }),
        fc.nat(),
        fc.nat(),
        async (chunks, a, b) => {
          const made = await world([sampleMessage(), answer]);
          const asked = a % (chunks.length + 1);
          const taken = asked + (b % (chunks.length + 1 - asked));
          made.view.hold("quests.get");
          let offset = 0;
          const emit = (from: number, to: number): void => {
            for (const text of chunks.slice(from, to)) {
              made.view.event("delta", delta(offset, text));
              offset += text.length;
              made.messages = [sampleMessage(), { ...answer, parts: [{ type: "text", text: chunks.join("").slice(0, offset) }] }];
            }
          };
          emit(0, asked);
          // As on reconnect: the snapshot is asked for in the middle of the stream, taken later and arrives last.
          made.view.send({ type: "event", event: { unreadable: true } });
          await settled();
          emit(asked, taken);
          const snapshot = structuredClone({ quest: sampleQuest(), messages: made.messages });
          made.view.answer("quests.get", () => snapshot);
          emit(taken, chunks.length);
          await made.view.release("quests.get");
          expect(texts(made).at(-1)).toBe(chunks.join(""));
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe("store", () => {
  it("fetches everything when the host is ready, and again with the next host", async () => {
    const made = await world();
    expect(made.store.recentQuests.value.map((quest) => quest.id)).toEqual(["quest-1"]);
    made.view.send({ type: "host", host: { state: "restarting", detail: "" } });
    made.view.answer("quests.list", () => ({ items: [sampleQuest(), sampleQuest({ id: "quest-2" })] }));
    await made.view.hostReady();
    expect(made.store.recentQuests.value).toHaveLength(2);
    // A new host counts from 1 again; that is no gap.
    const before = made.view.calls("quests.list").length;
    made.view.send({ type: "event", event: { seq: 1, topic: "approval", payload: sampleApproval() } });
    await settled();
    expect(made.view.calls("quests.list")).toHaveLength(before);
    expect(made.store.pendingApprovals.value).toHaveLength(1);
  });

  it("keeps what came while the snapshot was on its way", async () => {
    const made = await world();
    made.view.hold("approvals.list");
    made.view.send({ type: "host", host: { state: "restarting", detail: "" } });
    await made.view.hostReady();
    made.view.event("approval", sampleApproval({ status: "denied" }));
    made.view.answer("approvals.list", () => ({ items: [sampleApproval()] }));
    await made.view.release("approvals.list");
    expect(made.store.pendingApprovals.value).toEqual([]);
  });

  it("orders tasks by last use and forgets deleted ones", async () => {
    const made = await world();
    made.view.event("quest", sampleQuest({ id: "newer", updatedAt: "2030-01-01T00:00:00.000Z" }));
    expect(made.store.recentQuests.value.map((quest) => quest.id)).toEqual(["newer", "quest-1"]);
    made.view.event("questDeleted", { id: "newer" });
    expect(made.store.recentQuests.value.map((quest) => quest.id)).toEqual(["quest-1"]);
  });

  it("shows a receipt once, opened and then closed, newest first", async () => {
    const made = await world();
    const receipt = sampleReceipt(5, { status: "pending", durationMs: null });
    made.view.event("receipt", receipt);
    made.view.event("receipt", sampleReceipt(4));
    made.view.event("receipt", { ...receipt, status: "success", durationMs: 3 });
    expect(made.store.latestReceipts.value.map(({ id, status }) => `${id} ${status}`)).toEqual(["receipt-4 success", "receipt-5 success"]);
  });
});
