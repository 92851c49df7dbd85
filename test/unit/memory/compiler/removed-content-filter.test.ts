import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createRemovedContentFilter } from "../../../../agent-server/memory/compiler/removed-content-filter.ts";
import { memoryMigrations } from "../../../../agent-server/memory/memory.ts";
import type { Found, StoredItem } from "../../../../agent-server/memory/item-types.ts";
import { openStorage, type Storage } from "../../../../agent-server/storage/storage.ts";
import { anItem, workspace } from "../../../support/memory/compiler-fixture.ts";

let dataDir: string;
let storage: Storage;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "lancelot-taken-back-"));
  storage = openStorage({ dataDir, migrations: memoryMigrations });
});
afterEach(() => {
  storage.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const item = (of: Parameters<typeof anItem>[0]): StoredItem => {
  const image = anItem(of);
  return { ...image, seq: 1, weight: 1, reinforcedAt: 0, reinforced: 0 };
};
const account = (content: string): Found => {
  const of = item({ id: content, tier: "episodic", kind: "experience", content });
  return { item: of, text: content, score: 1, named: false, snippet: content };
};
const fact = (content: string): Found => ({ ...account(content), item: item({ id: content, content }) });

let commits = 0;
/** A commit that left `after` of an item that said `before`. */
function commit(of: { before: string | null; after?: string | null; author?: string; rolledBackBy?: string; place?: string }): void {
  commits += 1;
  const id = `c${String(commits)}`;
  storage.db
    .prepare(
      "INSERT INTO memory_commits (id, status, workspace, author, host_id, reason, created_at, rolled_back_by) VALUES (?, 'committed', ?, ?, 'h', 'r', 0, ?)",
    )
    .run(id, of.place ?? workspace, of.author ?? "owner", of.rolledBackBy ?? null);
  const image = (content: string | null | undefined) => (typeof content === "string" ? JSON.stringify({ content }) : null);
  storage.db
    .prepare("INSERT INTO memory_images (commit_id, item_id, number, op, before, after, reason) VALUES (?, 'i', 0, 'delete', ?, ?, 'r')")
    .run(id, image(of.before), image(of.after));
}
const kept = (found: readonly Found[], reported: readonly StoredItem[] = []): string[] =>
  createRemovedContentFilter(storage, workspace)(found, reported).kept.map(({ text }) => text);

describe("what the owner took back", () => {
  it.each<[string, string, string, boolean]>([
    ["is gone word for word", "The staging port is 8443", "Asked: Fix the header. The staging port is 8443.\nOutcome: done", true],
    ["is gone in other words with the same figures", "The staging port is 8443", "Last answer: Staging listens on port 8443.", true],
    ["is another figure", "The staging port is 8443", "Asked: The staging port is 9443.", false],
    ["is another matter with the same figure", "The staging port is 8443", "Asked: why 8443 rows of users were lost", false],
    ["is another preference", "I prefer tabs", "Asked: I prefer spaces", false],
    ["is gone as a preference", "I prefer tabs", "Asked: use what I prefer, tabs, everywhere", true],
    ["is too short to be told apart", "pnpm", "Asked: run pnpm", false],
  ])("%s", (_name, before, text, gone) => {
    commit({ before });
    expect(kept([account(text)])).toEqual(gone ? [] : [text]);
  });

  it("is named as the reason, and facts themselves are never looked at", () => {
    commit({ before: "The staging port is 8443" });
    const { excluded } = createRemovedContentFilter(storage, workspace)([account("The staging port is 8443.")], []);
    expect(excluded).toEqual([{ id: "The staging port is 8443.", reason: expect.stringContaining("rolled back") as string }]);
    expect(kept([fact("The staging port, 8443, is open"), account("Nothing of it")])).toHaveLength(2);
  });

  it.each<[string, Parameters<typeof commit>[0]]>([
    ["was changed, not removed", { before: "The staging port is 8443", after: "The staging port is 8444" }],
    ["was added", { before: null, after: "The staging port is 8443" }],
    ["was removed by the agent", { before: "The staging port is 8443", author: "agent" }],
    ["came back when the removal was rolled back", { before: "The staging port is 8443", rolledBackBy: "c9" }],
    ["was removed in another workspace", { before: "The staging port is 8443", place: "/elsewhere" }],
  ])("is not what %s", (_name, of) => {
    commit(of);
    expect(kept([account("The staging port is 8443.")])).toHaveLength(1);
  });

  it("is remembered again when the owner says it again", () => {
    commit({ before: "The staging port is 8443" });
    expect(kept([account("The staging port is 8443.")], [item({ id: "x", content: "the staging port is 8443" })])).toHaveLength(1);
    expect(kept([account("The staging port is 8443."), fact("The staging port is 8443")])).toHaveLength(2);
  });
});
