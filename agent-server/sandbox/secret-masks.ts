import { closeSync, existsSync, ftruncateSync, futimesSync, lstatSync, mkdirSync, openSync, rmdirSync, unlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { LancelotError } from "../contract/errors.ts";
import type { Governance } from "../governance/governance.ts";
import type { Log } from "../security/security.ts";
import type { ConfigFile } from "../storage/storage.ts";
import { createSecretIndex, globFilter, type OverlayView, type SecretIndex } from "../workspace/workspace.ts";
import { createSecretLearner } from "./learn-secrets.ts";
import type { SandboxSettings } from "./sandbox-settings.ts";

/** Absolute paths that commands must neither read nor write. */
export interface MaskedPaths {
  readonly files: readonly string[];
  readonly folders: readonly string[];
}

/**
 * Finds the secret files of the workspace, of `others`, which commands see as well, and of what a task wrote in its view, and makes their
 * values known to redaction. Called before each command, so that a new file is masked from the next command on.
 * @throws LancelotError `unavailable` when they cannot all be masked.
 */
export type FindMasked = (others: readonly string[], view?: OverlayView) => Promise<MaskedPaths>;

/** Secret files of one workspace, searched once for each command. */
export interface SecretFiles {
  readonly mask: FindMasked;
  /** Makes their values known to redaction where nothing can be masked. Never throws. */
  readonly learn: () => Promise<void>;
}

export interface SecretFilesDeps {
  /** Absolute and resolved. */
  readonly workspace: string;
  /** Hidden from commands as a whole. */
  readonly dataDir: string;
  readonly governance: Pick<Governance, "judgeName" | "resolvePath" | "isSecretFile">;
  readonly settings: ConfigFile<SandboxSettings>;
  /** Receives the start of each secret file. */
  readonly learn: (path: string, bytes: Uint8Array) => void;
  readonly log: Log;
}

/** Each mask is a mount, and bubblewrap reads all earlier mounts for each one: 1,000 take about two seconds. */
const maxMasks = 1_000;
/** Tasks whose layers are remembered, so that only their changed folders are read. */
const maxLayers = 8;
/** File system clocks advance this slowly, ms. */
const clockTick = 100;

export function createSecretFiles(deps: SecretFilesDeps): SecretFiles {
  const { workspace, dataDir, governance, settings, log } = deps;
  const index = createSecretIndex({ workspace, governance, hidden: [dataDir], now: Date.now });
  const learn = createSecretLearner({ learn: deps.learn, log });
  const layers = new Map<string, SecretIndex>();

  /** The index of what a task wrote. */
  function layerIndex(upper: string): SecretIndex {
    const known = layers.get(upper) ?? createSecretIndex({ workspace: upper, isLayer: true, governance, hidden: [], now: Date.now });
    // The one that was used last is the last one.
    layers.delete(upper);
    layers.set(upper, known);
    const [oldest] = layers.keys();
    if (layers.size > maxLayers && oldest !== undefined) layers.delete(oldest);
    return known;
  }

  /** In the view, both stand at the workspace's own path. */
  function places(others: readonly string[], view: OverlayView | undefined) {
    const layer = view?.layers.find(({ lower }) => lower === workspace);
    const upper = view === undefined || layer === undefined ? null : view.upper(layer);
    return [{ root: workspace, others, index }, ...(upper === null ? [] : [{ root: upper, others: [], index: layerIndex(upper) }])];
  }

  async function mask(others: readonly string[], view?: OverlayView): Promise<MaskedPaths> {
    const readable = settings.read().value.readable_secrets.map((glob) => globFilter(glob));
    const isReadable = (path: string): boolean => readable.some((matches) => matches(path));
    const files = new Set<string>();
    const folders = new Set<string>();
    for (const place of places(others, view)) {
      const found = await place.index.find({ others: place.others, isReadable });
      await learn(place.root, found);
      for (const path of found.files) files.add(join(workspace, path));
      for (const path of found.folders) folders.add(join(workspace, path));
    }
    const count = files.size + folders.size;
    if (count > maxMasks)
      throw new LancelotError(
        "unavailable",
        `The workspace contains ${count} secret files, and at most ${maxMasks} can be hidden from commands. Add those that commands may read to readable_secrets in config/sandbox.yaml.`,
      );
    return { files: [...files], folders: [...folders] };
  }

  return {
    mask,
    async learn() {
      try {
        await learn(workspace, await index.find({ others: [], isReadable: () => false }));
      } catch (error) {
        log("the secret files of the workspace could not be listed", error);
      }
    },
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
 * A sandbox creates an empty file or folder where a masked one disappeared just before it was mounted over; in a view, that is the task's own.
 * @returns a function that removes such stand-ins
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
