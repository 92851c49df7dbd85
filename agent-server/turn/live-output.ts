import type { Message, ToolPart } from "../contract/chat.ts";
import type { Emit } from "../contract/events.ts";
import type { QuestStore } from "../quests/quests.ts";

/** What a card holds of the output (UTF-16 units). */
const heldUnits = 48_000;
/** What was printed reaches the database at least this often (ms), so that a window that opens sees it. */
const keepMs = 1_500;

/** What a running tool prints, on its way to the open windows as events and, more seldom, to its stored card. */
export function createLiveOutput(deps: {
  part: ToolPart;
  message: Message;
  store: Pick<QuestStore, "keepStreamed">;
  emit: Emit;
  ended: () => boolean;
}): { add(piece: { offset: number; text: string }): void; end(): void } {
  const { part, message, store, emit } = deps;
  let timer: NodeJS.Timeout | null = null;
  const keep = (): void => {
    timer = null;
    if (!deps.ended()) store.keepStreamed(message);
  };
  return {
    add({ offset, text }) {
      if (deps.ended()) return;
      const { live } = part;
      const joins = live !== undefined && live.skipped + live.text.length === offset;
      const whole = joins ? live.text + text : text;
      // Cut at twice the length, since each cut copies.
      const cut = whole.length > heldUnits * 2 ? whole.length - heldUnits : 0;
      part.live = { text: whole.slice(cut), skipped: (joins ? live.skipped : offset) + cut };
      emit("toolOutput", { questId: message.questId, messageId: message.id, callId: part.callId, offset, text });
      timer ??= setTimeout(keep, keepMs);
    },
    end() {
      if (timer !== null) clearTimeout(timer);
      timer = null;
    },
  };
}
