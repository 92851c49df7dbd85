import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { expect, it } from "vitest";
import { cliPath, hostEnv, runCli, sampleWorkspace, temporaryFolder } from "../support/host/built-host.ts";
import { startModelServer } from "../support/model-server/server.ts";
import { projectNode } from "../support/setup/project.mjs";
import { edits, task, twoFileScript, useModelServer } from "../support/tasks/two-file-change.ts";
import { moments, runs } from "../support/soak.ts";

const kills = runs(8, 200);
const workers = runs(2, 4);

it(`a host killed at ${kills} random points leaves a ledger that verifies and files that are whole`, async () => {
  using data = temporaryFolder("kill");
  const server = await startModelServer({ script: twoFileScript() });
  useModelServer(data.path, server.url("openai_compatible"));
  const left = moments(kills);
  // Where this machine got slower, further ones come late enough to fall after a write.
  let spare = 10;
  const next = (): number | undefined => left.pop() ?? (written === 0 && spare-- > 0 ? 1.5 : undefined);
  let written = 0;

  /** Runs the task in a workspace of its own, over and over, on the data folder that all share. */
  const work = async () => {
    using workspace = sampleWorkspace();
    const path = (name: string) => join(workspace.path, name);
    const before = new Map(["src/duration.js", "src/cart.js"].map((name) => [name, readFileSync(path(name), "utf8")]));
    const after = new Map(
      [...before].map(([name, text]) => [
        name,
        edits.filter((edit) => edit.path === name).reduce((all, edit) => all.replace(edit.old_text, edit.new_text), text),
      ]),
    );
    const listing = readdirSync(workspace.path, { recursive: true, encoding: "utf8" }).toSorted();
    const start = () =>
      spawn(projectNode(), [cliPath, "chat", task, "--yes-tier", "T1", "--workspace", workspace.path, "--data", data.path], {
        env: hostEnv(),
        stdio: "ignore",
      });
    // How long a whole run takes on this machine with the others beside it; kills fall anywhere in that.
    const from = performance.now();
    expect(await once(start(), "exit")).toEqual([0, null]);
    const longestMs = (performance.now() - from) * 1.1;
    for (const [name, text] of before) {
      expect(readFileSync(path(name), "utf8")).toBe(after.get(name));
      writeFileSync(path(name), text);
    }
    for (let moment = next(); moment !== undefined; moment = next()) {
      const child = start();
      const ended = once(child, "exit");
      await Promise.race([ended, wait(moment * longestMs)]);
      child.kill("SIGKILL");
      await ended;
      for (const name of before.keys()) {
        const now = readFileSync(path(name), "utf8");
        expect([before.get(name), after.get(name)], `${name} is torn`).toContain(now);
        if (now !== before.get(name)) {
          written += 1;
          writeFileSync(path(name), before.get(name) ?? "");
        }
      }
      // Whatever a kill leaves beside the files is gone after the next start that ends by itself; nothing else appears.
      const strange = readdirSync(workspace.path, { recursive: true, encoding: "utf8" })
        .toSorted()
        .filter((name) => !listing.includes(name) && !name.includes(".lancelot"));
      expect(strange).toEqual([]);
    }
  };
  try {
    await Promise.all(Array.from({ length: workers }, work));
    const verified = await runCli(["receipts", "verify", "--json", "--data", data.path]);
    expect(JSON.parse(verified.stdout)).toMatchObject({ ok: true });
    const open = await runCli(["call", "receipts.search", JSON.stringify({ status: "pending" }), "--data", data.path]);
    expect(JSON.parse(open.stdout)).toEqual({ items: [] });
    const quests = await runCli(["call", "quests.list", JSON.stringify({ limit: 200 }), "--data", data.path]);
    for (const quest of (JSON.parse(quests.stdout) as { items: { status: string }[] }).items)
      expect(["done", "interrupted", "failed"]).toContain(quest.status);
    // The kills fell where it matters: some before, some after the writes.
    expect(written).toBeGreaterThan(runs(0, 10));
    expect(written).toBeLessThan(2 * kills);
  } finally {
    await server.close();
  }
});
