import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { ToolPart } from "../../agent-server/contract/chat.ts";
import type { Bridge } from "./bridge.ts";
import type { Conversation } from "./conversation.ts";
import { createScreen, type Screen } from "./terminal/screen.ts";

/** The output of one tool call so far. */
export interface LiveOutput {
  readonly screen: Screen;
  /** Increases when there is new output to draw, at most once per frame. */
  readonly version: ReadonlySignal<number>;
  /** UTF-16 units that the host no longer kept and that are missing here. */
  readonly missing: number;
}

export interface LiveOutputs {
  /** Returns the output of a call and adds the unseen text of its part. */
  of(part: Pick<ToolPart, "callId" | "live" | "output">): LiveOutput;
}

/** Most characters that wait for the next frame; a hidden view gets no frames. */
const maxBufferedChars = 256 * 1024;
/** Most chunks kept while earlier text is missing. */
const maxWaitingChunks = 500;

interface Entry extends LiveOutput {
  readonly version: Signal<number>;
  missing: number;
  /** UTF-16 units since the start of the tool that were received or are missing. */
  end: number;
  buffer: string;
  waiting: { offset: number; text: string }[];
  /** True after the part was requested again because text is missing. */
  refreshRequested: boolean;
}

/** Merges the streamed chunks of a running tool with the text of its part. Output is drawn once per frame and stays bounded. */
export function createLiveOutputs(bridge: Bridge, conversation: Pick<Conversation, "questId" | "loading" | "refresh">): LiveOutputs {
  const entries = new Map<string, Entry>();
  const dirty = new Set<Entry>();
  let frame: number | null = null;

  function entryOf(callId: string): Entry {
    const known = entries.get(callId);
    if (known !== undefined) return known;
    const made: Entry = {
      ...{ screen: createScreen(), version: signal(0), missing: 0, end: 0, buffer: "", waiting: [], refreshRequested: false },
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
    if (entry.buffer.length > maxBufferedChars) flush(entry);
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
      entry.refreshRequested = false;
    }
    entry.waiting = entry.waiting.filter(({ offset, text }) => !take(entry, offset, text));
  }

  bridge.onEvent((event) => {
    if (event.topic !== "toolOutput" && event.topic !== "backgroundOutput") return;
    const { questId, callId, offset, text } = event.payload;
    if (questId !== conversation.questId.peek() || callId === null) return;
    const entry = entryOf(callId);
    if (take(entry, offset, text)) return;
    entry.waiting = [...entry.waiting, { offset, text }].slice(-maxWaitingChunks);
    if (entry.refreshRequested || conversation.loading.peek()) return;
    entry.refreshRequested = true;
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
      // A tool without live output has its output once, in the part.
      else if (part.output !== null && entry.end === 0) append(entry, part.output);
      // The first draw is complete; later output waits for frames.
      if (known === undefined) flush(entry);
      return entry;
    },
  };
}
