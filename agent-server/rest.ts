import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Quiet before the first collection, and between work and the next one. Milliseconds. */
const quietMs = { first: 60_000, later: 60_000 };

type Collect = (options: { type: "major"; execution: "sync"; flavor: "last-resort" }) => void;

/** The engine's own collector, which a process has from its start alone unless it asks for it; null where the engine has none to give. */
function collector(): Collect | null {
  setFlagsFromString("--expose-gc");
  const found: unknown = runInNewContext("typeof gc === 'function' ? gc : null");
  return typeof found === "function" ? (found as Collect) : null;
}

/**
 * Gives memory back while nothing is to be done: the engine keeps what start and work left behind until it needs the room, and a
 * host that rests beside an editor for hours does not. One collection takes some 0.1 s, so it waits until nothing runs.
 * @param isBusy whether work is under way
 */
export function createRest(isBusy: () => boolean): { worked(): void; close(): void } {
  const rest = (): void => {
    if (isBusy()) return worked();
    collector()?.({ type: "major", execution: "sync", flavor: "last-resort" });
  };
  let timer = setTimeout(rest, quietMs.first).unref();
  function worked(): void {
    clearTimeout(timer);
    timer = setTimeout(rest, quietMs.later).unref();
  }
  return { worked, close: () => clearTimeout(timer) };
}
