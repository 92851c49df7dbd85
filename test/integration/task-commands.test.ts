// @module-tag sandbox
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ToolPart } from "../../agent-server/contract/chat.ts";
import type { Mode, Posture } from "../../agent-server/contract/governance.ts";
import type { ToolOutcome } from "../../agent-server/tools/tools.ts";
import { openOsShell } from "../support/sandbox/os-shell.ts";
import { createGitFixture, type GitFixture } from "../support/tools/git-fixture.ts";

const configDir = join(import.meta.dirname, "../../config");
const questId = "q1";

describe("run_command in a view of its task", () => {
  let base: string;
  let at: GitFixture;
  const left: unknown[] = [];
  beforeEach(() => {
    base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-task-")));
    left.length = 0;
  });
  afterEach(async () => {
    await at.tools.close();
    at.close();
    rmSync(base, { recursive: true, force: true });
  });

  /** A repository whose commands run in the real sandbox, with nobody to answer a question. */
  function open(posture: Posture = "supervised"): void {
    const [workspace, dataDir] = [join(base, "proj"), join(base, "data")];
    for (const folder of [workspace, dataDir]) mkdirSync(folder);
    const shell = openOsShell({ workspace, dataDir, protectedPaths: [] }, { env: { ...process.env, HOME: join(base, "home") } });
    at = createGitFixture({
      ...{ base, workspace, dataDir, posture, configDir },
      home: join(base, "home"),
      given: { configDir, shells: [shell], emit: (topic, payload) => void (topic === "task" && left.push(payload)) },
    });
    writeFileSync(at.path(".gitignore"), "node_modules\n*.log\n");
    at.git("add", ".gitignore");
    at.git("commit", "-qm", "Ignore");
  }

  async function command(text: string, mode: Mode = "normal"): Promise<ToolOutcome & { card: Partial<ToolPart> }> {
    const card: Partial<ToolPart> = {};
    const outcome = await at.run(
      "run_command",
      { command: text },
      { quest: questId, mode, onUpdate: (update) => Object.assign(card, update) },
    );
    return { ...outcome, card: { ...card, ...outcome.card } };
  }
  const pending = () => at.tools.changes.list({ questId, open: true, limit: 100 });
  const accept = async (path: string) => {
    const change = pending().find((one) => one.path === path);
    return at.tools.changes.decide(change?.id ?? "", "accept");
  };
  const settle = () =>
    at.tools.execution.settlement?.settle({
      quest: questId,
      parent: null,
      actor: "agent",
      mode: "normal",
      signal: new AbortController().signal,
    });
  const log = () => at.git("log", "--format=%s").trim().split("\n");

  it("runs unasked whatever it is, and what it changes is proposed with its receipt", async () => {
    open();
    const { isError, card, text, receiptId } = await command("sed -i s/one/two/ a.txt; rm dir/b.txt; eval 'echo x > c.txt'");
    expect([isError, card.verdict, card.rules?.map(({ id }) => id)]).toEqual([
      false,
      "allow",
      expect.arrayContaining(["command.contained"]),
    ]);
    expect(card.command).toMatchObject({ containment: "transactional", exitCode: 0 });
    expect(pending().map(({ path, kind }) => [path, kind])).toEqual(
      expect.arrayContaining([
        ["a.txt", "modify"],
        ["dir/b.txt", "delete"],
        ["c.txt", "create"],
      ]),
    );
    expect([at.read("a.txt"), existsSync(at.path("c.txt")), existsSync(at.path("dir/b.txt"))]).toEqual(["one\n", false, true]);
    expect(card.proposed).toMatchObject({ total: 3 });
    expect(text).toContain("~ a.txt");
    const receipt = at.ledger.get(receiptId ?? "");
    expect(receipt).toMatchObject({
      status: "success",
      outputs: { containment: "transactional", network: "off", workspace: expect.any(String) as string, proposedTotal: 3 },
    });
    expect(pending().every((change) => change.receiptId === receiptId)).toBe(true);
  });

  it("asks and denies as before what containment does not cover", async () => {
    open();
    expect((await command("rm -rf /")).card).toMatchObject({ verdict: "deny" });
    expect(readdirSync(at.workspace)).toContain("a.txt");
  });

  it("does not wait for a review: it sees the edits that are proposed", async () => {
    open();
    await at.run("edit_file", { path: "a.txt", old_text: "one", new_text: "edited" }, { quest: questId });
    const { text } = await command("cat a.txt");
    expect(text).toContain("edited");
    expect(pending()).toMatchObject([{ path: "a.txt" }]);
    expect(at.read("a.txt")).toBe("one\n");
  });

  it("shows on each change the tests that ran with it, until it changes again", async () => {
    open();
    at.write("package.json", JSON.stringify({ scripts: { test: "grep -q edited a.txt" } }));
    await at.run("edit_file", { path: "a.txt", old_text: "one", new_text: "edited" }, { quest: questId });
    const { receiptId } = await command("npm test");
    expect(pending()).toMatchObject([{ path: "a.txt", evidence: [{ command: "npm test", passed: true, receiptId }] }]);
    await at.run("edit_file", { path: "a.txt", old_text: "edited", new_text: "other" }, { quest: questId });
    expect(pending()[0]?.evidence).toBeUndefined();
    await command("npm test");
    expect(pending()).toMatchObject([{ evidence: [{ command: "npm test", passed: false }] }]);
  });

  it("makes commits that are imported once everything in them is accepted, and undone with the task", async () => {
    open();
    const { text } = await command("echo two > a.txt; git add a.txt; git commit -qm Second; git log --format=%s");
    expect(text).toContain("Second");
    expect(log()).toEqual(["Ignore", "First"]);
    expect(at.tools.execution.settlement?.left(questId).commits).toMatchObject([{ subject: "Second" }]);
    await accept("a.txt");
    await settle();
    expect(log()).toEqual(["Second", "Ignore", "First"]);
    expect(at.git("status", "--short")).toBe("");
    expect(at.tools.execution.settlement?.left(questId).commits).toEqual([]);
    await at.tools.checkpoints.restore({ questId });
    expect([log(), at.read("a.txt")]).toEqual([["Ignore", "First"], "one\n"]);
  });

  it.each([
    [
      "that it removed again",
      "echo evil > e.txt; git add e.txt; git commit -qm Evil; git rm -q --cached e.txt; rm e.txt; echo two > a.txt",
      ["a.txt"],
    ],
    ["on a branch that it left", "git checkout -q -b side; echo evil > a.txt; git commit -qam Evil; git checkout -q main", []],
    ["with a secret file", 'touch "$(printf .%s env)"; git add -fA; git commit -qm Evil', []],
    [
      "with settings that another program runs",
      "mkdir .vscode; echo {} > .vscode/tasks.json; git add .; git commit -qm Evil; rm -r .vscode",
      [],
    ],
  ])("takes over no commit with content %s", async (_what, text, paths) => {
    open();
    const ran = await command(text);
    expect(pending().map(({ path }) => path)).toEqual(paths);
    for (const path of paths) await accept(path);
    const settled = await settle();
    expect([at.git("log", "--all", "--format=%s").includes("Evil"), at.tools.execution.settlement?.left(questId).commits]).toEqual([
      false,
      [],
    ]);
    expect(`${ran.text}\n${settled ?? ""}`).toMatch(/^\[The commits of this task .*Evil.* not taken over/m);
  });

  it("keeps a commit that the user's repository cannot take now, says so once, and takes it over later", async () => {
    open();
    await command("echo two > a.txt; git add a.txt; git commit -qm Second");
    writeFileSync(at.path(".git/MERGE_HEAD"), at.git("rev-parse", "HEAD"));
    await accept("a.txt");
    expect([await settle(), await settle()].filter((text) => text !== "")).toHaveLength(1);
    expect(at.tools.execution.settlement?.left(questId).commits).toHaveLength(1);
    rmSync(at.path(".git/MERGE_HEAD"));
    await settle();
    expect(log()).toEqual(["Second", "Ignore", "First"]);
  });

  it("drops commits of which something was rejected", async () => {
    open();
    await command("echo two > a.txt; echo new > n.txt; git add .; git commit -qm Second");
    await accept("a.txt");
    await at.tools.changes.decide(pending()[0]?.id ?? "", "reject");
    expect(await settle()).toContain("Second");
    expect(log()).toEqual(["Ignore", "First"]);
    expect((await command("git log --format=%s; git status --short")).text).toContain(" M a.txt");
  });

  it("keeps what git staged between its commands, and takes over nothing else of .git", async () => {
    open();
    await command(
      "echo two > a.txt; git add a.txt; git config core.pager 'touch /tmp/x'; printf '#!/bin/sh\\ntouch hooked\\n' > .git/hooks/pre-commit",
    );
    await command("chmod 755 .git/hooks/pre-commit; git commit -qm Second");
    await accept("a.txt");
    for (const change of pending()) await at.tools.changes.decide(change.id, "accept");
    await settle();
    expect(log()[0]).toBe("Second");
    expect(readFileSync(at.path(".git/config"), "utf8")).not.toContain("pager");
    expect(existsSync(at.path(".git/hooks/pre-commit"))).toBe(false);
  });

  it("applies generated files with the review of the other changes, and undoes them with the task", async () => {
    open();
    const { card } = await command("mkdir -p node_modules/x; echo 1 > node_modules/x/i.js; echo two > a.txt");
    expect(card.proposed).toMatchObject({ total: 1, generated: [{ name: "node_modules", created: 1 }] });
    expect(existsSync(at.path("node_modules"))).toBe(false);
    expect((await command("cat node_modules/x/i.js")).text).toContain("1");
    expect((await at.run("read_file", { path: "node_modules/x/i.js" }, { quest: questId })).text).toContain("1");
    expect(await at.run("read_file", { path: "node_modules/x/i.js" }, { quest: "q2" })).toMatchObject({ isError: true });
    await command("ln -s /etc/hostname node_modules/x/host; ln -s x node_modules/y; rm -r node_modules/x/host.js; true");
    for (const path of ["node_modules/x/host", "node_modules/y/i.js"])
      expect(await at.run("read_file", { path }, { quest: questId })).toMatchObject({ isError: true });
    await accept("a.txt");
    await settle();
    expect(at.read("node_modules/x/i.js")).toBe("1\n");
    await at.tools.checkpoints.restore({ questId });
    const names = at.ledger.search({ questId, limit: 100 }).items.map(({ actionName, status }) => `${actionName} ${status}`);
    expect(names).toEqual(expect.arrayContaining(["generated_apply success", "generated_restore success"]));
    expect([existsSync(at.path("node_modules")), at.read("a.txt")]).toEqual([false, "one\n"]);
  });

  it("proposes none of more files than anybody reviews, and sorts them again once git ignores them", async () => {
    open();
    await command("echo two > a.txt");
    const { text, receiptId } = await command("mkdir vendor; for i in $(seq 2100); do echo $i > vendor/$i; done");
    expect(pending().map(({ path }) => path)).toEqual(["a.txt"]);
    expect(at.ledger.get(receiptId ?? "")?.outputs).toMatchObject({ tooMany: 2101, proposedTotal: 0 });
    expect(text).toContain("2,101");
    at.write(".gitignore", "vendor\n");
    const { card } = await command("ls vendor | wc -l");
    expect(card.proposed).toMatchObject({ generated: [{ name: "vendor", created: 2100 }] });
    expect(pending().map(({ path }) => path)).toEqual(["a.txt"]);
  });

  it("leaves generated files alone until the user applies or discards them", async () => {
    open();
    await command("mkdir node_modules; echo 1 > node_modules/a");
    expect(left.at(-1)).toMatchObject({ questId, generated: { groups: [{ name: "node_modules", created: 1 }] } });
    await settle();
    expect(existsSync(at.path("node_modules"))).toBe(false);
    const { settlement } = at.tools.execution;
    await settlement?.decideGenerated(questId, "reject");
    expect((await command("ls")).text).not.toContain("node_modules");
    await command("mkdir node_modules; echo 2 > node_modules/a");
    expect(await settlement?.decideGenerated(questId, "accept")).toMatchObject({ generated: null });
    expect(at.read("node_modules/a")).toBe("2\n");
  });

  it("in autonomous posture applies all but deletions and files that other programs run", async () => {
    open("autonomous");
    const { text } = await command(
      "echo two > a.txt; rm dir/b.txt; mkdir .vscode node_modules; echo {} > .vscode/tasks.json; echo 1 > node_modules/a; git commit -qam Second",
    );
    expect([at.read("a.txt"), at.read("node_modules/a"), existsSync(at.path("dir/b.txt"))]).toEqual(["two\n", "1\n", true]);
    expect(
      pending()
        .map(({ path }) => path)
        .toSorted(),
    ).toEqual([".vscode/tasks.json", "dir/b.txt"]);
    expect(log()).toEqual(["Ignore", "First"]);
    expect(text).toContain("dir/b.txt");
    await at.tools.checkpoints.restore({ questId });
    expect(at.read("a.txt")).toBe("one\n");
  });
});
