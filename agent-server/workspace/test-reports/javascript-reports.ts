import { addCount, addNumbersBeforeLabels, noCounts } from "./counts.ts";
import type { ReportReader } from "./types.ts";

/** `Tests  1 failed | 5 passed (6)`, beside `Test Files  1 failed (1)` and `Errors  1 error`. */
export const readVitest: ReportReader = (lines) => {
  const counts = noCounts();
  let found = false;
  let failedFiles = 0;
  for (const raw of lines) {
    const line = raw.trim();
    if (/^Tests {1,4}(?:\d{1,9} |no tests)/.test(line)) {
      found = true;
      addNumbersBeforeLabels(counts, line);
    } else if (/^Test Files {1,4}\d/.test(line)) {
      found = true;
      const files = noCounts();
      addNumbersBeforeLabels(files, line);
      failedFiles += files.failed;
    } else if (/^Errors {1,4}\d{1,9} errors?$/.test(line)) addNumbersBeforeLabels(counts, line);
  }
  // A file that does not load has no failed test.
  if (counts.failed === 0) counts.errors += failedFiles;
  return found ? counts : null;
};

/** `Tests:       1 failed, 5 passed, 6 total`, beside `Test Suites: 1 failed, 1 total`. */
export const readJest: ReportReader = (lines) => {
  const counts = noCounts();
  let found = false;
  let failedSuites = 0;
  for (const raw of lines) {
    const line = raw.trim();
    if (/^Tests: {1,8}\d.{0,200} total$/.test(line)) {
      found = true;
      addNumbersBeforeLabels(counts, line);
    } else if (/^Test Suites: \d.{0,200} total$/.test(line)) {
      found = true;
      const suites = noCounts();
      addNumbersBeforeLabels(suites, line);
      failedSuites += suites.failed;
    }
  }
  if (counts.failed === 0) counts.errors += failedSuites;
  return found ? counts : null;
};

/** The summary of node:test: `# pass 5` (TAP) or `ℹ pass 5` (spec). */
export const readNodeTest: ReportReader = (lines) => {
  const counts = noCounts();
  let found = false;
  for (const line of lines) {
    const summary = /^(?:#|ℹ) (tests|pass|fail|cancelled|skipped|todo) (\d{1,9})$/.exec(line.trim());
    if (summary === null) continue;
    const [, label = "", amount = ""] = summary;
    if (label === "tests") found = true;
    else addCount(counts, label, amount);
  }
  return found ? counts : null;
};

/** TAP of any producer: `ok 1 - name`, `not ok 2 - name`. Subtests are indented and belong to their parent. */
export const readTap: ReportReader = (lines) => {
  const counts = noCounts();
  let planned: number | null = null;
  for (const line of lines) {
    const plan = /^1\.\.(\d{1,9})\b/.exec(line);
    if (plan !== null) planned = (planned ?? 0) + Number(plan[1]);
    else if (/^(?:not )?ok \d{1,9}\b.{0,2000}# (?:skip|todo)\b/i.test(line)) counts.skipped += 1;
    else if (/^ok \d{1,9}\b/.test(line)) counts.passed += 1;
    else if (/^not ok \d{1,9}\b/.test(line)) counts.failed += 1;
    else if (line.startsWith("Bail out!")) counts.errors += 1;
  }
  if (planned === null) return null;
  // The producer ended before it ran what it planned.
  counts.errors += Math.max(0, planned - counts.passed - counts.failed - counts.skipped);
  return counts;
};

/** `5 passing (12ms)`, `1 failing`, `2 pending`. */
export const readMocha: ReportReader = (lines) => {
  const counts = noCounts();
  let found = false;
  for (const line of lines) {
    const summary = /^(\d{1,9}) (passing|failing|pending)(?: \([^)]{1,20}\))?$/.exec(line.trim());
    if (summary === null) continue;
    found = addCount(counts, summary[2] ?? "", summary[1] ?? "") || found;
  }
  return found ? counts : null;
};
