import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
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
    git("init", "-q", "-b", "main");
    fixture.write("a.txt", "one\n");
    fixture.write("dir/b.txt", "b\n");
    git("add", ".");
    git("commit", "-q", "-m", "First");
  }
  return { ...fixture, git, gitIn };
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
