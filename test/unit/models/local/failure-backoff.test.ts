import { beforeEach, expect, it, vi } from "vitest";
import { LancelotError } from "../../../../agent-server/contract/errors.ts";
import { endingError, loadError } from "../../../../agent-server/models/local/exit-errors.ts";
import type { Ending } from "../../../../agent-server/models/local/model-child.ts";
import { createTroubles } from "../../../../agent-server/models/local/failure-backoff.ts";

let now = 0;
beforeEach(() => {
  now = 0;
});
const crash = (over: Partial<Ending> = {}) =>
  endingError({ why: "itself", code: null, signal: "SIGSEGV", failure: null, lastWords: "", ...over }, 1);
const troubles = () => createTroubles({ onChange: vi.fn(), now: () => now });

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

it.each<[Partial<Ending>, RegExp, RegExp]>([
  [{ signal: "SIGKILL" }, /SIGKILL\)\. Systems do that when memory runs out/, /starts it again.*smaller model \(local\.model\)/],
  [{ signal: "SIGABRT" }, /want of memory/, /smaller model/],
  [{ signal: null, code: 134 }, /code 134/, /smaller model/],
  [{ signal: "SIGBUS" }, /file changed or could not be read/, /starts it again/],
  [{ signal: "SIGILL" }, /processor lacks/, /model server such as Ollama/],
  [{ signal: null, code: 1 }, /unexpectedly \(code 1\)/, /starts it again/],
  [{ signal: null, failure: "EAGAIN" }, /could not be started \(EAGAIN\)/, /Close other programs/],
  [{ why: "hung", signal: "SIGKILL" }, /did not answer any more/, /starts it again/],
  [{ why: "garbage", signal: "SIGKILL" }, /no answer/, /starts it again/],
  [{ why: "unloaded", signal: "SIGKILL" }, /was unloaded/, /Ask again/],
])("says how a process ended and what to do: %j", (ending, problem, nextStep) => {
  const it = troubles();
  const error = crash(ending);
  expect(error).toBeInstanceOf(LancelotError);
  expect(error.data?.["retryable"] === true).toBe(ending.why !== "unloaded");
  it.failed(error, "a");
  expect(it.now("a")).toMatchObject({ problem: expect.stringMatching(problem), nextStep: expect.stringMatching(nextStep) });
  expect(error.message).toBe(`${it.now("a")?.problem} ${it.now("a")?.nextStep}`);
  it.close();
});

it.each([
  ["failed to allocate 900 MB", /Close other programs/],
  ["unknown model architecture: 'x'", /Download it again, or name another file/],
])("says what to do about a model that cannot be loaded: %s", (message, next) => {
  expect(loadError(message).data?.["next"]).toMatch(next);
});
