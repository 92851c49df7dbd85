import type { TestCounts } from "./types.ts";

/** The labels that runners use, and what they count as. Labels that are missing here are not counted. */
const kinds: Readonly<Record<string, keyof TestCounts>> = {
  pass: "passed",
  passed: "passed",
  passing: "passed",
  successful: "passed",
  xpassed: "passed",
  fail: "failed",
  failed: "failed",
  failing: "failed",
  failure: "failed",
  failures: "failed",
  cancelled: "failed",
  skip: "skipped",
  skipped: "skipped",
  pending: "skipped",
  ignored: "skipped",
  todo: "skipped",
  xfailed: "skipped",
  incomplete: "skipped",
  aborted: "skipped",
  error: "errors",
  errors: "errors",
};

export function noCounts(): TestCounts {
  return { passed: 0, failed: 0, skipped: 0, errors: 0 };
}

/** Adds one labeled number, such as ("failed", "3"). @returns false when the label counts nothing */
export function addCount(counts: TestCounts, label: string, amount: string): boolean {
  const kind = kinds[label.toLowerCase()];
  const number = Number(amount);
  if (kind === undefined || !Number.isSafeInteger(number)) return false;
  counts[kind] += number;
  return true;
}

/** Adds the numbers of a text such as "1 failed, 2 passed". @returns how many labels were counted */
export function addNumbersBeforeLabels(counts: TestCounts, text: string): number {
  return [...text.matchAll(/(\d{1,9}) ([a-z]{1,20})\b/gi)].filter(([, amount = "", label = ""]) => addCount(counts, label, amount)).length;
}

/** Adds the numbers of a text such as "Failures: 1, Errors: 0" or "failures=1". @returns how many labels were counted */
export function addNumbersAfterLabels(counts: TestCounts, text: string): number {
  return [...text.matchAll(/\b([a-z]{1,20})(?:: |=)(\d{1,9})/gi)].filter(([, label = "", amount = ""]) => addCount(counts, label, amount))
    .length;
}

/** The number before a label such as "tests"; null when there is none. */
export function numberBefore(text: string, label: RegExp): number | null {
  for (const [, amount = "", word = ""] of text.matchAll(/(\d{1,9}) ([a-z]{1,20})\b/gi)) if (label.test(word)) return Number(amount);
  return null;
}
