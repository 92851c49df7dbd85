import { createHash } from "node:crypto";
import type { TouchedFile } from "../../contract/chat.ts";
import { displayPath } from "../byte-path.ts";
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
  /** As shown; a folder ends with a slash. */
  readonly path: string;
  readonly source: string;
  readonly kind: TouchedFile["kind"];
  readonly before: string | null;
  readonly after: string | null;
  readonly lost: boolean;
  readonly reverted: boolean;
  /** 0: reverted; 1: the user's work; 2: git's internal files; 3: generated files. */
  readonly rank: number;
}

/**
 * Describes a command's changes for card, model and receipt. A repository's internal files are one line, and so is each new submodule
 * repository below it. Other folders are listed when their permissions changed, or when nothing inside them is listed.
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
  const newModules = new Set(found.flatMap(({ change }) => (change.before === null && modules.test(change.path) ? [change.path] : [])));
  for (const one of found) {
    const { change, reverted, lost } = one;
    const inGit = moduleOf(change.path, newModules) ?? gitFolderOf(change.path);
    if (inGit !== null && !reverted) {
      const so = repositories.get(inGit);
      const whole = change.path === inGit ? kindOf(change) : "modified";
      const kind = so === undefined || so.kind === "modified" ? whole : so.kind;
      repositories.set(inGit, {
        path: displayPath(inGit),
        source: inGit,
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
    if (folder && parents.has(change.path) && change.before?.kind !== change.after?.kind) continue;
    lines.push({
      path: folder ? `${displayPath(change.path) || "."}/` : displayPath(change.path),
      source: change.path,
      kind: kindOf(change),
      before: change.before?.hash ?? null,
      after: change.after?.hash ?? null,
      lost: lost !== null,
      reverted,
      rank: reverted ? 0 : isGenerated(change.path, generated) ? 3 : 1,
    });
  }
  lines.push(...repositories.values());
  lines.sort((a, b) => a.rank - b.rank || (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  const listed = lines.slice(0, maxListed).map((line) => ({
    line,
    undoable: line.reverted || (!line.lost && (line.rank === 2 || restorable(line.source))),
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

/** The folder with the repositories of submodules, above one of its entries. */
const modules = /^(?:.*?\/)?\.git\/modules\/(?=.)/;

/** The topmost new folder among the repositories of submodules that contains a path; null when there is none. */
function moduleOf(path: string, newModules: ReadonlySet<string>): string | null {
  const above = newModules.size === 0 ? undefined : modules.exec(path)?.[0];
  if (above === undefined) return null;
  for (let end = path.indexOf("/", above.length); end !== -1; end = path.indexOf("/", end + 1))
    if (newModules.has(path.slice(0, end))) return path.slice(0, end);
  return newModules.has(path) ? path : null;
}
