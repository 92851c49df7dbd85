/** Most lines of a diff that a dialog shows. */
const dialogLines = 22;

/** The removed and added lines of a unified diff, cut for a dialog. */
export function changedLines(diff: string): string {
  const lines = diff.split("\n").filter((line) => /^[+-]/.test(line) && !/^(?:\+\+\+|---) /.test(line));
  const shown = lines.slice(0, dialogLines);
  return lines.length > shown.length ? `${shown.join("\n")}\n…` : shown.join("\n");
}

/** The next free version; versions are `v` and a number. */
export function nextVersion(versions: readonly string[]): string {
  const numbers = versions.map((version) => Number(version.slice(1))).filter(Number.isInteger);
  return `v${Math.max(0, ...numbers) + 1}`;
}

/** Replaces the version and keeps comments and layout. A text without a version stays unchanged. */
export function withVersion(yaml: string, version: string): string {
  return yaml.replace(/^(version:[ \t]*)(["']?)v\d+\2/m, (_, key: string, quote: string) => `${key}${quote}${version}${quote}`);
}
