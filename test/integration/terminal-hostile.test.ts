import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { temporaryFolder } from "../support/host/built-host.ts";
import { byWords } from "../support/model-server/script.ts";
import { type ModelServer, startModelServer } from "../support/model-server/server.ts";
import type { Turn } from "../support/model-server/turn.ts";
import { useModelServer } from "../support/tasks/two-file-change.ts";

const cli = join(import.meta.dirname, "../../agent-server/cli.ts");
/** Clears the screen, links elsewhere, writes the clipboard, conceals, reorders, overwrites. */
const attack = "\u001b[2J\u001b]8;;https://evil.test\u0007here\u001b]52;c;cm0=\u0007\u001b[8m\u202e\u009b2K\rok\b";
/** Anything that steers a terminal, without Lancelot's own colors. */
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const steering = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

let folder: { path: string } & Disposable;
let workspace = "";
let data = "";
let server: ModelServer;

beforeEach(() => {
  folder = temporaryFolder("hostile");
  workspace = join(folder.path, "proj");
  data = join(folder.path, "data");
  for (const path of [workspace, data]) mkdirSync(path);
});
afterEach(async () => {
  await server.close();
  folder[Symbol.dispose]();
});

async function play(...turns: Turn[]): Promise<void> {
  server = await startModelServer({ script: byWords({ "do it": turns }) });
  useModelServer(data, server.url("openai_compatible"));
}

async function chat(options: { words?: string[]; typed?: string }): Promise<{ code: number | null; output: string }> {
  const args = [cli, "chat", "Please do it.", "--workspace", workspace, "--data", data, ...(options.words ?? [])];
  const child =
    options.typed === undefined
      ? spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] })
      : spawn("script", ["-qec", [process.execPath, ...args].map((word) => `'${word}'`).join(" "), "/dev/null"], {
          stdio: ["pipe", "pipe", "pipe"],
          env: { ...process.env, TERM: "dumb", NO_COLOR: "1" },
        });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk: Buffer) => (output += chunk.toString()));
  if (options.typed !== undefined) child.stdin?.write(options.typed);
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output };
}

/** What a terminal adds itself: line ends of the tty, and colors. */
// oxlint-disable-next-line no-control-regex -- colors are control sequences
const withoutTty = (text: string) => text.replaceAll("\r\n", "\n").replaceAll(/\u001b\[\d*m/g, "");

describe("lancelot chat with a hostile model", () => {
  it("shows control sequences of answers, diffs, file names and tool output as escapes", async () => {
    writeFileSync(join(workspace, "notes.txt"), `first\n${attack}\nlast\n`);
    await play(
      {
        text: `Look ${attack} here.`,
        toolCalls: [
          { name: "read_file", args: { path: `none${attack}.txt` } },
          { name: "edit_file", args: { path: "notes.txt", old_text: "first", new_text: `first ${attack}` } },
          { name: "write_file", args: { path: "new.txt", content: `${attack}\n` } },
        ],
      },
      { text: `Done ${attack}.` },
    );
    const { output } = await chat({ words: ["--yes-tier", "T1"] });
    expect(output).toContain("Look ⟨U+001B⟩[2J⟨U+001B⟩]8;;https://evil.test⟨U+0007⟩here");
    expect(output).toMatch(/^\+first ⟨U\+001B⟩/m);
    expect(output).toMatch(/^\+⟨U\+001B⟩/m);
    expect(withoutTty(output)).not.toMatch(steering);
    const json = await chat({ words: ["--yes-tier", "T1", "--json"] });
    expect(json.output).not.toMatch(steering);
  });

  it("shows control sequences and padding of questions and approvals as escapes", async () => {
    const name = "a\u001b[2Jb\u009b1m.txt";
    writeFileSync(join(workspace, name), "a\n");
    await play(
      {
        toolCalls: [
          { name: "ask_owner", args: { question: `Which ${attack}?${"\n".repeat(100)}Answer yes.`, options: [`a${attack}`, "b"] } },
        ],
      },
      { toolCalls: [{ name: "delete_file", args: { path: name } }] },
      { text: "Done." },
    );
    const { output } = await chat({ typed: "1\nd\nno\n" });
    const shown = withoutTty(output);
    expect(shown).toContain("Which ⟨U+001B⟩[2J");
    expect(shown).toContain("1. a⟨U+001B⟩[2J");
    expect(shown).toMatch(/⟨\d+ more empty lines⟩/);
    expect(shown).toContain("a⟨U+001B⟩[2Jb⟨U+009B⟩1m.txt");
    expect(shown.replaceAll("\r", "")).not.toMatch(steering);
  });
});

describe("lancelot chat --yes-tier", () => {
  it("writes the files it can, names the one it cannot, keeps its edit, and fails", async () => {
    writeFileSync(join(workspace, "b.txt"), "b\n");
    const turns: Turn[] = [
      {
        toolCalls: ["a.txt", "b.txt", "c.txt"].map((path) => ({ name: "write_file", args: { path, content: `new ${path}\n` } })),
      },
      { text: "Proposed." },
      { text: "After." },
    ];
    const script = byWords({ "do it": turns });
    let broken = false;
    server = await startModelServer({
      script: async (request) => {
        const turn = await script(request);
        // The file becomes a folder between the proposal and its acceptance.
        if (turn.text === "Proposed." && !broken) {
          broken = true;
          rmSync(join(workspace, "b.txt"));
          mkdirSync(join(workspace, "b.txt"));
        }
        return turn;
      },
    });
    useModelServer(data, server.url("openai_compatible"));
    const { code, output } = await chat({ words: ["--yes-tier", "T1"] });
    expect(code).toBe(1);
    expect(readFileSync(join(workspace, "a.txt"), "utf8")).toBe("new a.txt\n");
    expect(readFileSync(join(workspace, "c.txt"), "utf8")).toBe("new c.txt\n");
    expect(output).toMatch(/1 of 3 .*b\.txt/);
    expect(existsSync(join(workspace, "b.txt", "x"))).toBe(false);
    // The fault is mended: the edit is still there.
    rmSync(join(workspace, "b.txt"), { recursive: true });
    writeFileSync(join(workspace, "b.txt"), "b\n");
    const questId = /--quest (\S+)/.exec(output)?.[1] ?? "";
    const again = await chat({ words: ["--yes-tier", "T1", "--quest", questId] });
    expect(again.code).toBe(0);
    expect(readFileSync(join(workspace, "b.txt"), "utf8")).toBe("new b.txt\n");
  });
});
