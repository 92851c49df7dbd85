import { type Redactor, unfinishedTokenFrom } from "../security/security.ts";

/** Text before a piece (UTF-16 units) that tells whether the piece holds a secret, such as the name of a key. */
const contextLength = 500;
/** The longest end of a text that waits for its rest. */
const maxHeld = 16_384;

/** Around a private key, among others. */
const armorBegin = "-----BEGIN ";
const armorEnd = /-----END [^-]{0,60}-----/;
/** Sentences after its first line: it is only mentioned, so the text is not held. */
const proseAfterBegin = /^-----BEGIN [A-Z0-9 ]{0,60}-----[\s\S]*?\p{L} \p{L}+ \p{L}+ /u;

/** A text that grows, and what of it may be shown: without secrets, also where a secret arrives in pieces. */
export interface ShownText {
  /** What was released so far. */
  readonly text: string;
  add(text: string): void;
  /**
   * Releases what waits, up to the last word, private key or known value that may go on.
   * @param until `pause` releases the last word too, unless it may become a token; `end` releases everything
   * @returns the released text and where it begins in `text`; null where there is none
   */
  release(until?: "word" | "pause" | "end"): { offset: number; text: string } | null;
}

export function createShownText(redactor: Pick<Redactor, "text" | "inspect">): ShownText {
  let context = "";
  let held = "";
  let shown = "";

  const finishedLength = (isPause: boolean): number => {
    const whole = context + held;
    const word = isPause ? unfinishedTokenFrom(held, maxHeld) : unfinishedWordFrom(held);
    let end = Math.min(word, redactor.inspect(whole).unfinishedFrom - context.length);
    const armor = whole.lastIndexOf(armorBegin);
    if (armor !== -1 && isOpenArmor(whole.slice(armor, context.length + end))) end = Math.min(end, armor - context.length);
    end = Math.max(0, end);
    return held.length - end > maxHeld ? held.length : end;
  };

  return {
    get text() {
      return shown;
    },
    add(text) {
      held += text;
    },
    release(until = "word") {
      const end = until === "end" ? held.length : finishedLength(until === "pause");
      if (end === 0) return null;
      const before = redactor.text(context).text;
      const after = redactor.text(context + held.slice(0, end)).text;
      const text = after.slice(commonLength(before, after));
      context = (context + held.slice(0, end)).slice(-contextLength);
      held = held.slice(end);
      if (text === "") return null;
      const offset = shown.length;
      shown += text;
      return { offset, text };
    },
  };
}

function isOpenArmor(text: string): boolean {
  return !armorEnd.test(text) && !proseAfterBegin.test(text);
}

/** Where the last word begins, if the text ends with one that may go on. Secrets are written in printable ASCII. */
function unfinishedWordFrom(text: string): number {
  let end = text.length;
  while (end > 0 && text.length - end <= maxHeld && text.charCodeAt(end - 1) > 0x20 && text.charCodeAt(end - 1) < 0x7f) end--;
  return end;
}

function commonLength(left: string, right: string): number {
  let length = 0;
  while (length < left.length && left[length] === right[length]) length++;
  return length;
}
