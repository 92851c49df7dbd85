import type { JSX } from "preact";
import { t } from "./l10n.ts";

/** What hides, reorders or looks like nothing: controls but line ends and tabs, zero-width, directions, odd blanks, halves of characters. */
const hidden = /[^\P{Cc}\n\t]|[^\P{Zs} ]|[\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|⟨U\+[0-9A-F]{4,6}⟩/gu;

interface ExactPart {
  readonly text: string;
  /** Stands for something that cannot be seen. */
  readonly marked: boolean;
}

/** A text in which nothing is hidden: what cannot be seen is written as its code point. */
export function exactParts(text: string): readonly ExactPart[] {
  const parts: ExactPart[] = [];
  let at = 0;
  for (const match of text.matchAll(hidden)) {
    if (match.index > at) parts.push({ text: text.slice(at, match.index), marked: false });
    const [found] = match;
    const code = (found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
    // The host writes some of them out itself.
    parts.push({ text: found.startsWith("⟨") ? found : `⟨U+${code}⟩`, marked: true });
    at = match.index + found.length;
  }
  if (at < text.length) parts.push({ text: text.slice(at), marked: false });
  return parts;
}

/** Text that the owner answers for, exactly as it is; it scrolls where it is long, and is never cut. */
export function Exact({ text, label, id }: { text: string; label: string; id?: string }): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a long text is scrolled by keyboard
    <pre class="exact" id={id} tabIndex={0} role="region" aria-label={label}>
      <code>
        {exactParts(text).map((part, index) =>
          part.marked ? (
            <mark key={index} class="hidden-character" title={t("A character that cannot be seen")}>
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
