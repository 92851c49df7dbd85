/** Markers that models copy into quoted text, or write in place of omitted lines. */

/** A numbered line as read_file and other tools print it: `12<tab>text`, `12: text`, `12 | text`. */
const numbered = /^\s*(\d{1,9})(?:\t|→|\s?\| ?|: )(.*)$/s;
const bareNumber = /^\s*(\d{1,9})(?:\t|→|\s?\| ?|: ?)?$/;

/** Removes line numbers; null unless every line has a number and they are consecutive. */
export function withoutNumbers(lines: readonly string[]): string[] | null {
  const result: string[] = [];
  let last: number | null = null;
  for (const line of lines) {
    const parts = numbered.exec(line);
    const number = Number(parts?.[1] ?? bareNumber.exec(line)?.[1] ?? Number.NaN);
    if (!Number.isInteger(number) || (last !== null && number !== last + 1)) return null;
    last = number;
    result.push(parts?.[2] ?? "");
  }
  return result.every((line) => line.trim() === "") ? null : result;
}

/** The same for new text, where some lines may have no number. */
export function withoutSomeNumbers(lines: readonly string[]): string[] {
  return lines.map((line) => numbered.exec(line)?.[2] ?? (bareNumber.test(line) && line.trim() !== "" ? "" : line));
}

/** A line that represents omitted lines: three dots, alone or in a comment with text such as *existing code*. */
const omission =
  /^(?:\/\/|#|\/\*|<!--|--|;|%|\{\/\*)?\s*(?:\.\.\.|…)(?:\s*[([])?[\p{L}\s',.;:-]*(?:[)\]]\s*(?:\.\.\.\s*)?)?(?:…\s*)?(?:\*\/\}?|-->|(?<=--)>)?$/u;

const maxOmission = 200;

export function isOmission(line: string): boolean {
  const text = line.trim();
  return text.length <= maxOmission && omission.test(text);
}

/** Splits a text at the lines that represent omitted lines; one part when there are none. */
export function partsOf(lines: readonly string[]): string[][] {
  const parts: string[][] = [[]];
  for (const line of lines) {
    if (isOmission(line)) parts.push([]);
    else parts.at(-1)?.push(line);
  }
  return parts;
}
