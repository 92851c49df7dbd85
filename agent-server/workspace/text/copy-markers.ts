/** Marks that models copy into the text they quote, or put into it in place of what they leave out. */

/** One numbered line, as read_file and other tools show it: `12<tab>text`, `12: text`, `12 | text`. */
const numbered = /^\s*(\d{1,9})(?:\t|→|\s?\| ?|: )(.*)$/s;
const bareNumber = /^\s*(\d{1,9})(?:\t|→|\s?\| ?|: ?)?$/;

/** The lines without the line numbers they carry; null unless every one of them carries the number after that of the line before. */
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

/** The same for new text, in which some lines may be new and without a number. */
export function withoutSomeNumbers(lines: readonly string[]): string[] {
  return lines.map((line) => numbered.exec(line)?.[2] ?? (bareNumber.test(line) && line.trim() !== "" ? "" : line));
}

/** A line that stands for lines left out: three dots alone, or in a comment, with words like *existing code* beside them. */
const omission =
  /^\s*(?:\/\/|#|\/\*|<!--|--|;|%|\{\/\*)?\s*(?:\.\.\.|…)\s*(?:[([]?[\p{L}\s',.;:-]*[)\]]?)?\s*(?:\.\.\.|…)?\s*(?:\*\/\}?|-->)?\s*$/u;

export function isOmission(line: string): boolean {
  return omission.test(line);
}

/** The parts of a text between lines that stand for lines left out; one part when there are none. */
export function partsOf(lines: readonly string[]): string[][] {
  const parts: string[][] = [[]];
  for (const line of lines) {
    if (isOmission(line)) parts.push([]);
    else parts.at(-1)?.push(line);
  }
  return parts;
}
