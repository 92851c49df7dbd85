export type ComposerAction =
  | "send"
  | "approve"
  | "deny"
  | "stop"
  | "cancelEdit"
  | "historyBack"
  | "historyForward"
  | "nextMode"
  | "popupNext"
  | "popupPrevious"
  | "popupAccept"
  | "popupClose";

export interface ComposerKey {
  readonly key: string;
  readonly shift: boolean;
  /** Ctrl, Alt or Meta. */
  readonly modified: boolean;
  /** Ctrl, or Meta on a Mac, alone. */
  readonly command: boolean;
  /** True while an input method composes a character; it then handles every key itself. */
  readonly composing: boolean;
  readonly popup: boolean;
  readonly empty: boolean;
  /** True while the text is an unedited entry from the history. */
  readonly fromHistory: boolean;
  readonly running: boolean;
  /** True while an approval of this task is shown. */
  readonly asked: boolean;
  readonly editing: boolean;
}

/** Returns the composer's action for a key, or null when the text field handles the key (Shift+Enter inserts a line break). */
export function composerAction(press: ComposerKey): ComposerAction | null {
  if (press.composing) return null;
  if (press.popup && !press.modified) {
    switch (press.key) {
      case "ArrowDown":
        return "popupNext";
      case "ArrowUp":
        return "popupPrevious";
      case "Enter":
      case "Tab":
        return press.shift ? null : "popupAccept";
      case "Escape":
        return "popupClose";
    }
  }
  switch (press.key) {
    case "Enter":
      // With text in the field, Ctrl+Enter may be meant to send it: a "no" must not allow what it is about.
      if (press.asked && press.command && press.empty) return "approve";
      return press.shift || press.modified ? null : "send";
    case "Backspace":
      // With text in the field, it deletes a word.
      return press.asked && press.command && press.empty ? "deny" : null;
    case ".":
      return press.command ? "nextMode" : null;
    case "Escape":
      if (press.editing) return "cancelEdit";
      return press.running ? "stop" : null;
    case "ArrowUp":
      return !press.modified && !press.shift && (press.empty || press.fromHistory) ? "historyBack" : null;
    case "ArrowDown":
      return !press.modified && !press.shift && press.fromHistory ? "historyForward" : null;
    default:
      return null;
  }
}
