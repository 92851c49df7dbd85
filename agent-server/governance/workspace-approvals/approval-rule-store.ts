import { createHash } from "node:crypto";
import * as z from "zod";
import { Tier } from "../../contract/common.ts";
import { Rule } from "../../contract/governance.ts";
import type { Storage } from "../../storage/storage.ts";
import { StoredScope } from "./approval-scope.ts";

/** An approval for a workspace, as stored. */
export const StoredRule = z.object({
  id: z.string(),
  scope: StoredScope,
  tier: Tier,
  rules: z.array(Rule),
  /** See `CodeFingerprint`. */
  codeExact: z.string(),
  codeFiles: z.array(z.string()),
  approvalId: z.string(),
  questId: z.string().nullable(),
  hostId: z.string(),
  createdAt: z.string(),
  uses: z.int(),
  lastUsedAt: z.string().nullable(),
});
export type StoredRule = z.infer<typeof StoredRule>;

interface Row {
  id: string;
  scope: string;
  tier: string;
  rules: string;
  code_exact: string;
  code_files: string;
  approval_id: string;
  quest_id: string | null;
  host_id: string;
  created_at: string;
  uses: number;
  last_used_at: string | null;
}

export interface ApprovalRuleStore {
  /** Rules of this workspace that have not ended, newest first. */
  list(): StoredRule[];
  get(id: string): StoredRule | null;
  /** The rule with the same scope in the workspace of an approval. */
  sameScope(approvalId: string, scope: StoredScope): StoredRule | null;
  /** Number of rules in the workspace of an approval. */
  count(approvalId: string): number;
  /** Inserts or replaces a rule of the workspace of its approval, which may be another one than this window's. */
  save(rule: StoredRule): void;
  /** Counts a use; false when the rule has ended, or was last used before `unusedSince` (ISO 8601). */
  use(id: string, at: string, unusedSince: string): boolean;
  /** Ends a rule; false when it has ended already. */
  end(id: string, at: string): boolean;
}

/** The approval_rules table; rows belong to one workspace (`""` without one). */
export function createApprovalRuleStore({ db }: Storage, workspace: string): ApprovalRuleStore {
  const list = db.prepare<[string], Row>("SELECT * FROM approval_rules WHERE workspace = ? AND ended_at IS NULL ORDER BY seq DESC");
  const get = db.prepare<[string, string], Row>("SELECT * FROM approval_rules WHERE id = ? AND workspace = ? AND ended_at IS NULL");
  const sameScope = db.prepare<[string, string], Row>(`
    SELECT * FROM approval_rules WHERE scope_hash = ? AND ended_at IS NULL AND workspace = (SELECT workspace FROM approvals WHERE id = ?)`);
  const count = db.prepare<[string], { n: number }>(`
    SELECT count(*) AS n FROM approval_rules WHERE ended_at IS NULL AND workspace = (SELECT workspace FROM approvals WHERE id = ?)`);
  const save = db.prepare(`
    INSERT INTO approval_rules (id, workspace, scope, scope_hash, tier, rules, code_exact, code_files, approval_id, quest_id, host_id, created_at)
    SELECT @id, workspace, @scope, @scopeHash, @tier, @rules, @codeExact, @codeFiles, @approvalId, @questId, @hostId, @createdAt
      FROM approvals WHERE id = @approvalId
    ON CONFLICT (id) DO UPDATE SET tier = @tier, rules = @rules, code_exact = @codeExact, code_files = @codeFiles, approval_id = @approvalId,
      quest_id = @questId, host_id = @hostId, created_at = @createdAt`);
  const use = db.prepare(`
    UPDATE approval_rules SET uses = uses + 1, last_used_at = @at
    WHERE id = @id AND workspace = @workspace AND ended_at IS NULL AND max(created_at, coalesce(last_used_at, '')) > @unusedSince`);
  const end = db.prepare("UPDATE approval_rules SET ended_at = ? WHERE id = ? AND workspace = ? AND ended_at IS NULL");
  const orNull = (row: Row | undefined): StoredRule | null => (row === undefined ? null : stored(row));

  return {
    list: () => list.all(workspace).map(stored),
    get: (id) => orNull(get.get(id, workspace)),
    sameScope: (approvalId, scope) => orNull(sameScope.get(hashOf(scope), approvalId)),
    count: (approvalId) => count.get(approvalId)?.n ?? 0,
    save(rule) {
      save.run({
        ...rule,
        scope: JSON.stringify(rule.scope),
        scopeHash: hashOf(rule.scope),
        rules: JSON.stringify(rule.rules),
        codeFiles: JSON.stringify(rule.codeFiles),
      });
    },
    use: (id, at, unusedSince) => use.run({ id, at, unusedSince, workspace }).changes === 1,
    end: (id, at) => end.run(at, id, workspace).changes === 1,
  };
}

function hashOf({ capability, action, match, start, rest }: StoredScope): string {
  return createHash("sha256")
    .update(JSON.stringify([capability, action, match, start, rest]))
    .digest("hex");
}

function stored(row: Row): StoredRule {
  return StoredRule.parse({
    id: row.id,
    scope: JSON.parse(row.scope),
    tier: row.tier,
    rules: JSON.parse(row.rules),
    codeExact: row.code_exact,
    codeFiles: JSON.parse(row.code_files),
    approvalId: row.approval_id,
    questId: row.quest_id,
    hostId: row.host_id,
    createdAt: row.created_at,
    uses: row.uses,
    lastUsedAt: row.last_used_at,
  });
}
