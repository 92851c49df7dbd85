import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pathCases, reads, writes } from "../support/path-cases.ts";
import { sample } from "../support/soak.ts";
import { createPathWorkspace, type PathWorkspace } from "../support/path-workspace.ts";
import { createToolsFixture, snapshotTree, type ToolsFixture } from "../support/tools-fixture.ts";

/** Every tool that takes a path, as it would be called with it. */
const fileTools: Record<string, (path: string) => Record<string, unknown>> = {
  read_file: (path) => ({ path }),
  list_files: (path) => ({ path }),
  git_diff: (path) => ({ path }),
  edit_file: (path) => ({ path, old_text: "e", new_text: "OVERWRITTEN", replace_all: true }),
  write_file: (path) => ({ path, content: "OVERWRITTEN" }),
  delete_file: (path) => ({ path }),
  apply_patch: (path) => ({ patch: `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-content\n+OVERWRITTEN\n` }),
};

/** The unit tests of the policy have all of them. Without the hard link to a secret: no path tells what it is (said in the policy's own table and documentation). */
const rows = sample(
  pathCases.filter(({ input }) => input !== "hard-link.txt"),
  [({ expect: verdict, rule }) => `${verdict} ${rule ?? ""}`],
  4,
);

describe.runIf(process.platform !== "win32")("every file tool over the table of paths", () => {
  let paths: PathWorkspace;
  let fixture: ToolsFixture;
  let before: Record<string, string>;
  const ours = (path: string) => path.startsWith(join(paths.dataDir, "lancelot.sqlite")) || path === join(paths.dataDir, "hosts");

  beforeAll(async () => {
    paths = await createPathWorkspace();
    // The table's stand-in for the database makes way for the real one.
    rmSync(join(paths.dataDir, "lancelot.sqlite"));
    const { base, workspace, dataDir, configDir, home } = paths;
    fixture = createToolsFixture({ base, workspace, dataDir, configDir, home });
    fixture.answer("deny", "Not that one.");
    before = snapshotTree(paths.base, ours);
  });
  afterAll(() => {
    fixture.close();
    paths.dispose();
  });

  it.each(rows.map((row) => ({ ...row, name: JSON.stringify(row.input) })))("$name ($expect): $why", async ({ input, expect: verdict }) => {
    const path = paths.expand(input);
    for (const [tool, args] of Object.entries(fileTools)) {
      const outcome = await fixture.run(tool, args(path));
      const label = `${tool}: ${outcome.text}`;
      expect(outcome.text, label).not.toContain(paths.secretText);
      const reading = tool === "read_file" || tool === "list_files" || tool === "git_diff";
      const needs = reading ? reads[verdict] : writes[verdict];
      // The owner said no to what was asked, so whatever is not allowed outright must have come to nothing.
      if (needs !== "allow") expect(outcome.isError, label).toBe(true);
      if (needs === "deny" && (tool === "read_file" || tool === "write_file") && path !== "" && path.length <= 4096) {
        expect(outcome.card.status, label).toBe("denied");
      }
      expect(fixture.ledger.get(outcome.receiptId ?? "")?.status, label).toBe(outcome.isError ? "failure" : "success");
    }
    // Proposals never touch the disk, refusals leave nothing but their receipts.
    expect(snapshotTree(paths.base, ours)).toEqual(before);
  });

  it("keeps every secret out of the database", () => {
    const dump = fixture.storage.db
      .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%fts%'")
      .all()
      .map((table) => JSON.stringify(fixture.storage.db.prepare(`SELECT * FROM "${(table as { name: string }).name}"`).all()))
      .join("\n");
    expect(dump).toContain("OVERWRITTEN");
    expect(dump).not.toContain(paths.secretText);
  });
});
