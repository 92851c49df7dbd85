import type { GeneratedGroup } from "../../contract/changes.ts";

/** A folder shown copy-on-write: writes land in a layer, and the folder itself never changes. */
export interface OverlayLayer {
  /** The folder's name in the task's folder. */
  readonly name: string;
  /** The folder that is shown; absolute and resolved. */
  readonly lower: string;
}

/** What the last command of a view left in the copy of it that an engine keeps. Paths are relative to the workspace. */
export interface LeftInCopy {
  /** Files that git ignores: they stay in the copy for the task's next commands. */
  readonly generated: readonly GeneratedGroup[];
  /** Stand-ins of secret files that the command replaced or removed. */
  readonly secret: readonly string[];
  /** Pipes, sockets and devices, and what lies too deep. */
  readonly special: readonly string[];
  /** Files that are too large to be taken out. */
  readonly tooLarge: readonly string[];
}

/**
 * Opens a view of a task; a sandbox does that.
 * @throws LancelotError `unavailable` where a layer cannot be shown
 */
export type OpenView = (task: { readonly folder: string; readonly layers: readonly OverlayLayer[] }) => Promise<OverlayView>;

/**
 * Mounted layers and the temporary folder of a task, kept by one process. Nothing is mounted outside of that process's own mount namespace,
 * where each layer stands at its folder's own path.
 */
export interface OverlayView {
  /** The id of the sandbox that opened it; commands of no other sandbox can run in it. */
  readonly sandbox: string;
  /** The task's folder. */
  readonly folder: string;
  readonly layers: readonly OverlayLayer[];
  /** True when what an earlier view wrote was discarded, because the system stopped before it reached the disk. */
  readonly wasReset: boolean;
  /** The folder of a layer: the written files, and a character device 0:0 for each deleted entry. */
  upper(layer: OverlayLayer): string;
  /** The merged folder, as this process reaches it. Writing there has the same effect as a command's writing. */
  merged(layer: OverlayLayer): string;
  /** Only of a view whose commands work in a copy of it. */
  readonly leftInCopy?: () => LeftInCopy;
  /** Words that start a program in the namespace, as the user of commands, before the program and its arguments. */
  readonly enter: readonly string[];
  /**
   * Shows entries of the shown folders that were replaced since: a mount remembers the entries that it was asked for. Files that are open stay as they
   * are.
   */
  refresh(): Promise<void>;
  /** False once its process has ended; the merged folders then lead nowhere. */
  alive(): boolean;
  /** Unmounts everything; the layers stay in the task's folder. Programs that entered keep their mounts until they end. */
  close(): Promise<void>;
}
