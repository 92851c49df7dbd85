import type { Message, ToolPart } from "../contract/chat.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Emit } from "../contract/events.ts";
import type { QuestStore } from "../quests/quests.ts";

/** Length of the output that a card keeps (UTF-16 units). */
const maxUnits = 48_000;
/** The longest time (ms) between writes to the database, from which a newly opened window reads the output. */
const keepMs = 1_500;

/** Sends the output of a running tool to the open windows as events and, less often, to its stored card. */
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
    if (deps.ended()) return;
    try {
      store.keepStreamed(message);
    } catch (error) {
      // The disk is full, for example. The output is stored with the result of the call.
      if (!(error instanceof LancelotError)) throw error;
    }
  };
  return {
    add({ offset, text }) {
      if (deps.ended()) return;
      const { live } = part;
      const joins = live !== undefined && live.skipped + live.text.length === offset;
      const whole = joins ? live.text + text : text;
      // Each cut copies the text, so cut only at twice the length.
      const cut = whole.length > maxUnits * 2 ? whole.length - maxUnits : 0;
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
