import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { finished, runCli, sampleWorkspace, temporaryFolder } from "../support/host/built-host.ts";
import { type ModelServer, startModelServer } from "../support/model-server/server.ts";
import { projectNode } from "../support/setup/project.mjs";
import { said, task, twoFileScript, useModelServer } from "../support/tasks/two-file-change.ts";

let server: ModelServer;
beforeAll(async () => {
  server = await startModelServer({ script: twoFileScript() });
});
afterAll(() => server.close());

/** A workspace and a data folder whose active model is the played server. */
function place() {
  const workspace = sampleWorkspace();
  const data = temporaryFolder("chat");
  useModelServer(data.path, server.url("openai_compatible"));
  return {
    workspace: workspace.path,
    data: data.path,
    where: ["--workspace", workspace.path, "--data", data.path],
    [Symbol.dispose]() {
      workspace[Symbol.dispose]();
      data[Symbol.dispose]();
    },
  };
}

const read = (folder: string, path: string) => readFileSync(join(folder, path), "utf8");

describe("lancelot chat", () => {
  it("does the task when T1 is approved in advance: streamed, diffs shown, files written, ledger whole", async () => {
    using at = place();
    const done = await runCli(["chat", task, "--yes-tier", "T1", ...at.where]);
    expect(done.code, done.stderr).toBe(0);
    for (const text of [said.first, said.proposed, said.after, "src/duration.js", "+  const minutes = Math.floor((seconds % 3600) / 60);"])
      expect(done.stdout).toContain(text);
    expect(done.stdout.indexOf("+  const minutes")).toBeLessThan(done.stdout.indexOf(said.after));
    expect(read(at.workspace, "src/duration.js")).toContain("(seconds % 3600) / 60");
    expect(read(at.workspace, "src/cart.js")).toContain("sum > discountFrom");
    const verified = await runCli(["receipts", "verify", "--data", at.data]);
    expect(verified.stdout).toMatch(/: [1-9]\d* entries/);
  });

  it("writes nothing without approval when there is no terminal", async () => {
    using at = place();
    const before = read(at.workspace, "src/duration.js");
    const done = await runCli(["chat", task, ...at.where]);
    expect(done.stdout).toContain("--yes-tier T1");
    expect(read(at.workspace, "src/duration.js")).toBe(before);
    expect(done.code).toBe(0);
  });

  it("prints events as JSON lines", async () => {
    using at = place();
    const done = await runCli(["chat", task, "--json", "--yes-tier", "T1", ...at.where]);
    const events = done.stdout
      .trim()
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as { seq: number; topic: string });
    expect(events.map((event) => event.topic)).toEqual(expect.arrayContaining(["quest", "message", "delta", "change", "receipt"]));
    expect(events.map((event) => event.seq)).toEqual(events.map((event) => event.seq).toSorted((a, b) => a - b));
  });

  it("asks at a terminal, hunk by hunk, and writes what was accepted", async () => {
    using at = place();
    // script(1) gives the program a terminal; answers are typed as a person would.
    const answers = ["h", "y", "y", "n", "h", "y", "n"].join("\n");
    const command = [projectNode(), join(import.meta.dirname, "../../dist/host/cli.js"), "chat", task, ...at.where]
      .map((word) => `'${word}'`)
      .join(" ");
    const child = spawn("script", ["-qec", command, "/dev/null"], { stdio: ["pipe", "pipe", "pipe"] });
    child.stdin.write(`${answers}\n`);
    const { stdout: output } = await finished(child);
    expect(output).toContain("Write src/duration.js?");
    const duration = read(at.workspace, "src/duration.js");
    expect(duration).toContain("largest unit first");
    expect(duration).toContain("(seconds % 3600) / 60");
    expect(duration).toContain('parts.join(" ")');
    const cart = read(at.workspace, "src/cart.js");
    expect(cart).toContain("0.1 is 10 %");
    expect(cart).toContain("sum >= discountFrom");
  });

  it("names the next step when no model is ready", async () => {
    using workspace = sampleWorkspace();
    using data = temporaryFolder("nothing");
    const done = await runCli(["chat", "hello", "--workspace", workspace.path, "--data", data.path]);
    expect(done.code).toBe(1);
    expect(done.stderr).toContain("lancelot models download");
    expect(done.stderr).toContain("lancelot key set");
    expect(existsSync(join(workspace.path, "src"))).toBe(true);
  });

  it("keeps a key in the vault without showing it", async () => {
    using data = temporaryFolder("keys");
    const key = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
    expect((await runCli(["key", "set", "ANTHROPIC_API_KEY", "--data", data.path], { input: `${key}\n` })).code).toBe(0);
    expect((await runCli(["key", "list", "--data", data.path])).stdout).toBe("ANTHROPIC_API_KEY\n");
    const reported = JSON.parse((await runCli(["call", "receipts.search", '{"query":"vault"}', "--data", data.path])).stdout) as {
      items: { actionName: string }[];
    };
    expect(reported.items.filter(({ actionName }) => actionName === "vault.set")).toMatchObject([
      { actionName: "vault.set", status: "success", inputs: { title: "ANTHROPIC_API_KEY" } },
    ]);
    expect(reported.items.map(({ actionName }) => actionName)).toContain("security.vault");
    const found = spawnSync("grep", ["-rl", "abcdefghijklmnopqrstuvwxyz0123456789", data.path], { encoding: "utf8" });
    expect(found.stdout).toBe("");
  });
});
