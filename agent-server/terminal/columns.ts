import { visibleText } from "../contract/visible-text.ts";

/** A text with invisible characters escaped; its lines are joined unless `lines` is "all". */
export function plainText(text: string, lines: "one" | "all" = "one"): string {
  const plain = visibleText(text);
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
