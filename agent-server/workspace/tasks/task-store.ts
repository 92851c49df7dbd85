import type { Storage } from "../../storage/storage.ts";
import type { GeneratedGroup, TaskLeft } from "../../contract/changes.ts";
import { displayPath } from "../byte-path.ts";
import type { RefState } from "../git/ref-state.ts";
import type { OpaqueFolders } from "./layer-drop.ts";
import type { RepositoryWork } from "./repository-work.ts";

/** Generated files of a task that are not in the workspace yet. */
export interface GeneratedFiles {
  /** Files and folders to apply; none is in another one. */
  readonly paths: readonly string[];
  /** For the review: how many files each folder gets, loses and has changed, largest first. */
  readonly groups: readonly GeneratedGroup[];
  /** The command that wrote them last, and when it ended. */
  readonly receiptId: string | null;
  readonly at: string;
}

/** What a task's commands did to the repository that is not imported yet. */
export interface PendingWork {
  /** The real repository as the commands first saw it. */
  readonly base: RefState;
  readonly work: RepositoryWork;
}

/** What a task's layer holds besides proposed changes. */
export interface TaskRest {
  readonly generated: GeneratedFiles | null;
  readonly repository: PendingWork | null;
  /** Folders of the layer that hide the workspace's, needed when their content is applied or dropped. */
  readonly opaque: OpaqueFolders;
}

export const nothingLeft: TaskRest = { generated: null, repository: null, opaque: new Map() };

/** What waits, for views. */
export function toTaskLeft(questId: string, { generated, repository }: TaskRest, inCopy: readonly GeneratedGroup[]): TaskLeft {
  return {
    questId,
    generated: generated === null ? null : { groups: [...generated.groups], receiptId: generated.receiptId },
    commits:
      (repository?.work.refs.length ?? 0) === 0
        ? []
        : (repository?.work.commits ?? []).slice(0, 50).map(({ hash, subject }) => ({ hash, subject })),
    inCopy: inCopy.map((group) => ({ ...group, name: displayPath(group.name) })),
  };
}

/** Generated files that were applied, with the journal that undoes them. */
export interface AppliedFiles {
  readonly id: number;
  readonly receiptId: string;
  readonly journal: string;
  readonly at: string;
}

/** Database rows of one workspace's tasks. */
export interface TaskStore {
  get(questId: string): TaskRest;
  /** Quests of whose tasks something waits. */
  quests(): string[];
  save(questId: string, rest: TaskRest): void;
  /** Stores that generated files are being applied, before they are. */
  applying(of: { questId: string; receiptId: string; journal: string }): void;
  /** Applied files that were not undone, newest first. */
  applied(questId: string): AppliedFiles[];
  /** Replaces the journal once the files were undone: null, or the one that applies them again. */
  undone(id: number): void;
}

interface Row {
  generated: string | null;
  repository: string | null;
  opaque: string;
}

export function createTaskStore(storage: Storage, workspace: string, now: () => Date): TaskStore {
  const { db } = storage;
  const one = db.prepare("SELECT generated, repository, opaque FROM tasks WHERE workspace = ? AND quest_id = ?");
  const all = db.prepare("SELECT quest_id AS questId FROM tasks WHERE workspace = ?");
  const put = db.prepare(
    `INSERT INTO tasks (workspace, quest_id, generated, repository, opaque) VALUES (@workspace, @questId, @generated, @repository, @opaque)
     ON CONFLICT (workspace, quest_id) DO UPDATE SET generated = excluded.generated, repository = excluded.repository, opaque = excluded.opaque`,
  );
  const remove = db.prepare("DELETE FROM tasks WHERE workspace = ? AND quest_id = ?");
  const insert = db.prepare("INSERT INTO applied_generated (workspace, quest_id, receipt_id, journal, created_at) VALUES (?, ?, ?, ?, ?)");
  const listed = db.prepare(
    "SELECT id, receipt_id AS receiptId, journal, created_at AS at FROM applied_generated WHERE workspace = ? AND quest_id = ? AND undone = 0 ORDER BY id DESC",
  );
  const close = db.prepare("UPDATE applied_generated SET undone = 1 WHERE id = ?");
  return {
    get(questId) {
      const row = one.get(workspace, questId) as Row | undefined;
      if (row === undefined) return nothingLeft;
      return {
        generated: row.generated === null ? null : (JSON.parse(row.generated) as GeneratedFiles),
        repository: row.repository === null ? null : (JSON.parse(row.repository) as PendingWork),
        opaque: new Map(JSON.parse(row.opaque) as [string, readonly string[]][]),
      };
    },
    quests: () => (all.all(workspace) as { questId: string }[]).map(({ questId }) => questId),
    save(questId, { generated, repository, opaque }) {
      if (generated === null && repository === null) remove.run(workspace, questId);
      else
        put.run({
          workspace,
          questId,
          generated: generated === null ? null : JSON.stringify(generated),
          repository: repository === null ? null : JSON.stringify(repository),
          opaque: JSON.stringify([...opaque]),
        });
    },
    applying: ({ questId, receiptId, journal }) => void insert.run(workspace, questId, receiptId, journal, now().toISOString()),
    applied: (questId) => listed.all(workspace, questId) as AppliedFiles[],
    undone: (id) => void close.run(id),
  };
}
