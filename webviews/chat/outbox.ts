import { type ReadonlySignal, signal } from "@preact/signals";
import type { Message } from "../../agent-server/contract/chat.ts";
import type { ImageAttachment } from "./images.ts";

/** A conversation that is written in; it learns its task when the first message of a new one has arrived. */
export interface Place {
  questId: string | null;
}

/** A message on its way, with everything it had when it was sent. */
export interface Parcel {
  readonly place: Place;
  readonly text: string;
  /** Files picked for mentions. */
  readonly chosen: readonly string[];
  readonly images: readonly ImageAttachment[];
  /** The message that this one replaces. */
  readonly replaces: Message | null;
  readonly crusader: boolean;
}

export interface Outbox {
  /** Oldest first; the first one is on its way. */
  readonly parcels: ReadonlySignal<readonly Parcel[]>;
  /** Sends after those before it. Resolves when nothing is left to send. */
  put(parcel: Parcel): Promise<void>;
}

interface OutboxDeps {
  deliver(parcel: Parcel): Promise<void>;
  /** Told of all that was not delivered, the failed one first: none of it is tried again. */
  returned(parcels: readonly Parcel[], error: unknown): void;
}

/** Messages in the order they were written, one at a time, so that each finds the task as the one before left it. */
export function createOutbox({ deliver, returned }: OutboxDeps): Outbox {
  const parcels = signal<readonly Parcel[]>([]);
  let sending: Promise<void> | null = null;

  async function run(): Promise<void> {
    for (let next = parcels.peek()[0]; next !== undefined; next = parcels.peek()[0]) {
      try {
        await deliver(next);
        parcels.value = parcels.peek().slice(1);
      } catch (error) {
        const left = parcels.peek();
        parcels.value = [];
        returned(left, error);
      }
    }
    sending = null;
  }

  return {
    parcels,
    put(parcel) {
      parcels.value = [...parcels.peek(), parcel];
      sending ??= run();
      return sending;
    },
  };
}
