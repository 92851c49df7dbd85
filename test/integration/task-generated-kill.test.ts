// @module-tag sandbox
import { execFileSync } from "node:child_process";
import { linkSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { applyGenerated, generatedState, recoverGenerated, undoGenerated } from "../../agent-server/workspace/workspace.ts";
import { fillLayer, fillWorkspace, generatedRequest } from "../support/tasks/killed-apply.ts";
import { runUntilKilled } from "../support/tasks/run-until-killed.ts";
import { usualTmpdir } from "../support/memory-disk.ts";
import { moments, runs, soak } from "../support/soak.ts";

/** The other file system: a disk where the temporary folder is in memory, and memory where it is on a disk. */
const disk = tmpdir().startsWith("/dev/shm") ? usualTmpdir() : "/dev/shm";
let root = "";
let elsewhere = "";
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-apply-kill-")));
  elsewhere = realpathSync(mkdtempSync(join(disk, "lancelot-apply-kill-")));
  expect(statSync(elsewhere).dev).not.toBe(statSync(root).dev);
});
afterEach(() => {
  for (const folder of [root, elsewhere]) rmSync(folder, { recursive: true, force: true });
});

/** Everything below a folder; deletion marks too, unlike in other pictures. */
function layerPicture(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => {
    const stats = lstatSync(join(folder, name));
    return `${name} ${stats.mode.toString(8)} ${stats.isDirectory() ? "" : stats.size}`;
  });
}

it.each([
  ["on one file system", () => root],
  ["across file systems", () => elsewhere],
] as const)(
  "a host killed while it applies or undoes generated files %s leaves all of them or none, after the next host's start",
  async (_, place) => {
    const [lower, task] = [join(place(), "work"), join(root, "task")];
    const upper = join(task, "workspace/upper");
    const mark = join(root, "mark");
    execFileSync("mknod", [mark, "c", "0", "0"]);
    /** The state before the application, or after it. */
    const fill = async (id: string, applied: boolean): Promise<string> => {
      for (const folder of [lower, task]) rmSync(folder, { recursive: true, force: true });
      for (const folder of [lower, upper]) mkdirSync(folder, { recursive: true });
      fillWorkspace(lower);
      fillLayer(upper, (path) => linkSync(mark, path));
      return applied ? (await applyGenerated(generatedRequest(lower, task, id))).journal : "";
    };
    await fill("none", false);
    const before = { workspace: layerPicture(lower).sort(), layer: layerPicture(upper).sort() };
    const journal = await fill("first", true);
    const after = { workspace: layerPicture(lower).sort(), layer: layerPicture(upper).sort() };
    expect(after.workspace).not.toEqual(before.workspace);
    expect(after.layer).not.toEqual(before.layer);
    await undoGenerated(journal);
    expect(layerPicture(lower).sort()).toEqual(before.workspace);

    const outcomes = { applied: 0, reverted: 0, recovered: 0 };
    for (const undo of [false, true]) {
      const args = (id: string, made: string) => [lower, task, id, ...(undo ? [made] : [])];
      const whole = (await runUntilKilled("apply-until-killed", args("timed", await fill("timed-undo", undo)), null)).took;
      for (const [index, moment] of moments(runs(3, 100), undo ? 1 : 0).entries()) {
        const id = `${index}`;
        const made = await fill(`${id}-first`, undo);
        const { killed } = await runUntilKilled("apply-until-killed", args(id, made), moment * whole * 1.1);
        // The next host is killed too in every other case.
        if (index % 2 === 1) await runUntilKilled("apply-until-killed", [lower, task, id, "recover"], (moment * whole) / 3);
        const recovered = await recoverGenerated(task);
        if (killed && index % 2 === 0) outcomes.recovered += recovered.length;
        expect(recovered.flatMap(({ conflicts }) => conflicts)).toEqual([]);
        expect(await recoverGenerated(task)).toEqual([]);
        const workspace = layerPicture(lower).sort();
        const isApplied = workspace.length === after.workspace.length && workspace.every((entry, at) => entry === after.workspace[at]);
        expect(workspace).toEqual(isApplied ? after.workspace : before.workspace);
        if (undo) expect(generatedState(made)).toBe(isApplied ? "applied" : "reverted");
        // What was not applied is still in the layer; what was is not.
        else expect(layerPicture(upper).sort()).toEqual(isApplied ? after.layer : before.layer);
        outcomes[isApplied ? "applied" : "reverted"] += 1;
        // Nothing that the workspace had is lost: it comes back from every state.
        if (isApplied) expect((await undoGenerated(undo ? made : join(task, "generated", id))).conflicts).toEqual([]);
        expect(layerPicture(lower).sort()).toEqual(before.workspace);
      }
    }
    // Many kills fall before, into and after the work; a few need not.
    if (soak) for (const count of Object.values(outcomes)) expect(count).toBeGreaterThan(0);
  },
);
