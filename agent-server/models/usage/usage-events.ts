import type { Emit } from "../../contract/events.ts";

/** Milliseconds between two events: whoever listens reads the whole summary again. */
const restMs = 500;

/** Tells of counted calls at once, and of many within a moment together. */
export function createUsageTelling(emit: Emit): { changed(questId: string | null): void; end(): void } {
  let timer: NodeJS.Timeout | null = null;
  const waiting = new Set<string | null>();
  const tell = (): void => {
    timer = null;
    if (waiting.size === 0) return;
    // Of several quests at once the event names none: all of them are to be read again.
    const [only = null, ...others] = waiting;
    waiting.clear();
    emit("usage", { questId: others.length === 0 ? only : null });
    timer = setTimeout(tell, restMs).unref();
  };
  return {
    changed(questId) {
      waiting.add(questId);
      if (timer === null) tell();
    },
    end() {
      if (timer !== null) clearTimeout(timer);
      timer = null;
      waiting.clear();
    },
  };
}
