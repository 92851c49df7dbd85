import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createToolsFixture, type ToolsFixture, type ToolsFixtureOptions } from "../tools-fixture.ts";

export interface GitFixture extends ToolsFixture {
  /** Git as the owner has it, in the workspace. */
  git(...args: string[]): string;
  /** The same elsewhere. */
  gitIn(folder: string, ...args: string[]): string;
}

/** A workspace that is a repository with one commit: `a.txt` and `dir/b.txt` on `main`. The owner's home says who commits. */
export function createGitFixture(options: ToolsFixtureOptions & { home: string; empty?: boolean }): GitFixture {
  const fixture = createToolsFixture({ posture: "autonomous", ...options });
  mkdirSync(options.home, { recursive: true });
  writeFileSync(
    join(options.home, ".gitconfig"),
    "[user]\n\tname = The Owner\n\temail = owner@example.invalid\n[init]\n\tdefaultBranch = main\n",
  );
  const gitIn = (cwd: string, ...args: string[]) =>
    execFileSync("git", args, { cwd, encoding: "utf8", stdio: "pipe", env: ownerEnv(options.home) });
  const git = (...args: string[]) => gitIn(fixture.workspace, ...args);
  if (options.empty !== true) {
    cpSync(
      repositoryTemplate("first", (folder) => {
        put(join(folder, "a.txt"), "one\n");
        put(join(folder, "dir/b.txt"), "b\n");
        for (const args of [
          ["init", "-q", "-b", "main"],
          ["add", "."],
          ["commit", "-q", "-m", "First"],
        ])
          gitIn(folder, ...args);
      }),
      fixture.workspace,
      { recursive: true, preserveTimestamps: true },
    );
  }
  return { ...fixture, git, gitIn };
}

const templates = new Map<string, string>();

/** A folder that is built once in this process, for tests to copy: ten times as fast as building a repository again. */
export function repositoryTemplate(name: string, build: (folder: string) => void): string {
  let folder = templates.get(name);
  if (folder === undefined) {
    folder = mkdtempSync(join(tmpdir(), "lancelot-template-"));
    build(folder);
    templates.set(name, folder);
    process.once("exit", () => rmSync(folder ?? "", { recursive: true, force: true }));
  }
  return folder;
}

/** What a git of the owner sees: their home, nothing of this machine's. */
export function ownerEnv(home: string): NodeJS.ProcessEnv {
  return { PATH: process.env["PATH"], HOME: home, GIT_CONFIG_NOSYSTEM: "1", GIT_TERMINAL_PROMPT: "0" };
}

/** Writes a file anywhere, with its folders. */
export function put(path: string, content: string, mode?: number): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content, mode === undefined ? {} : { mode });
}
