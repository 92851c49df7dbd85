import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { visibleParts } from "../../agent-server/contract/visible-text.ts";
import { t } from "./l10n.ts";

/** A part of a text that the reader should see first, and why. */
export interface Emphasis {
  readonly text: string;
  readonly reason: string;
}

interface ExactTextProps {
  text: string;
  label: string;
  id?: string;
  /** Marked and scrolled into view, where the text contains it once: of several places, one could be a harmless copy. */
  emphasis?: Emphasis | null;
}

/** Shows the exact text that the user approves. A long text scrolls; it is never truncated. */
export function ExactText({ text, label, id, emphasis = null }: ExactTextProps): JSX.Element {
  const mark = useRef<HTMLElement>(null);
  const first = emphasis === null || emphasis.text === "" ? -1 : text.indexOf(emphasis.text);
  const at = emphasis !== null && text.lastIndexOf(emphasis.text) === first ? first : -1;
  useLayoutEffect(() => {
    if (at >= 0) mark.current?.scrollIntoView({ block: "nearest" });
  }, [at]);
  const end = at + (emphasis?.text.length ?? 0);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a long text is scrolled by keyboard
    <pre class="exact" id={id} tabIndex={0} role="region" aria-label={label}>
      <code>
        {at < 0 || emphasis === null ? (
          <VisibleText text={text} />
        ) : (
          <>
            <VisibleText text={text.slice(0, at)} />
            <mark ref={mark} class="emphasis" title={emphasis.reason}>
              <VisibleText text={text.slice(at, end)} />
            </mark>
            <VisibleText text={text.slice(end)} />
          </>
        )}
      </code>
    </pre>
  );
}

function VisibleText({ text }: { text: string }): JSX.Element {
  return (
    <>
      {visibleParts(text).map((part, index) =>
        part.marked ? (
          <mark key={index} class="hidden-character" title={t("Invisible character")}>
            {part.text}
          </mark>
        ) : (
          part.text
        ),
      )}
    </>
  );
}
