// @module-tag processes
import { existsSync, lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isPlainConfig } from "../../../agent-server/workspace/effects/protected-files.ts";
import { createEffectsFixture, type EffectsFixture } from "../../support/tools/effects-fixture.ts";

describe("files that require approval", () => {
  let fixture: EffectsFixture;
  beforeEach(async () => {
    fixture = createEffectsFixture();
    fixture.write("a.txt", "a\n");
    fixture.write(".vscode/settings.json", "{}\n");
    await fixture.sh("git init -q . && git add a.txt && git commit -qm one", { questId: null });
  });
  afterEach(() => fixture.close());

  const back = (touched: { files: readonly { path: string; putBack?: boolean | undefined }[] }) =>
    touched.files.flatMap(({ path, putBack }) => (putBack === true ? [path] : []));

  it.each<[what: string, script: string, path: string]>([
    ["a hook", "echo x > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit", ".git/hooks/pre-commit"],
    ["a setting of git", "git config core.fsmonitor ./evil", ".git/config"],
    ["settings of the editor", "echo '{\"a\":1}' > .vscode/settings.json", ".vscode/settings.json"],
    ["their deletion", "rm .vscode/settings.json", ".vscode/settings.json"],
    ["tasks of the editor", "echo '{}' > .vscode/tasks.json", ".vscode/tasks.json"],
    ["servers of agents", "echo '{}' > .mcp.json", ".mcp.json"],
    ["hooks of husky", "mkdir .husky; echo x > .husky/pre-commit", ".husky/pre-commit"],
    ["a folder of settings that is a link", "mkdir x; echo '{}' > x/tasks.json; rm -r .vscode; ln -s x .vscode", ".vscode"],
    ["a link to a folder that is not there yet", "ln -s later .devcontainer", ".devcontainer"],
    ["where git looks for its settings", "mkdir e; echo ../e > .git/commondir", ".git/commondir"],
    ["a .git that leads elsewhere", "mkdir -p sub e; echo 'gitdir: ../e' > sub/.git", "sub/.git"],
    ["a new repository with a trap", "git init -q sub; git -C sub config core.fsmonitor ./evil", "sub/.git/config"],
    [
      "a repository among dependencies with a trap",
      "mkdir -p node_modules; git init -q node_modules/d; git -C node_modules/d config core.pager ./e",
      "node_modules/d/.git/config",
    ],
  ])("reverts %s, and reports it on card and receipt", async (_what, script, path) => {
    const config = fixture.read(".git/config");
    const { touched, receiptId } = await fixture.sh(`echo changed > a.txt; ${script}`);
    expect(back(touched)).toContain(path);
    expect(touched.files[0]).toMatchObject({ putBack: true, undoable: true });
    expect(fixture.ledger.get(receiptId)?.outputs["changed"]).toContainEqual(expect.objectContaining({ path, putBack: true }));
    expect(fixture.read("a.txt")).toBe("changed\n");
    expect(fixture.read(".git/config")).toBe(config);
    expect(existsSync(fixture.path(".git/hooks/pre-commit"))).toBe(false);
    expect(fixture.read(".vscode/settings.json")).toBe("{}\n");
    expect(lstatSync(fixture.path(".vscode")).isDirectory()).toBe(true);
    if (![".vscode/settings.json", ".git/config", ".vscode"].includes(path)) expect(existsSync(fixture.path(path))).toBe(false);
    // What the command had made of it can be had: it may have been the owner just then.
    const kept = fixture.ledger.get(receiptId)?.outputs["putBackCheckpointId"];
    expect(fixture.checkpoints.files({ id: String(kept) }).map((file) => file.path.display)).toContain(path);
    // And the undo of the task leaves it as it is.
    await fixture.restore.restore({ questId: "q1" });
    expect(fixture.read("a.txt")).toBe("a\n");
    expect(fixture.read(".git/config")).toBe(config);
  });

  it("keeps approved changes", async () => {
    const { touched } = await fixture.sh("echo '{\"b\":2}' > .vscode/settings.json", { approved: [".vscode/settings.json"] });
    expect(touched.files).toEqual([{ path: ".vscode/settings.json", kind: "modified", undoable: true }]);
    expect(fixture.read(".vscode/settings.json")).toContain("b");
  });

  it.each([
    ["a new repository", "git init -q sub && cd sub && echo x > x && git add x && git commit -qm x", "sub/.git/HEAD"],
    ["a clone", "git clone -q . sub", "sub/.git/HEAD"],
    [
      "ordinary names among dependencies",
      "mkdir -p node_modules/d/.vscode; echo '{}' > node_modules/d/.vscode/settings.json",
      "node_modules/d/.vscode/settings.json",
    ],
    ["links in general", "mkdir x; echo x > x/mcp.txt; ln -s x y; ln -s ../a.txt x/z", "x/z"],
  ])("keeps %s, and reverts it with the quest", async (_what, script, path) => {
    const { touched } = await fixture.sh(script);
    expect(back(touched)).toEqual([]);
    expect(lstatSync(fixture.path(path), { throwIfNoEntry: false })).toBeDefined();
    const { conflicts } = await fixture.restore.restore({ questId: "q1" });
    expect(conflicts).toEqual([]);
    expect(lstatSync(fixture.path(path), { throwIfNoEntry: false })).toBeUndefined();
    expect(existsSync(fixture.path("sub"))).toBe(false);
  });

  it("does not write through a link while reverting", async () => {
    const outside = join(fixture.dataDir, "..", "outside");
    mkdirSync(outside);
    writeFileSync(join(outside, "settings.json"), "outside\n");
    const { touched } = await fixture.sh(`rm -r .vscode; ln -s ${outside} .vscode`);
    expect(back(touched)).toContain(".vscode");
    expect(readFileSync(join(outside, "settings.json"), "utf8")).toBe("outside\n");
    expect(fixture.read(".vscode/settings.json")).toBe("{}\n");
  });

  it("distinguishes harmless links from links to settings", async () => {
    symlinkSync("a.txt", fixture.path("one"));
    const { touched } = await fixture.sh("rm one; ln -s b.txt one");
    expect(touched.files).toEqual([{ path: "one", kind: "modified", undoable: true }]);
  });
});

describe("settings of a new repository", () => {
  it.each([
    ["[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n", true],
    [
      '[remote "origin"]\n\turl = https://example.org/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch "main"]\n\tremote = origin\n\tmerge = refs/heads/main\n',
      true,
    ],
    ["[core]\n\tfsmonitor = ./x\n", false],
    ["[core]\n\tbare = false\n\thooksPath = x\n", false],
    ['[remote "origin"]\n\turl = ext::sh -c x\n', false],
    ['[filter "x"]\n\tclean = x\n', false],
    ["[include]\n\tpath = ../x\n", false],
    ["[core]\n\tbare = false \\\n\tfsmonitor = x\n", false],
    ["[core] fsmonitor = x\n", false],
    ["[alias]\n\tst = !x\n", false],
    [null, false],
  ])("%j: %s", (text, plain) => {
    expect(isPlainConfig(text)).toBe(plain);
  });
});
