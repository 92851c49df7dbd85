import type { Redactor } from "../../security/security.ts";

/** Longest buffered line (UTF-16 units); longer ones are released in pieces. */
const maxLine = 16_384;
/** The end of such a piece that stays buffered, so that a secret across the cut is found with the next piece. */
const overlap = 1_024;
/** Most buffered lines of a private key. */
const maxKeyLines = 200;

const keyBegin = /-----BEGIN [A-Z0-9 ]{0,60}PRIVATE KEY/;
const keyEnd = /-----END [A-Z0-9 ]{0,60}PRIVATE KEY/;

/** Redacts a streamed text before any of it is released. */
export interface SafeStream {
  /** Returns the complete lines that can be released now. */
  add(text: string): string;
  /** Returns an unfinished line, such as a prompt; an unfinished private key stays buffered. */
  unended(): string;
  /** Returns the rest after the last input. */
  end(): string;
}

/** Redacts line by line (a carriage return ends a line too), and a private key as a whole. */
export function createSafeStream(redactor: Pick<Redactor, "text">): SafeStream {
  let held = "";
  const redacted = (text: string): string => (text === "" ? "" : redactor.text(text).text);

  const release = (): string => {
    const rest = redacted(held);
    held = "";
    return rest;
  };

  return {
    add(text) {
      held += text;
      const begin = held.search(keyBegin);
      if (
        begin !== -1 &&
        !keyEnd.test(held.slice(begin)) &&
        newlines(held.slice(begin)) < maxKeyLines &&
        held.length - begin < maxLine * 2
      ) {
        const before = held.slice(0, begin);
        held = held.slice(begin);
        return redacted(before);
      }
      const end = Math.max(held.lastIndexOf("\n"), held.lastIndexOf("\r")) + 1;
      if (end > 0) {
        const lines = held.slice(0, end);
        held = held.slice(end);
        return redacted(lines);
      }
      if (held.length <= maxLine) return "";
      const whole = redacted(held);
      // The end stays buffered, because a secret can continue in the next piece.
      const cut = Math.max(0, whole.length - overlap);
      held = whole.slice(cut);
      return whole.slice(0, cut);
    },
    unended: () => (keyBegin.test(held) ? "" : release()),
    end: release,
  };
}

function newlines(text: string): number {
  return text.split("\n").length - 1;
}
