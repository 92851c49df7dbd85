import { Readable } from "node:stream";
import { vi } from "vitest";
import { runCli } from "../../../agent-server/terminal/terminal.ts";

export interface TerminalResult {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs one command of `lancelot` in this process, which takes a tenth of the time that a process of its own takes to start. Tests whose
 * subject is the process itself start one. One at a time: the folder, the environment and the output are the process's.
 * @param options.input what is typed, to its end
 */
export async function lancelot(
  words: readonly string[],
  options: { cwd?: string; env?: Record<string, string>; input?: string } = {},
): Promise<TerminalResult> {
  const former = process.cwd();
  const written = { stdout: "", stderr: "" };
  const spies = (["stdout", "stderr"] as const).map((stream) =>
    vi.spyOn(process[stream], "write").mockImplementation((chunk) => {
      written[stream] += typeof chunk === "string" ? chunk : Buffer.from(chunk).toString();
      return true;
    }),
  );
  const stdin = vi.spyOn(process, "stdin", "get").mockReturnValue(Readable.from([options.input ?? ""]) as typeof process.stdin);
  const environment = { ...process.env };
  try {
    Object.assign(process.env, options.env);
    if (options.cwd !== undefined) process.chdir(options.cwd);
    const status = await runCli(words);
    return { status, ...written };
  } finally {
    for (const spy of [...spies, stdin]) spy.mockRestore();
    process.chdir(former);
    for (const name of Object.keys(options.env ?? {}))
      if (environment[name] === undefined) delete process.env[name];
      else process.env[name] = environment[name];
  }
}
