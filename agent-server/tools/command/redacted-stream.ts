import type { Redactor } from "../../security/security.ts";

/** Longest line (UTF-16 units) that is waited for; a longer one is passed on in pieces. */
const maxLine = 16_384;
/** What is held back of a piece of an endless line, so that a secret across the cut is found with the next piece. */
const overlap = 1_024;
/** Lines of a private key that are waited for. */
const maxKeyLines = 200;

const keyBegin = /-----BEGIN [A-Z0-9 ]{0,60}PRIVATE KEY/;
const keyEnd = /-----END [A-Z0-9 ]{0,60}PRIVATE KEY/;

/** Text that comes in pieces, with its secrets replaced before anything of it goes on. */
export interface SafeStream {
  /** What can go on now: whole lines. */
  add(text: string): string;
  /** A line that waits for its end (a prompt, a slow progress bar); a key that waits for its own stays held. */
  unended(): string;
  /** All that was held back: nothing more comes. */
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
      // What was replaced is passed on; of the rest the last part waits.
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
