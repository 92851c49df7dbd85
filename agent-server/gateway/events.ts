import type { Emit, EventPayload, HostEvent, Topic } from "../contract/events.ts";

/** Numbers the host's events and passes them to the listeners. */
export interface EventHub {
  emit: Emit;
  /** @returns a function that stops listening. */
  listen(listener: (event: HostEvent) => void): () => void;
  /** Number of the last event; 0 before the first. */
  lastSeq(): number;
}

/** @param onListenerError called when a listener throws; the others still get the event. */
export function createEventHub(onListenerError: (error: unknown) => void): EventHub {
  const listeners = new Set<(event: HostEvent) => void>();
  let seq = 0;
  return {
    emit<T extends Topic>(topic: T, payload: EventPayload<T>) {
      seq += 1;
      const event = { seq, topic, payload } as HostEvent;
      for (const listener of listeners) {
        try {
          listener(event);
        } catch (error) {
          onListenerError(error);
        }
      }
    },
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    lastSeq: () => seq,
  };
}
