import type { Message, Part } from "../../agent-server/contract/chat.ts";
import type { EventPayload } from "../../agent-server/contract/events.ts";

export type Delta = EventPayload<"delta">;

/** `gap`: text before this delta is missing or differs, so the quest must be read again. */
export type DeltaOutcome = { kind: "applied"; message: Message } | { kind: "repeat" } | { kind: "gap" };

/**
 * Appends streamed text to a part of a message. A delta that is already applied is a repeat; an overlapping delta adds only its new end,
 * provided that the overlap is identical.
 */
export function applyDelta(message: Message, delta: Delta): DeltaOutcome {
  const { partIndex, kind, offset, text } = delta;
  if (partIndex > message.parts.length) return { kind: "gap" };
  const part: Part = message.parts[partIndex] ?? { type: kind, text: "" };
  if (part.type !== kind || offset > part.text.length) return { kind: "gap" };
  const overlap = part.text.slice(offset, offset + text.length);
  if (!text.startsWith(overlap)) return { kind: "gap" };
  const rest = text.slice(overlap.length);
  if (rest === "") return { kind: "repeat" };
  const parts = message.parts.slice();
  parts[partIndex] = { type: kind, text: part.text + rest };
  return { kind: "applied", message: { ...message, parts } };
}

/** Returns the index of a message with this `seq`, or the index to insert it, in a list ordered by `seq`. */
export function positionOf(seqs: readonly number[], seq: number): number {
  // New messages usually come last.
  let index = seqs.length;
  while (index > 0 && (seqs[index - 1] ?? -1) >= seq) index -= 1;
  return index;
}

/** Returns the text of a message, for a screen reader and for editing. */
export function plainText(message: Message): string {
  return message.parts
    .flatMap((part) => (part.type === "text" || part.type === "notice" ? [part.text] : []))
    .join("\n")
    .trim();
}
