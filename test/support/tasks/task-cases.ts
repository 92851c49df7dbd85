import { chmodSync, existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Change } from "../../../agent-server/contract/changes.ts";
import type { ShellProvider } from "../../../agent-server/sandbox/shell-provider.ts";
import { createTaskFolders, createTasks, type Tasks } from "../../../agent-server/workspace/workspace.ts";
import { removeTree } from "../remove-tree.ts";
import { runIn } from "../sandbox/run.ts";
import { createToolsFixture, type ToolsFixture } from "../tools-fixture.ts";

/** Commands of tasks see what is proposed, and what they write is proposed, in every sandbox that has views. */
export function taskCases(title: string, openShell: (fixture: ToolsFixture) => ShellProvider): void {
  describe(title, () => {
    let fixture: ToolsFixture;
    let shell: ShellProvider;
    let tasks: Tasks;
    beforeEach(() => {
      fixture = createToolsFixture();
      shell = openShell(fixture);
      tasks = start();
    });
    afterEach(async () => {
      await shell.close();
      fixture.close();
    });

    function start(): Tasks {
      const { workspace, execution } = fixture.tools;
      const { ledger, storage, governance } = fixture;
      const settings = () => ({ max_task_bytes: 1e9, keep_task_days: 1 });
      return createTasks({
        workspace: fixture.workspace,
        folders: createTaskFolders({ storage, ledger, settings, workspace: fixture.workspace, log: () => undefined }),
        files: workspace.files,
        objects: workspace.objects,
        changes: execution.changes,
        store: workspace.changeStore,
        tasks: workspace.taskStore,
        governance,
        generatedFolders: () => new Set(["node_modules"]),
      });
    }

    async function run(command: string, { questId = "q1", on = tasks } = {}) {
      const { openView } = shell;
      if (openView === undefined) throw new Error("The sandbox has no views.");
      const signal = new AbortController().signal;
      const task = await on.begin({ questId, signal, openView });
      const ran = await runIn(shell, fixture.workspace, command, { view: task.view });
      return { ...ran, ...(await task.finish({ receiptId: null, origin: command })) };
    }
    const open = (questId = "q1") => fixture.tools.changes.list({ questId, open: true, limit: 100 });
    const decide = (change: Change | undefined, decision: "accept" | "reject", hunks?: number[]) =>
      fixture.tools.changes.decide(change?.id ?? "", decision, hunks);
    const write = (path: string, content: string, mode = 0o644) => {
      mkdirSync(join(fixture.path(path), ".."), { recursive: true });
      fixture.write(path, content);
      chmodSync(fixture.path(path), mode);
    };
    const lines = Array.from({ length: 30 }, (_, index) => `line ${index}\n`);
    const fixed = (...numbers: number[]) => lines.map((line, index) => (numbers.includes(index) ? line.toUpperCase() : line)).join("");

    it("see what the task proposed, and what they change is reviewed hunk by hunk like an edit", async () => {
      write("a.ts", lines.join(""));
      await fixture.run("write_file", { path: "b.ts", content: "proposed\n" });
      const { stdout, proposed } = await run("cat b.ts; sed -i -E 's/^line (0|6|12|18|24)$/LINE \\1/' a.ts");
      expect(stdout).toBe("proposed\n");
      expect(proposed).toMatchObject([{ path: "a.ts", kind: "modify", origin: expect.stringContaining("sed -i") }]);
      expect(proposed[0]?.hunks).toHaveLength(5);
      expect([fixture.read("a.ts"), existsSync(fixture.path("b.ts"))]).toEqual([lines.join(""), false]);
      expect((await run("grep -c LINE a.ts; ls b.ts")).stdout).toBe("5\nb.ts\n");
      await decide(
        open().find(({ path }) => path === "a.ts"),
        "accept",
        [0, 2, 4],
      );
      expect(fixture.read("a.ts")).toBe(fixed(0, 12, 24));
      await decide(
        open().find(({ path }) => path === "a.ts"),
        "reject",
      );
      expect((await run("grep -c LINE a.ts")).stdout).toBe("3\n");
      expect(open().map(({ path }) => path)).toEqual(["b.ts"]);
    });

    it("see the workspace where a change was rejected or is not proposed any more", async () => {
      write("a.ts", "one\n");
      await run("echo two > a.ts; echo new > c.ts");
      for (const change of open()) await decide(change, "reject");
      expect((await run("cat a.ts; ls")).stdout).toBe("one\na.ts\n");
      expect(open()).toEqual([]);
      await run("echo two > a.ts");
      expect(open()).toHaveLength(1);
      const { proposed } = await run("echo one > a.ts");
      expect(proposed).toEqual([]);
      expect(open()).toEqual([]);
    });

    it("see the user's edits, merged with what is proposed; where they conflict, they see the user's, and the change stays", async () => {
      write("a.ts", lines.join(""));
      await run("sed -i 's/^line 3$/LINE 3/' a.ts; touch b.ts");
      write("a.ts", lines.join("").replace("line 20\n", "mine 20\n"));
      expect((await run("grep -cE '^(LINE 3|mine 20)$' a.ts")).stdout).toBe("2\n");
      write("a.ts", lines.join("").replace("line 3\n", "mine 3\n"));
      expect((await run("sed -n 4p a.ts")).stdout).toBe("mine 3\n");
      expect(
        open()
          .map(({ path }) => path)
          .toSorted(),
      ).toEqual(["a.ts", "b.ts"]);
    });

    it("do not hide what the user changes in files that they only touched", async () => {
      write("a.ts", "one\n");
      expect((await run("touch a.ts; cp a.ts x; mv x a.ts")).proposed).toEqual([]);
      write("a.ts", "two\n");
      expect(await run("cat a.ts")).toMatchObject({ stdout: "two\n", proposed: [] });
    });

    it("delete by proposals, whole folders included; accepting all of them and undo leave exactly what was there", async () => {
      write("old/deep/a.ts", "a\n");
      write("old/b.bin", "\0b");
      write("keep.ts", "k\n");
      const before = readdirSync(fixture.workspace, { recursive: true }).map(String).toSorted();
      await run("rm -rf old; rm keep.ts; mkdir empty; printf 'x' > run.sh; chmod 755 run.sh; ln -s run.sh go");
      expect(readdirSync(fixture.workspace, { recursive: true }).map(String).toSorted()).toEqual(before);
      for (const change of open()) expect(await decide(change, "accept")).toMatchObject({ problem: null });
      expect(readdirSync(fixture.workspace, { recursive: true }).map(String).toSorted()).toEqual(["empty", "go", "run.sh"]);
      expect(statSync(fixture.path("run.sh")).mode & 0o777).toBe(0o755);
      await fixture.tools.checkpoints.restore({ questId: "q1" });
      expect(readdirSync(fixture.workspace, { recursive: true }).map(String).toSorted()).toEqual(before);
      expect([fixture.read("old/deep/a.ts"), fixture.read("keep.ts")]).toEqual(["a\n", "k\n"]);
    });

    it("propose what another program would run with a caution, and nothing of secrets, git's metadata and generated files", async () => {
      const { proposed, secret, repositories, generated, special } = await run(
        "mkdir -p .git/hooks .vscode node_modules/a sub/.git src; echo x > .git/hooks/pre-commit; echo x > sub/.git/config; echo {} > .vscode/settings.json; echo K=v > .env; echo x > node_modules/a/index.js; mkfifo pipe; echo x > src/a.ts",
      );
      expect(proposed.map(({ path, caution }) => [path, caution !== undefined])).toEqual([
        [".vscode/settings.json", true],
        ["src/a.ts", false],
      ]);
      expect(repositories).toEqual([".git", ".git/hooks", ".git/hooks/pre-commit", "sub/.git", "sub/.git/config"]);
      expect(secret).toEqual([".env"]);
      expect(generated).toMatchObject({ paths: ["node_modules"], groups: [{ name: "node_modules", created: 1, modified: 0, deleted: 0 }] });
      expect(special).toEqual(["pipe"]);
      expect(readdirSync(fixture.workspace)).toEqual([]);
      expect((await run("cat node_modules/a/index.js .git/hooks/pre-commit; ls")).stdout).toContain("x\nx\n");
    });

    it("of two tasks see nothing of each other; those of one task run one after the other", async () => {
      await run("echo mine > mine.ts");
      expect((await run("ls", { questId: "q2" })).stdout).toBe("");
      const both = await Promise.all([run("echo 1 >> log; sleep 0.3; echo 2 >> log"), run("echo 3 >> log")]);
      expect(both.flatMap(({ proposed }) => proposed.map(({ path }) => path))).toEqual(["log", "log"]);
      expect((await run("tr -d '\\n' < log")).stdout).toBe("123");
    });

    it("go on with what is proposed after the host ended, also where the task's files are gone", async () => {
      await run("echo new > a.ts; printf '\\0b' > b.bin");
      expect((await run("cat a.ts", { on: start() })).stdout).toBe("new\n");
      removeTree(join(fixture.dataDir, "tasks"));
      expect((await run("cat a.ts; wc -c < b.bin", { on: start() })).stdout).toBe("new\n2\n");
      expect(
        open()
          .map(({ path }) => path)
          .toSorted(),
      ).toEqual(["a.ts", "b.bin"]);
    });

    it("free the task when one does not start, and when it is stopped while it waits", async () => {
      const { openView } = shell;
      const begin = (signal = new AbortController().signal) =>
        tasks.begin({ questId: "q1", signal, openView: openView as NonNullable<typeof openView> });
      const first = await begin();
      const stop = new AbortController();
      const second = begin(stop.signal);
      stop.abort();
      await expect(second).rejects.toMatchObject({ code: "cancelled" });
      await first.release();
      await expect(first.release()).rejects.toMatchObject({ code: "internal" });
      expect((await run("echo on")).stdout).toBe("on\n");
      await expect(
        tasks.begin({ questId: "q1", signal: new AbortController().signal, openView: () => Promise.reject(new Error("no view")) }),
      ).rejects.toThrow("no view");
      expect((await run("echo on")).stdout).toBe("on\n");
    });
  });
}
