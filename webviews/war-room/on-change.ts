import type { ReadonlySignal } from "@preact/signals";

/** Calls `act` after each change of a signal, not for its first value. */
export function onChange<T>(source: ReadonlySignal<T>, act: () => void): void {
  let before = source.peek();
  source.subscribe((next) => {
    if (next === before) return;
    before = next;
    act();
  });
}
