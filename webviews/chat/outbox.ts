import { type ReadonlySignal, signal } from "@preact/signals";
import type { Message } from "../../agent-server/contract/chat.ts";
import type { ComposerMode } from "./composer-mode.ts";
import type { ImageAttachment } from "./images.ts";

/** Identifies a conversation. Its task is null until the first message of a new task is delivered. */
export interface ConversationRef {
  questId: string | null;
}

/** A message that is not delivered yet, with everything it needs. */
export interface OutgoingMessage {
  readonly target: ConversationRef;
  readonly text: string;
  /** Files picked for mentions. */
  readonly chosen: readonly string[];
  readonly images: readonly ImageAttachment[];
  /** The message that this one replaces. */
  readonly replaces: Message | null;
  readonly crusader: boolean;
  /** What the user chose in the composer; null for the mode of the task. */
  readonly mode: ComposerMode | null;
}

export interface Outbox {
  /** Oldest first; the first one is being sent. */
  readonly queue: ReadonlySignal<readonly OutgoingMessage[]>;
  /** Queues a message. Resolves when the queue is empty. */
  enqueue(message: OutgoingMessage): Promise<void>;
}

interface OutboxDeps {
  deliver(message: OutgoingMessage): Promise<void>;
  /** Receives every undelivered message, the failed one first. The outbox does not retry them. */
  onUndelivered(messages: readonly OutgoingMessage[], error: unknown): void;
}

/** Sends messages in order and one at a time, so that each one sees the task state that the previous one left. */
export function createOutbox({ deliver, onUndelivered }: OutboxDeps): Outbox {
  const queue = signal<readonly OutgoingMessage[]>([]);
  let sending: Promise<void> | null = null;

  async function run(): Promise<void> {
    for (let next = queue.peek()[0]; next !== undefined; next = queue.peek()[0]) {
      try {
        await deliver(next);
        queue.value = queue.peek().slice(1);
      } catch (error) {
        const undelivered = queue.peek();
        queue.value = [];
        onUndelivered(undelivered, error);
      }
    }
    sending = null;
  }

  return {
    queue,
    enqueue(message) {
      queue.value = [...queue.peek(), message];
      sending ??= run();
      return sending;
    },
  };
}
