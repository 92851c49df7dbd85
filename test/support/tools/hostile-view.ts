import { cpSync, existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect } from "vitest";
import type { RefProblem, RepositoryWork } from "../../../agent-server/workspace/workspace.ts";
import { put, repositoryTemplate } from "./git-fixture.ts";
import { commitObject, looseObject, type RawEntry, treeObject } from "./raw-objects.ts";
import { createCopiedView, repositoryState, type ViewFixture } from "./view-fixture.ts";

/** Only Linux has views of tasks. */
export const describeOnLinux = describe.runIf(process.platform === "linux");

export let base = "";
export let view: ViewFixture;
export let gitDir = "";
export let first = "";
export let victim = "";
/** A file of another repository of this machine: its hash is known to the task, and its content must not be. */
export let secret = "";
let before: Record<string, string>;

/** Opens a view before each test, and expects after it that the real repository is as it was. */
export function useHostileView(): void {
  beforeEach(async () => {
    base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-hostile-import-")));
    view = await createCopiedView({ base });
    gitDir = view.merged;
    first = view.git("rev-parse", "HEAD").trim();
    victim = join(base, "victim");
    const template = repositoryTemplate("victim", (folder) => {
      view.gitIn(folder, "init", "-q", "-b", "main");
      writeFileSync(join(folder, "private.txt"), "private words\n");
      view.gitIn(folder, "add", ".");
      view.gitIn(folder, "commit", "-qm", "Private");
    });
    cpSync(template, victim, { recursive: true, preserveTimestamps: true });
    secret = view.gitIn(victim, "rev-parse", "HEAD:private.txt").trim();
    before = repositoryState(view);
  });
  afterEach(() => {
    expect(repositoryState(view)).toEqual(before);
    expect(existsSync(join(base, "canary"))).toBe(false);
    expect(() => view.git("cat-file", "-e", secret)).toThrow();
    view.close();
    rmSync(base, { recursive: true, force: true });
  });
}

/** Settings, hooks and grafts that would run a program or change what git sees, were git run on the view. */
export function plantTraps(): void {
  const trap = join(base, "trap");
  put(trap, `#!/bin/sh\ntouch '${join(base, "canary")}'\n`, 0o755);
  for (const hook of ["post-checkout", "reference-transaction", "post-index-change", "pre-push", "update", "pre-receive"])
    put(join(gitDir, "hooks", hook), `#!/bin/sh\n'${trap}'\n`, 0o755);
  writeFileSync(
    join(gitDir, "config"),
    `[core]\n\tfsmonitor = ${trap}\n\thooksPath = hooks\n\tsshCommand = ${trap}\n[uploadpack]\n\tpackObjectsHook = ${trap}\n`,
    {
      flag: "a",
    },
  );
}

export const point = (ref: string, hash: string): void => put(join(gitDir, ref), `${hash}\n`);
export const blob = (): string => looseObject(gitDir, "blob", "new\n");
export const file = (name: string, hash = blob(), mode = "100644"): RawEntry => ({ mode, name, hash });
/** Moves main to a commit with these entries. */
export const commit = (...entries: RawEntry[]): string => {
  const hash = commitObject(gitDir, { tree: treeObject(gitDir, entries), parents: [first] });
  point("refs/heads/main", hash);
  return hash;
};
/** What the task made, as if it had been read without a complaint. */
export const forged = (after: string): RepositoryWork => {
  const head = { ref: "refs/heads/main", commit: first };
  const state = { head, refs: { "refs/heads/main": first } };
  return {
    refs: [{ ref: "refs/heads/main", before: first, after, kind: "moved" }],
    ...{ refused: [], commits: [], paths: [], dropped: [], head: { before: head, after: head }, base: state },
  };
};

/** Neither reading nor importing may succeed. */
export async function expectRefused(after: string, code: "denied" | "too_large" = "denied"): Promise<void> {
  plantTraps();
  await expect(view.readWork()).rejects.toMatchObject({ code });
  await expect(view.importWork(forged(after))).rejects.toMatchObject({ code });
}

export async function expectProblem(problem: RefProblem, ref = "refs/heads/main"): Promise<void> {
  plantTraps();
  const work = await view.readWork();
  expect(work.refs).toEqual([]);
  expect(work.refused).toEqual([{ ref, problem }]);
  expect(await view.importWork(work)).toMatchObject({ refs: [] });
}
