import { rmSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { SubtaskChanges } from "../../../agent-server/execution/execution.ts";
import { createToolsFixture, type ToolsFixture } from "../../support/tools-fixture.ts";

const disk = "1\n2\n3\n4\n5\n6\n7\n";
const at = (line: number, words: string, text = disk): string =>
  text
    .split("\n")
    .map((one, index) => (index + 1 === line ? words : one))
    .join("\n");

let fixture: ToolsFixture;
let subtasks: SubtaskChanges;
beforeEach(() => {
  fixture = createToolsFixture();
  fixture.write("a.txt", disk);
  fixture.write("b.txt", disk);
  if (fixture.tools.execution.subtasks === null) throw new Error("there is a folder");
  ({ subtasks } = fixture.tools.execution);
});
afterEach(() => fixture.close());

const write = (quest: string, content: string, path = "a.txt") => fixture.run("write_file", { path, content }, { quest });
const join = (start: Awaited<ReturnType<SubtaskChanges["begin"]>>, more: { mode?: "normal" | "crusader"; paths?: string[] } = {}) =>
  subtasks.join({
    context: { quest: "q1", parent: null, actor: "agent", mode: more.mode ?? "normal", signal: new AbortController().signal },
    ...{ child: "q2", start, paths: more.paths, receiptId: "r1" },
  });

/** The open proposals of a quest by path. */
function proposed(questId: string): Record<string, string | null> {
  const { changes } = fixture.tools;
  return Object.fromEntries(changes.list({ questId, open: true, limit: 9 }).map(({ id, path }) => [path, changes.get(id).proposed]));
}

describe("the proposals of a sub-task", () => {
  it.each<{ what: string; before?: string; during?: string; user?: string; child?: string; result: string | null; conflict?: boolean }>([
    { what: "alone", child: at(1, "C"), result: at(1, "C") },
    { what: "none", before: at(1, "P"), result: at(1, "P") },
    { what: "on top of those of the task", before: at(1, "P"), child: at(7, "C", at(1, "P")), result: at(7, "C", at(1, "P")) },
    { what: "over those of the task", before: at(1, "P"), child: at(1, "C"), result: at(1, "C") },
    { what: "taking back those of the task", before: at(1, "P"), child: disk, result: null },
    { what: "beside later ones of the task", during: at(1, "P"), child: at(7, "C"), result: at(7, "C", at(1, "P")) },
    { what: "the same as later ones of the task", during: at(1, "X"), child: at(1, "X"), result: at(1, "X") },
    { what: "against later ones of the task", during: at(1, "P"), child: at(1, "C"), result: at(1, "P"), conflict: true },
    {
      what: "against a change of what it began with",
      before: at(1, "P"),
      during: at(1, "Q"),
      child: at(1, "C"),
      result: at(1, "Q"),
      conflict: true,
    },
    { what: "beside an edit of the user", user: at(4, "U"), child: at(1, "C"), result: at(4, "U", at(1, "C")) },
    {
      what: "on top of the task's, beside the user's",
      before: at(1, "P"),
      user: at(4, "U"),
      child: at(7, "C", at(1, "P")),
      result: at(7, "C", at(4, "U", at(1, "P"))),
    },
  ])("join: $what", async ({ before, during, user, child, result, conflict = false }) => {
    if (before !== undefined) await write("q1", before);
    const start = await subtasks.begin({ parent: "q1", child: "q2" });
    expect(proposed("q2")).toEqual(before === undefined ? {} : { "a.txt": before });
    if (during !== undefined) await write("q1", during);
    if (child !== undefined) await write("q2", child);
    if (user !== undefined) fixture.write("a.txt", user);
    const joined = await join(start);
    expect(joined.conflicts.map(({ path }) => path)).toEqual(conflict ? ["a.txt"] : []);
    const { changes } = fixture.tools;
    const [change] = changes.list({ questId: "q1", open: true, limit: 9 });
    if (result === null) expect(change).toBeUndefined();
    else {
      // What the task now reads, with the user's edits.
      const read = await fixture.run("read_file", { path: "a.txt" }, { quest: "q1" });
      for (const line of result.split("\n")) expect(read.text).toContain(line);
      if (user === undefined) expect(proposed("q1")).toEqual({ "a.txt": result });
    }
    await subtasks.drop("q2");
    expect(proposed("q2")).toEqual({});
  });

  it("create and delete files, and conflict with a deleted one", async () => {
    const start = await subtasks.begin({ parent: "q1", child: "q2" });
    await write("q2", "new\n", "new.txt");
    await write("q2", at(1, "C"), "b.txt");
    rmSync(fixture.path("b.txt"));
    const joined = await join(start);
    expect(joined).toMatchObject({ joined: [{ path: "new.txt", isApplied: false }], conflicts: [{ path: "b.txt" }] });
    expect(proposed("q1")).toEqual({ "new.txt": "new\n" });
  });

  it("stay out where the sub-task may not change files", async () => {
    await write("q1", at(1, "P"));
    const start = await subtasks.begin({ parent: "q1", child: "q2" });
    await write("q2", at(1, "C"), "b.txt");
    await write("q2", "x\n", "src/in.txt");
    await write("q2", "x\n", "src2/out.txt");
    const joined = await join(start, { paths: ["src"] });
    expect(joined.joined.map(({ path }) => path)).toEqual(["src/in.txt"]);
    expect(joined.outside.toSorted()).toEqual(["b.txt", "src2/out.txt"]);
    expect(proposed("q1")).toEqual({ "a.txt": at(1, "P"), "src/in.txt": "x\n" });
  });

  it("are applied as edits of the task are", async () => {
    const start = await subtasks.begin({ parent: "q1", child: "q2" });
    await write("q2", at(1, "C"));
    expect(await join(start, { mode: "crusader" })).toMatchObject({ joined: [{ isApplied: true }] });
    expect(fixture.read("a.txt")).toBe(at(1, "C"));
    expect(proposed("q1")).toEqual({});
  });

  it("bring the tests that ran with exactly them", async () => {
    const start = await subtasks.begin({ parent: "q1", child: "q2" });
    for (const path of ["a.txt", "b.txt"]) {
      const { changeId } = await write("q2", at(1, "C"), path);
      fixture.tools.execution.changes.addEvidence(changeId ?? "", { command: "npm test", receiptId: "r2", passed: true });
    }
    await write("q1", at(7, "P"), "b.txt");
    await join(start);
    const changes = fixture.tools.changes.list({ questId: "q1", open: true, limit: 9 });
    const evidence = Object.fromEntries(changes.map((change) => [change.path, change.evidence?.map(({ command }) => command)]));
    expect(evidence).toEqual({ "a.txt": ["npm test"], "b.txt": undefined });
  });
});
