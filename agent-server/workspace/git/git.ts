import { LancelotError } from "../../contract/errors.ts";
import { gitError } from "./git-errors.ts";
import { runGitProcess } from "./git-process.ts";
import { findRepository, type Repository } from "./git-repository.ts";
import {
  fixedSettings,
  type ListedSetting,
  namedSettings,
  nothing,
  type OwnerSettings,
  ownerSettings,
  parseSettings,
  type Setting,
} from "./git-settings.ts";

export const gitProvider = { name: "git", version: "cli" } as const;

const timeoutMs = 30_000;
/** Maximum output of a command in bytes. */
const maxOutput = 64 * 1024 * 1024;

/** The only git commands used on a repository. None of them contacts another repository. */
export type GitCommand =
  | "status"
  | "diff"
  | "log"
  | "diff-tree"
  | "diff-index"
  | "ls-files"
  | "ls-tree"
  | "rev-list"
  | "cat-file"
  | "check-attr"
  | "check-ignore"
  | "check-ref-format"
  | "rev-parse"
  | "merge-base"
  | "symbolic-ref"
  | "for-each-ref"
  | "read-tree"
  | "add"
  | "write-tree"
  | "commit-tree"
  | "update-index"
  | "update-ref"
  | "reset"
  | "rm"
  | "checkout"
  | "pack-objects"
  | "index-pack"
  | "unpack-objects";

export interface GitOptions {
  /** Written to its standard input. */
  readonly input?: string;
  /** A file that is its standard input. */
  readonly inputFile?: string;
  /** Instead of the repository's index. */
  readonly index?: string;
  /** Timeout without output (ms); 30 s by default. */
  readonly quietMs?: number;
  /** Author and committer. */
  readonly author?: { readonly name: string; readonly email: string };
}

export interface Git {
  readonly repository: Repository;
  readonly owner: OwnerSettings;
  /** Every setting with its scope. */
  readonly settings: readonly ListedSetting[];
  /**
   * Runs a read command in the workspace with arguments from this code; `paths` come from the caller and follow `--` as literal names.
   * @throws LancelotError `unavailable` (no git, no repository), `cancelled`.
   */
  read(command: GitCommand, args: readonly string[], paths: readonly string[]): Promise<string>;
  /** The same at the root of the work tree, for commands that may write. */
  run(command: GitCommand, args: readonly string[], paths?: readonly string[], options?: GitOptions): Promise<string>;
  /** As `run`; null when git answers no by its exit code alone. */
  ask(command: GitCommand, args: readonly string[], options?: GitOptions): Promise<string | null>;
}

/**
 * Git that executes nothing from a repository: no hooks, filters, external diffs, pagers, file system monitors, merge drivers, transports
 * or
 * signature checks, whatever its settings contain. Of the system's and user's settings, it uses only the values in
 * `OwnerSettings`.
 * @throws LancelotError `unavailable`, `denied` (a repository outside the workspace), `cancelled`.
 */
export async function openGit(workspace: string, signal: AbortSignal): Promise<Git> {
  const repository = findRepository(workspace);
  if (repository === null)
    throw new LancelotError("unavailable", "This workspace is not a git repository, so git commands are unavailable. Use the file tools.");
  return gitOf(repository, workspace, signal);
}

/**
 * The same for a repository that was already found or created.
 * @param maxAllocation memory in bytes that git may request at once, for objects that may be hostile
 */
export async function gitOf(repository: Repository, workspace: string, signal: AbortSignal, maxAllocation?: number): Promise<Git> {
  const place: Record<string, string> = {
    GIT_DIR: repository.gitDir,
    GIT_WORK_TREE: repository.workTree,
    ...(maxAllocation === undefined ? {} : { GIT_ALLOC_LIMIT: String(maxAllocation) }),
  };
  const listed = parseSettings(await listSettings(place, repository.workTree, signal));
  const owner = ownerSettings(listed);
  const settings = [
    ...fixedSettings,
    ["core.excludesFile", nothing] as const,
    ...owner.files,
    ...namedSettings(listed.map(({ name }) => name)),
  ];
  const start = (cwd: string, command: GitCommand, args: readonly string[], paths: readonly string[] | null, options: GitOptions) => {
    const { index, author } = options;
    const env = {
      ...place,
      ...(index === undefined ? {} : { GIT_INDEX_FILE: index }),
      ...(author === undefined
        ? {}
        : {
            GIT_AUTHOR_NAME: author.name,
            GIT_AUTHOR_EMAIL: author.email,
            GIT_COMMITTER_NAME: author.name,
            GIT_COMMITTER_EMAIL: author.email,
          }),
    };
    // That command takes every name literally, and refuses the option.
    const literal = command === "check-ignore" ? [] : ["--literal-pathspecs"];
    const words = ["--no-pager", ...literal, command, ...args, ...(paths === null ? [] : ["--", ...paths])];
    return run(cwd, gitEnvironment(env, settings), words, signal, options);
  };
  return {
    repository,
    owner,
    settings: listed,
    read: (command, args, paths) => start(workspace, command, args, paths, {}),
    run: (command, args, paths, options = {}) => start(repository.workTree, command, args, paths ?? null, options),
    ask: async (command, args, options = {}) => {
      try {
        return await start(repository.workTree, command, args, null, options);
      } catch (error) {
        if (error instanceof LancelotError && error.data?.["said"] === "no") return null;
        throw error;
      }
    },
  };
}

/** The output of `git config --list`: every setting with its scope. Reading settings starts no program. */
export async function listSettings(place: Record<string, string>, cwd: string, signal: AbortSignal): Promise<string> {
  const { GIT_CONFIG_NOSYSTEM: _, GIT_CONFIG_GLOBAL: __, ...env } = gitEnvironment(place, []);
  return run(
    cwd,
    { ...env, ...ownEnvironment(["HOME", "USERPROFILE", "XDG_CONFIG_HOME", "PROGRAMDATA", "ALLUSERSPROFILE"]) },
    ["config", "--list", "--show-scope", "--includes", "-z"],
    signal,
  );
}

async function run(
  cwd: string,
  env: Record<string, string>,
  args: readonly string[],
  signal: AbortSignal,
  { input, inputFile, quietMs = timeoutMs }: Pick<GitOptions, "input" | "inputFile" | "quietMs"> = {},
): Promise<string> {
  try {
    const { code, out, err } = await runGitProcess({
      ...{ args, cwd, env, signal },
      ...(input === undefined ? {} : { input }),
      ...(inputFile === undefined ? {} : { inputFile }),
      output: { maxBytes: maxOutput, message: "Git printed more output than the limit. Name a path to reduce it." },
      time: { ms: quietMs, since: "output", message: "Git took too long and was stopped. Limit the request to a path." },
    });
    if (code !== 0) throw new Error(err);
    return out;
  } catch (error) {
    throw error instanceof LancelotError ? error : gitError(error);
  }
}

/** The complete environment of a git process: of this process's own variables, only the PATH is passed on. */
export function gitEnvironment(place: Readonly<Record<string, string>>, settings: readonly Setting[]): Record<string, string> {
  const env: Record<string, string> = {
    ...place,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: nothing,
    GIT_OPTIONAL_LOCKS: "0",
    GIT_TERMINAL_PROMPT: "0",
    GIT_NO_LAZY_FETCH: "1",
    GIT_NO_REPLACE_OBJECTS: "1",
    GIT_ALLOW_PROTOCOL: place["GIT_ALLOW_PROTOCOL"] ?? "none",
    GIT_PAGER: "cat",
    GIT_CONFIG_COUNT: String(settings.length),
    LC_ALL: "C.UTF-8",
    ...ownEnvironment(["PATH", "SystemRoot"]),
  };
  settings.forEach(([key, value], index) => {
    env[`GIT_CONFIG_KEY_${index}`] = key;
    env[`GIT_CONFIG_VALUE_${index}`] = value;
  });
  return env;
}

/** Variables of this process's environment, where set. */
export function ownEnvironment(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
