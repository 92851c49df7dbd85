import { join } from "node:path";
import type { Change, GeneratedGroup } from "../../contract/changes.ts";
import type { Governance } from "../../governance/governance.ts";
import type { Changes } from "../changes/types.ts";
import type { ChangeStore } from "../changes/change-store.ts";
import type { ObjectStore } from "../checkpoints/object-store.ts";
import type { WorkspaceFiles } from "../workspace-files.ts";
import { type ChangeClass, classesOf } from "./change-class.ts";
import { generatedFiles } from "./generated-summary.ts";
import { ignoredPaths } from "./ignored-paths.ts";
import { type LayerChange, type LayerFolders, scanLayer } from "./layer-scan.ts";
import { proposeChange } from "./propose-change.ts";
import type { RepositoryWork } from "./repository-work.ts";
import type { GeneratedFiles } from "./task-store.ts";
import type { LeftInCopy } from "./types.ts";

/** Changes that a person can review. More come from dependencies or build output that git does not ignore. */
const maxProposed = 2_000;

/** What a command of a task left, by what happens to it. */
export interface TaskOutcome {
  /** Source files and files that other programs run: changes that were proposed, new or again. */
  readonly proposed: readonly Change[];
  /** Number of changed source files when they are too many to review: none is proposed then, and all stay with the task. */
  readonly tooMany: number | null;
  /** Secret files, which are never proposed. */
  readonly secret: readonly string[];
  readonly generated: GeneratedFiles | null;
  /** Metadata of repositories that are not the workspace's own. */
  readonly repositories: readonly string[];
  /** Pipes, sockets and devices: they stay with the task. */
  readonly special: readonly string[];
  /** Generated files that stay in the engine's copy of the workspace, where the task's commands work in one. */
  readonly inCopy: readonly GeneratedGroup[];
  /** Files that are too large to be taken out of such a copy. */
  readonly tooLarge: readonly string[];
  /** Every path that the layer proposes, also those whose change was proposed before. */
  readonly held: readonly string[];
  /** Work in the workspace's own repository that is not imported yet. */
  readonly work: RepositoryWork | null;
}

/** For the review: the receipt of a command, and its text. */
export interface CommandOrigin {
  readonly receiptId: string | null;
  readonly origin: string;
  /** The result of the tests that the command ran; absent when it ran none. */
  readonly tests?: "passed" | "failed";
}

export interface OutcomeDeps {
  /** Absolute and resolved. */
  readonly workspace: string;
  readonly files: Pick<WorkspaceFiles, "current">;
  readonly objects: ObjectStore;
  readonly changes: Pick<Changes, "overlay" | "propose" | "proposeWhole" | "withdraw" | "addEvidence">;
  readonly store: Pick<ChangeStore, "list">;
  readonly governance: Pick<Governance, "judgeName" | "obeyed" | "evaluate">;
  readonly generatedFolders: () => ReadonlySet<string>;
}

/** What the layer of a task holds after a command. */
export interface LayerOutcome extends Omit<TaskOutcome, "work" | "inCopy" | "tooLarge"> {
  /** Paths that the layer has but that equal the workspace. */
  readonly unchanged: readonly string[];
  /** True when metadata of the workspace's own repository was written. */
  readonly hasRepositoryWork: boolean;
}

/** Proposes what a command changed. @param isSettled true for paths that nobody wrote since their changes were decided @param folders of the open view, in which no program runs @param hasRepository whether the workspace itself is a repository */
export async function readOutcome(
  deps: OutcomeDeps,
  {
    folders,
    questId,
    hasRepository,
    isSettled = () => false,
  }: { folders: LayerFolders; questId: string; hasRepository: boolean; isSettled?: (path: string) => boolean },
  of: CommandOrigin,
): Promise<LayerOutcome> {
  const { workspace, governance } = deps;
  const isOwnRepository = (path: string): boolean => hasRepository && (path === ".git" || path.startsWith(".git/"));
  const unchanged: string[] = [];
  const all = await scanLayer(folders, (path) => unchanged.push(path));
  const written = all.filter(({ after }) => after?.kind !== "other");
  const classes = await classesOf(written, folders, {
    judgeName: governance.judgeName,
    obeyed: governance.obeyed,
    ignored: (paths) => {
      const isFolder = new Map(written.map(({ path, before, after }) => [path, (after ?? before)?.kind === "folder"]));
      const named = paths.map((path) => ({ path, isFolder: isFolder.get(path) === true }));
      return ignoredPaths(workspace, named, AbortSignal.timeout(60_000));
    },
    generatedFolders: deps.generatedFolders(),
  });
  const found = Map.groupBy(written, ({ path }) => classes.get(path) ?? "source");
  const named = (name: ChangeClass): readonly LayerChange[] => found.get(name) ?? [];
  const isSecret = ({ path }: LayerChange): boolean => governance.judgeName(path) === "secret";
  const sources = inReviewOrder(
    written.filter(
      (change) => ["source", "protected"].includes(classes.get(change.path) ?? "source") && !isSecret(change) && !isSettled(change.path),
    ),
    all,
  );
  const proposed: Change[] = [];
  const tooMany = sources.length > maxProposed ? sources.length : null;
  for (const change of tooMany === null ? sources : []) {
    const caution = classes.get(change.path) === "protected" ? cautionOf(governance, workspace, change.path) : null;
    const made = await proposeChange(deps, change, { questId, upper: folders.upper, caution, isSettled, ...of });
    if (made !== null) proposed.push(made);
  }
  const repositories = named("repository").map(({ path }) => path);
  return {
    proposed,
    tooMany,
    held: sources.map(({ path }) => path),
    unchanged,
    secret: named("protected")
      .filter(isSecret)
      .map(({ path }) => path),
    generated: generatedFiles(named("generated"), deps.generatedFolders(), of.receiptId),
    repositories: repositories.filter((path) => !isOwnRepository(path)),
    hasRepositoryWork: repositories.some(isOwnRepository),
    special: all.filter(({ after }) => after?.kind === "other").map(({ path }) => path),
  };
}

/** Why a file is decided on its own, in the words of the rule that protects it. */
function cautionOf(governance: Pick<Governance, "evaluate" | "obeyed">, workspace: string, path: string): string {
  const obeyed = governance.obeyed(path);
  if (obeyed !== null) return obeyed;
  const { rules } = governance.evaluate({ capability: "file_ops", action: "write", args: { path: join(workspace, path) }, mode: "normal" });
  const [reason] = rules.filter(({ source }) => source === "policy");
  return reason?.message ?? "Another program may run this file.";
}

/**
 * The order of proposals: a review goes from the last to the first, so deleted folders come first, and their content later. A created folder
 * with content is left out, because its content creates it.
 * @param all the changes of every class
 */
function inReviewOrder(changes: readonly LayerChange[], all: readonly LayerChange[]): LayerChange[] {
  const filled = new Set<string>();
  for (const { path } of all)
    for (let slash = path.lastIndexOf("/"); slash !== -1; slash = path.lastIndexOf("/", slash - 1)) filled.add(path.slice(0, slash));
  const isDeletedFolder = ({ before, after }: LayerChange): boolean => after === null && before?.kind === "folder";
  const rest = changes.filter((change) => {
    const isCreatedFolder = change.before === null && change.after?.kind === "folder";
    return !isDeletedFolder(change) && !(isCreatedFolder && filled.has(change.path));
  });
  return [...changes.filter(isDeletedFolder), ...rest];
}

/** Adds what the command left in an engine's copy of the workspace. */
export function withLeftInCopy(outcome: TaskOutcome, left: LeftInCopy | undefined): TaskOutcome {
  if (left === undefined) return outcome;
  const [secret, special] = [new Set([...outcome.secret, ...left.secret]), new Set([...outcome.special, ...left.special])];
  return { ...outcome, secret: [...secret], special: [...special], inCopy: left.generated, tooLarge: left.tooLarge };
}
