import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { flagsMigrations } from "../../agent-server/flags/flags.ts";
import { governanceMigrations } from "../../agent-server/governance/governance.ts";
import { memoryMigrations } from "../../agent-server/memory/memory.ts";
import { routerMigrations, usageMigrations } from "../../agent-server/models/models.ts";
import { questsMigrations } from "../../agent-server/quests/quests.ts";
import { receiptsMigrations } from "../../agent-server/receipts/receipts.ts";
import { hostsMigration } from "../../agent-server/storage/hosts.ts";
import { migrate } from "../../agent-server/storage/migrate.ts";
import { workspaceMigrations } from "../../agent-server/workspace/workspace.ts";
import { lancelot as runLancelot } from "../support/host/terminal.ts";
import { openUpkeepFixture } from "../support/memory/upkeep-fixture.ts";

let folder: string;
let data: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-migration-")));
  data = join(folder, "data");
  mkdirSync(join(folder, "shop"));
  mkdirSync(data);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const database = (): Database.Database => new Database(join(data, "lancelot.sqlite"));
const lancelot = (...words: string[]) => runLancelot(words, { cwd: join(folder, "shop"), env: { LANCELOT_DATA: data } });

/** As it was before there was memory: leases were a table of the ledger's. */
const beforeMemory = [
  hostsMigration,
  ...flagsMigrations,
  ...receiptsMigrations.filter(({ name }) => name !== "receipts-4-leases-elsewhere"),
  ...governanceMigrations,
  ...workspaceMigrations,
  ...usageMigrations,
  ...routerMigrations,
  ...questsMigrations.filter(({ name }) => /^orchestrator-[123]-/u.test(name)),
];

describe("a data folder from before there was memory", () => {
  it("is opened, gets the tables, and its tasks are remembered", async () => {
    const old = database();
    migrate(old, beforeMemory);
    old
      .prepare(
        `INSERT INTO quests (id, workspace, title, status, mode, created_at, updated_at, usage, plan, token_limit, reviewed)
         VALUES ('q1', ?, 'Fix the total', 'done', 'normal', ?, ?, '{}', '[]', 1000, '{"accepted":0,"rejected":0}')`,
      )
      .run(join(folder, "shop"), "2026-01-01T12:00:00.000Z", "2026-01-01T12:00:00.000Z");
    const say = old.prepare(
      "INSERT INTO messages (id, quest_id, seq, role, parts, text, created_at, open) VALUES (?, 'q1', ?, ?, ?, ?, '2026-01-01T12:00:00.000Z', 0)",
    );
    for (const [seq, role, text] of [
      [0, "user", "The zeppelin total is wrong."],
      [1, "assistant", "The total is right now."],
    ] as const)
      say.run(randomUUID(), seq, role, JSON.stringify([{ type: "text", text }]), text);
    old.close();

    const status = await lancelot("memory");
    expect(status).toMatchObject({ status: 0, stdout: expect.stringContaining("0 core, 0 working, 0 episodic, 0 archival") as string });
    expect(await lancelot("memory", "run", "memory_summarize_episodic")).toMatchObject({ status: 0 });
    expect((await lancelot("memory", "search", "zeppelin")).stdout).toContain("The zeppelin total is wrong.");
    expect((await lancelot("memory", "remember", "The port is 8443.")).status).toBe(0);
    expect((await lancelot("memory", "run", "memory_integrity_audit")).stdout).toContain("No problems");

    const now = database();
    expect(now.prepare("SELECT count(*) FROM messages").pluck().get()).toBe(2);
    expect(
      now.prepare("SELECT name FROM sqlite_schema WHERE name IN ('leases', 'ledger_leases', 'memory_items') ORDER BY name").pluck().all(),
    ).toEqual(["leases", "memory_items"]);
    // The version from before does not touch what a newer one wrote.
    expect(() => migrate(now, beforeMemory)).toThrow(/newer version/iu);
    now.close();
  });
});

describe("memory of the first schema", () => {
  const [first, ...later] = memoryMigrations;
  const open = (migrations: typeof memoryMigrations) => openUpkeepFixture({ dataDir: data, migrations });
  const columns = `(id, tier, block, namespace, workspace, kind, content, confidence, tags, provenance, quest_id, commit_id, version,
    created_at, updated_at, weight, reinforced_at)`;

  it("comes through every later migration with its items, commits and images, is found, and can be rolled back", async () => {
    expect(first?.name).toBe("memory-1-items");
    expect(later.length).toBeGreaterThan(0);
    const old = database();
    migrate(old, [hostsMigration, ...receiptsMigrations.slice(0, 3), ...memoryMigrations.slice(0, 1)]);
    const image = {
      ...{ block: null, commitId: "commit_1", confidence: 0.8, content: "The zeppelin flies.", createdAt: 5, expiresAt: null, id: "mem_1" },
      ...{
        kind: "fact",
        namespace: "workspace",
        provenance: { source: "agent" },
        questId: null,
        ref: null,
        tags: ["air"],
        tier: "archival",
      },
      ...{ updatedAt: 5, version: 1, workspace: "/projects/a" },
    };
    const rule = { ...image, block: "operating_rules", content: "Use tabs.", id: "mem_2", tags: [], tier: "core", kind: "rule" };
    const insert = old.prepare(
      `INSERT INTO memory_items ${columns} VALUES (@id, @tier, @block, @namespace, @workspace, @kind, @content, @confidence, @tags, @provenance,
         @questId, @commitId, @version, @createdAt, @updatedAt, @confidence, @updatedAt)`,
    );
    old
      .prepare(
        `INSERT INTO memory_commits (id, status, workspace, author, host_id, reason, created_at, finished_at, finish_seq, receipt_id, changes, kept)
         VALUES ('commit_1', 'committed', '/projects/a', 'owner', 'h', 'r', 5, 5, 1, NULL, 2, 1)`,
      )
      .run();
    const keep = old.prepare(
      "INSERT INTO memory_images (commit_id, item_id, number, op, after, reason) VALUES ('commit_1', ?, ?, 'insert', ?, 'r')",
    );
    for (const [number, one] of [image, rule].entries()) {
      insert.run({ ...one, tags: JSON.stringify(one.tags), provenance: JSON.stringify(one.provenance) });
      keep.run(one.id, number, JSON.stringify(one));
    }
    old.close();

    const fixture = open([...memoryMigrations, { name: "memory-99-test", sql: "ALTER TABLE memory_items ADD COLUMN later TEXT" }]);
    try {
      expect(fixture.items()).toMatchObject([
        { id: "mem_1", content: "The zeppelin flies.", tags: ["air"], version: 1, commitId: "commit_1" },
        { id: "mem_2", block: "operating_rules" },
      ]);
      expect(fixture.commits.get("commit_1")).toMatchObject({ status: "committed", changes: 2, problem: null });
      await fixture.jobs.runJob("memory_integrity_audit", new AbortController().signal);
      expect(fixture.found("zeppelin")).toEqual(["mem_1"]);
      fixture.keep({ content: "A new fact of the build." });
      fixture.commits.rollback({ commitId: "commit_1", reason: "no" }, { by: "owner", questId: null }, null);
      expect(fixture.items().map(({ content }) => content)).toEqual(["A new fact of the build."]);
    } finally {
      fixture.close();
    }
  });
});
