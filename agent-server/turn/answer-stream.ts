import { trimEnd } from "../contract/trim-end.ts";
import type { Message } from "../contract/chat.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Emit } from "../contract/events.ts";
import type { ModelEvent } from "../models/models.ts";
import type { Redactor } from "../security/security.ts";
import { notice, type QuestStore } from "../quests/quests.ts";
import { createShownText, type ShownText } from "./shown-text.ts";

/** How long (ms) deltas are collected, so that text appears smoothly with few events. */
const deltaMs = 25;
/** Until so many characters arrived, the first word is shown as soon as it is whole. */
const firstCharacters = 100;
/** How long (ms) the last word waits for its rest, unless it may become a secret. */
const lastWordMs = 1_000;
/** The longest time (ms) between writes of streamed text, and so the most that a crash can lose. */
const keepMs = 700;
/** Each write stores the whole text, so that it is stored less often the longer it is: after `keepMs` more for so many characters. */
const keepCharacters = 50_000;

type Done = Extract<ModelEvent, { type: "done" }>;

/** Parts of a message. A model that alternates between text and reasoning more often appends to the last part of its kind. */
const maxParts = 100;

function waitingText({ displayName, server, elapsedMs, limitMs }: Extract<ModelEvent, { type: "waiting" }>): string {
  const name = server === null ? displayName : `${displayName} (${server})`;
  const limit = limitMs >= 120_000 ? `${String(Math.round(limitMs / 60_000))} minutes` : `${String(Math.round(limitMs / 1000))} s`;
  return `${name} has not answered for ${String(Math.round(elapsedMs / 1000))} s. Lancelot waits up to ${limit}. You can stop the task.`;
}

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
  let retrying = false;
  let deltaTimer: NodeJS.Timeout | null = null;
  let keepTimer: NodeJS.Timeout | null = null;
  let lastWordTimer: NodeJS.Timeout | null = null;

  /** The part that receives the text. */
  let partIndex = 0;
  let characters = 0;
  let hasEmitted = false;
  /** What of each text of the message is shown. */
  const shown = new Map<Message["parts"][number], ShownText>();
  /** The parts with text that no event has shown. */
  const waiting = new Set<Message["parts"][number]>();
  const emitWaiting = (until: "word" | "pause" | "end" = "word"): void => {
    const { questId, id: messageId } = message;
    for (const part of waiting) {
      const partIndex = message.parts.indexOf(part);
      const released = partIndex === -1 ? null : (shown.get(part)?.release(until) ?? null);
      if (released !== null && (part.type === "text" || part.type === "thinking"))
        emit("delta", { questId, messageId, partIndex, kind: part.type, ...released });
      hasEmitted ||= released !== null;
    }
    waiting.clear();
  };
  const releaseHeld = (until: "pause" | "end"): void => {
    for (const part of shown.keys()) waiting.add(part);
    emitWaiting(until);
  };
  /** Emits the first text at once, and collects the text after it. */
  const emitPaced = (): void => {
    deltaTimer = null;
    if (waiting.size === 0) return;
    emitWaiting();
    if (hasEmitted || characters > firstCharacters) deltaTimer = setTimeout(emitPaced, deltaMs);
  };
  const safeParts = (): Message["parts"] =>
    message.parts.map((part) =>
      part.type === "text" || part.type === "thinking" ? { ...part, text: redactor.text(part.text).text } : part,
    );
  const shownParts = (): Message["parts"] =>
    message.parts.map((part) => (part.type === "text" || part.type === "thinking" ? { ...part, text: shown.get(part)?.text ?? "" } : part));
  const keep = (): void => {
    if (keepTimer !== null) clearTimeout(keepTimer);
    keepTimer = null;
    if (signal.aborted) return;
    try {
      store.keepStreamed({ ...message, parts: shownParts() });
    } catch (error) {
      // The disk is full, for example. The whole answer is still in memory, and is stored at its end or with the next text.
      if (!(error instanceof LancelotError)) throw error;
    }
  };
  const flush = (): void => {
    releaseHeld("end");
    keep();
  };

  const append = (kind: "text" | "thinking", text: string): void => {
    if (text === "") return;
    if (retrying) {
      message.parts = [];
      shown.clear();
      waiting.clear();
      partIndex = 0;
      retrying = false;
    }
    if (message.parts[partIndex]?.type !== kind) {
      partIndex = message.parts.length < maxParts ? message.parts.length : message.parts.findLastIndex((part) => part.type === kind);
      if (partIndex === message.parts.length) {
        releaseHeld("end");
        message.parts.push({ type: kind, text: "" });
        store.saveMessage({ ...message, parts: shownParts() });
      }
    }
    const part = message.parts[partIndex];
    if (part?.type !== kind) return;
    part.text += text;
    let shownText = shown.get(part);
    if (shownText === undefined) shown.set(part, (shownText = createShownText(redactor)));
    shownText.add(text);
    waiting.add(part);
    characters += text.length;
    if (deltaTimer === null) emitPaced();
    lastWordTimer = lastWordTimer?.refresh() ?? setTimeout(() => releaseHeld("pause"), lastWordMs);
    keepTimer ??= setTimeout(keep, keepMs * (1 + characters / keepCharacters));
  };

  onFlush(flush);
  try {
    for await (const event of events) {
      if (event.type !== "done" && event.type !== message.parts.at(-1)?.type) await store.ready(signal);
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
          retrying = true;
          const seconds = Math.max(1, Math.round(event.delayMs / 1000));
          message.parts = [notice("info", `${trimEnd(event.reason, ". \n")}. Retrying in ${String(seconds)} s.`)];
          store.saveMessage(message);
          break;
        }
        case "waiting":
          retrying = true;
          message.parts = [notice("info", waitingText(event))];
          store.saveMessage(message);
          break;
        case "done":
          if (retrying) message.parts = [];
          return event;
      }
    }
    signal.throwIfAborted();
    throw new Error("the model's stream ended without its last event");
  } catch (error) {
    if (!signal.aborted) {
      releaseHeld("end");
      message.parts = safeParts();
    }
    throw error;
  } finally {
    for (const timer of [deltaTimer, keepTimer, lastWordTimer]) if (timer !== null) clearTimeout(timer);
    onFlush(null);
  }
}
