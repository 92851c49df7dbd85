import { stripVTControlCharacters } from "node:util";
import { readJest, readMocha, readNodeTest, readTap, readVitest } from "./javascript-reports.ts";
import { readCargo, readGo, readJunit, readMaven, readPhpunit, readPytest, readRspec, readUnittest } from "./other-reports.ts";
import type { ReportReader, TestReport } from "./types.ts";

/** Runners in the order in which they are tried: what others could be taken for comes later. */
const readers: readonly (readonly [runner: string, read: ReportReader])[] = [
  ["vitest", readVitest],
  ["jest", readJest],
  ["node", readNodeTest],
  ["mocha", readMocha],
  ["pytest", readPytest],
  ["unittest", readUnittest],
  ["go", readGo],
  ["cargo", readCargo],
  ["maven", readMaven],
  ["junit", readJunit],
  ["phpunit", readPhpunit],
  ["rspec", readRspec],
  ["tap", readTap],
];

/**
 * Reads the counts that test runners print. The output of several runners is added up under the name of the first.
 * @returns null when no known runner reports in it
 */
export function readTestReport(output: string): TestReport | null {
  const lines = stripVTControlCharacters(output)
    .split(/\r?\n/)
    .filter((line) => line.length <= 4_000);
  let report: TestReport | null = null;
  for (const [runner, read] of readers) {
    // TAP is also what other runners print; then their summaries have counted it.
    if (runner === "tap" && report !== null) continue;
    const counts = read(lines);
    if (counts === null) continue;
    report ??= { runner, passed: 0, failed: 0, skipped: 0, errors: 0 };
    report.passed += counts.passed;
    report.failed += counts.failed;
    report.skipped += counts.skipped;
    report.errors += counts.errors;
  }
  return report;
}

/**
 * Judges a test run by its exit code and its report. Both have to agree: a failed test counts although the command ended with 0
 * (`npm test || true`), and a failed command counts although each test passed. Without a report, or with no test run, 0 proves nothing.
 * @param exitCode null while the command runs, or when a signal ended it
 */
export function judgeTestRun(output: string, exitCode: number | null): "passed" | "failed" | "unknown" {
  const report = readTestReport(output);
  if (report !== null && report.failed + report.errors > 0) return "failed";
  if (exitCode === null) return "unknown";
  if (exitCode !== 0) return "failed";
  return report !== null && report.passed > 0 ? "passed" : "unknown";
}
