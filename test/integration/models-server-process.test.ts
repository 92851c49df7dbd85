import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, it } from "vitest";
import type { ModelMessage } from "../../agent-server/models/models.ts";
import { ask, createModelsFixture } from "../support/models-fixture.ts";

it("the model server runs as a process of its own, from a script file", async () => {
  const folder = mkdtempSync(join(tmpdir(), "lancelot-script-"));
  const file = join(folder, "script.json");
  const turns = {
    greet: [{ toolCalls: [{ name: "read_file", args: { path: "a" } }], fault: "http529" }, { text: "Done greeting." }],
    other: [{ text: "Something else." }],
  };
  writeFileSync(file, JSON.stringify(turns));
  const main = join(import.meta.dirname, "../support/model-server/main.ts");
  const server = spawn(process.execPath, [main, "--script", file], { stdio: ["pipe", "pipe", "inherit"] });
  const exited = once(server, "exit");
  try {
    const [line] = (await once(createInterface(server.stdout), "line")) as [string];
    const urls = JSON.parse(line) as Record<string, string>;
    const yaml = `active: work\nproviders: { work: { kind: anthropic, base_url: "${urls["anthropic"]}", fast: { model: claude-sonnet-5-5 } } }\n`;
    const { models, waits, close } = createModelsFixture({ yaml, keys: { ANTHROPIC_API_KEY: "key" } });
    const asked: ModelMessage = { role: "user", content: [{ type: "text", text: "Please greet them." }] };
    const { done } = await ask(models, { messages: [asked] });
    expect(waits.length).toBe(1);
    const [call] = done.content.filter((part) => part.type === "tool_call");
    expect(call).toMatchObject({ name: "read_file", args: { path: "a" } });
    const results: ModelMessage = { role: "tool", results: [{ callId: call?.id ?? "", name: "read_file", text: "hello", isError: false }] };
    const after = await ask(models, { messages: [asked, { role: "assistant", content: done.content }, results] });
    expect(after.text).toBe("Done greeting.");
    expect((await ask(models, { message: "other" })).text).toBe("Something else.");
    await close();
  } finally {
    server.stdin.end();
    expect(await exited).toEqual([0, null]);
    rmSync(folder, { recursive: true, force: true });
  }
});
