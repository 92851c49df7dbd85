import type { JSX } from "preact";
import { visibleParts } from "../../agent-server/contract/visible-text.ts";
import { t } from "./l10n.ts";

/** Shows the exact text that the user approves. A long text scrolls; it is never truncated. */
export function ExactText({ text, label, id }: { text: string; label: string; id?: string }): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a long text is scrolled by keyboard
    <pre class="exact" id={id} tabIndex={0} role="region" aria-label={label}>
      <code>
        {visibleParts(text).map((part, index) =>
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
