import { type ChildProcessByStdio, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { LancelotError } from "../contract/errors.ts";

/** Name and version of the bundled search program, for receipts. */
export const ripgrepProvider = { name: "ripgrep", version: "15" } as const;

/** Maximum length of a record (path or matching line); the rest is dropped as it arrives. */
const maxRecord = 16 * 1024;
const maxProblem = 2_000;

export interface RipgrepRun {
  readonly ripgrepPath: string;
  /** Absolute working folder. */
  readonly cwd: string;
  readonly args: readonly string[];
  /** Record terminator: a line feed, or NUL for lists of paths. */
  readonly separator: "\n" | "\0";
  readonly signal: AbortSignal;
  /** Return false to stop the search. */
  readonly onRecord: (record: string) => boolean;
}

/**
 * Search scope: hidden files are included, `.git` is not; ignore files are respected, links are not followed, and no user configuration is
 * read.
 */
export function baseArgs(workspace: string): string[] {
  const args = ["--no-config", "--no-follow", "--hidden", "--no-ignore-global", "--no-messages", "--color=never", "--glob=!.git"];
  // Outside a repository, ignore files apply too, but those above the workspace may belong to another user.
  return inRepository(workspace) ? args : [...args, "--no-require-git", "--no-ignore-parent"];
}

/**
 * Runs ripgrep without a shell and with a minimal environment, and streams its records; kills it when `onRecord` returns false.
 * @returns whether it was stopped early. @throws LancelotError `invalid_params` (an invalid pattern), `unavailable`, `cancelled`.
 */
export async function runRipgrep(run: RipgrepRun): Promise<{ stopped: boolean }> {
  run.signal.throwIfAborted();
  const child = start(run);
  let stopped = false;
  let problem = "";
  const decoder = new StringDecoder("utf8");
  let rest = "";
  const end = () => {
    stopped = true;
    child.kill("SIGKILL");
  };
  const take = (text: string) => {
    if (stopped) return;
    rest += text;
    let from = 0;
    for (let at = rest.indexOf(run.separator); at !== -1; at = rest.indexOf(run.separator, from)) {
      if (!run.onRecord(rest.slice(from, at))) return end();
      from = at + 1;
    }
    rest = rest.slice(from);
    if (rest.length > maxRecord) rest = rest.slice(0, maxRecord);
  };
  child.stdout.on("data", (chunk: Buffer) => take(decoder.write(chunk)));
  child.stderr.on("data", (chunk: Buffer) => {
    if (problem.length < maxProblem) problem += chunk.toString("utf8");
  });
  run.signal.addEventListener("abort", end);
  try {
    const { code, signal } = await new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code, signal) => resolve({ code, signal }));
    });
    if (run.signal.aborted) throw new LancelotError("cancelled", "The search was stopped.");
    // Partial results would look complete.
    if (!stopped && signal !== null) {
      const cause = Object.assign(new Error(`ripgrep was killed by ${signal}`), { signal });
      throw new LancelotError("unavailable", "The search process was killed before it finished. Try again.", { cause });
    }
    // Exit code 1 means no matches; 2 means errors, which may concern single files only.
    if (!stopped && code !== 0 && code !== 1 && problem !== "") throw badSearch(problem);
    return { stopped };
  } catch (error) {
    if (error instanceof LancelotError) throw error;
    throw new LancelotError("unavailable", "The search program (ripgrep) could not be started. Reinstall Lancelot to repair it.", {
      cause: error,
    });
  } finally {
    run.signal.removeEventListener("abort", end);
  }
}

function start(run: RipgrepRun): ChildProcessByStdio<null, Readable, Readable> {
  return spawn(run.ripgrepPath, [...run.args], {
    cwd: run.cwd,
    env: searchEnvironment(),
    shell: false,
    windowsHide: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** Windows programs require their system folder; no other variable is passed on. */
function searchEnvironment(): NodeJS.ProcessEnv {
  const root = process.env["SystemRoot"];
  return process.platform === "win32" && root !== undefined ? { SystemRoot: root } : {};
}

function inRepository(folder: string): boolean {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return true;
    if (dirname(at) === at) return false;
  }
}

function badSearch(problem: string): LancelotError {
  const first = problem.trim().split("\n").slice(0, 4).join(" ").replace(/^rg: /, "").slice(0, 400);
  return new LancelotError("invalid_params", `The search failed: ${first}`);
}
