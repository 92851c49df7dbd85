import type { ShellCommand, ShellProvider, ShellResult } from "../../../agent-server/sandbox/shell-provider.ts";

/** What a command said and how it ended. */
export interface Ran {
  readonly result: ShellResult;
  readonly stdout: string;
  readonly stderr: string;
  /** How often `onStarted` was called. */
  readonly started: number;
  /** Bytes handed on, both streams. */
  readonly received: number;
}

export type RunOptions = Partial<Omit<ShellCommand, "command" | "onOutput">> & { readonly onOutput?: ShellCommand["onOutput"] };

/** Runs a command line in a place and collects what it says: 20 s and 1 MB unless told otherwise, no network. */
export async function runIn(provider: ShellProvider, workspace: string, command: string, options: RunOptions = {}): Promise<Ran> {
  const text = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  const said = { stdout: "", stderr: "" };
  let received = 0;
  let started = 0;
  const result = await provider.run({
    command,
    cwd: workspace,
    timeoutMs: 20_000,
    outputBytes: 1_000_000,
    network: false,
    signal: new AbortController().signal,
    ...options,
    onOutput: (stream, bytes) => {
      received += bytes.byteLength;
      // What floods is counted, not kept: the test's own memory must not be what is measured.
      if (said[stream].length < 2_000_000) said[stream] += text[stream].decode(bytes, { stream: true });
      options.onOutput?.(stream, bytes);
    },
    onStarted: () => {
      started += 1;
      options.onStarted?.();
    },
  });
  return { result, ...said, started, received };
}

/** Waits until `check` gives something other than null, false or undefined; looks every 20 ms, for at most `deadlineMs`, which only ends a test that hangs. */
export async function until<T>(what: string, check: () => T | Promise<T>, deadlineMs = 120_000): Promise<NonNullable<T>> {
  const end = Date.now() + deadlineMs;
  for (;;) {
    const found = await check();
    if (found !== null && found !== undefined && found !== false) return found;
    if (Date.now() > end) throw new Error(`Not within ${deadlineMs} ms: ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** A command for `sh` as one word. */
export const quoted = (word: string): string => `'${word.replaceAll("'", String.raw`'\''`)}'`;
