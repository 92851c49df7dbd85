import type { ToolPart, TouchedFile } from "../../contract/chat.ts";

/** What a tool was found to have changed, as its card shows it. */
export type Touched = NonNullable<ToolPart["touched"]>;

/** One changed file as the receipt tells it. SHA-256 of its bytes (of a link: of its target), null for nothing there or not known. */
export interface ChangedFile {
  readonly path: string;
  readonly kind: TouchedFile["kind"];
  readonly before: string | null;
  readonly after: string | null;
  readonly undoable: boolean;
  readonly putBack?: boolean;
}

/** What a command changed in the workspace. */
export interface Watched {
  /** The checkpoint that puts it back; null when nothing changed. */
  readonly checkpointId: string | null;
  /** At most 200 of `total`: those put back first, then sources, then what is made from them. */
  readonly touched: TouchedFile[];
  readonly total: number;
  /** Changed files whose state before could not be kept. */
  readonly unkept: number;
  /** The same files for the receipt, and a SHA-256 over the whole list of `total`. */
  readonly changed: ChangedFile[];
  readonly digest: string;
  /** Keeps what the command had made of files that were put back; null when none was. */
  readonly putBackCheckpointId?: string | null;
}

/** A look at the workspace that is under way. */
export interface Watch {
  /** The open checkpoint: on disk since `begin`. */
  readonly checkpointId: string;
  /** Looks again, puts back what no command may change, writes down the rest. Once; also when the command failed or was stopped. */
  finish(): Promise<Watched>;
}

export interface WatchOf {
  readonly questId: string | null;
  readonly receiptId: string;
  /** Ends the waiting and the first look; what was begun is finished whatever it says. */
  readonly signal: AbortSignal;
  /** Protected files (relative to the workspace) the owner was shown and approved: these are not put back. */
  readonly approved?: readonly string[];
  /** One sentence at a time, for the card. */
  readonly onProgress?: (words: string) => void;
}

/** Finds what a command changed in the workspace, whatever it was, and keeps what is needed to undo it (T11). */
export interface Effects {
  /**
   * Waits for its turn, looks at the whole workspace and keeps what may change; durable when it returns.
   * @throws LancelotError `cancelled`, `unavailable` (no space to keep it: nothing was done then).
   */
  begin(of: WatchOf): Promise<Watch>;
  /** For tools that say what they write: never while a command of this window runs. */
  share<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>;
  /** Finishes what hosts that died left under way; resolves with how many. Begun with the first use at the latest. */
  recover(): Promise<number>;
}

/** What a command changed, for the model; empty when nothing. */
export function describeTouched(touched: Touched): string {
  if (touched.total === 0) return "";
  const marks = { created: "+", modified: "~", deleted: "-" } as const;
  const shown = touched.files.filter(({ putBack }) => putBack !== true).slice(0, 30);
  const back = touched.files.filter(({ putBack }) => putBack === true);
  const lines = [
    `[Changed in the workspace: ${touched.total} ${touched.total === 1 ? "file" : "files"}]`,
    ...shown.map(({ path, kind, undoable }) => `${marks[kind]} ${path}${undoable ? "" : " (cannot be undone: what it held was not kept)"}`),
  ];
  const more = touched.total - back.length - shown.length;
  if (more > 0) lines.push(`… and ${more} more`);
  if (back.length > 0)
    lines.push(
      `[Put back at once, because no command may change these without the owner's approval: ${back.map(({ path }) => path).join(", ")}. Use write_file for a change the owner is to approve.]`,
    );
  return lines.join("\n");
}

/** As the card shows it. */
export function touchedOf({ touched, total, checkpointId }: Watched): Touched {
  return { files: touched, total, checkpointId };
}

/** As the receipt tells it. */
export function watchedOutputs({
  changed,
  total,
  digest,
  unkept,
  putBackCheckpointId = null,
}: Watched): { readonly changed?: readonly ChangedFile[] } & Record<string, unknown> {
  if (total === 0) return { changedTotal: 0 };
  return {
    changedTotal: total,
    changedDigest: digest,
    ...(unkept === 0 ? {} : { unkept }),
    ...(putBackCheckpointId === null ? {} : { putBackCheckpointId }),
    changed,
  };
}
