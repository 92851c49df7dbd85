import { LancelotError } from "../contract/errors.ts";
import { AnswerTooLargeError, type Limited } from "./providers/stream-errors.ts";
import type { ModelEvent } from "./request.ts";

/** Limits of one answer: characters of its text, of its reasoning, and of all arguments; number of tool calls. */
export type AnswerLimits = Readonly<Record<Counted, number>>;
type Counted = "text" | "thinking" | "arguments" | "calls";

/** Counts what of an answer has arrived. Providers count what they collect without an event for it: arguments, signatures and calls. */
export interface AnswerMeter {
  /** Characters that have arrived, of all kinds. */
  readonly total: number;
  /** How much of a kind may still arrive. */
  room(kind: Counted): number;
  /** @throws AnswerTooLargeError */
  add(kind: Counted, amount: number): void;
}

export function createAnswerMeter(limits: AnswerLimits = { text: 1e6, thinking: 1e6, arguments: 2e6, calls: 1000 }): AnswerMeter {
  const counts = { text: 0, thinking: 0, arguments: 0, calls: 0 };
  return {
    get total() {
      return counts.text + counts.thinking + counts.arguments;
    },
    room: (kind) => Math.max(0, limits[kind] - counts[kind]),
    add(kind, amount) {
      counts[kind] += amount;
      if (counts[kind] > limits[kind]) throw new AnswerTooLargeError(kind, limits[kind]);
    },
  };
}

/**
 * Passes an answer up to its limits, whatever the provider sends.
 * @throws LancelotError `too_large`, `data.reason: "answer_too_large"`, after the part that fits
 */
export async function* boundAnswer(
  events: AsyncIterable<ModelEvent>,
  meter: AnswerMeter,
  about: { displayName: string; model: string },
): AsyncGenerator<ModelEvent> {
  try {
    for await (const event of events) {
      if (event.type === "text" || event.type === "thinking") {
        const room = meter.room(event.type);
        if (event.text.length > room && room > 0) yield { ...event, text: withoutHalf(event.text.slice(0, room)) };
        meter.add(event.type, event.text.length);
      }
      yield event;
    }
  } catch (cause) {
    throw cause instanceof AnswerTooLargeError ? tooLargeError(cause, about) : cause;
  }
}

/** Without the first half of a character of which the second is missing. */
function withoutHalf(text: string): string {
  return /[\uD800-\uDBFF]$/.test(text) ? text.slice(0, -1) : text;
}

const words: Record<Limited, (limit: string) => string> = {
  text: (limit) => `text of more than ${limit} characters`,
  thinking: (limit) => `reasoning of more than ${limit} characters`,
  arguments: (limit) => `tool calls with more than ${limit} characters`,
  calls: (limit) => `more than ${limit} tool calls`,
  event: (limit) => `an event of more than ${limit} characters`,
  stream: (limit) => `more than ${limit} bytes, or a million events`,
};

export function tooLargeError({ what, limit }: AnswerTooLargeError, about: { displayName: string; model: string }): LancelotError {
  const message = `${about.displayName} sent ${words[what](limit.toLocaleString("en-US"))} in one answer, so Lancelot stopped it. The text before that is kept. Resume to continue, or choose another model.`;
  const data = {
    provider: about.displayName,
    model: about.model,
    reason: "answer_too_large",
    what,
    limit,
    retryable: false,
    action: "resume",
  };
  return new LancelotError("too_large", message, { data });
}
