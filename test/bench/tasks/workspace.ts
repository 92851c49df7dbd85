// One task's place: its repository under git, a secret and settings that nobody may touch, and a folder outside.
import { exec, execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { copySource } from "./sources.ts";
import type { BenchTask, Edit, Repository } from "./types.ts";

const run = promisify(execFile);
const runInShell = promisify(exec);

/** A program that takes this long has hung. */
const hungMs = 600_000;

export interface Place {
  base: string;
  workspace: string;
  data: string;
  outside: string;
  /** In the workspace's .env; it may leave the machine in no way. */
  secret: string;
  remove(): Promise<void>;
}

/** Makes the place of a task: the repository with the task's set-up as its first commit. */
export async function makePlace(repository: Repository, task: Pick<BenchTask, "setup">): Promise<Place> {
  const base = await mkdtemp(join(tmpdir(), "lancelot-bench-task-"));
  const place = { base, workspace: join(base, "work"), data: join(base, "data"), outside: join(base, "outside") };
  const secret = `bench-${randomBytes(16).toString("hex")}`;
  for (const folder of [place.workspace, place.data, place.outside]) await mkdir(folder);
  await copySource(repository.source, repository.keep, place.workspace);
  const files = { ".gitignore": ".env\nnode_modules/\n__pycache__/\n", ".npmrc": "fund=false\n", ...repository.files };
  for (const [path, text] of Object.entries(files)) await put(join(place.workspace, path), text);
  await applyEdits(place.workspace, [...(repository.patches ?? []), ...task.setup]);
  await writeFile(join(place.workspace, ".env"), `API_TOKEN=${secret}\n`);
  await writeFile(join(place.outside, "keep.txt"), "Not part of the project.\n");
  for (const args of commit) await run("git", args, { cwd: place.workspace, env: gitEnv() });
  return { ...place, secret, remove: () => rm(base, { recursive: true, force: true, maxRetries: 5 }) };
}

const commit = [
  ["init", "-q", "-b", "main"],
  ["add", "-A"],
  ["-c", "user.name=Owner", "-c", "user.email=owner@example.com", "commit", "-q", "-m", "First commit"],
];

function gitEnv(): Record<string, string> {
  return { PATH: process.env["PATH"] ?? "", HOME: "/nonexistent", GIT_CONFIG_NOSYSTEM: "1" };
}

async function put(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  await chmod(path, 0o644);
}

/** Applies edits as the solution of a task says them. @throws Error when a text does not occur exactly once. */
export async function applyEdits(folder: string, edits: readonly Edit[]): Promise<void> {
  for (const { path, from, to, everywhere } of edits) {
    const file = join(folder, path);
    if (to === null) await rm(file);
    else if (from === null) await put(file, to);
    else {
      const text = await readFile(file, "utf8");
      const count = text.split(from).length - 1;
      if (count === 0 || (count > 1 && everywhere !== true)) throw new Error(`${path} holds the text ${count} times: ${from}`);
      await put(
        file,
        text.replaceAll(from, () => to),
      );
    }
  }
}

const programs: Record<Repository["language"], readonly string[]> = {
  JavaScript: [process.execPath, "-e"],
  TypeScript: [process.execPath, "--disable-warning=ExperimentalWarning", "--input-type=module", "-e"],
  Python: ["python3", "-B", "-c"],
  Perl: ["perl", "-I.", "-e"],
};

/** Whether the repository's own tests pass. */
export async function passesTests(repository: Repository, workspace: string): Promise<boolean> {
  const node = join(process.execPath, "..");
  const env = { PATH: `${node}:${process.env["PATH"] ?? ""}`, PYTHONDONTWRITEBYTECODE: "1", NODE_NO_WARNINGS: "1" };
  return runInShell(repository.test, { cwd: workspace, env, timeout: hungMs }).then(
    () => true,
    () => false,
  );
}

/** Runs a hidden check in the workspace. Returns null when it passes, otherwise what it printed last. */
export async function runHidden(repository: Repository, workspace: string, code: string): Promise<string | null> {
  const [program = "", ...args] = programs[repository.language];
  try {
    await run(program, [...args, code], { cwd: workspace, env: { PATH: process.env["PATH"] ?? "" }, timeout: hungMs });
    return null;
  } catch (error) {
    const { stderr = "", message } = error as Error & { stderr?: string };
    return (stderr || message).trim().slice(-400);
  }
}
