// @module-tag processes
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type GitProcess, runGitProcess } from "../../../agent-server/workspace/git/git-process.ts";

const ownPath = process.env["PATH"] ?? "";

/** Git whose alias runs a shell command, as a program that git started would run. */
function git(command: string, more: Partial<GitProcess> = {}) {
  return runGitProcess({
    args: ["-c", `alias.do=!${command}`, "do"],
    cwd: tmpdir(),
    env: { PATH: ownPath },
    signal: new AbortController().signal,
    output: { maxBytes: 1_000_000, message: "output" },
    time: { ms: 60_000, since: "output", message: "time" },
    ...more,
  });
}
let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "lancelot-git-process-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A shell command that starts a process which outlives it, and writes down its id. */
const starts = () => `sleep 86390 & echo $! > ${join(folder, "pid")}; echo started; wait; #`;
/** Whether the process that was started is running; null while none was. */
function isRunning(): boolean | null {
  try {
    const pid = Number(readFileSync(join(folder, "pid"), "utf8"));
    if (pid === 0) return null;
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH" ? false : null;
  }
}

describe.skipIf(process.platform === "win32")("a git process", () => {
  it("takes its input, and gives its output, errors and exit code apart", async () => {
    expect(await git("cat; echo wrong >&2; exit 3; #", { input: "ä€\n" })).toEqual({ code: 3, out: "ä€\n", err: "wrong\n" });
    expect(await git("cat; #")).toEqual({ code: 0, out: "", err: "" });
  });

  it("is stopped with everything it started: by the user", async () => {
    const stop = new AbortController();
    const ended = git(starts(), { signal: stop.signal });
    await expect.poll(() => isRunning()).toBe(true);
    stop.abort();
    await expect(ended).rejects.toMatchObject({ code: "cancelled" });
    await expect.poll(() => isRunning()).toBe(false);
  });

  it("is stopped with everything it started: by its time without output", async () => {
    const time = { ms: 300, since: "output", message: "time" } as const;
    await expect(git(starts(), { time })).rejects.toMatchObject({ code: "unavailable" });
    await expect.poll(() => isRunning()).toBe(false);
  });

  it("is stopped by too much output", async () => {
    await expect(git("yes; #")).rejects.toMatchObject({ code: "too_large" });
  });

  it("does not start for an action that was stopped, or where git is missing", async () => {
    await expect(git("true; #", { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "cancelled" });
    await expect(git("true; #", { env: { PATH: "/nonexistent" } })).rejects.toThrow("ENOENT");
  });
});
