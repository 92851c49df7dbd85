import { stripVTControlCharacters } from "node:util";

/** A text that steers no terminal: without sequences and control characters, in one line unless lines are wanted. */
export function plainText(text: string, lines: "one" | "all" = "one"): string {
  // oxlint-disable-next-line no-control-regex -- what could steer the terminal
  const plain = stripVTControlCharacters(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");
  return lines === "all" ? plain : plain.replaceAll(/\s+/gu, " ").trim();
}

/** Rows as a table: columns as wide as their widest cell, the last one as it comes. Nothing for no rows. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) row.forEach((cell, index) => (widths[index] = Math.max(widths[index] ?? 0, cell.length)));
  return rows
    .map((row) =>
      row
        .map((cell, index) => (index === row.length - 1 ? cell : cell.padEnd(widths[index] ?? 0)))
        .join("  ")
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join("");
}
