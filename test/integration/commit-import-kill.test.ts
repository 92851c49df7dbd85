import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readlinkSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { moments, runs } from "../support/soak.ts";
import { createCopiedView, repositoryState, type ViewFixture } from "../support/tools/view-fixture.ts";

/** Only Linux has views of tasks. */
const describeOnLinux = describe.runIf(process.platform === "linux");

let base = "";
let view: ViewFixture;
beforeEach(async () => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-import-kill-")));
  view = await createCopiedView({ base });
});
afterEach(() => {
  view.close();
  rmSync(base, { recursive: true, force: true });
});

/** Runs an import in a process of its own and kills it `after` ms after it said `word`. @returns what it said, and how long it ran then. */
async function importAndKill(mode: string, word: string, after: number): Promise<{ said: string; took: number }> {
  const main = join(import.meta.dirname, "../support/tools/import-until-killed/main.ts");
  const child = spawn(process.execPath, [main, base, view.workspace, join(base, "work.json"), view.upper, mode], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  let begun = 0;
  child.stdout.on("data", (chunk: Buffer) => {
    said += chunk.toString();
    if (begun !== 0 || !said.includes(word)) return;
    begun = performance.now();
    if (Number.isFinite(after)) setTimeout(() => child.kill("SIGKILL"), after);
  });
  await once(child, "exit");
  // A git process that was started may still complete its work.
  await vi.waitFor(() => expect(processesBelow(base)).toBe(0));
  return { said, took: performance.now() - begun };
}

/** Processes with a current folder below `folder`. */
function processesBelow(folder: string): number {
  return readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readlinkSync(`/proc/${pid}/cwd`).startsWith(folder);
    } catch {
      return false;
    }
  }).length;
}

/** A task's two commits on a new branch, which HEAD follows, and a tag. */
async function prepare(): Promise<void> {
  view.inView("checkout", "-q", "-b", "feature");
  for (const name of ["f.txt", "a.txt"]) {
    view.writeInView(name, `${name} of the task\n`);
    view.inView("add", name);
    view.inView("commit", "-qm", name);
  }
  view.inView("tag", "v1");
  const work = await view.readWork();
  expect(work.refs).toHaveLength(2);
  view.accept(work);
  writeFileSync(join(base, "work.json"), JSON.stringify(work));
}

describeOnLinux("a host killed while it imports commits", () => {
  it("has recorded what it would change and changed nothing, and the undo restores the repository", async () => {
    const before = repositoryState(view);
    await prepare();
    expect((await importAndKill("hold-branch", "recorded branch", 0)).said).not.toContain("checkout");
    expect(repositoryState(view)).toEqual(before);
    expect(await view.undo()).toEqual([]);
    expect(repositoryState(view)).toEqual(before);
  });

  it("has half of it done when it ends after the switch to the branch, and the undo restores the repository", async () => {
    const before = repositoryState(view);
    await prepare();
    await importAndKill("hold-commit", "recorded commit", 0);
    expect(view.git("symbolic-ref", "HEAD").trim()).toBe("refs/heads/feature");
    expect(view.git("log", "--format=%s").trim()).toBe("First");
    expect(await view.undo()).toEqual([]);
    expect(repositoryState(view)).toEqual(before);
  });

  it("leaves at any moment what the undo restores", async () => {
    const before = repositoryState(view);
    await prepare();
    const { took, said } = await importAndKill("", "begun", Number.POSITIVE_INFINITY);
    expect(said).toContain("done");
    expect(repositoryState(view)).not.toEqual(before);
    expect(await view.undo()).toEqual([]);
    expect(repositoryState(view)).toEqual(before);
    for (const moment of moments(runs(4, 100))) {
      await importAndKill("", "begun", moment * took);
      expect(await view.undo()).toEqual([]);
      expect(repositoryState(view)).toEqual(before);
      view.git("fsck", "--strict", "--no-dangling");
    }
  });
});
