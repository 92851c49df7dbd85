import { applyPatch } from "diff";

/**
 * The text before, from the text now and the unified diff that leads back; null when the diff is not of this text or no text diff.
 * A file that did not exist before has no text.
 */
export function textBefore(now: string, diff: string): string | null {
  if (!/^@@ /m.test(diff)) return null;
  try {
    const before = applyPatch(now, diff, { autoConvertLineEndings: true });
    return before === false ? null : before;
  } catch {
    return null;
  }
}
