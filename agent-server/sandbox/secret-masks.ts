import { closeSync, existsSync, ftruncateSync, futimesSync, lstatSync, mkdirSync, openSync, rmdirSync, unlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { LancelotError } from "../contract/errors.ts";
import type { ConfigFile } from "../storage/storage.ts";
import { globFilter, type SecretIndex } from "../workspace/workspace.ts";
import type { SandboxSettings } from "./sandbox-settings.ts";

/** Absolute paths that commands must neither read nor write. */
export interface MaskedPaths {
  readonly files: readonly string[];
  readonly folders: readonly string[];
}

/**
 * Finds the secret files of the workspace and of `others`, which commands see as well. Called before each command, so that a new file is
 * masked from the next command on. @throws LancelotError `unavailable` when they cannot all be masked.
 */
export type FindMasked = (others: readonly string[]) => Promise<MaskedPaths>;

export interface SecretMaskDeps {
  /** Absolute and resolved. */
  readonly workspace: string;
  readonly index: Pick<SecretIndex, "find">;
  readonly settings: ConfigFile<SandboxSettings>;
}

/** Each mask is a mount, and bubblewrap reads all earlier mounts for each one: 1,000 take about two seconds. */
const maxMasks = 1_000;
/** File system clocks advance this slowly, ms. */
const clockTick = 100;

export function createSecretMasks(deps: SecretMaskDeps): FindMasked {
  const { workspace, index, settings } = deps;
  return async (others) => {
    const readable = settings.read().value.readable_secrets.map((glob) => globFilter(glob));
    const found = await index.find({ others, isReadable: (path) => readable.some((matches) => matches(path)) });
    const count = found.files.length + found.folders.length;
    if (count > maxMasks)
      throw new LancelotError(
        "unavailable",
        `The workspace contains ${count} secret files, and at most ${maxMasks} can be hidden from commands. Add those that commands may read to readable_secrets in config/sandbox.yaml.`,
      );
    const absolute = (path: string) => join(workspace, path);
    return { files: found.files.map(absolute), folders: found.folders.map(absolute) };
  };
}

/** Larger ones than any file system allows are not needed, bytes. */
const maxSize = 2 ** 40;

/**
 * Creates a file that commands see in place of a secret one: without content, and readable for nobody. It has the same size and time, so
 * that git, with the settings of `gitWithMasks`, does not take it for modified. @returns its path in `folder`
 */
export function makeMaskFile(folder: string, secret: string): string {
  const stats = lstatSync(secret, { throwIfNoEntry: false });
  const [size, seconds] = stats?.isFile() === true ? [Math.min(stats.size, maxSize), Math.floor(stats.mtimeMs / 1000)] : [0, 0];
  const path = join(folder, `mask-${size}-${seconds}`);
  if (existsSync(path)) return path;
  const descriptor = openSync(path, "wx", 0);
  try {
    ftruncateSync(descriptor, size);
    futimesSync(descriptor, seconds, seconds);
  } finally {
    closeSync(descriptor);
  }
  return path;
}

/** Environment of commands with which git compares only size and time of a file before it reads it. */
export const gitWithMasks = { GIT_CONFIG_COUNT: "1", GIT_CONFIG_KEY_0: "core.checkStat", GIT_CONFIG_VALUE_0: "minimal" } as const;

/** Creates the folder that commands see in place of a secret one. @returns its path in `folder` */
export function makeMaskFolder(folder: string): string {
  const path = join(folder, "mask-folder");
  if (!existsSync(path)) mkdirSync(path, { mode: 0 });
  return path;
}

/** Removes the folder that commands saw. A recursive removal cannot: it reads every folder first. */
export function removeMaskFolder(folder: string): void {
  try {
    rmdirSync(join(folder, "mask-folder"));
  } catch {
    // This host showed none.
  }
}

/**
 * A sandbox creates an empty file or folder where a masked one disappeared just before it was mounted over.
 * @returns a function that removes what was created in this way
 */
export function cleanupStandIns({ files, folders }: MaskedPaths): () => void {
  const from = Date.now() - clockTick;
  const before = new Map([...files, ...folders].map((path) => [path, identityOf(path)]));
  const removeNew = (path: string): boolean => {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined || stats.birthtimeMs < from) return false;
    if (stats.isDirectory()) rmdirSync(path);
    else if (stats.isFile() && stats.size === 0) unlinkSync(path);
    else return false;
    return true;
  };
  return () => {
    for (const [path, known] of before) {
      try {
        if (identityOf(path) === known || !removeNew(path)) continue;
        for (let above = dirname(path); removeNew(above); ) above = dirname(above);
      } catch {
        // Somebody else uses it.
      }
    }
  };
}

/** With the time of creation, because file systems give the inode number of a deleted file to the next one. */
function identityOf(path: string): string | null {
  try {
    const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    return stats === undefined ? null : `${stats.dev}:${stats.ino}:${stats.birthtimeNs}`;
  } catch {
    return null;
  }
}
