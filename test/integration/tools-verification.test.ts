import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createToolsFixture, snapshotTree, type ToolsFixture } from "../support/tools-fixture.ts";

describe("verification, when the worst happens", () => {
  let base = "";
  let workspace = "";
  let fixture: ToolsFixture | null = null;
  beforeEach(() => {
    base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-verify-")));
    workspace = join(base, "proj");
    mkdirSync(join(workspace, "sub"), { recursive: true });
    writeFileSync(join(workspace, "a.txt"), "one\n");
    writeFileSync(join(workspace, "sub/b.txt"), "two\n", { mode: 0o640 });
  });
  afterEach(() => {
    fixture?.close();
    fixture = null;
    rmSync(base, { recursive: true, force: true });
  });

  async function killBetween(how: string): Promise<void> {
    const child = spawn(process.execPath, [join(import.meta.dirname, "../support/tools/verify-kill.ts"), base, how], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await new Promise<void>((resolve, reject) => {
      child.once("exit", () => reject(new Error("The host ended by itself.")));
      child.stdout.on("data", (chunk: Buffer) => {
        if (chunk.toString().includes("written")) resolve();
      });
    });
    child.removeAllListeners("exit");
    child.kill("SIGKILL");
    await once(child, "exit");
  }

  async function restart(): Promise<ToolsFixture> {
    fixture = createToolsFixture({ base, posture: "autonomous" });
    expect(await fixture.tools.verifications.settle("q1", { timeoutMs: 20_000 })).toBe(true);
    fixture.ledger.reconcile();
    expect(await fixture.ledger.verify()).toMatchObject({ ok: true });
    return fixture;
  }

  const verified = (from: ToolsFixture) =>
    from.ledger
      .search({ actionType: "verification", limit: 50 })
      .items.map(({ actionName, status, parentId }) => ({ actionName, status, of: from.ledger.get(parentId ?? "")?.actionName }));

  it("is repeated after the host was killed, and rolls back what is wrong", async () => {
    const before = snapshotTree(workspace);
    await killBetween("wrong");
    expect(readFileSync(join(workspace, "a.txt"), "utf8")).toBe("plan");
    const after = await restart();
    const now = snapshotTree(workspace);
    delete now[join(workspace, "held.txt")];
    expect(now).toEqual(before);
    expect(verified(after)).toEqual([
      { actionName: "verification_restore.verify", status: "success", of: "verification_restore" },
      { actionName: "plant.verify", status: "failure", of: "plant" },
      { actionName: "plant.verify", status: "success", of: "plant" },
    ]);
    // The task hears of it when it goes on.
    expect((await after.run("read_file", { path: "a.txt" })).text).toContain("plant");
    // And only once: not by the next host either.
    after.close();
    const third = await restart();
    expect((await third.run("read_file", { path: "a.txt" })).text).not.toContain("Of what was done before");
    expect(third.tools.verifications.stats()).toEqual({ waiting: 0, failed: 1 });
  });

  it("restores nothing without cause", async () => {
    await killBetween("right");
    const left = snapshotTree(workspace);
    const after = await restart();
    expect(snapshotTree(workspace)).toEqual(left);
    expect(verified(after).map(({ status }) => status)).toEqual(["success", "success"]);
    // What only the dead host's provider could have said is named.
    const held = after.ledger.search({ actionType: "verification", limit: 5 }).items.at(-1);
    expect(held?.outputs["unverified"]).toContain("the provider's own verification");
  });

  it("leaves alone what the owner wrote while no host ran", async () => {
    await killBetween("wrong");
    writeFileSync(join(workspace, "a.txt"), "the owner's\n");
    const after = await restart();
    expect(readFileSync(join(workspace, "a.txt"), "utf8")).toBe("the owner's\n");
    expect(readFileSync(join(workspace, "sub/b.txt"), "utf8")).toBe("two\n");
    const failed = after.ledger.search({ actionType: "verification", status: "failure", limit: 5 }).items[0];
    expect(failed?.errorMessage).toContain("a.txt");
  });

  it.runIf(process.platform === "linux")("is not fooled by a disk that takes no more", () => {
    // Blocks of 1024 bytes: the database and its log fit, three megabytes do not.
    const script = join(import.meta.dirname, "../support/tools/full-disk.ts");
    const run = spawnSync("bash", ["-c", 'ulimit -f 1500 && exec "$0" "$1" "$2"', process.execPath, script, base], { encoding: "utf8" });
    expect(run.stderr).toBe("");
    const said = JSON.parse(run.stdout) as {
      failed: { isError: boolean; text: string }[];
      untouched: boolean;
      small: boolean;
      a: string;
      receipts: string[];
    };
    expect(said.failed.map(({ isError }) => isError)).toEqual([true, true]);
    for (const { text } of said.failed)
      expect(text).toMatch(/^(new|a)\.txt would be larger than the system allows\. It was not changed\.$/);
    expect(said.untouched).toBe(true);
    expect([said.small, said.a]).toEqual([false, "small\n"]);
    expect(said.receipts).toEqual(["write_file.verify success", "write_file success", "write_file failure", "write_file failure"]);
  });
});
