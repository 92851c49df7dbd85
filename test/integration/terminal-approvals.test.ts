import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openWindow } from "../support/host/window.ts";
import { byWords } from "../support/model-server/script.ts";
import { type ModelServer, startModelServer } from "../support/model-server/server.ts";
import { useModelServer } from "../support/tasks/two-file-change.ts";

const cli = join(import.meta.dirname, "../../agent-server/cli.ts");

describe("lancelot chat asks", () => {
  let base = "";
  let workspace = "";
  let data = "";
  let server: ModelServer;
  beforeEach(async () => {
    base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-terminal-")));
    workspace = join(base, "proj");
    data = join(base, "data");
    mkdirSync(workspace);
    mkdirSync(data);
    writeFileSync(join(workspace, "a.txt"), "a\n");
    server = await startModelServer({
      script: byWords({ "delete a.txt": [{ toolCalls: [{ name: "delete_file", args: { path: "a.txt" } }] }, { text: "It is settled." }] }),
    });
    useModelServer(data, server.url("openai_compatible"));
  });
  afterEach(async () => {
    await server.close();
    rmSync(base, { recursive: true, force: true });
  });

  const commandArgs = ["chat", "Please delete a.txt.", "--workspace"];

  async function chat(program: string, args: string[], typed?: string): Promise<{ code: number | null; output: string }> {
    const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"], cwd: base });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
    if (typed !== undefined) child.stdin.write(typed);
    const [code] = (await once(child, "exit")) as [number | null];
    return { code, output };
  }
  const withoutTerminal = () => chat(process.execPath, [cli, ...commandArgs, workspace, "--data", data]);
  /** `script` gives the program a terminal; answers are typed as a person would. */
  const atTerminal = (typed: string) => {
    const line = [process.execPath, cli, ...commandArgs, workspace, "--data", data].map((word) => `'${word}'`).join(" ");
    return chat("script", ["-qec", line, "/dev/null"], typed);
  };

  async function decided(): Promise<{ status: string; reason: string | null; title: string }[]> {
    const window = await openWindow({ workspace, dataDir: data });
    const found = [];
    for (const status of ["allowed_once", "allowed_quest", "denied", "pending"] as const)
      found.push(...(await window.call("approvals.list", { status })).items);
    await window.close();
    return found;
  }

  it("shows the exact action and runs it on yes", async () => {
    const { output, code } = await atTerminal("o\n");
    expect(output).toContain("Delete a.txt  [T3]");
    for (const key of ["[o]", "[t]", "[d]"]) expect(output).toContain(key);
    expect(code).toBe(0);
    expect(existsSync(join(workspace, "a.txt"))).toBe(false);
    expect(await decided()).toMatchObject([{ status: "allowed_once" }]);
  });

  it("denies on no and passes on the reason", async () => {
    await atTerminal("d\nI still need it.\n");
    expect(existsSync(join(workspace, "a.txt"))).toBe(true);
    expect(await decided()).toMatchObject([{ status: "denied", reason: "I still need it." }]);
    expect(JSON.stringify(server.requests.at(-1)?.messages)).toContain("I still need it.");
  });

  it("denies without a terminal", async () => {
    await withoutTerminal();
    expect(existsSync(join(workspace, "a.txt"))).toBe(true);
    expect((await decided())[0]).toMatchObject({
      status: "denied",
      reason: expect.stringContaining("--yes-tier") as string,
      // The user has not answered, so the task asks again elsewhere.
      isRemembered: false,
    });
  });

  it("denies if the soul does not allow the terminal, even with --yes-tier", async () => {
    const window = await openWindow({ workspace, dataDir: data });
    const { yaml } = await window.call("soul.get", {});
    const { id } = await window.call("soul.propose", {
      yaml: yaml.replace("channels: [war_room, chat, notification, terminal]", "channels: [war_room, chat]"),
      reason: "Only in the editor.",
    });
    await window.call("soul.approve", { id });
    await window.call("soul.activate", { id });
    await window.close();
    const { output } = await chat(process.execPath, [cli, ...commandArgs, workspace, "--data", data, "--yes-tier", "T3"]);
    expect(output).toContain("Delete a.txt  [T3]");
    expect(output).toContain("(approval_rules.channels: war_room, chat)");
    expect(existsSync(join(workspace, "a.txt"))).toBe(true);
    expect((await decided())[0]).toMatchObject({ status: "denied" });
  });
});
