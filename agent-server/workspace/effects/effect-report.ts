import { createHash } from "node:crypto";
import type { TouchedFile } from "../../contract/chat.ts";
import type { ChangedFile, CommandChanges } from "./effects.ts";
import { gitFolderOf, isGenerated } from "./retention-class.ts";
import type { EntryChange, EntryState } from "./tree-compare.ts";

/** Maximum number of files listed on the card, and on a receipt, which holds 32 kB. */
const maxListed = 200;
const maxOnReceipt = 100;

/** A change and its outcome. */
export interface ReportedChange {
  readonly change: EntryChange;
  readonly reverted: boolean;
  readonly lost: "unkept" | "shared" | null;
}

interface Line {
  readonly path: string;
  readonly kind: TouchedFile["kind"];
  readonly before: string | null;
  readonly after: string | null;
  readonly lost: boolean;
  readonly reverted: boolean;
  /** 0: reverted; 1: the user's work; 2: git's internal files; 3: generated files. */
  readonly rank: number;
}

/**
 * Describes a command's changes for card, model and receipt. A repository's internal files are one line; folders are listed only when
 * nothing inside them is.
 */
export function report(
  found: readonly ReportedChange[],
  {
    checkpointId,
    generated,
    restorable,
  }: { checkpointId: string | null; generated: ReadonlySet<string>; restorable: (path: string) => boolean },
): CommandChanges {
  const lines: Line[] = [];
  const repositories = new Map<string, Line>();
  const parents = new Set<string>();
  for (const { change } of found) if (change.path.includes("/")) parents.add(change.path.slice(0, change.path.lastIndexOf("/")));
  for (const one of found) {
    const { change, reverted, lost } = one;
    const inGit = gitFolderOf(change.path);
    if (inGit !== null && !reverted) {
      const so = repositories.get(inGit);
      const whole = change.path === inGit ? kindOf(change) : "modified";
      const kind = so === undefined || so.kind === "modified" ? whole : so.kind;
      repositories.set(inGit, {
        path: inGit,
        kind,
        before: null,
        after: null,
        lost: lost !== null || so?.lost === true,
        reverted: false,
        rank: 2,
      });
      continue;
    }
    // The entries inside a created or deleted folder already describe it.
    const folder = (change.before ?? change.after)?.kind === "folder" && (change.after ?? change.before)?.kind === "folder";
    if (folder && parents.has(change.path)) continue;
    lines.push({
      path: `${shown(change.path)}${folder ? "/" : ""}`,
      kind: kindOf(change),
      before: change.before?.hash ?? null,
      after: change.after?.hash ?? null,
      lost: lost !== null || change.odd,
      reverted,
      rank: reverted ? 0 : isGenerated(change.path, generated) ? 3 : 1,
    });
  }
  lines.push(...repositories.values());
  lines.sort((a, b) => a.rank - b.rank || (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  const listed = lines.slice(0, maxListed).map((line) => ({
    line,
    undoable: line.reverted || (!line.lost && (line.rank === 2 || restorable(line.path.replace(/\/$/, "")))),
  }));
  return {
    checkpointId,
    touched: listed.map(({ line: { path, kind, reverted }, undoable }) => ({
      path,
      kind,
      undoable,
      ...(reverted ? { putBack: true } : {}),
    })),
    total: lines.length,
    unkept: lines.filter(({ lost }) => lost).length,
    changed: listed.slice(0, maxOnReceipt).map(
      ({ line: { path, kind, before, after, reverted }, undoable }): ChangedFile => ({
        path,
        kind,
        before,
        after,
        undoable,
        ...(reverted ? { putBack: true } : {}),
      }),
    ),
    digest: digestOf(found.map(({ change }) => change)),
  };
}

/** SHA-256 over every change, one line each, sorted by path. */
function digestOf(changes: readonly EntryChange[]): string {
  const digest = createHash("sha256");
  const line = (state: EntryState | null) => (state === null ? null : [state.kind, state.mode, state.hash]);
  for (const { path, before, after } of changes.toSorted((a, b) => (a.path < b.path ? -1 : 1)))
    digest.update(`${JSON.stringify([path, line(before), line(after)])}\n`);
  return digest.digest("hex");
}

function kindOf({ before, after }: EntryChange): TouchedFile["kind"] {
  if (before === null) return "created";
  return after === null ? "deleted" : "modified";
}

/** Names that are not valid UTF-8 contain escaped bytes and start with NUL internally. */
function shown(path: string): string {
  return path.replaceAll("\0", "");
}
