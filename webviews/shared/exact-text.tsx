import type { JSX } from "preact";
import { t } from "./l10n.ts";

/**
 * Characters that hide, reorder or imitate text: control characters except newline and tab, zero-width and direction marks, unusual spaces,
 * unpaired surrogates.
 */
const hidden = /[^\P{Cc}\n\t]|[^\P{Zs} ]|[\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|⟨U\+[0-9A-F]{4,6}⟩/gu;

interface ExactPart {
  readonly text: string;
  /** True for the escaped form of an invisible character. */
  readonly marked: boolean;
}

/** Splits a text so that each invisible character appears as its code point. */
export function exactParts(text: string): readonly ExactPart[] {
  const parts: ExactPart[] = [];
  let at = 0;
  for (const match of text.matchAll(hidden)) {
    if (match.index > at) parts.push({ text: text.slice(at, match.index), marked: false });
    const [found] = match;
    const code = (found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
    // The host escapes some characters itself.
    parts.push({ text: found.startsWith("⟨") ? found : `⟨U+${code}⟩`, marked: true });
    at = match.index + found.length;
  }
  if (at < text.length) parts.push({ text: text.slice(at), marked: false });
  return parts;
}

/** Shows the exact text that the user approves. A long text scrolls; it is never truncated. */
export function ExactText({ text, label, id }: { text: string; label: string; id?: string }): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a long text is scrolled by keyboard
    <pre class="exact" id={id} tabIndex={0} role="region" aria-label={label}>
      <code>
        {exactParts(text).map((part, index) =>
          part.marked ? (
            <mark key={index} class="hidden-character" title={t("Invisible character")}>
              {part.text}
            </mark>
          ) : (
            part.text
          ),
        )}
      </code>
    </pre>
  );
}
