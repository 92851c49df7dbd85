import type { ViewApi } from "../../../webviews/shared/bridge.ts";

/**
 * Runs in the page before a view's own script: plays the extension with recorded answers. A method's answer is one
 * result, or a list that is given one by one and whose last stays.
 */
export interface Recording {
  readonly host: { state: string; detail: string };
  readonly answers: Readonly<Record<string, unknown>>;
  /** Methods that fail, with what they say. */
  readonly errors?: Readonly<Record<string, { code: string; message: string; data?: Record<string, unknown> }>>;
  /** Methods that never answer. */
  readonly silent?: readonly string[];
  readonly events: readonly { topic: string; payload: unknown }[];
  readonly shows: readonly unknown[];
  readonly saved: unknown;
}

interface Posted {
  type: string;
  id?: number;
  method?: string;
  params?: unknown;
}

declare global {
  interface Window {
    recording: Recording;
    /** What the view posted, in order. */
    posted: Posted[];
    /** Sends an event to the view, numbered after those before. */
    emit(topic: string, payload: unknown): void;
    send(message: unknown): void;
  }
}

export function installFakeHost(): void {
  const { recording } = window;
  let seq = 0;
  let state: unknown = recording.saved;
  window.posted = [];
  window.send = (message) => window.postMessage(message, "*");
  window.emit = (topic, payload) => {
    seq += 1;
    window.send({ type: "event", event: { seq, topic, payload } });
  };
  const answer = (id: number, method: string): void => {
    if (recording.silent?.includes(method)) return;
    const error = recording.errors?.[method];
    if (error !== undefined) window.send({ type: "error", id, error });
    else if (Object.hasOwn(recording.answers, method)) window.send({ type: "result", id, result: recording.answers[method] });
    else window.send({ type: "error", id, error: { code: "unavailable", message: `Nothing recorded for ${method}.` } });
  };
  const api: ViewApi = {
    postMessage(value) {
      const message = value as Posted;
      window.posted.push(message);
      if (message.type === "ready") {
        window.send({ type: "host", host: recording.host });
        for (const { topic, payload } of recording.events) window.emit(topic, payload);
        for (const show of recording.shows) window.send(show);
      } else if (message.type === "call" && message.id !== undefined && message.method !== undefined) answer(message.id, message.method);
    },
    getState: () => state,
    setState(next) {
      state = next;
    },
  };
  Object.assign(window, { acquireVsCodeApi: () => api });
}
