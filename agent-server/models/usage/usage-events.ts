import type { Emit } from "../../contract/events.ts";

/** Minimum interval between events (ms): each makes listeners read the whole summary. */
const restMs = 500;

/** Emits an event for a counted call at once, and one for several calls in quick succession. */
export function createUsageEvents(emit: Emit): { changed(questId: string | null): void; end(): void } {
  let timer: NodeJS.Timeout | null = null;
  const waiting = new Set<string | null>();
  const tell = (): void => {
    timer = null;
    if (waiting.size === 0) return;
    // An event for several quests names none, since all of them changed.
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
