import { LancelotError } from "../contract/errors.ts";
import type { Emit } from "../contract/events.ts";
import { PlanArtifact } from "../contract/plans.ts";
import type { Migration, Storage } from "../storage/storage.ts";

export const plansMigrations: readonly Migration[] = [
  {
    name: "plans-1",
    sql: `
      CREATE TABLE plans (
        id TEXT PRIMARY KEY,
        quest_id TEXT NOT NULL REFERENCES quests (id) ON DELETE CASCADE,
        status TEXT NOT NULL,
        created_at TEXT NOT NULL,
        plan TEXT NOT NULL
      ) STRICT;
      CREATE INDEX plans_by_quest ON plans (quest_id, created_at DESC);
    `,
  },
];

/** A plan with the title of its task. */
export interface ListedPlan {
  readonly plan: PlanArtifact;
  readonly questTitle: string;
}

/** True for a plan that was neither run nor rejected. */
export function isUndecided({ status }: Pick<PlanArtifact, "status">): boolean {
  return status === "draft" || status === "approved";
}

export type PlanStore = ReturnType<typeof createPlanStore>;

/** Stores plans with their progress. Every write is committed, and emits its event, before the function returns. */
export function createPlanStore({ storage, emit, workspace, now }: { storage: Storage; emit: Emit; workspace: string; now: () => Date }) {
  const { db } = storage;
  interface Row {
    plan: string;
  }
  const statements = {
    put: db.prepare(
      `INSERT INTO plans (id, quest_id, status, created_at, plan) VALUES (@id, @questId, @status, @createdAt, @plan)
       ON CONFLICT (id) DO UPDATE SET status = excluded.status, plan = excluded.plan`,
    ),
    get: db.prepare<[string], Row>("SELECT plan FROM plans WHERE id = ?"),
    list: db.prepare<[Record<string, unknown>], Row>(
      `SELECT plans.plan FROM plans JOIN quests ON quests.id = plans.quest_id
       WHERE quests.workspace = @workspace AND (@questId IS NULL OR plans.quest_id = @questId)
       ORDER BY plans.created_at DESC, plans.rowid DESC LIMIT @limit`,
    ),
    page: db.prepare<[Record<string, unknown>], Row & { title: string }>(
      `SELECT plans.plan, quests.title FROM plans JOIN quests ON quests.id = plans.quest_id
       WHERE quests.workspace = @workspace AND (@questId IS NULL OR plans.quest_id = @questId)
         AND (@at IS NULL OR (plans.created_at, plans.id) <= (@at, @id))
       ORDER BY plans.created_at DESC, plans.id DESC LIMIT @limit`,
    ),
  };
  const read = ({ plan }: Row): PlanArtifact => PlanArtifact.parse(JSON.parse(plan));

  function get(id: string): PlanArtifact {
    const row = statements.get.get(id);
    if (row === undefined) throw new LancelotError("not_found", "This plan does not exist. It may have been deleted with its task.");
    return read(row);
  }

  function put(plan: PlanArtifact): PlanArtifact {
    const stored = { ...plan, updatedAt: now().toISOString() };
    storage.transaction(() => statements.put.run({ ...stored, plan: JSON.stringify(stored) }));
    storage.afterTransaction((committed) => {
      if (committed) emit("plan", stored);
    });
    return stored;
  }

  return {
    get,
    put,
    patch: (id: string, patch: Partial<PlanArtifact>): PlanArtifact => put({ ...get(id), ...patch }),
    /** Newest first. */
    list: (filter: { questId?: string | undefined; limit: number }): PlanArtifact[] =>
      statements.list.all({ workspace, questId: filter.questId ?? null, limit: filter.limit }).map(read),
    /** Newest first, from the plan at a position, or the one after it. */
    page: ({ questId, from, limit }: { questId: string | null; from: { at: string; id: string } | null; limit: number }): ListedPlan[] =>
      statements.page
        .all({ workspace, questId, limit, at: from?.at ?? null, id: from?.id ?? null })
        .map((row) => ({ plan: read(row), questTitle: row.title })),
    /** The plan that the next run of the quest carries on; null without one. */
    runningOf: (questId: string): PlanArtifact | null =>
      statements.list
        .all({ workspace, questId, limit: 200 })
        .map(read)
        .find(({ status }) => status === "running") ?? null,
    transaction: <T>(work: () => T): T => storage.transaction(work),
  };
}
