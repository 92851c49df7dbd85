import { basename } from "node:path";
import type { Result } from "../../contract/table.ts";
import { type ExportPiece, type Storage, writeExportFile } from "../../storage/storage.ts";
import type { MemoryStore, StoredItem } from "../item-types.ts";
import { type ExportHeader, formatVersion, iso, lineOf } from "./export-lines.ts";
import { markdownPieces } from "./memory-markdown.ts";

export interface ExportDeps {
  readonly storage: Storage;
  readonly store: Pick<MemoryStore, "all">;
  /** Absolute path; `-` when no folder is open. */
  readonly workspace: string;
  readonly now: () => number;
}

type Format = "markdown" | "jsonl" | "backup";

/** Rows per read and lines per write. */
const page = 500;

/**
 * Writes the memory visible in this workspace to a file below `exports/` of the data folder: unexpired items, and with
 * `backup` also quarantined edits and the commits with their images. Message references and compiled contexts can be
 * recomputed and are excluded. The export is a consistent snapshot.
 * @throws LancelotError `unavailable` when the disk fails
 */
export async function exportMemory(deps: ExportDeps, format: Format): Promise<Result<"memory.export">> {
  const { storage, now } = deps;
  const pieces = storage.transaction(() => [...(format === "markdown" ? markdown(deps) : jsonLines(deps, format))]);
  const { count, ...written } = await writeExportFile({
    dataDir: storage.dataDir,
    name: format === "backup" ? "memory-backup" : "memory",
    extension: format === "markdown" ? "md" : "jsonl",
    now,
    pieces,
  });
  return { ...written, items: count };
}

/** Unexpired items visible in this workspace, without message references. */
export function* itemPages({ store, workspace, now }: ExportDeps): Generator<StoredItem[]> {
  const at = now();
  for (let after = 0; ; ) {
    const some = store.all(after, page);
    const last = some.at(-1);
    if (last === undefined) return;
    after = last.seq;
    yield some.filter(
      (item) =>
        (item.workspace === "" || item.workspace === workspace) && item.ref === null && (item.expiresAt === null || item.expiresAt > at),
    );
  }
}

function* markdown(deps: ExportDeps): Generator<ExportPiece> {
  const items = [...itemPages(deps)].flat();
  for (const text of markdownPieces(items, { now: deps.now(), workspace: nameOf(deps.workspace) })) yield { text, count: 0 };
  yield { text: "", count: items.length };
}

const line = (value: unknown): string => `${JSON.stringify(value)}\n`;

function* jsonLines(deps: ExportDeps, format: "jsonl" | "backup"): Generator<ExportPiece> {
  const header: ExportHeader = {
    lancelot: "memory",
    version: formatVersion,
    format,
    exportedAt: iso(deps.now()),
    workspace: nameOf(deps.workspace),
  };
  yield { text: line(header), count: 0 };
  let items = 0;
  for (const some of itemPages(deps)) {
    items += some.length;
    yield { text: some.map((item) => line(lineOf(item))).join(""), count: some.length };
  }
  if (format === "backup") yield* history(deps);
  yield { text: line({ end: { items } }), count: 0 };
}

/** Raw rows of the tables other than items. */
function* history({ storage, workspace }: ExportDeps): Generator<ExportPiece> {
  const rows = (sql: string) => storage.db.prepare<[string], Record<string, unknown>>(sql).iterate(workspace);
  const write = function* (name: string, sql: string, read: (row: Record<string, unknown>) => unknown): Generator<ExportPiece> {
    let text = "";
    let count = 0;
    for (const row of rows(sql)) {
      text += line({ [name]: read(row) });
      count += 1;
      if (count % page !== 0) continue;
      yield { text, count: 0 };
      text = "";
    }
    if (text !== "") yield { text, count: 0 };
  };
  yield* write(
    "quarantine",
    `SELECT id, status, commit_id AS commitId, quest_id AS questId, body, why, promoted_by AS promotedBy, created_at AS createdAt,
       decided_at AS decidedAt, decided_reason AS decidedReason
     FROM memory_quarantine WHERE workspace IN ('', ?) ORDER BY seq`,
    ({ body, ...row }) => ({ ...row, ...parsed(body) }),
  );
  yield* write(
    "commit",
    `SELECT id, status, author, quest_id AS questId, reason, created_at AS createdAt, finished_at AS finishedAt, receipt_id AS receiptId,
       changes, rollback_of AS rollbackOf, rolled_back_by AS rolledBackBy
     FROM memory_commits WHERE workspace IN ('', ?) AND status <> 'open' ORDER BY seq`,
    ({ rollbackOf, ...row }) => ({ ...row, rollbackOf: JSON.parse(String(rollbackOf)) as unknown }),
  );
  yield* write(
    "image",
    `SELECT i.commit_id AS commitId, i.item_id AS itemId, i.op, i.before, i.after, i.reason
     FROM memory_images i JOIN memory_commits c ON c.id = i.commit_id WHERE c.workspace IN ('', ?) ORDER BY c.finish_seq, i.number`,
    ({ before, after, ...row }) => ({ ...row, before: imageOf(before), after: imageOf(after) }),
  );
}

function parsed(text: unknown): Record<string, unknown> {
  return JSON.parse(String(text)) as Record<string, unknown>;
}

function imageOf(text: unknown): unknown {
  return text === null ? null : parsed(text);
}

function nameOf(workspace: string): string | null {
  return workspace === "-" ? null : basename(workspace);
}
