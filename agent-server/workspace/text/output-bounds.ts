export const maxOutputBytes = 24 * 1024;
export const maxOutputLines = 400;
/** Maximum characters shown per line. */
export const maxLineChars = 1_000;

/** Allowance for text that tools add to bounded lines: line numbers and a last line with a hint. */
const slack = { bytes: 1024, lines: 6, chars: 200 };

export interface Bounded {
  readonly text: string;
  readonly cut: boolean;
}

/** Keeps whole lines up to the limits. When lines were cut, adds `hint`, which says how to read on. */
export function boundText(text: string, hint: string): Bounded {
  const lines = text.split("\n");
  const kept: string[] = [];
  let bytes = 0;
  for (const line of lines) {
    const shown = cutLine(line, maxLineChars + slack.chars);
    bytes += Buffer.byteLength(shown) + 1;
    if (kept.length >= maxOutputLines + slack.lines || bytes > maxOutputBytes + slack.bytes) break;
    kept.push(shown);
  }
  if (kept.length === lines.length) return { text: kept.join("\n"), cut: false };
  return { text: `${kept.join("\n")}\n[cut: ${lines.length - kept.length} more lines. ${hint}]`, cut: true };
}

/** Cuts a line to the maximum length without splitting a surrogate pair. */
export function cutLine(line: string, max = maxLineChars): string {
  if (line.length <= max) return line;
  const end = isHighSurrogate(line.charCodeAt(max - 1)) ? max - 1 : max;
  return `${line.slice(0, end)}… [line cut, ${line.length} characters]`;
}

export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
