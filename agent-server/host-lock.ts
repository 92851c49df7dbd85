import type { CallContext, Handlers, MethodName } from "./contract/table.ts";
import type { Storage } from "./storage/storage.ts";

/** Methods that answer while another process has locked the database: they write nothing, or stop something first. */
const immediate: ReadonlySet<string> = new Set<MethodName>(["health.live", "health.ready", "host.info", "chat.cancel"]);

/** Delays calls until the database can be written, so that no handler blocks the event loop while it waits for a lock. */
export function afterLock(handlers: Handlers, storage: Pick<Storage, "isWritable" | "whenWritable">): Handlers {
  const delayed = Object.entries(handlers).map(([name, handler]) => {
    if (immediate.has(name)) return [name, handler];
    const call = handler as (params: unknown, context: CallContext) => unknown;
    return [
      name,
      (params: unknown, context: CallContext) =>
        storage.isWritable() ? call(params, context) : storage.whenWritable(context.signal).then(() => call(params, context)),
    ];
  });
  return Object.fromEntries(delayed) as Handlers;
}
