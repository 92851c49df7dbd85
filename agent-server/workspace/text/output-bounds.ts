export const maxOutputBytes = 24 * 1024;
export const maxOutputLines = 400;
/** Characters of one line that are shown. */
export const maxLineChars = 1_000;

/** What tools add to lines they bounded themselves: numbers, a last line that says how to read on. */
const slack = { bytes: 1024, lines: 6, chars: 200 };

export interface Bounded {
  readonly text: string;
  readonly cut: boolean;
}

/** Whole lines of a text up to the bounds. `hint` says how to read on and is added when something was cut. */
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

/** A line as long as it may be shown; never ends in half a surrogate pair. */
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
