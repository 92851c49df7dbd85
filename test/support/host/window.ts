import { createDispatch, type Dispatch } from "../../../agent-server/gateway/dispatch.ts";
import { createEventHub, type EventHub } from "../../../agent-server/gateway/events.ts";
import type { Call } from "../../../agent-server/contract/table.ts";
import { createHost, type Host, type HostOptions } from "../../../agent-server/host.ts";
import { productPaths } from "../../../agent-server/paths.ts";

/** One window's host in this process, with its events and the dispatcher its transports use. */
export interface Window {
  readonly host: Host;
  readonly events: EventHub;
  readonly dispatch: Dispatch;
  /** Calls with the owner token. */
  readonly call: Call;
  /** Resolves when `condition` holds, looked at after every event. */
  until(condition: () => boolean | Promise<boolean>): Promise<void>;
  close(): Promise<void>;
}

export async function openWindow(options: Pick<HostOptions, "workspace" | "dataDir"> & Partial<HostOptions>): Promise<Window> {
  const events = createEventHub(() => undefined);
  const host = await createHost({
    paths: productPaths(),
    trusted: true,
    posture: "supervised",
    approvalTimeoutSeconds: 60,
    canAsk: true,
    askEditor: null,
    env: {},
    emit: events.emit,
    lastEventSeq: events.lastSeq,
    log: () => undefined,
    ...options,
  });
  const dispatch = createDispatch(host.handlers, () => undefined);
  return {
    host,
    events,
    dispatch,
    call: ((name, params, signal) => dispatch(name, params, { owner: true, signal: signal ?? new AbortController().signal })) as Call,
    async until(condition) {
      for (;;) {
        let wake: () => void = () => undefined;
        const event = new Promise<void>((resolve) => {
          wake = resolve;
        });
        const stop = events.listen(() => setImmediate(wake));
        try {
          if (await condition()) return;
          await event;
        } finally {
          stop();
        }
      }
    },
    close: () => host.close(),
  };
}
