import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { explainFailure, installAdvice } from "./setup-advice.ts";

const execute = promisify(execFile);
/** Milliseconds. */
const probeWithin = 5_000;

/** Capabilities of the installed bubblewrap. */
export interface BubblewrapInfo {
  readonly version: string;
  readonly sizes: boolean;
  readonly modes: boolean;
  readonly noUserNamespaces: boolean;
  readonly bash: boolean;
  readonly socat: boolean;
}

/** Learns what the installed bubblewrap can do, with a real try. @throws the error of the program; `bubblewrapProblem` explains it */
export async function inspectBubblewrap(
  { program, env, owner }: { program: string; env: NodeJS.ProcessEnv; owner: { readonly uid: number; readonly gid: number } | undefined },
  signal?: AbortSignal,
): Promise<BubblewrapInfo> {
  const options = { timeout: probeWithin, env: { PATH: env["PATH"] ?? "/usr/bin:/bin" }, ...(signal === undefined ? {} : { signal }) };
  const version = (await execute(program, ["--version"], options)).stdout.trim().replace(/^bubblewrap /, "");
  const help = (await execute(program, ["--help"], options)).stdout;
  const has = (name: string) => ["/usr/bin", "/bin", "/usr/local/bin"].some((at) => existsSync(join(at, name)));
  const seen: BubblewrapInfo = {
    version,
    sizes: help.includes("--size "),
    modes: help.includes("--perms "),
    noUserNamespaces: help.includes("--disable-userns"),
    bash: has("bash"),
    socat: has("socat"),
  };
  const names = ["--unshare-user", "--unshare-pid", "--unshare-net"];
  await execute(program, [...names, "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--", "true"], { ...options, ...owner });
  return seen;
}

/** Explains why bubblewrap does not work. */
export function bubblewrapProblem(error: unknown): { message: string; nextStep: string } {
  if ((error as NodeJS.ErrnoException).code === "ENOENT") {
    return {
      message: "The OS sandbox is unavailable, because bubblewrap is not installed.",
      nextStep: installAdvice(["bubblewrap", "socat"]),
    };
  }
  return explainFailure(String((error as { stderr?: unknown }).stderr ?? (error instanceof Error ? error.message : error)));
}
