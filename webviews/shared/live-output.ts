import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { ToolPart } from "../../agent-server/contract/chat.ts";
import type { Bridge } from "./bridge.ts";
import type { Conversation } from "./conversation.ts";
import { createScreen, type Screen } from "./terminal/screen.ts";

/** What one tool call printed so far. */
export interface LiveOutput {
  readonly screen: Screen;
  /** Grows when there is something new to draw, at most once a frame. */
  readonly version: ReadonlySignal<number>;
  /** UTF-16 units that are missing in it: the host no longer held them. */
  readonly missing: number;
}

export interface LiveOutputs {
  /** The output of a call; what its part holds and was not seen yet is taken in. */
  of(part: Pick<ToolPart, "callId" | "live" | "output">): LiveOutput;
}

/** Characters that wait for the next frame at the most; a view that is not on screen gets no frames. */
const mostBuffered = 256 * 1024;
/** Chunks kept while text before them is missing. */
const mostWaiting = 500;

interface Entry extends LiveOutput {
  readonly version: Signal<number>;
  missing: number;
  /** UTF-16 units since the tool began that were taken in or are missing. */
  end: number;
  buffer: string;
  waiting: { offset: number; text: string }[];
  /** The part was read anew for text that is missing, and has not come yet. */
  asked: boolean;
}

/** Joins what a running tool prints, chunk by chunk, with what its card holds. A flood is drawn once a frame and kept bounded. */
export function createLiveOutputs(bridge: Bridge, conversation: Pick<Conversation, "questId" | "loading" | "refresh">): LiveOutputs {
  const entries = new Map<string, Entry>();
  const dirty = new Set<Entry>();
  let frame: number | null = null;

  function entryOf(callId: string): Entry {
    const known = entries.get(callId);
    if (known !== undefined) return known;
    const made: Entry = {
      ...{ screen: createScreen(), version: signal(0), missing: 0, end: 0, buffer: "", waiting: [], asked: false },
    };
    entries.set(callId, made);
    return made;
  }

  function flush(entry: Entry): void {
    entry.screen.write(entry.buffer);
    entry.buffer = "";
  }

  function draw(): void {
    frame = null;
    for (const entry of dirty) {
      flush(entry);
      entry.version.value += 1;
    }
    dirty.clear();
  }

  function append(entry: Entry, text: string): void {
    if (text === "") return;
    entry.buffer += text;
    entry.end += text.length;
    if (entry.buffer.length > mostBuffered) flush(entry);
    dirty.add(entry);
    frame ??= requestAnimationFrame(draw);
  }

  /** Returns false when text before this chunk is missing. */
  function take(entry: Entry, offset: number, text: string): boolean {
    if (offset > entry.end) return false;
    append(entry, text.slice(entry.end - offset));
    return true;
  }

  function sync(entry: Entry, live: NonNullable<ToolPart["live"]>): void {
    const end = live.skipped + live.text.length;
    if (end > entry.end) {
      const gap = Math.max(0, live.skipped - entry.end);
      entry.missing += gap;
      entry.end += gap;
      take(entry, live.skipped, live.text);
      entry.asked = false;
    }
    entry.waiting = entry.waiting.filter(({ offset, text }) => !take(entry, offset, text));
  }

  bridge.onEvent((event) => {
    if (event.topic !== "toolOutput" || event.payload.questId !== conversation.questId.peek()) return;
    const { callId, offset, text } = event.payload;
    const entry = entryOf(callId);
    if (take(entry, offset, text)) return;
    entry.waiting = [...entry.waiting, { offset, text }].slice(-mostWaiting);
    if (entry.asked || conversation.loading.peek()) return;
    entry.asked = true;
    conversation.refresh();
  });
  conversation.questId.subscribe(() => {
    entries.clear();
    dirty.clear();
  });

  return {
    of(part) {
      const known = entries.get(part.callId);
      const entry = known ?? entryOf(part.callId);
      if (part.live !== undefined) sync(entry, part.live);
      // A tool that prints nothing as it runs has its answer, once.
      else if (part.output !== null && entry.end === 0) append(entry, part.output);
      // What is drawn first is whole; the rest comes by frames.
      if (known === undefined) flush(entry);
      return entry;
    },
  };
}
