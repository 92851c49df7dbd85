import type { Message } from "../contract/chat.ts";
import type { Emit } from "../contract/events.ts";
import type { ModelEvent } from "../models/models.ts";
import type { Redactor } from "../security/security.ts";
import { notice, type QuestStore } from "../quests/quests.ts";

/** Deltas are gathered this long (ms): smooth to the eye, few events. */
const deltaMs = 25;
/** Streamed text reaches the database at least this often (ms): a crash loses no more than this of it. */
const keepMs = 700;

type Done = Extract<ModelEvent, { type: "done" }>;

/**
 * Shows one answer of the model as it comes: deltas as events, the text kept in the database meanwhile. `message` is the open
 * message that grows. Throws what the stream throws, with everything streamed so far stored; a retry drops the failed try's text.
 * @param onFlush hears of a function that stores the text at once, and of null when the stream is over
 */
export async function streamAnswer(
  { store, emit, redactor }: { store: QuestStore; emit: Emit; redactor: Redactor },
  events: AsyncIterable<ModelEvent>,
  message: Message,
  signal: AbortSignal,
  onFlush: (flush: (() => void) | null) => void,
): Promise<Done> {
  let pending = "";
  let retrying = false;
  let deltaTimer: NodeJS.Timeout | null = null;
  let keepTimer: NodeJS.Timeout | null = null;

  const tellPending = (): void => {
    const text = pending;
    pending = "";
    const partIndex = message.parts.length - 1;
    const part = message.parts[partIndex];
    if (text === "" || (part?.type !== "text" && part?.type !== "thinking")) return;
    const { questId, id: messageId } = message;
    emit("delta", { questId, messageId, partIndex, kind: part.type, offset: part.text.length - text.length, text });
  };
  /** The first piece at once, what follows gathered. */
  const tellPaced = (): void => {
    deltaTimer = null;
    if (pending === "") return;
    tellPending();
    deltaTimer = setTimeout(tellPaced, deltaMs);
  };
  const safeParts = (): Message["parts"] =>
    message.parts.map((part) =>
      part.type === "text" || part.type === "thinking" ? { ...part, text: redactor.text(part.text).text } : part,
    );
  const keep = (): void => {
    if (keepTimer !== null) clearTimeout(keepTimer);
    keepTimer = null;
    if (!signal.aborted) store.keepStreamed({ ...message, parts: safeParts() });
  };
  const flush = (): void => {
    tellPending();
    keep();
  };

  const append = (kind: "text" | "thinking", text: string): void => {
    if (text === "") return;
    if (retrying) {
      message.parts = [];
      retrying = false;
    }
    if (message.parts.at(-1)?.type !== kind) {
      tellPending();
      message.parts.push({ type: kind, text: "" });
      store.saveMessage({ ...message, parts: safeParts() });
    }
    const part = message.parts.at(-1);
    if (part?.type === kind) part.text += text;
    pending += text;
    if (deltaTimer === null) tellPaced();
    keepTimer ??= setTimeout(keep, keepMs);
  };

  onFlush(flush);
  try {
    for await (const event of events) {
      if (signal.aborted) break;
      switch (event.type) {
        case "routed":
          // Stored and told with the first words.
          message.answeredBy = event.by;
          break;
        case "text":
        case "thinking":
          append(event.type, event.text);
          break;
        case "retry": {
          tellPending();
          retrying = true;
          const seconds = Math.max(1, Math.round(event.delayMs / 1000));
          message.parts = [notice("info", `${event.reason.replace(/[.\s]*$/, ".")} Trying again in ${String(seconds)} s.`)];
          store.saveMessage(message);
          break;
        }
        case "done":
          if (retrying) message.parts = [];
          return event;
      }
    }
    signal.throwIfAborted();
    throw new Error("the model's stream ended without its last event");
  } catch (error) {
    if (!signal.aborted) {
      tellPending();
      message.parts = safeParts();
    }
    throw error;
  } finally {
    if (deltaTimer !== null) clearTimeout(deltaTimer);
    if (keepTimer !== null) clearTimeout(keepTimer);
    onFlush(null);
  }
}
