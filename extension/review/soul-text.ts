/** Lines of a diff that the editor's dialog shows whole. */
const dialogLines = 22;

/** The lines a unified diff takes out and puts in, short enough for a dialog. */
export function changedLines(diff: string): string {
  const lines = diff.split("\n").filter((line) => /^[+-]/.test(line) && !/^(?:\+\+\+|---) /.test(line));
  const shown = lines.slice(0, dialogLines);
  return lines.length > shown.length ? `${shown.join("\n")}\n…` : shown.join("\n");
}

/** The number after the highest; versions are `v` and a number. */
export function nextVersion(versions: readonly string[]): string {
  const numbers = versions.map((version) => Number(version.slice(1))).filter(Number.isInteger);
  return `v${Math.max(0, ...numbers) + 1}`;
}

/** The text with its version changed; comments and layout stay. A text without a version stays as it is. */
export function withVersion(yaml: string, version: string): string {
  return yaml.replace(/^(version:[ \t]*)(["']?)v\d+\2/m, (_, key: string, quote: string) => `${key}${quote}${version}${quote}`);
}
