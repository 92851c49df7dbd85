import type { JSX } from "preact";
import { memo } from "preact/compat";
import { useState } from "preact/hooks";
import { count, formatNumber, t } from "../l10n.ts";
import type { LiveOutput } from "../live-output.ts";
import { type Piece, spansOf, type Target } from "./links.ts";
import { type Line, lineText } from "./screen.ts";
import { classesOf } from "./style.ts";
import { VirtualLines } from "./virtual-lines.tsx";

export type OpenTarget = (target: Target) => void;

const firstLines = 8;
const lastLines = 12;

function Pieces({ pieces }: { pieces: readonly Piece[] }): JSX.Element {
  return (
    <>
      {pieces.map(({ text, style }, index) => {
        const classes = classesOf(style);
        return classes === "" ? (
          text
        ) : (
          <span key={index} class={classes}>
            {text}
          </span>
        );
      })}
    </>
  );
}

function titleOf(target: Target): string {
  return target.kind === "url" ? t("Open {0}", target.url) : t("Open {0}, line {1}", target.path, target.line);
}

const LineView = memo(function LineView({ line, open }: { line: Line; open: OpenTarget }): JSX.Element {
  return (
    <div class="terminal-line">
      {spansOf(line).map(({ target, pieces }, index) =>
        target === null ? (
          <Pieces key={index} pieces={pieces} />
        ) : (
          <button key={index} type="button" class="terminal-link" title={titleOf(target)} onClick={() => open(target)}>
            <Pieces pieces={pieces} />
          </button>
        ),
      )}
      {"\n"}
    </div>
  );
});

/** Number of lines without the empty ones at the end. */
function shownCount(lines: readonly Line[]): number {
  let end = lines.length;
  while (end > 0 && lineText(lines[end - 1] ?? []) === "") end -= 1;
  return end;
}

interface OutputProps {
  output: LiveOutput;
  running: boolean;
  label: string;
  open: OpenTarget;
}

/** The output of a tool in the theme's terminal colors. A long output shows its first and last lines until the user expands it. */
export function TerminalOutput({ output, running, label, open }: OutputProps): JSX.Element | null {
  const [all, setAll] = useState(false);
  // Subscribes to changes, because the screen object is mutable.
  void output.version.value;
  const { lines, dropped } = output.screen;
  const total = shownCount(lines);
  const view = (index: number): JSX.Element => <LineView key={dropped + index} line={lines[index] ?? []} open={open} />;
  const range = (from: number, to: number): JSX.Element[] =>
    Array.from({ length: Math.max(0, to - from) }, (_, index) => view(from + index));
  if (total === 0)
    return running ? (
      <p class="quiet terminal-note" data-testid="no-output">
        {t("No output yet.")}
      </p>
    ) : null;
  const folded = !all && total > firstLines + lastLines + 4;
  return (
    <div class="terminal">
      {(output.missing > 0 || dropped > 0) && (
        <p class="quiet terminal-note">
          {output.missing > 0
            ? t("{0} characters of earlier output are no longer available.", formatNumber(output.missing))
            : count(dropped, "{0} earlier line is no longer available.", "{0} earlier lines are no longer available.")}
        </p>
      )}
      {folded ? (
        <>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrolled by keyboard */}
          <pre class="terminal-lines" tabIndex={0} role="region" aria-label={t("{0} (first lines)", label)}>
            {range(0, firstLines)}
          </pre>
          <div class="terminal-fold">
            <button data-testid="show-all-lines" type="button" class="button link" onClick={() => setAll(true)}>
              {t("Show All {0} Lines", formatNumber(total))}
            </button>
          </div>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrolled by keyboard */}
          <pre class="terminal-lines" tabIndex={0} role="region" aria-label={t("{0} (last lines)", label)}>
            {range(total - lastLines, total)}
          </pre>
        </>
      ) : total > firstLines + lastLines + 4 ? (
        <>
          <VirtualLines count={total} label={label} follow={running} renderLine={view} />
          <div class="terminal-fold">
            <button data-testid="show-fewer-lines" type="button" class="button link" onClick={() => setAll(false)}>
              {t("Show Fewer Lines")}
            </button>
          </div>
        </>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrolled by keyboard
        <pre class="terminal-lines" tabIndex={0} role="region" aria-label={label}>
          {range(0, total)}
        </pre>
      )}
    </div>
  );
}

/** The last lines of an output, for a closed card. */
export function TerminalTail({ output, max }: { output: LiveOutput; max: number }): JSX.Element | null {
  void output.version.value;
  const { lines } = output.screen;
  const total = shownCount(lines);
  if (total === 0) return null;
  return (
    <pre class="terminal-lines tail" aria-hidden="true">
      {lines.slice(Math.max(0, total - max), total).map((line, index) => (
        <div key={index} class="terminal-line">
          <Pieces pieces={line} />
          {"\n"}
        </div>
      ))}
    </pre>
  );
}
