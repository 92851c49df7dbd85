import type { Message, Quest } from "../contract/chat.ts";
import { LancelotError } from "../contract/errors.ts";

const titleLength = 60;

/** The text that the user typed. */
export function userText({ parts }: Message): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

/** The first line of the request, cut at a word boundary if possible. */
export function titleOf(text: string): string {
  const line = text.trim().split("\n")[0]?.trim() ?? "";
  if (line.length <= titleLength) return line === "" ? "New task" : line;
  const cut = line.slice(0, titleLength - 1);
  const space = cut.lastIndexOf(" ");
  return `${(space > titleLength / 2 ? cut.slice(0, space) : cut).trimEnd()}…`;
}

/** @throws LancelotError `invalid_params` for a cursor that `toCursor` did not create. */
export function parseCursor(cursor: string): { at: string; id: string } {
  try {
    const [at, id] = JSON.parse(Buffer.from(cursor, "base64url").toString()) as unknown[];
    if (typeof at === "string" && typeof id === "string") return { at, id };
  } catch {
    // Falls through to the error below.
  }
  throw new LancelotError("invalid_params", "The cursor is not valid for this list. Start from the first page.");
}

/** The cursor of the page that follows `last`. */
export function toCursor(last: Quest): string {
  return Buffer.from(JSON.stringify([last.updatedAt, last.id])).toString("base64url");
}
