import { stripVTControlCharacters } from "node:util";

/**
 * Removes control sequences, in time that grows with the text alone: Node's own function looks for the end of each unended string (OSC) up
 * to the end of the text. What follows an unended one is text.
 */
export function withoutSequences(text: string): string {
  // oxlint-disable-next-line no-control-regex -- removes control characters
  const withoutStrings = text.replace(/(?:\u001b\]|\u009d)(?:[^\u0007\u001b\u009c\u009d]*(?:\u0007|\u001b\\|\u009c))?/g, "");
  return stripVTControlCharacters(withoutStrings);
}

/**
 * The text a terminal would show at the end: control sequences are removed, overwritten lines (progress bars) show their last
 * content, and backspaces are applied.
 */
export function plainTerminalText(text: string): string {
  return (
    withoutSequences(text.replace(/(?<!\r)\r+\n/g, "\n"))
      .split("\n")
      .map(lastWritten)
      .join("\n")
      // oxlint-disable-next-line no-control-regex -- removes control characters
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g, "")
  );
}

function lastWritten(line: string): string {
  if (!line.includes("\r") && !line.includes("\b")) return line;
  const shown: string[] = [];
  let column = 0;
  for (const letter of line) {
    if (letter === "\r") column = 0;
    else if (letter === "\b") column = Math.max(0, column - 1);
    else {
      shown[column] = letter;
      column += 1;
    }
  }
  return shown.join("");
}
