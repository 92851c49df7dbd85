import { createHash } from "node:crypto";

/** A text without what does not tell two apart: case, white space, forms of the same letter. The same in every locale. */
export function foldText(text: string): string {
  return text.normalize("NFKC").toLowerCase().replaceAll(/\s+/gu, " ").trim();
}

/** Short and the same for texts that fold to the same; empty for an empty text. */
export function textKey(text: string): string {
  const folded = foldText(text);
  return folded === "" ? "" : createHash("sha256").update(folded).digest("base64url").slice(0, 22);
}
