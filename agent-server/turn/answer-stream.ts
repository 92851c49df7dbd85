import type { Message } from "../contract/chat.ts";
import type { Emit } from "../contract/events.ts";
import type { ModelEvent } from "../models/models.ts";
import type { Redactor } from "../security/security.ts";
import { notice, type QuestStore } from "../quests/quests.ts";

/** How long (ms) deltas are collected, so that text appears smoothly with few events. */
const deltaMs = 25;
/** The longest time (ms) between writes of streamed text, and so the most that a crash can lose. */
const keepMs = 700;

type Done = Extract<ModelEvent, { type: "done" }>;

/**
 * Streams one answer of the model into the open `message`: emits deltas as events, and stores the text at intervals. Rethrows the
 * errors of the stream after storing its text so far. A retry drops the text of the failed attempt.
 * @param onFlush receives a function that stores the text at once, and null when the stream is over
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

  const emitPending = (): void => {
    const text = pending;
    pending = "";
    const partIndex = message.parts.length - 1;
    const part = message.parts[partIndex];
    if (text === "" || (part?.type !== "text" && part?.type !== "thinking")) return;
    const { questId, id: messageId } = message;
    emit("delta", { questId, messageId, partIndex, kind: part.type, offset: part.text.length - text.length, text });
  };
  /** Emits the first text at once, and collects the text after it. */
  const emitPaced = (): void => {
    deltaTimer = null;
    if (pending === "") return;
    emitPending();
    deltaTimer = setTimeout(emitPaced, deltaMs);
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
    emitPending();
    keep();
  };

  const append = (kind: "text" | "thinking", text: string): void => {
    if (text === "") return;
    if (retrying) {
      message.parts = [];
      retrying = false;
    }
    if (message.parts.at(-1)?.type !== kind) {
      emitPending();
      message.parts.push({ type: kind, text: "" });
      store.saveMessage({ ...message, parts: safeParts() });
    }
    const part = message.parts.at(-1);
    if (part?.type === kind) part.text += text;
    pending += text;
    if (deltaTimer === null) emitPaced();
    keepTimer ??= setTimeout(keep, keepMs);
  };

  onFlush(flush);
  try {
    for await (const event of events) {
      if (signal.aborted) break;
      switch (event.type) {
        case "routed":
          // The message is stored and emitted with the first text.
          message.answeredBy = event.by;
          break;
        case "text":
        case "thinking":
          append(event.type, event.text);
          break;
        case "retry": {
          emitPending();
          retrying = true;
          const seconds = Math.max(1, Math.round(event.delayMs / 1000));
          message.parts = [notice("info", `${event.reason.replace(/[.\s]*$/, ".")} Retrying in ${String(seconds)} s.`)];
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
      emitPending();
      message.parts = safeParts();
    }
    throw error;
  } finally {
    if (deltaTimer !== null) clearTimeout(deltaTimer);
    if (keepTimer !== null) clearTimeout(keepTimer);
    onFlush(null);
  }
}
