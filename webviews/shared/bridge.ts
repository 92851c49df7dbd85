import { type ReadonlySignal, signal } from "@preact/signals";
import * as z from "zod";
import { LancelotError } from "../../agent-server/contract/errors.ts";
import { type HostEvent, parseEvent } from "../../agent-server/contract/events.ts";
import type { Call } from "../../agent-server/contract/table.ts";
import { type FromView, type HostState, ToView, type UiAction } from "../../agent-server/contract/webview.ts";
import { t } from "./l10n.ts";

// The content security policy forbids eval, and zod's probe for it would report a violation.
z.config({ jitless: true });

/** The result of `acquireVsCodeApi()`. */
export interface ViewApi {
  postMessage(message: unknown): void;
  getState(): unknown;
  setState(state: unknown): void;
}

export type Show = Extract<ToView, { type: "show" }>;

/** The only connection of a view to the extension. It uses the messages of the contract. */
export interface Bridge {
  readonly host: ReadonlySignal<HostState>;
  readonly call: Call;
  /** Requests an action that only the extension can perform. */
  ui(action: UiAction): void;
  /** Returns a function that ends the subscription. */
  onEvent(listener: (event: HostEvent) => void): () => void;
  /** Called when an event could not be parsed, so that listeners read their state again. */
  onBroken(listener: () => void): () => void;
  onShow(listener: (show: Show) => void): () => void;
  /** Reports that the view is ready; the extension sends nothing before. Call once, after all subscriptions. */
  ready(): void;
  dispose(): void;
}

interface PendingCall {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

function subscribe<L>(listeners: Set<L>, listener: L): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * Connects a view to the extension.
 * @param target receives the extension's messages; the window outside tests.
 */
export function createBridge(api: ViewApi, target: EventTarget = window): Bridge {
  const host = signal<HostState>({ state: "starting", detail: "" });
  const pending = new Map<number, PendingCall>();
  const eventListeners = new Set<(event: HostEvent) => void>();
  const brokenListeners = new Set<() => void>();
  const showListeners = new Set<(show: Show) => void>();
  let lastId = 0;

  const post = (message: FromView): void => api.postMessage(message);

  function settle(id: number, act: (call: PendingCall) => void): void {
    const call = pending.get(id);
    if (call === undefined) return;
    pending.delete(id);
    act(call);
  }

  function deliver(value: unknown): void {
    let event: HostEvent;
    try {
      event = parseEvent(value);
    } catch (error) {
      console.error("An event of the agent host could not be read.", error);
      for (const listener of brokenListeners) listener();
      return;
    }
    for (const listener of eventListeners) listener(event);
  }

  function receive(data: unknown): void {
    const parsed = ToView.safeParse(data);
    if (!parsed.success) return;
    const message = parsed.data;
    switch (message.type) {
      case "result":
        return settle(message.id, (call) => call.resolve(message.result));
      case "error": {
        const { code, message: text, data: details } = message.error;
        return settle(message.id, (call) => call.reject(new LancelotError(code, text, details === undefined ? {} : { data: details })));
      }
      case "event":
        return deliver(message.event);
      case "host":
        host.value = message.host;
        return;
      case "show":
        for (const listener of showListeners) listener(message);
    }
  }

  const onMessage = (event: Event): void => {
    if (event instanceof MessageEvent) receive(event.data);
  };
  target.addEventListener("message", onMessage);

  const call: Call = (name, params, signal) =>
    new Promise((resolve, reject) => {
      const cancelled = (): Error => new LancelotError("cancelled", t("Canceled."));
      if (signal?.aborted) {
        reject(cancelled());
        return;
      }
      lastId += 1;
      const id = lastId;
      const onAbort = (): void => {
        settle(id, (waiting) => waiting.reject(cancelled()));
        post({ type: "cancel", id });
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      const done = (): void => signal?.removeEventListener("abort", onAbort);
      pending.set(id, {
        // The extension validates results against the contract before it relays them.
        resolve: (result) => {
          done();
          resolve(result as Awaited<ReturnType<typeof call<typeof name>>>);
        },
        reject: (error) => {
          done();
          reject(error);
        },
      });
      post({ type: "call", id, method: name, params });
    });

  return {
    host,
    call,
    ui: (action) => post({ type: "ui", ui: action }),
    onEvent: (listener) => subscribe(eventListeners, listener),
    onBroken: (listener) => subscribe(brokenListeners, listener),
    onShow: (listener) => subscribe(showListeners, listener),
    ready: () => post({ type: "ready" }),
    dispose: () => {
      target.removeEventListener("message", onMessage);
      for (const waiting of pending.values()) waiting.reject(new LancelotError("cancelled", t("Canceled.")));
      pending.clear();
    },
  };
}

/** Returns the message to show for a failed call. */
export function problemOf(error: unknown): string {
  return error instanceof Error && error.message !== "" ? error.message : t("The request failed. Check the log for details.");
}

export function isCancelled(error: unknown): boolean {
  return error instanceof LancelotError && error.code === "cancelled";
}
