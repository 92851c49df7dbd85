import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openOsShell } from "../sandbox/os-shell.ts";
import { createGitFixture, type GitFixture } from "../tools/git-fixture.ts";

const questId = "q1";
const configDir = join(import.meta.dirname, "../../../config");
/** Generated files that the command makes. */
export const generated = 40;

/** Can be repeated from any state in which an earlier run of it was interrupted. */
const command = `echo two > a.txt; find .git -name '*.lock' -delete; for i in $(seq ${generated}); do mkdir -p node_modules/p$i; echo $i > node_modules/p$i/i.js; done; git add a.txt; git diff --cached --quiet || git commit -qm Second`;

export interface KilledTask extends Omit<GitFixture, "close"> {
  close(): Promise<void>;
}

/** A repository whose commands run in views, in folders that outlive the process. */
export function openKilledTask(base: string): KilledTask {
  const [workspace, dataDir, home] = [join(base, "proj"), join(base, "data"), join(base, "home")];
  const isNew = !existsSync(workspace);
  for (const folder of [workspace, dataDir, home]) mkdirSync(folder, { recursive: true });
  const shell = openOsShell({ workspace, dataDir, protectedPaths: [] }, { env: { ...process.env, HOME: home } });
  const fixture = createGitFixture({
    ...{ base, workspace, dataDir, home, configDir, posture: "supervised", empty: !isNew },
    given: { configDir, shells: [shell] },
  });
  if (isNew) {
    writeFileSync(join(workspace, ".gitignore"), "node_modules\n");
    fixture.git("add", ".gitignore");
    fixture.git("commit", "-qm", "Ignore");
  }
  return {
    ...fixture,
    async close() {
      await fixture.tools.close();
      fixture.storage.close();
    },
  };
}

/** Runs the command and decides about everything that it left. */
export async function workOnTask({ run, tools }: KilledTask): Promise<void> {
  const { isError, text } = await run("run_command", { command }, { quest: questId });
  if (isError) throw new Error(text);
  for (const { id } of tools.changes.list({ questId, open: true, limit: 100 })) await tools.changes.decide(id, "accept");
  const { signal } = new AbortController();
  const told = await tools.execution.settlement?.settle({ quest: questId, parent: null, actor: "agent", mode: "normal", signal });
  if (/not (?:taken over|applied)/.test(told ?? "")) throw new Error(told);
  if (tools.execution.settlement?.left(questId).generated !== null) await tools.execution.settlement?.decideGenerated(questId, "accept");
}

/** What the workspace and its repository hold. */
export function stateOf({ git, read, path }: Pick<KilledTask, "git" | "read" | "path">): Record<string, unknown> {
  const folder = path("node_modules");
  return {
    text: read("a.txt"),
    log: git("log", "--format=%s").trim().split("\n"),
    status: git("status", "--short"),
    generated: existsSync(folder) ? readdirSync(folder).length : 0,
    broken: git("fsck", "--no-dangling", "--no-progress"),
  };
}
