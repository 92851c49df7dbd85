import { createHash } from "node:crypto";

/** A text without case, white space and Unicode variants, for comparing. It is the same in every locale. */
export function foldText(text: string): string {
  return text.normalize("NFKC").toLowerCase().replaceAll(/\s+/gu, " ").trim();
}

/** A short key, equal for texts that fold to the same text; empty for an empty text. */
export function textKey(text: string): string {
  const folded = foldText(text);
  return folded === "" ? "" : createHash("sha256").update(folded).digest("base64url").slice(0, 22);
}
