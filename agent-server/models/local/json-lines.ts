import type { Readable, Writable } from "node:stream";

/** Longer lines are invalid (characters). */
const longest = 64_000_000;

/**
 * Messages over a pipe, one line of JSON each. Node's own IPC channel is not used: a line on it that is not JSON throws where nobody can
 * catch it, and a fault of the model's process must not end the host.
 */
export function readMessages(pipe: Readable, onMessage: (message: unknown) => void, onGarbage: () => void): void {
  let rest = "";
  let broken = false;
  pipe.setEncoding("utf8").on("data", (text: string) => {
    if (broken) return;
    rest += text;
    if (rest.length > longest) return fail();
    // An incomplete line is not scanned again with every chunk.
    if (!text.includes("\n")) return;
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const message = parse(line);
      if (message === undefined) return fail();
      onMessage(message.value);
    }
  });
  // A process that ends breaks its pipe; the exit event reports it.
  pipe.on("error", () => undefined);

  function fail() {
    broken = true;
    rest = "";
    onGarbage();
  }
}

/** Writes one message; it is lost when the pipe has closed. */
export function writeMessage(pipe: Writable, message: unknown): void {
  if (pipe.writable) pipe.write(`${JSON.stringify(message)}\n`);
}

function parse(line: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(line) };
  } catch {
    return undefined;
  }
}
