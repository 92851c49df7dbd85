import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { applyHunks } from "../../agent-server/workspace/text/hunks.ts";
import { createToolsFixture } from "../support/tools-fixture.ts";
import { moments, runs } from "../support/soak.ts";

const kills = runs(3, 12);

describe("a host killed while it writes", () => {
  let base = "";
  afterEach(() => rmSync(base, { recursive: true, force: true }));

  it("leaves files whole, each hunk in or out, a ledger that verifies, and nothing beside the file", async () => {
    base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-crash-")));
    const lines = Array.from({ length: 3000 }, (_, index) => `line ${index} ${"text ".repeat(20)}\n`);
    const fixture = createToolsFixture({ base });
    fixture.write("big.txt", lines.join(""));
    const content = lines.map((line, index) => (index % 5 === 0 ? `changed ${line}` : line)).join("");
    const { changeId } = await fixture.run("write_file", { path: "big.txt", content });
    const id = changeId ?? "";
    const { base: from, proposed, change } = fixture.tools.changes.get(id);
    const total = change.hunks.length;
    expect(total).toBe(600);
    fixture.close();

    let accepted = 0;
    for (const [round, moment] of moments(kills).entries()) {
      const child = spawn(process.execPath, [join(import.meta.dirname, "../support/tools/accept-hunks.ts"), base, id], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      // After a few hunks, at a moment in the steps of a write.
      let said = 0;
      child.stdout.on("data", (chunk: Buffer) => {
        said += chunk.toString().split("\n").length - 1;
        if (said > 1 + (round % 4)) setTimeout(() => child.kill("SIGKILL"), moment * 20);
      });
      const [, signal] = (await once(child, "exit")) as [number | null, string | null];
      expect(signal).toBe("SIGKILL");

      const after = createToolsFixture({ base });
      const states = after.tools.changes.get(id).change.hunks.map(({ state }) => state);
      const done = states.filter((state) => state === "accepted").length;
      expect(done).toBeGreaterThan(accepted);
      // Whatever the database says, the file may be one hunk ahead of it; never anything else.
      const text = after.read("big.txt");
      const upTo = (count: number) => applyHunks(from, proposed, change.hunks, ({ index }) => index < count);
      expect([upTo(done), upTo(done + 1)]).toContain(text);
      expect(readdirSync(after.workspace)).toEqual(["big.txt"]);
      after.ledger.reconcile();
      expect(await after.ledger.verify()).toMatchObject({ ok: true });
      accepted = done;
      after.close();
    }

    const last = createToolsFixture({ base });
    expect(await last.tools.changes.decide(id, "accept")).toMatchObject({ status: "accepted", problem: null });
    expect(last.read("big.txt")).toBe(content);
    const undone = await last.tools.checkpoints.restore({ questId: "q1" });
    expect(undone.conflicts).toEqual([]);
    expect(last.read("big.txt")).toBe(lines.join(""));
    last.close();
  });
});
