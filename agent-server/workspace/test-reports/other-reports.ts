import { addNumbersAfterLabels, addNumbersBeforeLabels, noCounts, numberBefore } from "./counts.ts";
import type { ReportReader } from "./types.ts";

/** `=== 1 failed, 5 passed in 0.12s ===`, or the same without the frame (`-q`). */
export const readPytest: ReportReader = (lines) => {
  const counts = noCounts();
  let found = false;
  for (const line of lines) {
    const text = line.replaceAll("=", "").trim();
    if (!/ in \d{1,9}\.\d{1,3}s(?: \([\d:.a-z, ]{1,40}\))?$/.test(text)) continue;
    if (text.startsWith("no tests ran")) found = true;
    else if (/^\d{1,9} (?:failed|passed|skipped|errors?|xfailed|xpassed|deselected|warnings?|rerun)\b/.test(text))
      found = addNumbersBeforeLabels(counts, text) > 0 || found;
  }
  return found ? counts : null;
};

/** `Ran 5 tests in 0.001s`, then `OK (skipped=1)` or `FAILED (failures=1, errors=2)`. */
export const readUnittest: ReportReader = (lines) => {
  const counts = noCounts();
  let ran = 0;
  let found = false;
  let isVerdictMissing = false;
  for (const raw of lines) {
    const line = raw.trim();
    if (/^Ran \d{1,9} tests? in \d/.test(line)) {
      found = true;
      isVerdictMissing = true;
      ran += numberBefore(line, /^tests?$/) ?? 0;
    } else if (isVerdictMissing && /^(?:OK|FAILED|NO TESTS RAN)(?: \([^)]{1,200}\))?$/.test(line)) {
      isVerdictMissing = false;
      const before = counts.failed + counts.errors;
      addNumbersAfterLabels(counts, line);
      const expected = /unexpected successes=(\d{1,9})/.exec(line);
      if (expected !== null) counts.failed += Number(expected[1]);
      if (line.startsWith("FAILED") && counts.failed + counts.errors === before) counts.errors += 1;
    }
  }
  if (isVerdictMissing) counts.errors += 1;
  counts.passed = Math.max(0, ran - counts.failed - counts.errors - counts.skipped);
  return found ? counts : null;
};

/** `ok  	package	0.1s`, `FAIL	package	0.1s`, and with -v `--- PASS: Test`. Packages count where single tests are not shown. */
export const readGo: ReportReader = (lines) => {
  const counts = noCounts();
  let packages = 0;
  let failedPackages = 0;
  let found = false;
  for (const raw of lines) {
    const line = raw.trimEnd();
    if (/^ok {1,4}\t\S{1,500}\t/.test(line)) {
      found = true;
      if (!line.endsWith("[no tests to run]")) packages += 1;
    } else if (/^FAIL\t\S{1,500}/.test(line)) {
      found = true;
      if (/\[(?:build|setup) failed\]$/.test(line)) counts.errors += 1;
      else failedPackages += 1;
    } else if (/^ {0,40}--- PASS: /.test(line)) counts.passed += 1;
    else if (/^ {0,40}--- FAIL: /.test(line)) counts.failed += 1;
    else if (/^ {0,40}--- SKIP: /.test(line)) counts.skipped += 1;
    else if (/^\? {1,4}\t\S{1,500}\t\[no test files\]$/.test(line)) found = true;
  }
  if (counts.passed === 0) counts.passed = packages;
  // A package that ends by a panic or os.Exit shows no failed test.
  if (counts.failed === 0) counts.errors += failedPackages;
  return found ? counts : null;
};

/** `test result: FAILED. 4 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out`. */
export const readCargo: ReportReader = (lines) => {
  const counts = noCounts();
  let found = false;
  for (const raw of lines) {
    const line = raw.trim();
    if (/^test result: (?:ok|FAILED)\. /.test(line)) {
      found = true;
      addNumbersBeforeLabels(counts, line);
    } else if (line.startsWith("error: could not compile ")) counts.errors += 1;
  }
  return found ? counts : null;
};

/** Maven: `Tests run: 5, Failures: 1, Errors: 0, Skipped: 1`, once per class with its time, and once per module without. */
export const readMaven: ReportReader = (lines) => {
  const summaries = lines.filter((line) => /\bTests run: \d{1,9}, Failures: \d{1,9}, Errors: \d{1,9}/.test(line));
  if (summaries.length === 0) return null;
  const modules = summaries.filter((line) => !line.includes("Time elapsed"));
  const counts = noCounts();
  for (const line of modules.length > 0 ? modules : summaries) {
    const one = noCounts();
    addNumbersAfterLabels(one, line);
    const ran = Number(/Tests run: (\d{1,9})/.exec(line)?.[1] ?? 0);
    counts.failed += one.failed;
    counts.errors += one.errors;
    counts.skipped += one.skipped;
    counts.passed += Math.max(0, ran - one.failed - one.errors - one.skipped);
  }
  return counts;
};

/** The console of JUnit: `[         5 tests successful      ]`; and Gradle: `5 tests completed, 1 failed`. */
export const readJunit: ReportReader = (lines) => {
  const counts = noCounts();
  let found = false;
  for (const raw of lines) {
    const line = raw.trim();
    const console = /^\[ {0,20}(\d{1,9}) (tests|containers) (successful|failed|skipped|aborted) {0,20}\]$/.exec(line);
    if (console !== null) {
      const [, amount = "", what = "", label = ""] = console;
      found = true;
      if (what === "tests") addNumbersBeforeLabels(counts, `${amount} ${label}`);
      else if (label === "failed") counts.errors += Number(amount);
    } else if (/^\d{1,9} tests? completed/.test(line)) {
      found = true;
      const one = noCounts();
      addNumbersBeforeLabels(one, line);
      counts.failed += one.failed;
      counts.skipped += one.skipped;
      counts.passed += Math.max(0, (numberBefore(line, /^tests?$/) ?? 0) - one.failed - one.skipped);
    }
  }
  return found ? counts : null;
};

/** `OK (5 tests, 10 assertions)`, or `Tests: 5, Assertions: 10, Failures: 1.` */
export const readPhpunit: ReportReader = (lines) => {
  const counts = noCounts();
  let found = false;
  for (const raw of lines) {
    const line = raw.trim();
    if (/^OK \(\d{1,9} tests?, \d{1,9} assertions?\)$/.test(line)) {
      found = true;
      counts.passed += numberBefore(line.slice(4), /^tests?$/) ?? 0;
    } else if (/^Tests: \d{1,9}, Assertions: \d{1,9}/.test(line)) {
      found = true;
      const one = noCounts();
      addNumbersAfterLabels(one, line);
      counts.failed += one.failed;
      counts.errors += one.errors;
      counts.skipped += one.skipped;
      counts.passed += Math.max(0, Number(/^Tests: (\d{1,9})/.exec(line)?.[1] ?? 0) - one.failed - one.errors - one.skipped);
    } else if (line === "No tests executed!") found = true;
  }
  return found ? counts : null;
};

/** `5 examples, 1 failure, 2 pending, 1 error occurred outside of examples`. */
export const readRspec: ReportReader = (lines) => {
  const counts = noCounts();
  let found = false;
  for (const raw of lines) {
    const line = raw.trim();
    if (!/^\d{1,9} examples?, \d{1,9} failures?\b/.test(line)) continue;
    found = true;
    const one = noCounts();
    addNumbersBeforeLabels(one, line);
    counts.failed += one.failed;
    counts.errors += one.errors;
    counts.skipped += one.skipped;
    counts.passed += Math.max(0, (numberBefore(line, /^examples?$/) ?? 0) - one.failed - one.skipped);
  }
  return found ? counts : null;
};
