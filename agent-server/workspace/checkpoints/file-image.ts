import { constants } from "node:fs";

/** An entry without content that can be removed but not created again. */
export type SpecialKind = "fifo" | "socket" | "device";

export type EntryKind = "file" | "link" | "folder" | SpecialKind;

/**
 * State of a path at one moment: the hash of its content and its permission bits; null when it did not exist. The hash of a link is that
 * of its target; the hash of a folder and of a special file is empty.
 */
export type FileImage = { readonly hash: string; readonly mode: number; readonly kind?: "link" | "folder" | SpecialKind } | null;

/** The kind of a special file, by the type bits of its mode; null for files, links and folders. */
export function specialKind(mode: number): SpecialKind | null {
  switch (mode & constants.S_IFMT) {
    case constants.S_IFIFO:
      return "fifo";
    case constants.S_IFSOCK:
      return "socket";
    case constants.S_IFCHR:
    case constants.S_IFBLK:
      return "device";
    default:
      return null;
  }
}

export function isSpecial(kind: string | null | undefined): kind is SpecialKind {
  return kind === "fifo" || kind === "socket" || kind === "device";
}
