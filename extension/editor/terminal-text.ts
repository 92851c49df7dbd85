/** Characters of an output that a terminal is given: its last ones. */
const mostText = 100_000;

/** Colours and styles; every other sequence is left out. */
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const style = /^\u001b\[[\d;:]*m$/;
const sequence =
  // oxlint-disable-next-line no-control-regex -- as above
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c|$)|\u001b[ -/]*[0-~]?/g;
// oxlint-disable-next-line no-control-regex -- as above
const control = /[\u0000-\u0008\u000b-\u001a\u001c-\u001f\u007f-\u009f]/g;

/**
 * What a command printed, safe to be written to the owner's terminal: text, line ends and colours. Questions to the terminal (whose
 * answers would be typed into the shell), the clipboard, titles and the editor's own sequences are taken out.
 */
export function safeForTerminal(printed: string): string {
  const tail = printed.length > mostText ? printed.slice(printed.indexOf("\n", printed.length - mostText) + 1) : printed;
  const lines = tail.replaceAll("\r\n", "\n").split("\n");
  return lines
    .map((line) => {
      // A progress bar writes over itself: its last state stays.
      const last = line.slice(line.replace(/\r+$/, "").lastIndexOf("\r") + 1);
      return last.replace(sequence, (found) => (style.test(found) ? found : "")).replace(control, "");
    })
    .join("\r\n");
}

/**
 * True when typing this into a shell leaves it there until the owner presses Enter: one line, nothing that a shell's line editor
 * would take for a key, nothing that stands for another character.
 */
export function canBeTyped(command: string): boolean {
  // oxlint-disable-next-line no-control-regex -- as above
  return command.length <= 4000 && !/[\u0000-\u001f\u007f-\u009f\u2028\u2029]|⟨U\+/.test(command);
}
