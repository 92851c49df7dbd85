import { beforeEach, expect, it, vi } from "vitest";
import { LancelotError } from "../../../../agent-server/contract/errors.ts";
import { exitError, loadError } from "../../../../agent-server/models/local/exit-errors.ts";
import type { WorkerExit } from "../../../../agent-server/models/local/worker-child.ts";
import { createFailureBackoff } from "../../../../agent-server/models/local/failure-backoff.ts";

let now = 0;
beforeEach(() => {
  now = 0;
});
const crash = (over: Partial<WorkerExit> = {}) =>
  exitError({ why: "crashed", code: null, signal: "SIGSEGV", spawnError: null, stderr: "", ...over }, 1);
const troubles = () => createFailureBackoff({ onChange: vi.fn(), now: () => now });

it("holds requests back after three crashes in a row, for longer each time, and not after an answer", () => {
  const it = troubles();
  it.failed(crash(), "a");
  it.loaded();
  it.failed(crash(), "a");
  expect(it.now("a")).toMatchObject({ held: false });
  it.failed(crash(), "a");
  expect(it.now("a")).toMatchObject({ held: true });
  now = 30_000;
  expect(it.now("a")).toMatchObject({ held: false });
  it.failed(crash(), "a");
  now += 59_999;
  expect(it.now("a")).toMatchObject({ held: true });
  it.release();
  expect(it.now("a")).toMatchObject({ held: false, problem: expect.stringContaining("SIGSEGV") });
  it.answered();
  expect(it.now("a")).toBeNull();
  it.failed(crash(), "a");
  expect(it.now("a")).toMatchObject({ held: false });
  it.close();
});

it("holds back at once what cannot be loaded, until what is loaded changes", () => {
  const it = troubles();
  it.failed(loadError("invalid magic"), "a");
  expect(it.now("a")).toMatchObject({ held: true, problem: "The local model could not be loaded: invalid magic." });
  expect(it.now("b")).toBeNull();
  it.close();
});

it.each<[Partial<WorkerExit>, reason: string, detail: string]>([
  [{ signal: "SIGKILL" }, "out_of_memory", "local.model"],
  [{ signal: "SIGABRT" }, "out_of_memory", "local.model"],
  [{ signal: null, code: 134 }, "out_of_memory", "code 134"],
  [{ signal: "SIGBUS" }, "file_changed", "SIGBUS"],
  [{ signal: "SIGILL" }, "unsupported_processor", "SIGILL"],
  [{ signal: null, code: 1 }, "crashed", "code 1"],
  [{ signal: null, spawnError: "EAGAIN" }, "start_failed", "EAGAIN"],
  [{ why: "hung", signal: "SIGKILL" }, "hung", ""],
  [{ why: "invalid_output", signal: "SIGKILL" }, "invalid_output", ""],
  [{ why: "unloaded", signal: "SIGKILL" }, "unloaded", ""],
])("names the reason of an exit and the next step: %j", (exit, reason, detail) => {
  const it = troubles();
  const error = crash(exit);
  expect(error).toBeInstanceOf(LancelotError);
  expect(error.data).toMatchObject({ reason, next: expect.any(String) });
  expect(error.data?.["retryable"] === true).toBe(exit.why !== "unloaded");
  expect(error.message).toContain(detail);
  it.failed(error, "a");
  expect(error.message).toBe(`${it.now("a")?.problem} ${it.now("a")?.nextStep}`);
  it.close();
});

it("asks for a smaller model where memory is short, otherwise for another file", () => {
  const nextOf = (message: string) => loadError(message).data?.["next"];
  expect(nextOf("failed to allocate 900 MB")).toContain("local.context");
  expect(nextOf("unknown model architecture: 'x'")).not.toContain("local.context");
});
