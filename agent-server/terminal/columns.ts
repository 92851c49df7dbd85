import { stripVTControlCharacters } from "node:util";

/** Removes escape sequences and control characters, and joins lines unless `lines` is "all". */
export function plainText(text: string, lines: "one" | "all" = "one"): string {
  // oxlint-disable-next-line no-control-regex -- characters that control the terminal
  const plain = stripVTControlCharacters(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");
  return lines === "all" ? plain : plain.replaceAll(/\s+/gu, " ").trim();
}

/** Formats rows as aligned columns; the last column is not padded. Empty without rows. */
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
