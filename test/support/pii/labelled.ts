import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { PiiDetector, PiiKind, PiiMatch } from "../../../agent-server/security/security.ts";

const folder = join(import.meta.dirname, "../../fixtures/pii");
export const languages = ["en", "de", "fr", "es", "it", "pt"] as const;
export type Half = "dev" | "held-out";

/** One sample: a text and where in it which personal data stands. */
export interface Sample {
  readonly text: string;
  readonly labels: readonly PiiMatch[];
}

function read(half: Half, name: string): string[] {
  return readFileSync(join(folder, half, `${name}.txt`), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => line.replaceAll("\\n", "\n"));
}

/** Samples of a language; in the files a label is `[[kind:value]]`, and a line is a sample with its line ends as `\n`. */
export function positives(half: Half, language: string): Sample[] {
  return read(half, language).map((line) => {
    let text = "";
    const labels: PiiMatch[] = [];
    let from = 0;
    for (const match of line.matchAll(/\[\[([a-z_]+):(.*?)\]\]/g)) {
      text += line.slice(from, match.index);
      const value = match[2] ?? "";
      labels.push({ start: text.length, end: text.length + value.length, kind: match[1] as PiiKind });
      text += value;
      from = match.index + match[0].length;
    }
    return { text: text + line.slice(from), labels };
  });
}

/** Texts without personal data. */
export function negatives(half: Half): string[] {
  return read(half, "negatives");
}

/** `exact`: found with this kind and this span. `covered`: all of it would be replaced, whatever it is called and what is beside it. */
export interface Score {
  labels: number;
  exact: number;
  covered: number;
  /** Matches that overlap no label. */
  false: number;
}

/** What a detector does with samples, summed up. `missed` and `wrong` hear of each one. */
export function score(
  detector: PiiDetector,
  samples: readonly Sample[],
  missed?: (text: string, label: PiiMatch) => void,
  wrong?: (text: string, match: PiiMatch) => void,
): Score {
  const total: Score = { labels: 0, exact: 0, covered: 0, false: 0 };
  for (const { text, labels } of samples) {
    const found = detector.find(text);
    for (const label of labels) {
      total.labels += 1;
      const exact = found.some(({ start, end, kind }) => kind === label.kind && start === label.start && end === label.end);
      if (exact) total.exact += 1;
      else missed?.(text, label);
      if (exact || found.some(({ start, end }) => start <= label.start && end >= label.end)) total.covered += 1;
    }
    for (const match of found) {
      if (labels.some(({ start, end }) => start < match.end && end > match.start)) continue;
      total.false += 1;
      wrong?.(text, match);
    }
  }
  return total;
}
