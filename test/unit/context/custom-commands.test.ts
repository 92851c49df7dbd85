import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createCustomCommands } from "../../../agent-server/context/custom-commands.ts";
import { createRedactor, createSanitizer } from "../../../agent-server/security/security.ts";
import { openHost } from "../../support/quests/harness.ts";
import { recordingTools } from "../../support/quests/recording-tools.ts";
import { scriptedModels } from "../../support/quests/scripted-models.ts";

let base: string;
let host: ReturnType<typeof openHost>;
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-commands-")));
  for (const folder of ["data", "project"]) mkdirSync(join(base, folder));
  host = openHost({ dataDir: join(base, "data"), workspace: join(base, "project") }, scriptedModels([]).models, recordingTools({}).tools);
});
afterEach(async () => {
  await host.close();
  rmSync(base, { recursive: true, force: true });
});

function put(path: string, text: string | Buffer): void {
  mkdirSync(dirname(join(base, path)), { recursive: true });
  writeFileSync(join(base, path), text);
}

const commands = (trusted = true) =>
  createCustomCommands({
    governance: host.governance,
    redactor: createRedactor(),
    sanitizer: createSanitizer(join(import.meta.dirname, "../../../config")),
    dataDir: join(base, "data"),
    trusted,
    reserved: new Set(["fix"]),
  });
const names = (trusted = true) =>
  commands(trusted)
    .list()
    .items.map(({ name }) => name);

describe("custom commands", () => {
  it.each([
    ["Say $ARGUMENTS.", "/a hello", "Say hello."],
    ["Say {{input}} and {{ input }}.", "/a hello", "Say hello and hello."],
    ["Say ${input}.", "/a two words", "Say two words."],
    ["Say it.", "/a hello", "Say it.\n\nhello"],
    ["Say it.", "/a", "Say it."],
    ["Say $ARGUMENTS.", "/a $& $1", "Say $& $1."],
    ["---\ndescription: x\n---\nBody", "/a", "Body"],
  ])("of the owner: %j with %j", (body, text, prompt) => {
    put("data/commands/a.md", body);
    expect(commands().expand(text)).toBe(prompt);
  });

  it.each(["hello", "/fix it", "/unknown", "/A", "//a", "say /a", "/a/b"])("%j is none", (text) => {
    put("data/commands/a.md", "Body");
    expect(commands().expand(text)).toBeNull();
  });

  it("of the workspace need its trust", () => {
    put("project/.lancelot/commands/a.md", "A");
    put("project/.github/prompts/b.prompt.md", "B");
    put("project/.github/prompts/notes.md", "no command");
    put("project/.claude/commands/c.md", "C");
    expect(names()).toEqual(["a", "b", "c"]);
    expect(names(false)).toEqual([]);
    expect(commands(false).expand("/a")).toBeNull();
  });

  it("of the workspace are fenced, and the owner's words are outside", () => {
    put("project/.lancelot/commands/a.md", "Do $ARGUMENTS.");
    const prompt = commands().expand("/a the thing") ?? "";
    expect(prompt).toContain("Do $ARGUMENTS.");
    expect(prompt.indexOf("the thing")).toBeGreaterThan(prompt.indexOf("Do $ARGUMENTS."));
    expect(prompt.startsWith("Do")).toBe(false);
  });

  it("the owner's file counts before the workspace's", () => {
    put("data/commands/a.md", "Mine");
    put("project/.lancelot/commands/a.md", "Theirs");
    expect(commands().list().items).toMatchObject([{ name: "a", source: "owner" }]);
    expect(commands().expand("/a")).toBe("Mine");
  });

  it.each([
    ["large", "large.md", "x".repeat(16_385)],
    ["binary", "binary.md", Buffer.from([65, 0, 66])],
    ["empty", "empty.md", "---\ndescription: x\n---\n\n"],
    ["open front matter", "open.md", "---\ndescription: x\n"],
    ["invalid front matter", "invalid.md", "---\na: [\n---\nBody"],
    ["reserved", "fix.md", "Body"],
    ["a name that cannot be typed", "Über uns.md", "Body"],
  ])("a file that is %s is a problem", (_, file, content) => {
    put(`data/commands/${file}`, content);
    const listed = commands().list();
    expect(listed.items).toEqual([]);
    expect(listed.problems.map(({ path }) => path)).toEqual([`commands/${file}`]);
  });

  it("a link that leaves the workspace is none", () => {
    put("outside.md", "Secret");
    mkdirSync(join(base, "project/.lancelot/commands"), { recursive: true });
    symlinkSync(join(base, "outside.md"), join(base, "project/.lancelot/commands/a.md"));
    expect(commands().list()).toEqual({ items: [], problems: [] });
  });

  it("are at most a hundred of a folder", () => {
    for (let index = 0; index < 105; index++) put(`data/commands/c${String(index)}.md`, "Body");
    expect(names()).toHaveLength(100);
  });
});
