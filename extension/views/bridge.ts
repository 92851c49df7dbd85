import { type ErrorBody, LancelotError } from "../../agent-server/contract/errors.ts";
import type { HostEvent } from "../../agent-server/contract/events.ts";
import { type Call, isMethodName, type MethodName, type ParamsIn } from "../../agent-server/contract/table.ts";
import { FromView, type HostState, notForViews, type ToView, type UiAction } from "../../agent-server/contract/webview.ts";
import { asLancelotError } from "../host/call.ts";

export type Show = Omit<Extract<ToView, { type: "show" }>, "type">;

export interface BridgeDeps {
  post(message: ToView): void;
  call: Call;
  state(): HostState;
  ui(action: UiAction): Promise<void>;
  /** Called with messages that violate the contract and with errors of UI actions. */
  problem(error: unknown): void;
}

/** The bridge of one webview. It sends nothing before the view is ready. */
export interface Bridge {
  receive: (message: unknown) => void;
  event: (event: HostEvent) => void;
  hostState: (state: HostState) => void;
  /** Asks the view to show something, as soon as it has loaded. */
  show: (what: Show) => void;
  dispose: () => void;
}

/** Relays between one webview and the host. A view never gets the owner token and cannot call methods in `notForViews`. */
export function createBridge(deps: BridgeDeps): Bridge {
  const calls = new Map<number, AbortController>();
  let ready = false;
  let shows: Show[] = [];

  const cancelAll = () => {
    for (const call of calls.values()) call.abort();
    calls.clear();
  };

  const run = async (id: number, name: string, params: unknown) => {
    const abort = new AbortController();
    calls.set(id, abort);
    let answer: ToView;
    try {
      answer = { type: "result", id, result: await relay(deps.call, name, params, abort.signal) };
    } catch (error) {
      const body: ErrorBody = asLancelotError(error).toBody();
      answer = { type: "error", id, error: body };
    }
    // A reloaded view restarts its call ids, so answers to its earlier calls are dropped.
    if (calls.get(id) !== abort) return;
    calls.delete(id);
    deps.post(answer);
  };

  return {
    receive(raw) {
      const parsed = FromView.safeParse(raw);
      if (!parsed.success) {
        deps.problem(parsed.error);
        return;
      }
      const message = parsed.data;
      switch (message.type) {
        case "ready":
          cancelAll();
          ready = true;
          deps.post({ type: "host", host: deps.state() });
          for (const what of shows) deps.post({ type: "show", ...what });
          shows = [];
          return;
        case "call":
          void run(message.id, message.method, message.params);
          return;
        case "cancel":
          calls.get(message.id)?.abort();
          return;
        case "ui":
          deps.ui(message.ui).catch((error: unknown) => deps.problem(error));
          return;
      }
    },
    event(event) {
      if (ready) deps.post({ type: "event", event });
    },
    hostState(host) {
      if (ready) deps.post({ type: "host", host });
    },
    show(what) {
      if (ready) deps.post({ type: "show", ...what });
      else shows.push(what);
    },
    dispose() {
      ready = false;
      cancelAll();
    },
  };
}

/** Checks only the method name; the host parses the params. */
async function relay(call: Call, name: string, params: unknown, signal: AbortSignal): Promise<unknown> {
  if (!isMethodName(name)) throw new LancelotError("not_found", `There is no method ${name}.`);
  if (notForViews.has(name)) throw new LancelotError("denied", `Views cannot call ${name}.`);
  return call(name, (params ?? {}) as ParamsIn<MethodName>, signal);
}
