import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { simpleGit } from "simple-git";
import { LancelotError } from "../../contract/errors.ts";

export const gitProvider = { name: "git", version: "cli" } as const;

const timeoutMs = 30_000;
const nothing = process.platform === "win32" ? "NUL" : "/dev/null";

/** Settings of a repository that name a program or reach out; each is put out of force for our calls. */
const fixedSettings: readonly (readonly [string, string])[] = [
  ["core.hooksPath", nothing],
  ["core.fsmonitor", "false"],
  ["core.pager", "cat"],
  ["core.editor", "true"],
  ["core.sshCommand", "false"],
  ["core.askPass", ""],
  ["core.attributesFile", nothing],
  ["core.alternateRefsCommand", "true"],
  ["credential.helper", ""],
  ["diff.external", ""],
  ["log.showSignature", "false"],
  ["gpg.program", "false"],
  ["interactive.diffFilter", "cat"],
  ["protocol.allow", "never"],
  ["submodule.recurse", "false"],
];

export interface Git {
  /**
   * Runs a reading command whose arguments are ours; `paths` are the caller's and come after `--`, as literal names.
   * @throws LancelotError `unavailable` (no git, no repository), `cancelled`.
   */
  read(command: "status" | "diff" | "log", args: readonly string[], paths: readonly string[]): Promise<string>;
}

/**
 * Git that reads a repository and executes nothing of it: no hooks, filters, external diffs, pagers, file system monitors,
 * transports or signatures checks, whatever its configuration says, and none of the system's or the user's configuration.
 */
export async function openGit(workspace: string, signal: AbortSignal): Promise<Git> {
  const repository = findRepository(workspace);
  if (repository === null)
    throw new LancelotError("unavailable", "This workspace is not a git repository, so there is nothing to show. Use the file tools.");
  const place = { GIT_DIR: repository.gitDir, GIT_WORK_TREE: repository.workTree };
  const programs = filterSettings(await run(workspace, place, [], ["config", "--list", "--name-only", "-z"], signal));
  const settings = [...fixedSettings, ...programs];
  return {
    read: (command, args, paths) =>
      run(workspace, place, settings, ["--no-pager", "--literal-pathspecs", command, ...args, "--", ...paths], signal),
  };
}

/** Clean, smudge and process filters run programs when files are compared; with empty commands the bytes are compared as they are. */
function filterSettings(names: string): [string, string][] {
  return names.split("\0").flatMap((name): [string, string][] => {
    if (/^filter\..+\.(clean|smudge|process)$/i.test(name)) return [[name, ""]];
    if (/^filter\..+\.required$/i.test(name)) return [[name, "false"]];
    return /^diff\..+\.(command|textconv)$/i.test(name) ? [[name, ""]] : [];
  });
}

async function run(
  cwd: string,
  place: Record<string, string>,
  settings: readonly (readonly [string, string])[],
  args: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const env = environment(place, settings);
  const git = simpleGit({
    baseDir: cwd,
    abort: signal,
    timeout: { block: timeoutMs },
    maxConcurrentProcesses: 1,
    allowEnvironment: Object.keys(env),
    // These are set here to nothing; the check that forbids setting them is for values that others choose.
    unsafe: {
      allowUnsafeConfigEnvCount: true,
      allowUnsafeConfigPaths: true,
      allowUnsafeHooksPath: true,
      allowUnsafeFsMonitor: true,
      allowUnsafePager: true,
      allowUnsafeEditor: true,
      allowUnsafeSshCommand: true,
      allowUnsafeAskPass: true,
      allowUnsafeCredentialHelper: true,
      allowUnsafeDiffExternal: true,
      allowUnsafeDiffTextConv: true,
      allowUnsafeFilter: true,
      allowUnsafeGpgProgram: true,
      allowUnsafeProtocolOverride: true,
      allowUnsafeCommandBinaries: true,
      allowUnsafeSubmodule: true,
      allowUnsafeInclude: true,
    },
  }).env(env);
  try {
    return await git.raw([...args]);
  } catch (error) {
    if (signal.aborted) throw new LancelotError("cancelled", "Git was stopped.", { cause: error });
    throw gitError(error);
  }
}

function environment(place: Record<string, string>, settings: readonly (readonly [string, string])[]): Record<string, string> {
  const env: Record<string, string> = {
    ...place,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: nothing,
    GIT_OPTIONAL_LOCKS: "0",
    GIT_TERMINAL_PROMPT: "0",
    GIT_NO_LAZY_FETCH: "1",
    GIT_NO_REPLACE_OBJECTS: "1",
    GIT_ALLOW_PROTOCOL: "none",
    GIT_PAGER: "cat",
    GIT_CONFIG_COUNT: String(settings.length),
    LC_ALL: "C.UTF-8",
  };
  for (const name of ["PATH", "SystemRoot"]) {
    const value = process.env[name];
    if (value !== undefined) env[name] = value;
  }
  settings.forEach(([key, value], index) => {
    env[`GIT_CONFIG_KEY_${index}`] = key;
    env[`GIT_CONFIG_VALUE_${index}`] = value;
  });
  return env;
}

/** The repository a folder is in. Found here, because a repository's own settings could point git's search elsewhere. */
function findRepository(workspace: string): { gitDir: string; workTree: string } | null {
  for (let at = workspace; ; at = dirname(at)) {
    const entry = join(at, ".git");
    if (existsSync(entry)) {
      if (statSync(entry).isDirectory()) return { gitDir: entry, workTree: at };
      const link = /^gitdir: (.+?)\s*$/.exec(readFileSync(entry, "utf8").slice(0, 4096))?.[1];
      return link === undefined ? null : { gitDir: resolve(at, link), workTree: at };
    }
    if (dirname(at) === at) return null;
  }
}

function gitError(error: unknown): LancelotError {
  const message = error instanceof Error ? error.message : String(error);
  if (/ENOENT/.test(message))
    return new LancelotError("unavailable", "Git is not installed or not on the PATH. Install git to use this.", { cause: error });
  if (/not a git repository/i.test(message)) {
    return new LancelotError("unavailable", "This workspace is not a git repository, or a damaged one. Use the file tools.", {
      cause: error,
    });
  }
  if (/does not have any commits/i.test(message))
    return new LancelotError("not_found", "This repository has no commits yet.", { cause: error });
  const first = message.trim().split("\n")[0] ?? "";
  return new LancelotError("unavailable", `Git could not do this: ${first.replace(/^fatal: /, "").slice(0, 300)}`, { cause: error });
}
