import * as z from "zod";
import { callStart } from "./grammar.ts";

/** The tool call of a reply, if it made one. */
export type ReplyCall =
  | { kind: "none" }
  | { kind: "call"; name: string; args: Record<string, unknown> }
  /** Truncated. */
  | { kind: "malformed"; name: string; raw: string };

const Call = z.object({ tool: z.string(), args: z.record(z.string(), z.unknown()) });

/**
 * Parses a reply while it is written: `push` returns text to display, never part of a call. The result does not depend on how the reply is
 * split.
 */
export function createReplyReader(): { push(piece: string): string; end(): { text: string; call: ReplyCall } } {
  /** Text that may still become the beginning of a call, or the space before one. */
  let held = "";
  let call: string | undefined;

  return {
    push(piece) {
      if (call !== undefined) {
        call += piece;
        return "";
      }
      held += piece;
      const start = held.indexOf(callStart);
      if (start >= 0) {
        call = held.slice(start);
        const words = held.slice(0, start).trimEnd();
        held = "";
        return words;
      }
      const ready = held.length - heldBack(held);
      const words = held.slice(0, ready);
      held = held.slice(ready);
      return words;
    },
    end() {
      if (call !== undefined) return { text: "", call: readCall(call) };
      // The reply ended within the beginning of a call.
      return { text: held.replace(/\{"(t(o(o(l)?)?)?)?$/, "").trimEnd(), call: { kind: "none" } };
    },
  };
}

/** Length of the end of `text` that may be space and the beginning of a call. */
function heldBack(text: string): number {
  let start = 0;
  for (let length = Math.min(text.length, callStart.length - 1); length > 0 && start === 0; length--) {
    if (text.endsWith(callStart.slice(0, length))) start = length;
  }
  const before = text.slice(0, text.length - start);
  return start + before.length - before.trimEnd().length;
}

function readCall(raw: string): ReplyCall {
  try {
    const call = Call.parse(JSON.parse(raw));
    return { kind: "call", name: call.tool, args: call.args };
  } catch {
    return { kind: "malformed", name: /"tool"\s*:\s*"([^"]*)"/.exec(raw)?.[1] ?? "", raw };
  }
}

/**
 * Whether a text repeats itself, as weak models do: it ends with the same passage three times. Digits are ignored, so that a numbered list of
 * identical lines is found.
 */
export function repeatsItself(text: string): boolean {
  const end = text.slice(-1_200).replaceAll(/\d/g, "");
  const { length } = end;
  const last = end.charCodeAt(length - 1);
  for (let period = 20; period * 3 <= length; period++) {
    // Called after every few tokens: two characters rule out most periods.
    if (end.charCodeAt(length - 1 - period) !== last || end.charCodeAt(length - 1 - 2 * period) !== last) continue;
    const passage = end.slice(-period);
    if (passage.trim() !== "" && end.slice(-2 * period, -period) === passage && end.slice(-3 * period, -2 * period) === passage)
      return true;
  }
  return false;
}
