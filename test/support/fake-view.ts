import type { Topic } from "../../agent-server/contract/events.ts";
import type { Bridge, ViewApi } from "../../webviews/shared/bridge.ts";
import { createBridge } from "../../webviews/shared/bridge.ts";

type Answer = (params: Record<string, unknown>) => unknown;

interface PostedCall {
  readonly type: "call";
  readonly id: number;
  readonly method: string;
  readonly params: Record<string, unknown>;
}

/** The extension's side of a bridge, held in the hand: it answers at once, or when it is told to. */
export interface FakeView {
  readonly bridge: Bridge;
  /** Everything the view posted. */
  readonly posted: { type: string; [key: string]: unknown }[];
  /** What the view kept for a reload. */
  readonly saved: () => unknown;
  /** Sets a method's answer; a thrown `{ code, message }` becomes an error. */
  answer(method: string, answer: Answer): void;
  /** Keeps a method's answers back until `release`. */
  hold(method: string): void;
  /** Gives the answers that were kept back; each is computed now. */
  release(method: string): Promise<void>;
  send(message: unknown): void;
  event(topic: Topic, payload: unknown): void;
  /** Skips event numbers, as if events had been lost. */
  skip(count: number): void;
  hostReady(): Promise<void>;
  calls(method: string): Record<string, unknown>[];
}

/** Lets every answer that is on its way arrive. */
export function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

export function createFakeView(initial?: unknown): FakeView {
  const target = new EventTarget();
  // A timer of the page may still call after the test, when the globals are no longer those of the page.
  const { MessageEvent } = globalThis;
  const posted: FakeView["posted"] = [];
  const answers = new Map<string, Answer>();
  const held = new Map<string, PostedCall[]>();
  const cancelled = new Set<number>();
  let state = initial;
  let seq = 0;

  const send = (message: unknown): void => {
    target.dispatchEvent(new MessageEvent("message", { data: message }));
  };
  const respond = (call: PostedCall): void => {
    const answer = answers.get(call.method);
    if (answer === undefined) {
      send({ type: "error", id: call.id, error: { code: "unavailable", message: `No answer for ${call.method}.` } });
      return;
    }
    try {
      send({ type: "result", id: call.id, result: answer(call.params) });
    } catch (error) {
      send({ type: "error", id: call.id, error });
    }
  };
  const api: ViewApi = {
    postMessage: (message) => {
      const value = message as FakeView["posted"][number];
      posted.push(value);
      if (value.type === "cancel") cancelled.add(value.id as number);
      if (value.type !== "call") return;
      const call = value as unknown as PostedCall;
      const waiting = held.get(call.method);
      if (waiting === undefined) queueMicrotask(() => respond(call));
      else waiting.push(call);
    },
    getState: () => state,
    setState: (next) => {
      state = next;
    },
  };
  const bridge = createBridge(api, target);

  return {
    bridge,
    posted,
    saved: () => state,
    answer: (method, answer) => {
      answers.set(method, answer);
    },
    hold: (method) => {
      held.set(method, held.get(method) ?? []);
    },
    release: async (method) => {
      const calls = held.get(method) ?? [];
      held.delete(method);
      for (const call of calls) if (!cancelled.has(call.id)) respond(call);
      await settled();
    },
    send,
    event: (topic, payload) => {
      seq += 1;
      send({ type: "event", event: { seq, topic, payload } });
    },
    skip: (count) => {
      seq += count;
    },
    hostReady: async () => {
      send({ type: "host", host: { state: "ready", detail: "" } });
      await settled();
    },
    calls: (method) =>
      posted.flatMap((message) =>
        message.type === "call" && message.method === method ? [message.params as Record<string, unknown>] : [],
      ),
  };
}
