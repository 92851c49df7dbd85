import * as z from "zod";
import { callStart } from "./grammar.ts";

/** The tool call of a reply, if it made one. */
export type ReplyCall =
  | { kind: "none" }
  | { kind: "call"; name: string; args: Record<string, unknown> }
  /** Cut off before its end. */
  | { kind: "malformed"; name: string; raw: string };

const Call = z.object({ tool: z.string(), args: z.record(z.string(), z.unknown()) });

/**
 * Takes a reply apart while it is written: `push` returns the words that can be shown, never a part of a call. However the reply is
 * split, the same comes out.
 */
export function createReplyReader(): { push(piece: string): string; end(): { text: string; call: ReplyCall } } {
  /** What may still turn out to be the beginning of a call, or the space before one. */
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
      // A reply that ended in the middle of the beginning of a call.
      return { text: held.replace(/\{"(t(o(o(l)?)?)?)?$/, "").trimEnd(), call: { kind: "none" } };
    },
  };
}

/** Length of the end of `text` that could be space and then the beginning of a call. */
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
 * Whether a text has begun to go round in circles, as weak models do: its end is the same passage three times over. Digits do not
 * count, so that a numbered list of the same line is found.
 */
export function goesInCircles(text: string): boolean {
  const end = text.slice(-1_200).replaceAll(/\d/g, "");
  const { length } = end;
  const last = end.charCodeAt(length - 1);
  for (let period = 20; period * 3 <= length; period++) {
    // Looked at after every few words: most periods are ruled out by two characters.
    if (end.charCodeAt(length - 1 - period) !== last || end.charCodeAt(length - 1 - 2 * period) !== last) continue;
    const passage = end.slice(-period);
    if (passage.trim() !== "" && end.slice(-2 * period, -period) === passage && end.slice(-3 * period, -2 * period) === passage)
      return true;
  }
  return false;
}
