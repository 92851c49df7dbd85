// @module-tag sandbox
// @module-tag ordinary-user
import { foreignBase } from "../support/tasks/foreign-folder.ts";
import { ordinary } from "../support/sandbox/ordinary-user.ts";
import { readdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openFoldersHost } from "../support/tasks/folders-fixture.ts";
import { describeTaskFolders } from "../support/tasks/folders-cases.ts";

it("runs as an ordinary user", () => expect(ordinary).toBe(true));

it.skipIf(foreignBase === null)("what another user put into a task's folder stays in the trash (needs a start as root)", async () => {
  const base = foreignBase ?? "";
  const host = openFoldersHost(join(base, "data"), join(base, "work"), { max_task_bytes: 1e12, keep_task_days: 30 });
  try {
    host.folders.use("q2").release();
    writeFileSync(join(base, "task/mine"), "");
    renameSync(join(base, "task"), host.folders.folderOf("q1"));
    host.folders.remove("q1");
    host.folders.remove("q2");
    expect(await host.folders.deleted()).toBe(1);
    expect(await host.folders.list()).toEqual([]);
    const trash = join(base, "data/tasks/.trash");
    expect(readdirSync(trash).map((name) => readdirSync(join(trash, name)))).toEqual([["theirs"]]);
    expect(host.messages.length).toBeGreaterThan(0);
  } finally {
    host.storage.close();
  }
});

describeTaskFolders();
