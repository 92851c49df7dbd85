// @module-tag processes
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { describe, expect, it } from "vitest";
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
/** Whether a process with this unique argument is running. */
const isRunning = (mark: string): boolean => spawnSync("pgrep", ["-f", `^sleep ${mark}$`]).status === 0;

describe.skipIf(process.platform === "win32")("a git process", () => {
  it("takes its input, and gives its output, errors and exit code apart", async () => {
    expect(await git("cat; echo wrong >&2; exit 3; #", { input: "ä€\n" })).toEqual({ code: 3, out: "ä€\n", err: "wrong\n" });
    expect(await git("cat; #")).toEqual({ code: 0, out: "", err: "" });
  });

  it("is stopped with everything it started: by the user", async () => {
    const stop = new AbortController();
    const ended = git("sleep 86391 & echo started; wait; #", { signal: stop.signal });
    await expect.poll(() => isRunning("86391")).toBe(true);
    stop.abort();
    await expect(ended).rejects.toMatchObject({ code: "cancelled" });
    await expect.poll(() => isRunning("86391")).toBe(false);
  });

  it("is stopped with everything it started: by its time without output", async () => {
    const time = { ms: 300, since: "output", message: "time" } as const;
    await expect(git("echo a; sleep 86392; #", { time })).rejects.toMatchObject({ code: "unavailable" });
    await expect.poll(() => isRunning("86392")).toBe(false);
  });

  it("is stopped by too much output", async () => {
    await expect(git("yes; #")).rejects.toMatchObject({ code: "too_large" });
  });

  it("does not start for an action that was stopped, or where git is missing", async () => {
    await expect(git("true; #", { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "cancelled" });
    await expect(git("true; #", { env: { PATH: "/nonexistent" } })).rejects.toThrow("ENOENT");
  });
});
