/** Counts of a test run, as its runner reports them. */
export interface TestReport {
  runner: string;
  passed: number;
  failed: number;
  skipped: number;
  /** What kept tests from running: files that do not load, failed builds, unhandled errors. */
  errors: number;
}

export type TestCounts = Omit<TestReport, "runner">;

/** Reads the lines of one runner. @returns null when the output is not of this runner */
export type ReportReader = (lines: readonly string[]) => TestCounts | null;
