import { StringDecoder } from "node:string_decoder";
import type { Redactor } from "../../security/security.ts";
import { createHeadAndTail } from "./head-and-tail.ts";
import { createSafeStream, type SafeStream } from "./redacted-stream.ts";
import { plainTerminalText } from "./terminal-text.ts";

/** What a card holds of the output (UTF-16 units); what was printed before that is no longer shown. */
export const liveUnits = 48_000;
/** What the model is given of the beginning and of the end (UTF-16 units). */
const modelHead = 6_000;
const modelTail = 12_000;
/** Pieces are gathered this long (ms) before they go on. */
const gatherMs = 50;
/** A line without its end is shown after this long (ms): a prompt, a slow progress bar. */
const unendedMs = 400;

export interface Live {
  readonly text: string;
  /** UTF-16 units before the text that are no longer held. */
  readonly skipped: number;
}

/** The output of one command on its way to the card and to the model: decoded, redacted, bounded. */
export interface CommandOutput {
  add(stream: "stdout" | "stderr", bytes: Uint8Array): void;
  /** Everything that was held back goes on. */
  end(): void;
  live(): Live;
  /** For the model: without terminal sequences, beginning and end. */
  text(): string;
}

/** @param onText hears of what came, at most every 50 ms; `offset` is the length of all text before it. */
export function createCommandOutput(deps: {
  redactor: Pick<Redactor, "text">;
  onText: (piece: { offset: number; text: string }) => void;
}): CommandOutput {
  const decoders = { stdout: new StringDecoder("utf8"), stderr: new StringDecoder("utf8") };
  // One each: half a line of one stream must not be joined with half a line of the other.
  const streams: Record<"stdout" | "stderr", SafeStream> = {
    stdout: createSafeStream(deps.redactor),
    stderr: createSafeStream(deps.redactor),
  };
  const forModel = createHeadAndTail(modelHead, modelTail);
  let live = "";
  let skipped = 0;
  let told = 0;
  let pending = "";
  let gathering: NodeJS.Timeout | null = null;
  let unended: NodeJS.Timeout | null = null;

  const tell = (): void => {
    if (gathering !== null) clearTimeout(gathering);
    gathering = null;
    if (pending === "") return;
    const text = pending;
    pending = "";
    // A flood is told by its end alone: more than a card holds is of no use to it.
    const shown = text.length > liveUnits ? text.slice(-liveUnits) : text;
    told += text.length - shown.length;
    deps.onText({ offset: told, text: shown });
    told += shown.length;
  };
  const pass = (text: string): void => {
    if (text === "") return;
    forModel.add(text);
    pending += text;
    if (pending.length > liveUnits * 4) {
      const drop = pending.length - liveUnits;
      pending = pending.slice(drop);
      told += drop;
    }
    live += text;
    if (live.length > liveUnits * 2) {
      skipped += live.length - liveUnits;
      live = live.slice(-liveUnits);
    }
    gathering ??= setTimeout(tell, gatherMs);
  };
  const showUnended = (): void => {
    unended = null;
    pass(streams.stdout.unended());
    pass(streams.stderr.unended());
  };

  return {
    add(stream, bytes) {
      pass(streams[stream].add(decoders[stream].write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))));
      unended ??= setTimeout(showUnended, unendedMs);
    },
    end() {
      if (unended !== null) clearTimeout(unended);
      for (const name of ["stdout", "stderr"] as const) {
        pass(streams[name].add(decoders[name].end()));
        pass(streams[name].end());
      }
      tell();
    },
    live() {
      const cut = Math.max(0, live.length - liveUnits);
      return { text: live.slice(cut), skipped: skipped + cut };
    },
    text: () =>
      plainTerminalText(forModel.text(({ lines, units }) => `[… ${lines > 0 ? `${lines} lines` : `${units} characters`} left out …]`)),
  };
}
