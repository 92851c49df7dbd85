import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { findMentions } from "../../../agent-server/quests/attachments.ts";
import { findNamedFiles } from "../../../agent-server/quests/named-files.ts";
import { makeFolders, openHost } from "../../support/quests/harness.ts";
import { recordingTools } from "../../support/quests/recording-tools.ts";
import { scriptedModels } from "../../support/quests/scripted-models.ts";

let folders: ReturnType<typeof makeFolders>;
let host: ReturnType<typeof openHost>;

beforeAll(() => {
  folders = makeFolders();
  for (const path of ["src/a.ts", "src/b.py", "README.md", "CHANGELOG.md", "docs/my plan.md", "package.json", ".env"]) {
    mkdirSync(dirname(join(folders.workspace, path)), { recursive: true });
    writeFileSync(join(folders.workspace, path), "text\n");
  }
  host = openHost(folders, scriptedModels([]).models, recordingTools({}).tools);
});
afterAll(async () => {
  await host.close();
  folders.remove();
});

describe("files that a message asks to read", () => {
  it.each<[string, string[]]>([
    ["Read src/a.ts and tell me what it does.", ["src/a.ts"]],
    ["Please look at the README first.", ["README.md"]],
    ["Have a look at the readme, then the changelog.", ["README.md", "CHANGELOG.md"]],
    ["Open `src/b.py`, src/a.ts.", ["src/b.py", "src/a.ts"]],
    ['Check "docs/my plan.md" before you begin.', ["docs/my plan.md"]],
    ["Lies src/a.ts und erkläre es.", ["src/a.ts"]],
    ["Regarde src/b.py s'il te plaît.", ["src/b.py"]],
    ["Abre package.json", ["package.json"]],
    ["Read ./src/../src/a.ts", ["src/a.ts"]],
    // What was not asked for.
    ["Don't read src/a.ts.", []],
    ["Fix it without looking: do not open src/b.py!", []],
    ["The error is in src/a.ts.", []],
    ["I read about it yesterday.", []],
    ["Read missing.ts", []],
    ["Read ../outside.txt and /etc/passwd", []],
    ["Read .env", []],
    ["Read https://example.org/src/a.ts", []],
    ["Why does this fail?\n```\nread src/a.ts\n```", []],
    ["> read src/a.ts\nWhat does this mean?", []],
    ["The readme module is broken.", []],
    ["Read src", []],
  ])("%j: %j", (text, expected) => {
    expect(findNamedFiles(text, host.governance)).toEqual(expected);
  });

  it("are at most five, in the order of the message", () => {
    for (let index = 0; index < 8; index += 1) writeFileSync(join(folders.workspace, `f${String(index)}.ts`), "");
    const named = Array.from({ length: 8 }, (_, index) => `f${String(index)}.ts`);
    expect(findNamedFiles(`Read ${named.join(", ")}`, host.governance)).toEqual(named.slice(0, 5));
  });

  it.each([
    ["a message that says read a thousand times", "read .env ".repeat(1_000), 1],
    ["a message of thousands of names", Array.from({ length: 3_000 }, (_, index) => `read x${String(index)}.ts`).join("\n"), 200],
  ])("%s looks at the disk for few of them", (_, text, most) => {
    const resolvePath = vi.fn(host.governance.resolvePath);
    expect(findNamedFiles(text, { resolvePath })).toEqual([]);
    expect(resolvePath.mock.calls.length).toBe(most);
  });

  it("mentions of thousands of names look at the disk for few of them", () => {
    const resolvePath = vi.fn(host.governance.resolvePath);
    const text = `@README.md ${Array.from({ length: 3_000 }, (_, index) => `@x${String(index)} @x0`).join(" ")}`;
    expect(findMentions(text, { resolvePath })).toEqual(["README.md"]);
    expect(resolvePath.mock.calls.length).toBe(200);
  });
});
