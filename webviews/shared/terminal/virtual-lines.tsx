import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

interface VirtualLinesProps {
  count: number;
  label: string;
  /** Follows the last line while it is visible. */
  follow: boolean;
  renderLine: (index: number) => JSX.Element;
}

/** Line height in pixels; must match `terminal.css`. */
const lineHeight = 18;
/** Lines drawn above and below the visible ones. */
const margin = 20;

/** A scrolling box of many lines of equal height. Only the visible ones are in the page. */
export function VirtualLines({ count, label, follow, renderLine }: VirtualLinesProps): JSX.Element {
  const box = useRef<HTMLPreElement>(null);
  const atEnd = useRef(true);
  const [top, setTop] = useState(0);
  const height = box.current?.clientHeight ?? 360;
  const first = Math.max(0, Math.floor(top / lineHeight) - margin);
  const last = Math.min(count, Math.ceil((top + height) / lineHeight) + margin);

  useLayoutEffect(() => {
    const element = box.current;
    if (element !== null && follow && atEnd.current) element.scrollTop = element.scrollHeight;
  }, [count, follow]);

  const rows: JSX.Element[] = [];
  for (let index = first; index < last; index += 1) rows.push(renderLine(index));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrolled by keyboard
    <pre
      ref={box}
      class="terminal-lines all"
      tabIndex={0}
      role="region"
      aria-label={label}
      onScroll={(event) => {
        const element = event.currentTarget;
        atEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < lineHeight * 2;
        setTop(element.scrollTop);
      }}
    >
      <div class="terminal-space" style={{ height: `${count * lineHeight}px` }}>
        <div class="terminal-window" style={{ transform: `translateY(${first * lineHeight}px)` }}>
          {rows}
        </div>
      </div>
    </pre>
  );
}
