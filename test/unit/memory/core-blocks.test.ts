import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { CoreBlock, CoreBlockName } from "../../../agent-server/contract/memory.ts";
import { estimateTokens } from "../../../agent-server/context/context.ts";
import { anEntry, type CompilerFixture, type CompilerFixtureOptions, openCompilerFixture } from "../../support/memory/compiler-fixture.ts";
import { agent, MemoryFolder, owner, proposedEdit } from "../../support/memory/memory-folder.ts";

let folder: MemoryFolder;
let fixtures: CompilerFixture[];
const open = (of: Partial<CompilerFixtureOptions> = {}): CompilerFixture => {
  const fixture = openCompilerFixture({ dataDir: folder.dataDir, workspace: "/projects/a", ...of });
  fixtures.push(fixture);
  return fixture;
};
beforeEach(() => {
  folder = new MemoryFolder();
  fixtures = [];
});
afterEach(() => {
  for (const fixture of fixtures) fixture.close();
  folder.remove();
});

const block = (fixture: CompilerFixture, name: CoreBlockName): CoreBlock => {
  const found = fixture.blocks.blocks().find((one) => one.block === name);
  if (found === undefined) throw new Error(`no block ${name}`);
  return found;
};
const write = (name: string, text: string): void => writeFileSync(join(folder.dataDir, name), text);

describe("core blocks", () => {
  it("are there in their order, empty or not, with their caps", () => {
    const blocks = open().blocks.blocks();
    expect(blocks.map((one) => [one.block, one.cap, one.tokens, one.text, one.version])).toEqual([
      ["persona", 500, 0, "", 0],
      ["human", 400, 0, "", 0],
      ["operating_rules", 300, 0, "", 0],
      ["mission", 400, 0, "", 0],
      ["workspace_state", 300, 0, "", 0],
    ]);
  });

  it("human begins with USER.md, operating_rules with RULES.md; what is changed there shows at once", () => {
    const fixture = open();
    write("USER.md", "Ada.\n");
    write("RULES.md", "Be brief.\n");
    fixture.put([anEntry({ id: "h", block: "human", content: "Prefers tabs." })]);
    expect(block(fixture, "human")).toMatchObject({ text: "Ada.\n- Prefers tabs.", sources: ["USER.md"] });
    expect(block(fixture, "operating_rules")).toMatchObject({ text: "Be brief.", sources: ["RULES.md"], entries: [] });
    write("USER.md", "Ada Lindqvist.\n");
    expect(block(fixture, "human").text).toBe("Ada Lindqvist.\n- Prefers tabs.");
  });

  it("take a file in with its secrets hidden, and shortened to what the entries leave, which the block says", () => {
    const fixture = open();
    const secret = `sk-ant-api03-${"AbCdEfGhIjKlMnOpQrStUvWxYz0123456789".repeat(3).slice(0, 86)}-AAAAAA`;
    write(
      "USER.md",
      `The key is ${secret}.\n${Array.from({ length: 300 }, (_, line) => `- Line ${String(line)} of what Ada likes.`).join("\n")}`,
    );
    fixture.put([anEntry({ id: "h", block: "human", content: "Prefers tabs. ".repeat(60) })]);
    const human = block(fixture, "human");
    expect(human.text).not.toContain(secret);
    expect(human.text).toContain("[redacted:");
    expect(human.text).toContain("There is more in USER.md.\n- Prefers tabs.");
    expect(human.tokens).toBeLessThanOrEqual(human.cap);
    expect(human.tokens).toBe(estimateTokens(human.text));
    expect(human.excluded).toEqual([{ id: "file:USER.md", reason: expect.stringMatching(/human .*\b400\b/u) as string }]);
  });

  it.each([
    ["a folder", () => mkdirSync(join(folder.dataDir, "USER.md"))],
    ["no text", () => write("USER.md", "a\0b")],
    ["empty", () => write("USER.md", " \n")],
  ])("are without a file that is %s", (_, make) => {
    make();
    expect(block(open(), "human")).toMatchObject({ text: "", sources: [] });
  });

  it("have the version of the commits that changed them, which outlives the images of those commits", () => {
    const host = folder.host({ settings: { snapshots: 1 } });
    const fixture = open();
    const change = (edit: Parameters<typeof proposedEdit>[0], by = owner): string => {
      const { commitId } = host.commits.begin(by, "because");
      host.commits.edit(commitId, proposedEdit(edit), by, null);
      host.commits.finish(commitId, by, null);
      return commitId;
    };
    const versions = (): number[] => fixture.blocks.blocks().map(({ version }) => version);
    change({ op: "insert", target: "core:mission", content: "Ship the crane." });
    expect(versions()).toEqual([0, 0, 0, 1, 0]);
    change({ op: "insert", target: "core:mission", content: "Paint it." });
    change({ op: "insert", target: "core:human", content: "Prefers tabs." });
    change({ op: "insert", target: "archival", content: "The crane is green." });
    const last = change({ op: "delete", target: "core:mission", selector: "Paint it." });
    expect(versions()).toEqual([0, 1, 0, 3, 0]);
    expect(block(fixture, "mission").text).toBe("- Ship the crane.");
    host.commits.rollback({ commitId: last, reason: "It was wrong." }, owner, null);
    expect(versions()).toEqual([0, 1, 0, 4, 0]);
    expect(block(fixture, "mission").updatedAt).not.toBeNull();
  });

  it("one commit of several edits is one version", () => {
    const host = folder.host();
    const { commitId } = host.commits.begin(owner, "because");
    for (const content of ["One.", "Two.", "Three."]) {
      host.commits.edit(commitId, proposedEdit({ op: "insert", target: "core:mission", content }), owner, null);
    }
    expect(block(open(), "mission").version).toBe(0);
    host.commits.finish(commitId, owner, null);
    expect(block(open(), "mission").version).toBe(1);
  });

  it("hold nothing that waits in quarantine, nor does the compiled text", () => {
    const host = folder.host();
    const fixture = open();
    const { commitId } = host.commits.begin(agent, "because");
    const staged = host.commits.edit(
      commitId,
      proposedEdit({ op: "insert", target: "core:mission", content: "Ship the crane." }),
      agent,
      null,
    );
    expect(staged.outcome).toBe("quarantined");
    host.commits.finish(commitId, agent, null);
    expect(host.quarantine.pending()).toBe(1);
    expect(block(fixture, "mission")).toMatchObject({ text: "", version: 0, entries: [] });
    expect(fixture.compile({ objective: "Ship the crane." }).renderedPrompt).toBe("");
  });

  it("of another workspace do not count here, those of everywhere do", () => {
    const there = folder.host({ workspace: "/projects/b" });
    const { commitId } = there.commits.begin(owner, "because");
    there.commits.edit(commitId, proposedEdit({ op: "insert", target: "core:mission", content: "Theirs." }), owner, null);
    there.commits.edit(commitId, proposedEdit({ op: "insert", target: "core:human", content: "Prefers tabs." }), owner, null);
    there.commits.finish(commitId, owner, null);
    const fixture = open();
    expect(block(fixture, "mission")).toMatchObject({ text: "", version: 0 });
    expect(block(fixture, "human")).toMatchObject({ text: "- Prefers tabs.", version: 1 });
  });
});
