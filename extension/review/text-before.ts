import { applyPatch } from "diff";

/**
 * Reconstructs the earlier text from the current text and the unified diff back to it; null when the diff does not apply or is no text diff.
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
