import type { ToolPart, TouchedFile } from "../../contract/chat.ts";

/** The changes a tool made, as its card shows them. */
export type Touched = NonNullable<ToolPart["touched"]>;

/** One changed file on a receipt. Hashes are SHA-256 of its bytes (of a link: its target); null when it does not exist or is unknown. */
export interface ChangedFile {
  readonly path: string;
  readonly kind: TouchedFile["kind"];
  readonly before: string | null;
  readonly after: string | null;
  readonly undoable: boolean;
  readonly putBack?: boolean;
}

/** The changes a command made in the workspace. */
export interface CommandChanges {
  /** The checkpoint that undoes the changes; null when nothing changed. */
  readonly checkpointId: string | null;
  /** At most 200 of `total`: reverted files first, then sources, then generated files. */
  readonly touched: TouchedFile[];
  readonly total: number;
  /** Number of changed files whose earlier content could not be stored. */
  readonly unkept: number;
  /** The same files for the receipt, and a SHA-256 over the complete list. */
  readonly changed: ChangedFile[];
  readonly digest: string;
  /** Checkpoint with the command's versions of reverted files; null when none were reverted. */
  readonly putBackCheckpointId?: string | null;
}

/** An active observation of the workspace. */
export interface ChangeWatch {
  /** The open checkpoint, durable since `begin`. */
  readonly checkpointId: string;
  /** Scans again, reverts forbidden changes and records the rest. Call it once, even when the command failed or was stopped. */
  finish(): Promise<CommandChanges>;
  /**
   * Instead of `finish`, for a command that may still run. Does the same when `ended` resolves, with a receipt of its own. No other command
   * begins before.
   */
  finishLater(ended: Promise<void>): void;
}

export interface WatchOptions {
  readonly questId: string | null;
  readonly receiptId: string;
  /** Cancels waiting and the first scan. It does not interrupt `finish`. */
  readonly signal: AbortSignal;
  /** Protected files (relative to the workspace) whose change the user approved; these are not reverted. */
  readonly approved?: readonly string[];
  /** Receives one sentence at a time, for the card. */
  readonly onProgress?: (words: string) => void;
}

/** Detects every change a command makes in the workspace, and stores the previous content for undo (T11). */
export interface Effects {
  /**
   * Waits for its turn, scans the whole workspace and stores the contents that may change; durable when it returns.
   * @throws LancelotError `cancelled`, `unavailable` (no space to store them, or an earlier command may still run; nothing was run).
   */
  begin(of: WatchOptions): Promise<ChangeWatch>;
  /** Runs a tool that declares its writes, never at the same time as a command of this window. */
  share<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>;
  /** Completes the observations of hosts that died and resolves with their number. The first `begin` calls it at the latest. */
  recover(): Promise<number>;
}

/** Describes a command's changes for the model; empty when nothing changed. */
export function describeTouchedFiles(touched: Touched): string {
  if (touched.total === 0) return "";
  const marks = { created: "+", modified: "~", deleted: "-" } as const;
  const shown = touched.files.filter(({ putBack }) => putBack !== true).slice(0, 30);
  const back = touched.files.filter(({ putBack }) => putBack === true);
  const lines = [
    `[Changed in the workspace: ${touched.total} ${touched.total === 1 ? "file" : "files"}]`,
    ...shown.map(
      ({ path, kind, undoable }) => `${marks[kind]} ${path}${undoable ? "" : " (cannot be undone: its earlier content was not stored)"}`,
    ),
  ];
  const more = touched.total - back.length - shown.length;
  if (more > 0) lines.push(`… and ${more} more`);
  if (back.length > 0)
    lines.push(
      `[Reverted automatically, because commands need the user's approval to change these: ${back.map(({ path }) => path).join(", ")}. To change them, use write_file; the user can then approve it.]`,
    );
  return lines.join("\n");
}

/** The changes as the card shows them. */
export function toTouched({ touched, total, checkpointId }: CommandChanges): Touched {
  return { files: touched, total, checkpointId };
}

/** The changes as the receipt records them. */
export function commandChangesOutputs({
  changed,
  total,
  digest,
  unkept,
  putBackCheckpointId = null,
}: CommandChanges): { readonly changed?: readonly ChangedFile[] } & Record<string, unknown> {
  if (total === 0) return { changedTotal: 0 };
  return {
    changedTotal: total,
    changedDigest: digest,
    ...(unkept === 0 ? {} : { unkept }),
    ...(putBackCheckpointId === null ? {} : { putBackCheckpointId }),
    changed,
  };
}
