import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Change } from "../../agent-server/contract/changes.ts";
import { createHost, type Host } from "../../agent-server/host.ts";
import { productPaths } from "../../agent-server/paths.ts";
import { type ModelServer, startModelServer } from "../support/model-server/server.ts";
import { root } from "../support/setup/project.mjs";
import { edits, task, twoFileScript, useModelServer } from "../support/tasks/two-file-change.ts";

/** Why no disk of its own can be had here; empty when it can. */
function whyNot(): string {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "only root on Linux can mount one";
  const folder = mkdtempSync(join(tmpdir(), "lancelot-mount-"));
  try {
    execFileSync("/bin/mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], { stdio: "pipe" });
    execFileSync("/bin/umount", [folder]);
    return "";
  } catch {
    return "this machine does not let root mount one";
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
const reason = whyNot();
if (reason !== "") console.warn(`Not run, a host on a disk that is full: ${reason}.`);

const call = { owner: true, signal: new AbortController().signal };

describe.runIf(reason === "")("a host on a disk that is full", () => {
  let base = "";
  let host: Host;
  let server: ModelServer;
  const disk = (name: string) => join(base, name);
  const mount = (name: string, megabytes: number): string => {
    mkdirSync(disk(name));
    execFileSync("/bin/mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", disk(name)]);
    return disk(name);
  };
  const fill = (name: string): void => {
    const { bavail, bsize } = statfsSync(disk(name));
    writeFileSync(join(disk(name), "filler"), Buffer.alloc(bavail * bsize));
  };
  const free = (name: string): void => rmSync(join(disk(name), "filler"));

  beforeEach(async () => {
    base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-full-")));
    const workspace = join(mount("files", 2), "proj");
    const dataDir = join(mount("state", 24), "data");
    cpSync(join(root, "media/sample"), workspace, { recursive: true });
    server = await startModelServer({ script: twoFileScript() });
    useModelServer(dataDir, server.url("openai_compatible"));
    host = await createHost({
      ...{ paths: productPaths(), workspace, dataDir, trusted: true, posture: "supervised", approvalTimeoutSeconds: 60, canAsk: true },
      ...{ askEditor: null, env: {}, emit: () => undefined, lastEventSeq: () => 0, log: () => undefined },
    });
  });
  afterEach(async () => {
    await host.close();
    await server.close();
    for (const name of ["files", "state"]) execFileSync("/bin/umount", [disk(name)]);
    rmSync(base, { recursive: true, force: true });
  });

  const read = (path: string): string => readFileSync(join(disk("files"), "proj", path), "utf8");
  /** Runs the task until its five hunks wait for the review. */
  async function proposed(): Promise<{ questId: string; changes: Change[] }> {
    const { questId } = await host.handlers["chat.send"]({ text: task }, call);
    await expect.poll(async () => (await host.handlers["quests.get"]({ id: questId }, call)).quest.status).toBe("waiting");
    const { items } = await host.handlers["changes.list"]({ questId, open: true, limit: 100 }, call);
    expect(items.flatMap(({ hunks }) => hunks)).toHaveLength(edits.length);
    return { questId, changes: items };
  }
  const accept = async (change: Change): Promise<unknown> => host.handlers["changes.decide"]({ id: change.id, decision: "accept" }, call);
  const ended = async (id: string) => (await host.handlers["quests.get"]({ id }, call)).quest.status;

  it.each([
    ["of the workspace", "files"],
    ["of the data folder, with its checkpoints, receipts and database", "state"],
  ])("%s: accepting says so, loses nothing, and works once there is space", async (_, name) => {
    const { questId, changes } = await proposed();
    const before = changes.map(({ path }) => read(path));
    fill(name);
    const [first] = changes;
    if (first === undefined) throw new Error("nothing was proposed");
    const refused = await accept(first).then(
      () => null,
      (error: unknown) => error,
    );
    expect(refused).toMatchObject({ code: expect.any(String) as string, message: expect.stringMatching(/full/i) as string });
    expect(changes.map(({ path }) => read(path))).toEqual(before);
    const { items: open } = await host.handlers["changes.list"]({ questId, open: true, limit: 100 }, call);
    expect(open.map(({ id }) => id).toSorted()).toEqual(changes.map(({ id }) => id).toSorted());
    free(name);
    for (const change of (await host.handlers["changes.list"]({ questId, open: true, limit: 100 }, call)).items) await accept(change);
    for (const { path, new_text: text } of edits) expect(read(path)).toContain(text);
    await expect.poll(() => ended(questId)).toBe("done");
    expect((await host.handlers["receipts.verify"]({}, call)).ok).toBe(true);
    // What was accepted can still be undone.
    const { items } = await host.handlers["checkpoints.list"]({ questId, limit: 50 }, call);
    expect(items.length).toBeGreaterThan(0);
  });

  it("of the data folder: a new task is refused or fails with the reason, and the next one runs once there is space", async () => {
    fill("state");
    const sent = await Promise.resolve(host.handlers["chat.run"]({ message: task, crusader_mode: false }, call)).then(
      ({ response }) => response,
      (error: unknown) => error,
    );
    expect(sent instanceof Error ? sent.message : sent).toMatch(/full/i);
    free("state");
    const { questId } = await proposed();
    expect(await ended(questId)).toBe("waiting");
    expect((await host.handlers["receipts.verify"]({}, call)).ok).toBe(true);
  });
});
