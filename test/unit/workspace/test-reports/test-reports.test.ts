import { describe, expect, test } from "vitest";
import { judgeTestRun, readTestReport } from "../../../../agent-server/workspace/workspace.ts";

type Row = [name: string, output: string, counts: [runner: string, passed: number, failed: number, skipped: number, errors: number]];

const rows: Row[] = [
  ["vitest passed", " Test Files  2 passed (2)\n      Tests  5 passed (5)\n   Start at  10:00:00", ["vitest", 5, 0, 0, 0]],
  [
    "vitest failed, in color",
    "\u001b[2m Test Files \u001b[22m \u001b[31m1 failed\u001b[39m (1)\n\u001b[2m      Tests \u001b[22m \u001b[31m1 failed\u001b[39m | 5 passed | 2 skipped (8)",
    ["vitest", 5, 1, 2, 0],
  ],
  ["vitest file does not load", " Test Files  1 failed | 1 passed (2)\n      Tests  3 passed (3)", ["vitest", 3, 0, 0, 1]],
  ["vitest unhandled error", " Test Files  1 passed (1)\n      Tests  3 passed (3)\n     Errors  1 error", ["vitest", 3, 0, 0, 1]],
  ["vitest no tests", " Test Files  1 passed (1)\n      Tests  no tests", ["vitest", 0, 0, 0, 0]],
  ["jest passed", "Test Suites: 1 passed, 1 total\nTests:       4 passed, 4 total\nSnapshots:   0 total", ["jest", 4, 0, 0, 0]],
  ["jest failed", "Test Suites: 1 failed, 1 total\nTests:       1 failed, 2 skipped, 1 todo, 5 passed, 9 total", ["jest", 5, 1, 3, 0]],
  ["jest suite fails", "Test Suites: 1 failed, 1 total\nTests:       0 total", ["jest", 0, 0, 0, 1]],
  [
    "node TAP",
    "TAP version 13\nok 1 - a\n1..1\n# tests 2\n# suites 0\n# pass 1\n# fail 1\n# cancelled 0\n# skipped 0\n# todo 0",
    ["node", 1, 1, 0, 0],
  ],
  ["node spec", "✔ a (1ms)\nℹ tests 3\nℹ suites 0\nℹ pass 2\nℹ fail 0\nℹ cancelled 1\nℹ skipped 0\nℹ todo 0", ["node", 2, 1, 0, 0]],
  ["TAP", "1..3\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP no network", ["tap", 1, 1, 1, 0]],
  ["TAP cut off", "1..3\nok 1 - a", ["tap", 1, 0, 0, 2]],
  ["mocha", "\n  5 passing (12ms)\n  2 pending\n  1 failing\n\n  1) sum", ["mocha", 5, 1, 2, 0]],
  ["pytest passed", "===== 5 passed in 0.12s =====", ["pytest", 5, 0, 0, 0]],
  ["pytest failed", "==== 1 failed, 5 passed, 1 skipped, 1 xfailed, 2 errors in 1.02s (0:00:01) ====", ["pytest", 5, 1, 2, 2]],
  ["pytest quiet", "3 passed, 1 warning in 0.01s", ["pytest", 3, 0, 0, 0]],
  ["pytest nothing", "=== no tests ran in 0.01s ===", ["pytest", 0, 0, 0, 0]],
  ["unittest ok", "Ran 5 tests in 0.001s\n\nOK (skipped=1)", ["unittest", 4, 0, 1, 0]],
  ["unittest failed", "Ran 5 tests in 0.001s\n\nFAILED (failures=1, errors=2)", ["unittest", 2, 1, 0, 2]],
  ["unittest unexpected success", "Ran 1 test in 0.001s\n\nFAILED (unexpected successes=1)", ["unittest", 0, 1, 0, 0]],
  ["unittest cut off", "Ran 5 tests in 0.001s", ["unittest", 4, 0, 0, 1]],
  ["go", "ok  \texample.com/a\t0.01s\n?   \texample.com/b\t[no test files]", ["go", 1, 0, 0, 0]],
  [
    "go verbose",
    "--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.00s)\n--- SKIP: TestC (0.00s)\nFAIL\nFAIL\texample.com/a\t0.01s",
    ["go", 1, 1, 1, 0],
  ],
  ["go build failed", "FAIL\texample.com/a [build failed]\nFAIL", ["go", 0, 0, 0, 1]],
  ["go panic", "panic: boom\nFAIL\texample.com/a\t0.01s", ["go", 0, 0, 0, 1]],
  ["go nothing to run", "ok  \texample.com/a\t0.01s [no tests to run]", ["go", 0, 0, 0, 0]],
  [
    "cargo",
    "test result: ok. 4 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\ntest result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out",
    ["cargo", 5, 2, 1, 0],
  ],
  [
    "maven",
    "[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s - in A\n[ERROR] Tests run: 5, Failures: 1, Errors: 1, Skipped: 1",
    ["maven", 2, 1, 1, 1],
  ],
  [
    "junit console",
    "[         5 tests successful      ]\n[         1 tests failed          ]\n[         2 tests skipped         ]",
    ["junit", 5, 1, 2, 0],
  ],
  ["gradle", "5 tests completed, 1 failed, 1 skipped", ["junit", 3, 1, 1, 0]],
  ["phpunit ok", "OK (5 tests, 10 assertions)", ["phpunit", 5, 0, 0, 0]],
  ["phpunit failed", "FAILURES!\nTests: 5, Assertions: 10, Failures: 1, Errors: 1, Skipped: 1.", ["phpunit", 2, 1, 1, 1]],
  ["rspec", "5 examples, 1 failure, 2 pending", ["rspec", 2, 1, 2, 0]],
  ["rspec outside", "0 examples, 0 failures, 1 error occurred outside of examples", ["rspec", 0, 0, 0, 1]],
  ["two runs", "3 passed in 0.01s\n1 failed, 2 passed in 0.02s", ["pytest", 5, 1, 0, 0]],
  ["two runners", "  5 passing (12ms)\n3 passed in 0.01s", ["mocha", 8, 0, 0, 0]],
];

describe("test reports", () => {
  test.each(rows)("%s", (_, output, [runner, passed, failed, skipped, errors]) => {
    expect(readTestReport(output)).toEqual({ runner, passed, failed, skipped, errors });
    expect(readTestReport(output.replaceAll("\n", "\r\n"))).toEqual({ runner, passed, failed, skipped, errors });
  });

  test.each(["", "all 42 tests pass", "Done in 3s", "passed", "Tests were run", "5 files passed", "ok", "It took 5 tests to see"])(
    "none in %j",
    (output) => {
      expect(readTestReport(output)).toBeNull();
    },
  );

  test.each([
    ["5 passed in 0.1s", 0, "passed"],
    ["5 passed in 0.1s", 1, "failed"],
    ["5 passed in 0.1s", null, "unknown"],
    ["1 failed, 4 passed in 0.1s", 0, "failed"],
    ["1 failed, 4 passed in 0.1s", null, "failed"],
    ["no tests ran in 0.01s", 0, "unknown"],
    ["2 skipped in 0.01s", 0, "unknown"],
    ["all tests pass", 0, "unknown"],
    ["", 2, "failed"],
  ] as const)("%j with exit code %j is %s", (output, exitCode, verdict) => {
    expect(judgeTestRun(output, exitCode)).toBe(verdict);
  });
});
