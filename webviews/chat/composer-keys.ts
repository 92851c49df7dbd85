export type ComposerAction =
  | "send"
  | "stop"
  | "cancelEdit"
  | "historyBack"
  | "historyForward"
  | "popupNext"
  | "popupPrevious"
  | "popupAccept"
  | "popupClose";

export interface ComposerKey {
  readonly key: string;
  readonly shift: boolean;
  /** Ctrl, Alt or Meta. */
  readonly modified: boolean;
  /** True while an input method composes a character; then every key is its own. */
  readonly composing: boolean;
  readonly popup: boolean;
  readonly empty: boolean;
  /** True while the text is one that Up brought back and that was not edited since. */
  readonly fromHistory: boolean;
  readonly running: boolean;
  readonly editing: boolean;
}

/** What a key does in the composer; null leaves it to the text field (Shift+Enter makes a line). */
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
      return press.shift || press.modified ? null : "send";
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
