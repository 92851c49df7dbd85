// @module-tag sandbox
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../support/soak.ts";
import { createViewFixture, repositoryState, type ViewFixture } from "../support/tools/view-fixture.ts";

const file = fc.constantFrom("a.txt", "dir/b.txt", "dir/c.txt", "dir", "new/d.txt");
const branch = fc.constantFrom("main", "side", "topic/x");
/** A command of a task, as words; `write` puts a file in place first. */
const command = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ write: file, text: fc.constantFrom("one\n", "two\n", "three\n"), words: fc.constant<string[]>([]) }),
  },
  { weight: 2, arbitrary: fc.record({ words: branch.map((name) => ["checkout", "-q", "-B", name]) }) },
  { weight: 2, arbitrary: fc.record({ words: branch.map((name) => ["checkout", "-q", name]) }) },
  fc.record({ words: branch.map((name) => ["merge", "-q", "-m", "Merge", name]) }),
  fc.record({ words: branch.map((name) => ["rebase", "-q", name]) }),
  fc.record({ words: branch.map((name) => ["branch", "-qf", name]) }),
  fc.record({ words: fc.constantFrom("v1", "v2").map((name) => ["tag", "-a", "-m", "x", name]) }),
  fc.record({ words: file.map((name) => ["rm", "-rq", name]) }),
  fc.record({
    words: fc.constantFrom(
      ["commit", "-q", "--amend", "-m", "Amended"],
      ["reset", "-q", "--hard", "HEAD~1"],
      ["checkout", "-q", "--detach"],
      ["pack-refs", "--all"],
      ["gc", "-q"],
      ["stash", "-q"],
      ["repack", "-adq"],
    ),
  }),
);

/** Runs a command as far as the repository allows it, and ends what it left half done. */
function runInView(view: ViewFixture, one: { words: readonly string[]; write?: string; text?: string }): void {
  const attempt = (...args: string[]): void => {
    try {
      view.inView(...args);
    } catch {
      // What the branches have may not allow it.
    }
  };
  if (one.write !== undefined) {
    attempt("rm", "-rqf", one.write);
    try {
      view.writeInView(one.write, one.text ?? "");
    } catch {
      return;
    }
    attempt("add", "-A");
    attempt("commit", "-qm", `Write ${one.write}`);
    return;
  }
  attempt(...one.words);
  for (const way of ["merge", "rebase"]) attempt(way, "--abort");
}

describe("the import of whatever a task did", () => {
  it("moves branches and tags to where the task has them, keeps what is staged, and is undone exactly", async () => {
    let imported = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 2, maxLength: 9 }), async (commands) => {
        const base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-import-property-")));
        const view = await createViewFixture({ base, prepare: ({ git }) => git("branch", "side") });
        try {
          for (const one of commands) runInView(view, one);
          view.write("staged.txt", "of the owner\n");
          view.git("add", "staged.txt");
          const before = repositoryState(view);
          const work = await view.readWork();
          expect(repositoryState(view)).toEqual(before);
          view.accept(work);
          const result = await view.importWork(work, { allowRewrite: true });
          imported += result.refs.length;
          expect(result.refs).toEqual(work.refs);
          for (const { ref, after } of work.refs) expect(view.git("rev-parse", ref).trim()).toBe(after);
          const listed = view.inView("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/tags").trim().split("\n");
          const refused = new Set(work.refused.map(({ ref }) => ref));
          for (const line of listed) {
            const [ref = "", hash = ""] = line.split(" ");
            if (!refused.has(ref)) expect(view.git("rev-parse", ref).trim()).toBe(hash);
          }
          expect(view.git("diff", "--cached", "--name-only").trim()).toBe("staged.txt");
          view.git("fsck", "--strict", "--no-dangling");
          if (result.head === "switched") expect(view.git("symbolic-ref", "HEAD").trim()).toBe(work.head.after.ref);
          expect(await view.undo()).toEqual([]);
          expect(repositoryState(view)).toEqual(before);
        } finally {
          await view.closeView();
          view.close();
          rmSync(base, { recursive: true, force: true });
        }
      }),
      { numRuns: runs(5, 300), endOnFailure: true },
    );
    expect(imported).toBeGreaterThan(0);
  });
});
