import { LancelotError } from "../contract/errors.ts";
import { CompiledContext } from "../contract/memory.ts";
import type { Params, Result } from "../contract/table.ts";
import type { Storage } from "../storage/storage.ts";
import type { MemorySettings } from "./memory-settings.ts";

/** The last compiled contexts of this workspace, for inspection. */
export interface Contexts {
  /** Stores a context and deletes the oldest ones over the limit, in one transaction. */
  keep(context: CompiledContext): void;
  /** Newest first, without the compiled text. */
  list(params: Params<"memory.contexts">): Result<"memory.contexts">;
  /** @throws LancelotError `not_found`. */
  get(id: string): CompiledContext;
  /** Deletes the contexts of a deleted task. */
  dropQuest(questId: string): void;
}

const Listed = CompiledContext.omit({ renderedPrompt: true });

export function createCompiledContextStore(deps: {
  readonly storage: Storage;
  /** Absolute path; `-` when no folder is open. */
  readonly workspace: string;
  readonly settings: () => Pick<MemorySettings, "contexts">;
}): Contexts {
  const { storage, workspace, settings } = deps;
  const { db } = storage;
  const insert = db.prepare("INSERT INTO memory_contexts (id, workspace, quest_id, created_at, body) VALUES (?, ?, ?, ?, ?)");
  const prune = db.prepare(
    `DELETE FROM memory_contexts WHERE workspace = @workspace AND seq <= (
       SELECT seq FROM memory_contexts WHERE workspace = @workspace ORDER BY seq DESC LIMIT 1 OFFSET @keep
     )`,
  );
  const newest = db
    .prepare<[Record<string, unknown>], string>(
      `SELECT json_remove(body, '$.renderedPrompt') FROM memory_contexts
       WHERE workspace = @workspace AND (@questId IS NULL OR quest_id = @questId) ORDER BY seq DESC LIMIT @limit`,
    )
    .pluck();
  const one = db.prepare<[string, string], string>("SELECT body FROM memory_contexts WHERE id = ? AND workspace = ?").pluck();
  const drop = db.prepare("DELETE FROM memory_contexts WHERE quest_id = ? AND workspace = ?");

  return {
    keep(context) {
      storage.transaction(() => {
        insert.run(context.contextId, workspace, context.questId, Date.parse(context.createdAt), JSON.stringify(context));
        prune.run({ workspace, keep: settings().contexts });
      });
    },
    list({ questId, limit }) {
      const rows = newest.all({ workspace, questId: questId ?? null, limit });
      return { items: rows.map((body) => Listed.parse(JSON.parse(body))) };
    },
    get(id) {
      const body = one.get(id, workspace);
      if (body === undefined)
        throw new LancelotError("not_found", `This compiled context was deleted. Only the last ${String(settings().contexts)} are kept.`);
      return CompiledContext.parse(JSON.parse(body));
    },
    dropQuest(questId) {
      drop.run(questId, workspace);
    },
  };
}
