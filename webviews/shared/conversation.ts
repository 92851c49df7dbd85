import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Message } from "../../agent-server/contract/chat.ts";
import type { HostEvent } from "../../agent-server/contract/events.ts";
import { type Bridge, problemOf } from "./bridge.ts";
import { applyDelta, positionOf } from "./message-log.ts";
import type { Store } from "./store.ts";

/** The messages of the open quest. Each has its own signal, so that streaming text updates one message only. */
export interface Conversation {
  readonly questId: ReadonlySignal<string | null>;
  readonly messages: ReadonlySignal<readonly Signal<Message>[]>;
  /** True from opening a quest until its messages are loaded. */
  readonly loading: ReadonlySignal<boolean>;
  readonly problem: ReadonlySignal<string | null>;
  /** Opens a quest; null closes it. */
  open(questId: string | null): void;
  /** Reads the quest again after a missed event. */
  refresh(): void;
  /** Called when an assistant message is complete. */
  onFinished(listener: (message: Message) => void): () => void;
  dispose(): void;
}

type LogEvent = Extract<HostEvent, { topic: "message" | "messagesRemoved" | "delta" }>;

function ofLog(event: HostEvent): event is LogEvent {
  return event.topic === "message" || event.topic === "messagesRemoved" || event.topic === "delta";
}

export function createConversation(bridge: Bridge, store: Pick<Store, "generation" | "putQuest" | "putChange">): Conversation {
  const questId = signal<string | null>(null);
  const messages = signal<readonly Signal<Message>[]>([]);
  const loading = signal(false);
  const problem = signal<string | null>(null);
  const finished = new Set<(message: Message) => void>();
  /** Events since the pending snapshot was requested; the snapshot may or may not contain them. */
  let fetching: { events: LogEvent[]; stop: AbortController } | undefined;

  function putMessage(message: Message): void {
    const list = messages.peek();
    const known = list.find((item) => item.peek().id === message.id);
    if (known === undefined) {
      const index = positionOf(
        list.map((item) => item.peek().seq),
        message.seq,
      );
      messages.value = list.toSpliced(index, 0, signal(message));
      return;
    }
    const wasOpen = known.peek().open;
    known.value = message;
    if (wasOpen && !message.open && message.role === "assistant") for (const listener of finished) listener(message);
  }

  /** Returns false when an event is missing and the quest must be read again. */
  function apply(event: LogEvent): boolean {
    switch (event.topic) {
      case "message":
        putMessage(event.payload);
        return true;
      case "messagesRemoved":
        messages.value = messages.peek().filter((item) => item.peek().seq < event.payload.fromSeq);
        return true;
      case "delta": {
        const target = messages.peek().find((item) => item.peek().id === event.payload.messageId);
        if (target === undefined) return false;
        const outcome = applyDelta(target.peek(), event.payload);
        if (outcome.kind === "applied") target.value = outcome.message;
        return outcome.kind !== "gap";
      }
    }
  }

  async function fetchMessages(id: string): Promise<void> {
    fetching?.stop.abort();
    const mine = { events: [] as LogEvent[], stop: new AbortController() };
    fetching = mine;
    try {
      const [snapshot, changes] = await Promise.all([
        bridge.call("quests.get", { id }, mine.stop.signal),
        bridge.call("changes.list", { questId: id, limit: 500 }, mine.stop.signal),
      ]);
      if (fetching !== mine) return;
      fetching = undefined;
      store.putQuest(snapshot.quest);
      for (const change of changes.items) store.putChange(change);
      const known = new Map(messages.peek().map((item) => [item.peek().id, item]));
      messages.value = snapshot.messages
        .toSorted((a, b) => a.seq - b.seq)
        .map((message) => {
          const item = known.get(message.id) ?? signal(message);
          item.value = message;
          return item;
        });
      problem.value = null;
      // A gap here means that an event was lost during the request; the next snapshot contains it.
      if (!mine.events.every(apply)) void fetchMessages(id);
    } catch (error) {
      if (fetching !== mine) return;
      fetching = undefined;
      problem.value = problemOf(error);
    } finally {
      if (questId.peek() === id && fetching === undefined) loading.value = false;
    }
  }

  const stops = [
    bridge.onEvent((event) => {
      const id = questId.peek();
      if (id === null) return;
      if (event.topic === "questDeleted" && event.payload.id === id) {
        open(null);
        return;
      }
      if (!ofLog(event) || event.payload.questId !== id) return;
      if (fetching !== undefined) {
        fetching.events.push(event);
        return;
      }
      if (!apply(event)) void fetchMessages(id);
    }),
    store.generation.subscribe((generation) => {
      const id = questId.peek();
      if (generation > 0 && id !== null) void fetchMessages(id);
    }),
  ];

  function open(id: string | null): void {
    if (id === questId.peek()) return;
    fetching?.stop.abort();
    fetching = undefined;
    questId.value = id;
    messages.value = [];
    problem.value = null;
    loading.value = id !== null;
    // Without a running host, the next store generation loads the messages.
    if (id !== null && bridge.host.peek().state === "ready") void fetchMessages(id);
  }

  return {
    questId,
    messages,
    loading,
    problem,
    open,
    refresh: () => {
      const id = questId.peek();
      if (id !== null) void fetchMessages(id);
    },
    onFinished: (listener) => {
      finished.add(listener);
      return () => finished.delete(listener);
    },
    dispose: () => {
      fetching?.stop.abort();
      for (const stop of stops) stop();
    },
  };
}
