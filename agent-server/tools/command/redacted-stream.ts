import { type Inspection, type Redactor, unfinishedTokenFrom } from "../../security/security.ts";
import { withoutSequences } from "./terminal-text.ts";

/** Longest buffered line (UTF-16 units); longer ones are released in pieces. */
const maxLine = 16_384;
/** The end of such a piece that stays buffered, so that a secret across the cut is found with the next piece. */
const overlap = 1_024;
/** Most buffered lines of a private key. */
const maxKeyLines = 200;
/** Units that may stay buffered because a private key or a known value has begun. */
const maxBegun = maxLine * 2;
/** Characters of the shown text that are remembered, because a known value may have begun in them: sixteen, each as an escape. */
const shownCharacters = 96;

const keyBegin = /-----BEGIN [A-Z0-9 ]{0,60}PRIVATE KEY/;
const keyEnd = /-----END [A-Z0-9 ]{0,60}PRIVATE KEY/;

/** Redacts a streamed text before any of it is released. */
export interface SafeStream {
  /** Returns the complete lines that can be released now. */
  add(text: string): string;
  /** Returns an unfinished line, such as a prompt; an unfinished private key, token or known value stays buffered. */
  unended(): string;
  /** Returns the rest after the last input. */
  end(): string;
}

/** The end of what the user has seen, without blanks. Streams that are shown together share one. */
export interface ShownEnd {
  text: string;
}

/**
 * Redacts line by line (a carriage return ends a line too), a private key as a whole, and a known value wherever it is split. Shows at
 * most the first three characters of a known value that is written in pieces.
 */
export function createSafeStream(redactor: Pick<Redactor, "text" | "inspect">, shown: ShownEnd = { text: "" }): SafeStream {
  let held = "";

  /** Releases the first `end` units, or fewer where a known value crosses the end, and hides values that begin in the shown text. */
  const release = (end: number, { matches }: Inspection): string => {
    const before = shown.text.length;
    let cut = end;
    // A value across the cut stays together.
    for (const match of matches) if (match.start < before + cut && match.end > before + cut) cut = Math.max(0, match.start - before);
    let text = held.slice(0, cut);
    const begun = matches.find((match) => match.start < before && match.end > before);
    if (begun !== undefined && begun.end - before <= cut) text = `[redacted:${begun.kind}]${text.slice(begun.end - before)}`;
    held = held.slice(cut);
    return show(text);
  };

  const show = (text: string): string => {
    if (text === "") return "";
    const safe = redactor.text(text).text;
    remember(safe);
    return safe;
  };

  const remember = (text: string): void => {
    // Blanks and terminal sequences do not separate the parts of a value, so they must not fill the memory either.
    const compact = withoutSequences(text.slice(-maxLine)).replace(/[\s\p{Cc}\p{Cf}]+/gu, "");
    shown.text = (shown.text + compact).slice(-shownCharacters);
  };

  /** Releases up to `end`, except what may become a known value. */
  const releaseFinished = (end: number): string => {
    const inspection = redactor.inspect(shown.text + held);
    const unfinished = Math.max(0, inspection.unfinishedFrom - shown.text.length);
    const isTooLong = held.length - unfinished > maxBegun;
    return release(isTooLong ? end : Math.min(end, unfinished), inspection);
  };

  return {
    add(text) {
      held += text;
      const begin = held.search(keyBegin);
      if (begin !== -1 && !keyEnd.test(held.slice(begin)) && newlines(held.slice(begin)) < maxKeyLines && held.length - begin < maxBegun)
        return releaseFinished(begin);
      const end = Math.max(held.lastIndexOf("\n"), held.lastIndexOf("\r")) + 1;
      if (end > 0) return releaseFinished(end);
      if (held.length <= maxLine) return "";
      // The end stays buffered, because a secret can continue in the next piece.
      const inspection = redactor.inspect(shown.text + held);
      const unfinished = Math.max(0, inspection.unfinishedFrom - shown.text.length);
      const rest = held.length - unfinished > maxBegun ? "" : held.slice(unfinished);
      held = held.slice(0, held.length - rest.length);
      const before = shown.text;
      const whole = release(held.length, inspection);
      const cut = Math.max(0, whole.length - overlap);
      held = whole.slice(cut) + held + rest;
      shown.text = before;
      remember(whole.slice(0, cut));
      return whole.slice(0, cut);
    },
    unended: () => (keyBegin.test(held) ? "" : releaseFinished(unfinishedTokenFrom(held, maxLine))),
    end: () => release(held.length, redactor.inspect(shown.text + held)),
  };
}

function newlines(text: string): number {
  return text.split("\n").length - 1;
}
