import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { anEntry, type CompilerFixture, openCompilerFixture } from "../../../support/memory/compiler-fixture.ts";

let dataDir: string;
let fixtures: CompilerFixture[];
const open = (workspace: string, contexts = 3): CompilerFixture => {
  const fixture = openCompilerFixture({ dataDir, workspace, settings: { contexts } });
  fixtures.push(fixture);
  return fixture;
};
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "lancelot-contexts-"));
  fixtures = [];
});
afterEach(() => {
  for (const fixture of fixtures) fixture.close();
  rmSync(dataDir, { recursive: true, force: true });
});

describe("compiled contexts", () => {
  it("are kept with their text, and told without it, newest first", () => {
    const fixture = open("/projects/a");
    fixture.put([anEntry({ id: "h", block: "human", content: "Ada prefers tabs." })]);
    const first = fixture.compile({ objective: "first" });
    const second = fixture.compile({ objective: "second", questId: "q1" });
    expect(fixture.contexts.get(first.contextId)).toEqual(first);
    const { renderedPrompt, ...reported } = second;
    expect(renderedPrompt).toContain("Ada prefers tabs.");
    expect(fixture.contexts.list({ limit: 50 }).items[0]).toEqual(reported);
    expect(fixture.contexts.list({ limit: 50 }).items.map(({ objective }) => objective)).toEqual(["second", "first"]);
    expect(fixture.contexts.list({ limit: 50, questId: "q1" }).items.map(({ objective }) => objective)).toEqual(["second"]);
    expect(fixture.contexts.list({ limit: 1 }).items).toHaveLength(1);
  });

  it("past the number that is kept are gone, those of other workspaces are not", () => {
    const [here, there] = [open("/projects/a"), open("/projects/b")];
    const other = there.compile({ objective: "there" });
    const made = ["1", "2", "3", "4", "5"].map((objective) => here.compile({ objective }));
    expect(here.contexts.list({ limit: 50 }).items.map(({ objective }) => objective)).toEqual(["5", "4", "3"]);
    expect(there.contexts.get(other.contextId).objective).toBe("there");
    expect(() => here.contexts.get(made[0]?.contextId ?? "")).toThrow(/\b3\b/u);
  });

  it("of another workspace are not told", () => {
    const [here, there] = [open("/projects/a"), open("/projects/b")];
    const other = there.compile({ objective: "there" });
    expect(here.contexts.list({ limit: 50 }).items).toEqual([]);
    expect(() => here.contexts.get(other.contextId)).toThrow(/deleted/u);
  });

  it("of a deleted task go with it", () => {
    const fixture = open("/projects/a");
    fixture.compile({ objective: "mine", questId: "q1" });
    fixture.compile({ objective: "other", questId: "q2" });
    fixture.contexts.dropQuest("q1");
    expect(fixture.contexts.list({ limit: 50 }).items.map(({ objective }) => objective)).toEqual(["other"]);
  });

  it("keep a long objective to its bound, whole characters alone", () => {
    const fixture = open("/projects/a");
    const { objective, contextId } = fixture.compile({ objective: "👩".repeat(1_500) + "x" });
    expect(objective).toHaveLength(2_000);
    expect(objective.isWellFormed()).toBe(true);
    expect(fixture.contexts.get(contextId).objective).toBe(objective);
  });
});
