import { statesOfLine } from "../../agent-server/contract/visible-text.ts";

/** Most characters of an output to show, counted from its end. */
const mostText = 100_000;

/** Colors and styles; every other sequence is removed. */
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const style = /^\u001b\[[\d;:]*m$/;
const sequence =
  // oxlint-disable-next-line no-control-regex -- as above
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)?|\u001b[ -/]*[0-~]?/g;
// oxlint-disable-next-line no-control-regex -- as above
const control = /[\u0000-\u0008\u000b-\u001a\u001c-\u001f\u007f-\u009f]/g;

/**
 * A command's output, safe for the user's terminal: text, line endings and colors. Removes terminal queries (whose
 * answers would be typed into the shell) and sequences for the clipboard, titles and VS Code.
 */
export function safeForTerminal(printed: string): string {
  const tail = printed.length > mostText ? printed.slice(printed.indexOf("\n", printed.length - mostText) + 1) : printed;
  const lines = tail.replaceAll("\r\n", "\n").split("\n");
  return lines
    .map((line) => {
      // A progress bar overwrites itself, so only its last state remains.
      const last = statesOfLine(line).at(-1) ?? "";
      return last.replace(sequence, (found) => (style.test(found) ? found : "")).replace(control, "");
    })
    .join("\r\n");
}

/**
 * True when a shell leaves this text unexecuted until the user presses Enter: one line, without characters that a line editor
 * treats as keys and without escapes of other characters.
 */
export function canBeTyped(command: string): boolean {
  // oxlint-disable-next-line no-control-regex -- as above
  return command.length <= 4000 && !/[\u0000-\u001f\u007f-\u009f\u2028\u2029]|⟨U\+/.test(command);
}
