import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadPathRules } from "../../../../agent-server/governance/policy/path-table.ts";
import { type ChangeClass, classesOf, type LayerChange } from "../../../../agent-server/workspace/workspace.ts";

const rules = loadPathRules(join(import.meta.dirname, "../../../../config"));
const judgeName = (relative: string): "secret" | "protected" | null => rules.judge(relative, relative)[0]?.sensitive ?? null;
const generatedFolders = new Set(["node_modules", "dist", ".venv"]);

let root: string;
let lower: string;
let merged: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "change-class-")));
  [lower, merged] = [join(root, "lower"), join(root, "merged")];
  for (const folder of [lower, merged]) mkdirSync(folder);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function put(top: string, path: string, content = ""): void {
  mkdirSync(dirname(join(top, path)), { recursive: true });
  writeFileSync(join(top, path), content);
}

const file = { kind: "file", mode: 0o644, size: 1 } as const;
const created = (path: string): LayerChange => ({ path, before: null, after: file });
const deleted = (path: string): LayerChange => ({ path, before: file, after: null });
const linked = (path: string): LayerChange => ({ path, before: null, after: { kind: "link", mode: 0o777, size: 0 } });

async function classOf(change: LayerChange, ignored: readonly string[] | null = []): Promise<ChangeClass | undefined> {
  const deps = {
    judgeName,
    obeyed: (path: string) => (path.endsWith("AGENTS.md") ? "obeyed" : null),
    generatedFolders,
    ignored: () => Promise.resolve(ignored === null ? null : new Set(ignored)),
  };
  return (await classesOf([change], { lower, merged }, deps)).get(change.path);
}

describe("the class of a command's change", () => {
  it.each<[string, LayerChange, readonly string[] | null, ChangeClass]>([
    ["a source file", created("src/a.ts"), [], "source"],
    ["a deleted source file", deleted("src/a.ts"), [], "source"],
    ["an ignored file", created("cache/x"), ["cache/x"], "generated"],
    ["a dependency without a repository", created("node_modules/a/index.js"), null, "generated"],
    ["a tracked file in a folder of that name", created("dist/index.js"), [], "source"],
    ["settings of git", created(".git/config"), [], "repository"],
    ["a hook that git ignores", created(".git/hooks/pre-commit"), [".git/hooks/pre-commit"], "repository"],
    ["a nested repository", created("vendor/lib/.git/config"), [], "repository"],
    ["a repository in dependencies", created("node_modules/a/.git/config"), ["node_modules/a/.git/config"], "repository"],
    ["a link named .git", linked("sub/.git"), [], "repository"],
    [".GIT on file systems that do not distinguish", created("sub/.GIT/config"), [], "repository"],
    ["instructions for agents", created("docs/AGENTS.md"), [], "protected"],
    ["settings of the editor", created(".vscode/settings.json"), [], "protected"],
    ["ignored settings of the editor", created(".vscode/tasks.json"), [".vscode/tasks.json"], "protected"],
    ["deleted settings of the editor", deleted(".vscode/settings.json"), [], "protected"],
    ["an ignored secret", created(".env"), [".env"], "protected"],
    ["a secret", created("app/.npmrc"), [], "protected"],
    ["settings in a dependency", created("node_modules/a/.vscode/settings.json"), ["node_modules/a/.vscode/settings.json"], "generated"],
    ["a link that gives settings their name", linked(".vscode"), [], "protected"],
    ["another link", linked("docs/latest"), [], "source"],
  ])("%s", async (_name, change, ignored, expected) => {
    expect(await classOf(change, ignored)).toBe(expected);
  });

  it.each([
    ["whole", ["HEAD", "objects/x", "refs/heads/x"]],
    ["with the objects elsewhere", ["HEAD", "commondir"]],
  ])("everything in a folder that git takes for a repository is git metadata: %s", async (_how, names) => {
    for (const name of names) put(merged, `pkg/${name}`);
    for (const name of [...names, "config", "hooks/post-checkout", "inner/x"])
      expect(await classOf(created(`pkg/${name}`))).toBe("repository");
    expect(await classOf(created("pkg2/config"))).toBe("source");
  });

  it("a folder that becomes a repository by what the workspace has already is one", async () => {
    put(lower, "pkg/HEAD");
    put(lower, "pkg/refs/x");
    cpSync(lower, merged, { recursive: true });
    put(merged, "pkg/objects/x");
    expect(await classOf(created("pkg/config"))).toBe("repository");
  });

  it("a repository that is deleted is git metadata", async () => {
    for (const name of ["HEAD", "objects/x", "refs/x", "config"]) put(lower, `bare/${name}`);
    expect(await classOf(deleted("bare/config"))).toBe("repository");
  });

  it("does not follow a link to look for a repository", async () => {
    symlinkSync("/", join(merged, "loop"));
    expect(await classOf(created("loop"))).toBe("source");
  });
});
