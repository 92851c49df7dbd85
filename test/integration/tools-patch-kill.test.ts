import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createToolsFixture } from "../support/tools-fixture.ts";

const names = ["1.txt", "2.txt", "3.txt", "4.txt", "5.txt"];
const body = "a line of some length that is not the first\n".repeat(8_000);
const kills = 5;

describe("a host killed while it applies a patch of several files", () => {
  let base = "";
  afterEach(() => rmSync(base, { recursive: true, force: true }));

  it("leaves each file whole, the next host rolls back what is half done, and the undo of the task restores every file", async () => {
    base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-patch-kill-")));
    const seed = createToolsFixture({ base });
    for (const name of names) seed.write(name, `first of ${name}\n${body}`);
    seed.close();
    let partial = 0;
    for (let round = 0; round < kills; round++) {
      const questId = `q${round}`;
      const child = spawn(process.execPath, [join(import.meta.dirname, "../support/tools/patch-until-killed/main.ts"), base, questId], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      let said = "";
      child.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
      await vi.waitFor(() => expect(said).toContain("begun"), { interval: 5 });
      const written = () => names.filter((name) => seed.read(name).startsWith("patched")).length;
      // After none, one, two, … files: what is written then is cut off somewhere.
      const until = round % 5;
      await vi.waitFor(() => expect(written() >= until || said.includes("done")).toBe(true), { interval: 1 });
      child.kill("SIGKILL");
      await once(child, "exit");

      const after = createToolsFixture({ base });
      const texts = names.map((name) => after.read(name));
      for (const [index, name] of names.entries())
        expect([`first of ${name}\n${body}`, `patched ${name}\nby ${questId}\n${body}`].includes(texts[index] ?? "")).toBe(true);
      const done = written();
      if (done > 0 && done < names.length) partial += 1;
      expect(readdirSync(after.workspace).sort()).toEqual(names);
      after.ledger.reconcile();
      const receipts = after.ledger.search({ questId, limit: 20 }).items.filter(({ actionName }) => actionName === "apply_patch");
      // Nothing was written without a receipt, and what was cut off is no success.
      if (done > 0) expect(receipts).toHaveLength(1);
      if (done < names.length) for (const { status } of receipts) expect(status).toBe("failure");
      // What was cut off half way is taken back by the next host: all of the patch, or nothing.
      await vi.waitFor(() => expect([0, names.length]).toContain(written()));
      expect((await after.tools.checkpoints.restore({ questId })).conflicts).toEqual([]);
      for (const name of names) expect(after.read(name) === `first of ${name}\n${body}`).toBe(true);
      expect(await after.ledger.verify()).toMatchObject({ ok: true });
      after.close();
    }
    // The kills did fall between files.
    expect(partial).toBeGreaterThan(0);
  });
});
