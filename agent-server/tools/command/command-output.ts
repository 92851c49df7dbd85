import { StringDecoder } from "node:string_decoder";
import type { Redactor } from "../../security/security.ts";
import { createHeadAndTail } from "./head-and-tail.ts";
import { createSafeStream, type SafeStream, type ShownEnd } from "./redacted-stream.ts";
import { plainTerminalText } from "./terminal-text.ts";

/** The end of the output that a card holds (UTF-16 units). */
export const liveUnits = 48_000;
/** The beginning and the end of the output that the model receives (UTF-16 units). */
const modelHead = 6_000;
const modelTail = 12_000;
/** Output is batched for this long (ms). */
const gatherMs = 50;
/** An unfinished line, such as a prompt or a progress bar, is shown after this long (ms). */
const unendedMs = 400;

export interface Live {
  readonly text: string;
  /** UTF-16 units that were dropped before the text. */
  readonly skipped: number;
}

/** Decodes, redacts and bounds the output of one command, for the card and the model. */
export interface CommandOutput {
  add(stream: "stdout" | "stderr", bytes: Uint8Array): void;
  /** Flushes all buffered output. */
  end(): void;
  live(): Live;
  /** For the model: the beginning and the end, without terminal sequences. */
  text(): string;
}

/** @param onText receives batched output; `offset` is the length of all text before it. */
export function createCommandOutput(deps: {
  redactor: Pick<Redactor, "text" | "inspect">;
  onText: (piece: { offset: number; text: string }) => void;
}): CommandOutput {
  const decoders = { stdout: new StringDecoder("utf8"), stderr: new StringDecoder("utf8") };
  // One buffer per stream, so that partial lines of stdout and stderr are never joined; but a value can be split between the two.
  const shown: ShownEnd = { text: "" };
  const streams: Record<"stdout" | "stderr", SafeStream> = {
    stdout: createSafeStream(deps.redactor, shown),
    stderr: createSafeStream(deps.redactor, shown),
  };
  const forModel = createHeadAndTail(modelHead, modelTail);
  let live = "";
  let skipped = 0;
  let sent = 0;
  let pending = "";
  let gathering: NodeJS.Timeout | null = null;
  let unended: NodeJS.Timeout | null = null;

  const flush = (): void => {
    if (gathering !== null) clearTimeout(gathering);
    gathering = null;
    if (pending === "") return;
    const text = pending;
    pending = "";
    // Of a large batch only the end is sent, because the card holds no more.
    const shown = text.length > liveUnits ? text.slice(-liveUnits) : text;
    sent += text.length - shown.length;
    deps.onText({ offset: sent, text: shown });
    sent += shown.length;
  };
  const pass = (text: string): void => {
    if (text === "") return;
    forModel.add(text);
    pending += text;
    if (pending.length > liveUnits * 4) {
      const drop = pending.length - liveUnits;
      pending = pending.slice(drop);
      sent += drop;
    }
    live += text;
    if (live.length > liveUnits * 2) {
      skipped += live.length - liveUnits;
      live = live.slice(-liveUnits);
    }
    gathering ??= setTimeout(flush, gatherMs);
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
      flush();
    },
    live() {
      const cut = Math.max(0, live.length - liveUnits);
      return { text: live.slice(cut), skipped: skipped + cut };
    },
    text: () =>
      plainTerminalText(forModel.text(({ lines, units }) => `[… ${lines > 0 ? `${lines} lines` : `${units} characters`} omitted …]`)),
  };
}
