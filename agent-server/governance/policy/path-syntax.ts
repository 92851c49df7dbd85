/** Why a path is rejected before it is looked up. */
export interface Refusal {
  readonly rule: string;
  readonly message: string;
}

export type Platform = "linux" | "darwin" | "win32";

const maxPathBytes = 4096;
const maxNameBytes = 255;

// Invisible and direction-changing characters make a name look like another one. Joiners are legitimate between letters of
// scripts that need them, and inside emoji.
const joiner =
  /(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\u{FE0F}\p{Script=Arabic}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}])[\u200C\u200D]/gu;
const emojiStyle = /(?<=[^ -~])[\u{FE0E}\u{FE0F}]|\u{FE0F}(?=\u{20E3})/gu;
const invisible = /\p{Default_Ignorable_Code_Point}|\p{Bidi_Control}|\p{Cf}|\p{Zl}|\p{Zp}/u;
const control = /\p{Cc}/u;

/** Rejects path texts that must never reach the file system. */
export function refuseText(path: string): Refusal | null {
  if (path === "") return { rule: "path.empty", message: "The path is empty. Use a file or folder of the workspace." };
  if (path.includes("\0")) return { rule: "path.nul", message: "The path contains a NUL character." };
  if (control.test(path)) return { rule: "path.control", message: "The path contains a control character, such as a line break." };
  if (!path.isWellFormed()) return { rule: "path.encoding", message: "The path is not valid Unicode." };
  if (!isAscii(path) && invisible.test(path.replaceAll(joiner, "").replaceAll(emojiStyle, ""))) {
    return { rule: "path.invisible", message: "The path contains invisible or direction-changing characters, which can disguise names." };
  }
  if (/(?:^|[/\\])\.\.namedfork(?:[/\\]|$)/i.test(path)) {
    return { rule: "path.stream", message: "Resource forks (..namedfork) are not allowed." };
  }
  if (path.length > maxNameBytes) {
    if (Buffer.byteLength(path) > maxPathBytes) return { rule: "path.long", message: "The path is too long." };
    if (path.split(/[/\\]/).some((name) => Buffer.byteLength(name) > maxNameBytes)) {
      return { rule: "path.long", message: "A name in the path is too long." };
    }
  }
  return null;
}

function isAscii(text: string): boolean {
  return !/[^ -~]/.test(text);
}

const device = /^(?:con|prn|aux|nul|conin\$|conout\$|clock\$|(?:com|lpt)[0-9¹²³])[ ]*(?:[.:].*)?$/i;

/** True when Windows cannot have a file of this name: a device name, or one that ends in a dot or a space. */
export function isForeignName(name: string): boolean {
  return name !== "." && name !== ".." && (device.test(name) || /[. ]$/.test(name));
}

/** Rejects syntax that Windows interprets differently from its spelling. `path` is relative, or absolute with a drive. */
export function refuseWindows(path: string): Refusal | null {
  const slashed = path.replaceAll("/", "\\");
  if (/^\\\\[?.]\\|^\\\?\?\\/.test(slashed)) return { rule: "path.device", message: "Device paths (\\\\?\\, \\\\.\\) are not allowed." };
  if (slashed.startsWith("\\\\")) return { rule: "path.unc", message: "Network paths (\\\\server\\share) are not allowed." };
  if (/^[a-z]:(?!\\)/i.test(slashed)) {
    return { rule: "path.drive-relative", message: "A path with a drive letter needs a backslash after the colon." };
  }
  for (const name of slashed.replace(/^[a-z]:\\/i, "").split("\\")) {
    if (name === "" || name === "." || name === "..") continue;
    if (name.includes(":")) return { rule: "path.stream", message: "Alternate data streams (name:stream) are not allowed." };
    if (device.test(name)) return { rule: "path.device", message: `"${name}" is a device name on Windows.` };
    if (/[. ]$/.test(name)) {
      return { rule: "path.trailing", message: "Windows drops trailing dots and spaces. Remove them from the name." };
    }
    if (/[<>"|?*]/.test(name)) return { rule: "path.characters", message: 'Windows names cannot contain < > " | ? or *.' };
  }
  return null;
}

/** True for a possible short (8.3) name. Only resolving an existing one can tell it from an ordinary name. */
export function looksShortened(path: string): boolean {
  return /~\d/.test(path);
}

// Percent-encoded `.`, `/`, `\` and control characters, also double-encoded (%252e) or in overlong UTF-8 (%c0%ae).
const encodedSyntax =
  /%(?:25)*(?:2e|2f|5c|[01][0-9a-f]|7f|c0%(?:25)*[a9][ef9c]|c1%(?:25)*9c|e0%(?:25)*80%(?:25)*a[ef])|%u(?:002e|002f|005c|2215|2216|ff0e|ff0f)/i;

/** True when percent-decoding would change the path's structure. */
export function hasEncodedSyntax(path: string): boolean {
  return path.includes("%") && encodedSyntax.test(path);
}

/** True for another platform's syntax: backslashes or a drive letter where neither has a meaning. */
export function hasForeignSyntax(path: string): boolean {
  return path.includes("\\") || /^[a-z]:/i.test(path);
}
